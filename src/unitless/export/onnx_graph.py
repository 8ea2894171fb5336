"""A model as an ONNX graph of a dozen standard operators, for any server that runs ONNX.

Inputs, by the argument `inputs`:

    "matrix"     features   [rows, features], float: the model's features in its order. Names are in the metadata; a
                            text column is one feature for each of its values, column=value, which is 1 or 0
    "columns"    one input [rows, 1] for each column of the table, by its name: float for numbers, string for text, bool
                            for booleans. Missing text is empty, and a missing number is NaN. Text that the
                            model does not know counts as none of its values

Outputs, by task:

    scores         [rows], for several classes [rows, classes]: the scores of `predict`
    prediction     regression: [rows], a number (for counts their rate)
    label          binary, classes: [rows], as in the data
    probabilities  logistic loss: [rows, classes], adding up to 1; binary: of the negative label, then of the positive

NaN is a missing value, which counts as the mean of a centered column, and as 0 in other columns.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ..data.columns.schema import Kind, Schema
from ..data.labels import number_text
from ..errors import Option, OptionError, Phrase
from ..inputs import MISSING, Float64
from ..models.classes import Label
from ..models.form_reading import CERTAIN, RawColumn
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.sweep import Sweep
from .ensemble import Ensemble
from .linear import Linear, Variance, exportable, linear
from .members import LARGEST_SCORE, MemberArrays, MixedModel, MixtureArrays, mixed_model
from .optional import library
from .table_columns import AS_MATRIX, check_column

if TYPE_CHECKING:
    import onnx

Inputs: TypeAlias = Literal["matrix", "columns"]
FloatType: TypeAlias = Literal["float32", "float64"]

_TREES, TREES_OPSET = "ai.onnx.ml", 5  # the first version with float64 trees; only used for graphs with trees
OPSET, IR_VERSION = 19, 9  # the first versions that compare text; ONNX 1.14, ONNX Runtime 1.15
_ROWS = "rows"
_OUTPUTS = ("scores", "prediction", "label", "probabilities")


def to_onnx(
    model: Learner | OneVsAll | Sweep,
    *,
    extrapolate: bool = False,
    inputs: Inputs = "matrix",
    dtype: FloatType = "float32",
) -> onnx.ModelProto:
    """Convert a model to an ONNX graph that computes what `predict` computes. Needs `pip install 'unitless[onnx]'`.

    Args:
        model: any model without `bits`; products of features (`interactions`) become nodes of the graph.
        extrapolate: as for `predict`. False: values beyond the training range are treated by the rule ("nag" limits
            them).
            True: a purely linear model, without limits to the range of the training labels. Default: False.
        inputs: "matrix": one tensor of all features; "columns": one input for each column of the table. Default:
            "matrix".
        dtype: the type of inputs, weights and scores. "float32" is enough for data of any unit, because the graph first
            divides every feature by its scale; "float64" is for scales beyond 1e38, and for full precision. Default:
            "float32".

    Example:
        >>> import numpy as np, onnxruntime, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(1000, 2)) * [0.001, 1000] + [5, 1e6]
        >>> m = ul.Learner(center=True, target="auto")
        >>> _ = m.learn(X, X @ [1000, 0.002])
        >>> session = onnxruntime.InferenceSession(ul.to_onnx(m).SerializeToString())
        >>> (prediction,) = session.run(["prediction"], {"features": X.astype("float32")})
        >>> bool(np.allclose(prediction, m.predict(X.astype("float32")), rtol=1e-5))
        True
    """
    if inputs not in ("matrix", "columns"):
        raise OptionError(f"is {inputs!r}; it must be 'matrix' or 'columns'", option="inputs")
    if dtype not in ("float32", "float64"):
        raise OptionError(f"is {dtype!r}; it must be 'float32' or 'float64'", option="dtype")
    exported = exportable(model)
    mixed = mixed_model(exported, extrapolate) if exported._mixes() else None
    graph = _Graph(linear(exported, extrapolate) if mixed is None else mixed.members[0].linear, dtype)
    if inputs == "matrix":
        x = graph.input("features", graph.float, len(graph.model.names))
    else:
        x = graph.columns(_columns(exported))
    graph.outputs(graph.scores(x) if mixed is None else graph.mixed(x, mixed))
    return graph.finished(exported)


def _columns(model: Learner | OneVsAll) -> list[tuple[str, Kind]]:
    """The table's columns with their types; without a table every feature is a column."""
    schema = Schema.read(model._training["schema"]) if model._training is not None else Schema("named")
    if schema.family == "table":
        return list(schema.columns)
    names = model._snapshot()["names"]
    if names is None:
        raise OptionError("this model's features are the columns of a matrix, without names", advice=AS_MATRIX)
    return [(name, "number") for name in names]


class _Graph:
    """Builds a graph node by node. Values are identified by names; names of inner values begin with /."""

    def __init__(self, model: Linear, dtype: FloatType) -> None:
        self.model, self._dtype = model, np.dtype(dtype)
        self._onnx, self._helper = library("onnx"), library("onnx.helper")
        types = self._onnx.TensorProto
        self.float = types.FLOAT if dtype == "float32" else types.DOUBLE
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._constants: list[Any] = []
        self._numbers: dict[tuple[float, Any], str] = {}
        self._wholes: dict[int, str] = {}
        self._of = ""  # what the current constants belong to, as part of their names
        self._trees = False

    # ------------------------------------------------------------------------------------------------- building blocks

    def input(self, name: str, kind: int, width: int) -> str:
        """Add an input with `width` columns."""
        self._inputs.append(self._helper.make_tensor_value_info(name, kind, [_ROWS, width]))
        return name

    def _output(self, name: str, kind: int, width: int | None = None) -> None:
        shape = [_ROWS] if width is None else [_ROWS, width]
        self._outputs.append(self._helper.make_tensor_value_info(name, kind, shape))

    def _node(self, kind: str, *values: str, name: str = "", **attributes: Any) -> str:
        output = name or f"/{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(kind, list(values), [output], output, **attributes))
        return output

    def _constant(self, about: str, array: Any) -> str:
        name, array = f"/{self._of}{about}", np.asarray(array)
        if array.dtype.kind in "UO":
            text = self._onnx.TensorProto.STRING
            tensor = self._helper.make_tensor(name, text, array.shape, [str(one).encode() for one in array.ravel()])
        else:
            tensor = library("onnx.numpy_helper").from_array(np.ascontiguousarray(array), name)
        self._constants.append(tensor)
        return name

    def _floats(self, about: str, values: Any, *, divisor: bool = False) -> str:
        """Convert numbers to the graph's type and check that they fit.

        A divisor must not lose digits near zero either.
        """
        exact = np.asarray(values, np.float64)
        with np.errstate(over="ignore"):
            array = exact.astype(self._dtype)
        held = np.isfinite(array)
        if divisor:
            held &= np.abs(array) >= np.finfo(self._dtype).tiny
        if not held.all():
            worst = float(exact[~held].ravel()[0])
            raise OptionError(
                f"one of the model's {about} is {worst:g}, beyond {self._dtype}",
                advice=Phrase("use ", Option("dtype", "float64")),
            )
        return self._constant(about, array)

    def _number(self, value: float) -> str:
        """A scalar constant, which several nodes can share."""
        key = (value, self._dtype)
        if key not in self._numbers:
            self._numbers[key] = self._floats(f"{value:g}", value)
        return self._numbers[key]

    def _whole(self, number: int) -> str:
        """An integer constant, for nodes that take an axis, an index or a size as an input."""
        if number not in self._wholes:
            self._wholes[number] = f"/whole {number}"
            array = np.array([number], np.int64)
            self._constants.append(library("onnx.numpy_helper").from_array(array, self._wholes[number]))
        return self._wholes[number]

    # ------------------------------------------------------------------------------------------------------------ input

    def columns(self, columns: list[tuple[str, Kind]]) -> str:
        """Compute the model's features from the columns of a table."""
        place = {name: k for k, name in enumerate(self.model.names)}
        blocks: list[str] = []
        order: list[int] = []
        for name, kind in columns:
            if name in _OUTPUTS or name.startswith("/"):
                raise OptionError(f"column {name!r} has a name that the graph needs for itself", advice=AS_MATRIX)
            check_column(name, kind)
            if kind in ("number", "flag"):
                x = self.input(name, self.float, 1)
                blocks.append(x)
                order.append(place.get(name, -1))
                if (missing := place.get(f"{name}={MISSING}")) is not None:
                    blocks.append(self._node("Cast", self._node("IsNaN", x), to=self.float))
                    order.append(missing)
                continue
            values = [str(met).removeprefix(f"{name}=") for met in place if str(met).startswith(f"{name}=")]
            blocks.append(self._indicators(name, values, kind == "boolean"))
            order += [place[f"{name}={value}"] for value in values]
        known = [k for k, at in enumerate(order) if at >= 0]
        if sorted(order[k] for k in known) != list(range(len(place))):
            raise OptionError("the table's columns do not distinguish its features", advice=AS_MATRIX)
        wide = self._node("Concat", *blocks, axis=1)
        taken = sorted(known, key=lambda k: order[k])
        return self._node("Gather", wide, self._constant("feature_order", np.array(taken, np.int64)), axis=1)

    def _indicators(self, column: str, values: list[str], boolean: bool) -> str:
        """One column for each known value: 1 where the column has that value."""
        types = self._onnx.TensorProto
        x = self.input(column, types.BOOL if boolean else types.STRING, 1)
        # Missing text is empty; a boolean of ONNX cannot be missing.
        texts = np.array(["" if value == MISSING else value for value in values], object)
        met: Any = [value == "true" for value in values] if boolean else texts
        same = self._node("Equal", x, self._constant(f"values of {column}", np.asarray(met)[None, :]))
        if boolean and MISSING in values:
            there = self._constant(f"what {column} can be", np.array([[value != MISSING for value in values]]))
            same = self._node("And", same, there)
        return self._node("Cast", same, to=self.float)

    # ---------------------------------------------------------------------------------------------------------- scoring

    def scores(self, x: str) -> str:
        """Compute the scores [rows, heads], as described in `unitless.export.linear`."""
        score = self._limited(self._linear(x))
        return self._log_odds(self._node("Softmax", score, axis=1)) if self.model.loss.coupled else score

    def _linear(self, x: str) -> str:
        model = self.model
        z = self._node("Div", self._centered(x), self._floats("scales", model.scales, divisor=True))
        # Missing values are replaced after the division, where 0 stands for the mean in every column.
        z = self._node("Where", self._node("IsNaN", z), self._number(0.0), z)
        coefficients = model.coefficients
        if len(model.factors):
            left, right = (
                self._node("Gather", z, self._constant(side, at.astype(np.int64)), axis=1)
                for side, at in zip(("left_factors", "right_factors"), model.factors.T, strict=True)
            )
            scaled = self._node("Mul", left, self._floats("ratios", model.ratios))
            z = self._node("Concat", z, self._node("Mul", scaled, right), axis=1)
            coefficients = np.concatenate([coefficients, model.product_coefficients])
        parts = self._floats("coefficients", coefficients), self._floats("intercepts", model.intercepts)
        z = self._held(z)
        score = self._node("Gemm", z, *parts)
        return score if model.variance is None else self._certain(score, z, model.variance)

    def _certain(self, score: str, z: str, of: Variance) -> str:
        """Shrink a score by the factor that depends on its variance."""
        factors = self._floats("covariance", of.covariance), self._floats("with_bias", 2.0 * of.with_bias)
        square = self._node("Mul", self._node("Gemm", z, *factors), z)
        variance = self._node("ReduceSum", square, self._whole(1), keepdims=1)
        variance = self._node("Add", variance, self._floats("of_bias", of.of_bias))
        if of.of_odds:
            divisor = self._node("Sqrt", self._one_and_part(variance))
        else:
            divisor = self._node("Add", self._node("Max", variance, self._number(0.0)), self._number(1.0))
        offset = self._floats("offset", of.offset)
        return self._node("Add", self._node("Div", self._node("Sub", score, offset), divisor), offset)

    def _limited(self, score: str) -> str:
        if self.model.limits is None:
            return score
        low, high = self.model.limits
        return self._node("Clip", score, self._floats("lowest", low), self._floats("highest", high))

    def mixed(self, x: str, model: MixedModel) -> str:
        """Compute the scores [rows, heads], as described in `unitless.export.members`.

        Everything is float64, so that each value is on the same side of every threshold as in the model itself.
        """
        outside, plain = self._dtype, self.model
        self._dtype = np.dtype(np.float64)
        double = self._onnx.TensorProto.DOUBLE
        x = self._node("Cast", x, to=double)
        member_scores = []
        for member in model.members:
            self.model, self._of = member.linear, f"{member.name}/"
            score = self._linear(x)
            if member.curves or member.trees:
                score = self._node("Add", score, self._leaves(x, member, model.columns))
            if member.coupled:
                score = self._log_odds(self._node("Softmax", score, axis=1))
            member_scores.append(self._limited(score))
        self._of = "mixture/"
        score = member_scores[0] if model.mixture is None else self._mixture(member_scores, model.mixture)
        self.model, self._dtype, self._of = plain, outside, "" if outside == np.float64 else "output/"
        return self._node("Cast", score, to=self.float)

    def _leaves(self, x: str, member: MemberArrays, columns: list[RawColumn]) -> str:
        """The sum of the weights of curves and trees: [rows, heads]."""
        place = {name: k for k, name in enumerate(self.model.names)}
        features = {c: place[column.name] for c, column in enumerate(columns) if not column.text}
        texts = {c for c, column in enumerate(columns) if column.text}
        if member.trees and texts:
            belongs = np.zeros((len(place), len(texts)))
            for k, c in enumerate(sorted(texts)):
                features[c] = len(place) + k
                of_column, missing = f"{columns[c].name}=", f"{columns[c].name}={MISSING}"
                mine = [at for name, at in place.items() if str(name).startswith(of_column) and name != missing]
                belongs[mine, k] = 1.0
            indicators = np.flatnonzero(belongs.any(axis=1))
            of_texts = self._node("Gather", x, self._constant("texts", indicators), axis=1)
            any_text = self._node("MatMul", of_texts, self._floats("columns of texts", belongs[indicators]))
            x = self._node("Concat", x, any_text, axis=1)
        self._trees = True
        added = []
        for head in range(len(self.model.intercepts)):
            ensemble = Ensemble(head)
            for curve in member.curves:
                ensemble.add_curve(curve, place[columns[curve.column].name])
            for tree in member.trees:
                ensemble.add_tree(tree, features, texts)
            attributes = ensemble.attributes(library("onnx.numpy_helper").from_array)
            added.append(self._node("TreeEnsemble", x, domain=_TREES, **attributes))
        return self._node("Concat", *added, axis=1)

    def _mixture(self, member_scores: list[str], mixture: MixtureArrays) -> str:
        """Combine the members' scores, [rows, heads] each, into one."""
        top = self._floats("top", mixture.top[:, None])
        if mixture.kind == "scores":
            return self._by_class(member_scores, top)
        if mixture.kind == "classes":
            return self._class_mixture(member_scores, mixture, top)
        stacked = self._node("Concat", *member_scores, axis=1)
        if mixture.kind == "numbers":
            mean = self._node(
                "MatMul", stacked, self._floats("mean", np.full((len(member_scores), 1), 1.0 / len(member_scores)))
            )
            apart = self._node("Sub", stacked, mean)
            for k, stacker in enumerate(mixture.stackers):
                more = self._node("MatMul", apart, self._floats(f"stacker{k}", stacker.weights[:, None]))
                score = self._node("Add", mean, more)
                if mixture.limits is not None:
                    low, high = (self._number(limit) for limit in mixture.limits)
                    score = self._node("Clip", score, low, high)
                member_scores = [*member_scores, score]
            return self._node("MatMul", self._node("Concat", *member_scores, axis=1), top)
        x = self._node("Clip", stacked, self._number(-LARGEST_SCORE), self._number(LARGEST_SCORE))
        one = self._node("Clip", member_scores[0], self._number(-LARGEST_SCORE), self._number(LARGEST_SCORE))
        x = self._node("Concat", x, self._like(one, np.array([[mixture.last]])), axis=1)
        for k, stacker in enumerate(mixture.stackers):
            mean = self._node("MatMul", x, self._floats(f"stacker{k}", stacker.weights[:, None]))
            spread = self._node("MatMul", x, self._floats(f"covariance{k}", stacker.covariance))
            variance = self._node("ReduceSum", self._node("Mul", spread, x), self._whole(1), keepdims=1)
            member_scores = [*member_scores, self._node("Div", mean, self._node("Sqrt", self._one_and_part(variance)))]
        mixed = self._node("Concat", *member_scores, axis=1)
        likely = self._node("MatMul", self._node("Sigmoid", mixed), top)
        unlikely = self._node("MatMul", self._node("Sigmoid", self._node("Neg", mixed)), top)
        odds = self._node("Log", self._node("Div", likely, unlikely))
        return self._node("Clip", odds, self._number(-CERTAIN), self._number(CERTAIN))

    def _class_mixture(self, member_scores: list[str], mixture: MixtureArrays, top: str) -> str:
        """Combine the members' probabilities of several classes."""
        classes = len(self.model.intercepts)
        logs = [self._node("LogSoftmax", self._log_sigmoid(one), axis=1) for one in member_scores]
        mixed = [self._node("Exp", one) for one in logs]
        logs = [self._node("Max", one, self._number(-LARGEST_SCORE)) for one in logs]
        last = (np.arange(classes) == mixture.last).astype(np.float64)
        logs.append(self._like(logs[0], last[None]))
        x = self._node("Concat", *(self._node("Unsqueeze", one, self._whole(2)) for one in logs), axis=2)
        for k, stacker in enumerate(mixture.stackers):
            score = self._by_class(logs, self._floats(f"stacker{k}", stacker.weights[:, None]))
            if classes > 1:
                covariance = self._floats(f"covariance{k}", stacker.covariance)
                spread = self._spread_of_best(x, score, covariance, len(logs))
                score = self._node("Div", score, spread)
            mixed.append(self._node("Softmax", score, axis=1))
        return self._log_odds(self._by_class(mixed, top))

    def _like(self, score: str, row: Float64) -> str:
        """The same row of numbers for each row of a score, which is finite."""
        none = self._node("Mul", score, self._number(0.0))
        return self._node("Add", none, self._floats("last", row))

    def _by_class(self, member_scores: list[str], weights: str) -> str:
        """The weighted sum of several scores, [rows, heads] each, with weights [scores, 1]."""
        stacked = self._node("Concat", *(self._node("Unsqueeze", one, self._whole(2)) for one in member_scores), axis=2)
        return self._node("Squeeze", self._node("MatMul", stacked, weights), self._whole(2))

    def _spread_of_best(self, x: str, score: str, covariance: str, members: int) -> str:
        """√(1 + π/8 · variance), the variance being that of a stacker's top two scores: [rows, 1].

        x has the shape [rows, classes, inputs].
        """
        best = f"/best_{len(self._nodes)}"
        two = [score, self._whole(2)]
        self._nodes.append(self._helper.make_node("TopK", two, [f"{best}_scores", best], best, axis=1))
        wide = self._node("Concat", self._whole(1), self._whole(1), self._whole(members), axis=0)
        places = self._node("Expand", self._node("Unsqueeze", best, self._whole(2)), wide)
        found = self._node("GatherElements", x, places, axis=1)
        first, second = (self._node("Gather", found, self._whole(place), axis=1) for place in (0, 1))
        apart = self._node("Squeeze", self._node("Sub", first, second), self._whole(1))
        square = self._node("Mul", self._node("MatMul", apart, covariance), apart)
        variance = self._node("ReduceSum", square, self._whole(1), keepdims=1)
        return self._node("Sqrt", self._one_and_part(variance))

    def _one_and_part(self, variance: str) -> str:
        """1 + π/8 · variance, where a variance that rounding made negative counts as 0."""
        part = self._node("Mul", self._node("Max", variance, self._number(0.0)), self._number(np.pi / 8))
        return self._node("Add", part, self._number(1.0))

    def _log_odds(self, p: str) -> str:
        """The log odds of each class.

        Those of the likeliest are from the sum of the others: 1 - p would lose digits.
        """
        heads = np.arange(len(self.model.intercepts))[None, :]
        best = self._node("ArgMax", p, axis=1, keepdims=1)
        likeliest = self._node("Equal", best, self._constant(f"classes_{len(self._nodes)}", heads))
        others = self._node("Where", likeliest, self._number(0.0), p)
        rest = self._node("ReduceSum", others, self._whole(1), keepdims=1)
        against = self._node("Where", likeliest, rest, self._node("Sub", self._number(1.0), p))
        odds = self._node("Sub", self._node("Log", p), self._node("Log", against))
        return self._node("Clip", odds, self._number(-CERTAIN), self._number(CERTAIN))

    def _centered(self, x: str) -> str:
        """Compute x - mean. The mean is split into two parts, so that float32 keeps all its digits.

        Near the mean, subtracting the first part is exact.
        """
        means = self.model.means
        if not means.any():
            return x
        x = self._node("Sub", x, self._floats("means", means))
        rest = means - means.astype(self._dtype)
        return self._node("Sub", x, self._floats("rest_of_means", rest)) if rest.any() else x

    def _held(self, z: str) -> str:
        """Apply the rule's treatment of values beyond the training range."""
        held = self.model.held
        if held == "linear":
            return z
        one = self._number(1.0)
        if held == "hold":
            return self._node("Clip", z, self._number(-1.0), one)
        if held == "shrink":
            return self._node("Div", z, self._node("Max", one, self._node("Mul", z, z)))
        # Beyond 1e9 the result is ±1 to all digits, and the square stays within float32's range.
        z = self._node("Clip", z, self._number(-1e9), self._number(1e9))
        return self._node("Div", z, self._node("Sqrt", self._node("Add", self._node("Mul", z, z), one)))

    # ---------------------------------------------------------------------------------------------------------- outputs

    def outputs(self, score: str) -> None:
        """Add the outputs of the task."""
        model = self.model
        heads = len(model.intercepts)
        if model.task == "classes":
            self._node("Identity", score, name="scores")
            self._output("scores", self.float, heads)
            self._label(self._node("ArgMax", score, axis=1, keepdims=0))
            if model.loss.link.gives_probabilities:
                self._shares(score)
            return
        self._node("Reshape", score, self._constant("flat", np.array([-1], np.int64)), name="scores")
        self._output("scores", self.float)
        if model.task == "binary":
            positive = self._node("Greater", "scores", self._number(0.0))
            self._label(self._node("Cast", positive, to=self._onnx.TensorProto.INT64))
            if model.loss.link.gives_probabilities:
                both = self._node("Concat", self._node("Neg", score), score, axis=1)
                self._node(model.loss.link.onnx, both, name="probabilities")
                self._output("probabilities", self.float, 2)
            return
        self._node(model.loss.link.onnx, "scores", name="prediction")
        self._output("prediction", self.float)

    def _shares(self, score: str) -> None:
        """The probabilities of `OneVsAll.predict_proba`: sigmoids divided by their sum.

        They are computed from logarithms, log sigmoid(x) = min(x, 0) - log(1 + exp(-|x|)), because all sigmoids may
        underflow in float32.
        """
        self._node("Softmax", self._log_sigmoid(score), axis=1, name="probabilities")
        self._output("probabilities", self.float, len(self.model.labels))

    def _log_sigmoid(self, score: str) -> str:
        one, zero = self._number(1.0), self._number(0.0)
        x = self._node("Clip", score, self._number(-700.0), self._number(700.0))
        tail = self._node("Exp", self._node("Neg", self._node("Abs", x)))
        return self._node("Sub", self._node("Min", x, zero), self._node("Log", self._node("Add", tail, one)))

    def _label(self, places: str) -> None:
        labels = _tensor_labels(self.model.labels)
        kind = self._helper.np_dtype_to_tensor_dtype(labels.dtype)
        self._node("Gather", self._constant("labels", labels), places, name="label")
        self._output("label", kind)

    def finished(self, model: Learner | OneVsAll) -> onnx.ModelProto:
        """The finished graph, validated by ONNX's checker."""
        graph = self._helper.make_graph(self._nodes, "unitless", self._inputs, self._outputs, self._constants)
        from ..version import __version__  # noqa: PLC0415  (it reads the package's metadata)

        proto = self._helper.make_model(
            graph,
            opset_imports=[
                self._helper.make_opsetid("", OPSET),
                *([self._helper.make_opsetid(_TREES, TREES_OPSET)] if self._trees else []),
            ],
            ir_version=IR_VERSION,
            producer_name="unitless",
            producer_version=__version__,
        )
        about = {
            "feature_names": self.model.names,
            "task": self.model.task,
            "target": None if model._training is None else model._training["schema"]["target"],
            "classes": self.model.labels or None,
            "loss": self.model.loss.name,
            "beyond": self.model.held,
        }
        texts = {key: json.dumps(value, ensure_ascii=False) for key, value in about.items()}
        self._helper.set_model_props(proto, texts)
        library("onnx.checker").check_model(proto, full_check=True)
        return proto  # type: ignore[no-any-return]


def _tensor_labels(labels: list[Label]) -> Any:
    """The labels as an array of one type: text, if they have several types."""
    kinds = {type(label) for label in labels}
    if len(kinds) > 1 or kinds == {str} or (kinds == {int} and any(abs(label) >= 2**63 for label in labels)):  # type: ignore[arg-type]
        texts = [label if isinstance(label, str) else number_text(label) for label in labels]
        for text in texts:
            if not text.isascii() and text.encode(errors="replace").decode() != text:
                raise OptionError(f"the label {text!r} is not valid Unicode, which ONNX needs")
        return np.array(texts, dtype=object)
    return np.array(labels)
