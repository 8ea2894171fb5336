"""The learner: one model, one pass, any input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import html, inputs, shown
from ..errors import InputError, OptionError
from ..inputs import Float64
from ..losses import LOSSES
from ..options import USUAL_LEVEL, Auto, Clip, Loss, ModelType, Options, Order, Rule, Schedule, check_names
from ..rates import Walk
from . import pruning
from .by_feature import ByFeature, StateReading, ranked
from .classes import Label, label_array
from .error_quantiles import checked_level
from .model import BIAS, LARGE, Model

if TYPE_CHECKING:
    from ..data.labels import Target


class Learner(Model):
    """A linear model that learns online, one example at a time, whatever the units of its features. `model_type` bends
    it.

    With its defaults this is Algorithm 2 (NAG) of *Normalized Online Learning* (Ross, Mineiro, Langford 2013) with
    importance-aware steps; `importance_aware=False` gives the paper's algorithms to the letter.

    Args:
        rule: how weights are updated. "nag" (normalized adaptive gradient), "snag" (the same, scales from second
            moments: sturdier against outliers), "ng" (normalized gradient); and the baselines that do depend on
            units, "ag" (adaptive gradient, AdaGrad) and "gd" (gradient descent). "newton" is of second order: it
            learns from few rows and from correlated features, takes at most 100 features, squared and logistic
            loss, and has no learning rate.
        loss: "squared", "quantile" (predicts the quantile given by `quantile`), "poisson" (counts; the score is the
            logarithm of the rate), "logistic" and "hinge" (two classes; labels {-1, +1}, {0, 1} or booleans).
        learning_rate: the step size η. For "nag", "snag", "ng" good values are near 1 whatever the data's units.
            "auto" runs 16 rates at once and predicts with the one whose progressive loss is smallest so far; rates
            that are clearly worse are dropped.
        importance_aware: never step past the label, however large the rate or an example's weight.
        bias: add a constant feature.
        quantile: which quantile "quantile" loss estimates.
        schedule: for "gd" and "ng": "sqrt" (η/√t, the default) or "constant".
        order: "paper" adapts scales, then predicts; "vw" predicts first, as Vowpal Wabbit does.
        clip: "labels" limits predictions to the range of the labels seen before; "vw" to Vowpal Wabbit's range, which
            includes the label being predicted (for comparison only: its progressive loss is too good).
        target: "auto" learns the label's unit and offset too (squared and quantile loss): y → a·y + b maps predictions
            the same way. Predictions stay within the range of the labels seen before. One wrong label does little
            harm: a label that lies outside the range of all n labels before it, at least three, by more than
            16 + 1024/n times that range is learned as the nearest label of the range, unless another one that far came
            within the last 100 rows. `limited_labels` counts them.
        center: use the columns of arrays and numeric columns of frames as x minus their running mean: then their offset
            does not matter either. Booleans, sparse matrices and mappings are taken as they are.
        falling_scales: let the scale of a centered column fall when its values have become at least 30 times smaller,
            as they do when millimeters become meters. Looked at every 4,000 examples. Without it a scale only grows.
        interactions: products of features, made on the fly. 2: all pairs, squares included; "ordered": i·j and j·i as
            two features; or a list of pairs: [("age", "income"), ("job=*", "city=*"), (["a", "b"], ["c", "d"])]. A name
            that ends in * means all features that begin so; columns of arrays are named by their number.
        bits: None keeps every feature name exactly; a number b hashes names into 2**b slots of 32 bytes, which
            bounds memory.
        average: keep the average of the weights too, those at time t counting by t, in units of the scales. `keep` says
            which of both predict.
        model_type: what the model can be like:

            - "linear": a weight for each feature. The fastest, and the only one for sparse and hashed data.
            - "curves": each numeric column has a curve as well; 3 to 4 times the time of "linear".
            - "trees": curves, and trees over all columns, for what depends on several of them together; 10 to 15
              times the time of "linear", and about as good as boosted trees.
            - "auto": settled by the first row. "trees" for arrays, tables and rows of names with at most 1,000 columns;
              "linear" for wider data, sparse matrices and `bits`.
            - "curves only": curves without linear terms for numbers, about the time of "curves". Predictions stay the
              same if a column is replaced by its logarithm, or by any other increasing function of it.

            "curves" and "trees" predict with a mixture: of a linear model, one with curves, and one with trees too.
        ensemble: True: other learners read the same rows, and predictions combine all of them, which is better than the
            best of them. Settled by the first row, for squared and logistic loss and the rule "nag":

            - arrays, tables and rows of names with at most 1,000 columns: second-order learners (`rule="newton"`) of
              the first 100 features, one of which discounts the past, and for more than two classes a softmax model;
            - wider, sparse and hashed data: the rule "snag"; for more than two classes softmax.

            Default: False, the rule alone.
        sparsity: how large the sum of gradients behind a weight must be for the weight to be other than zero. It has no
            unit, so that one number means the same for every feature: the larger, the fewer weights; 1 is a good
            value, 0 is off. "auto" runs several, from 0 to 30, and predicts with the one whose loss is smallest so far.
            A model with a penalty is FTRL-Proximal in normalized form; it takes plain gradients (`importance_aware`
            does not matter), its model type is "linear", and "auto" chooses among 3 rates. `prune` then forgets what is
            0.
        l2: a penalty that pulls weights towards zero without making them zero; it has no unit either. 0 is off.
        n_trees: the number of trees; rarely needed. Fewer take less time and memory. Default: 64.
        max_leaves: the largest number of leaves of a tree; rarely needed. Fewer take less memory. Default: 256.
        further: options that `Options` declares and that are not named here.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3)) * [1e-6, 1, 1e6]  # three units
        >>> y = X @ [2e6, 1.0, -3e-6] + 1
        >>> m = ul.Learner()
        >>> p = m.learn(X, y)  # predictions made before each update
        >>> bool(np.mean((p[1000:] - y[1000:]) ** 2) < 0.01 * np.var(y))
        True
        >>> {name: float(f"{w:.2g}") for name, w in m.weights.items()}
        {'(bias)': 1.0, 0: 2000000.0, 1: 1.0, 2: -3e-06}
    """

    _kind = "Learner"

    def __init__(
        self,
        rule: Rule = "nag",
        loss: Loss = "squared",
        learning_rate: float | Auto = 0.5,
        *,
        importance_aware: bool = True,
        bias: bool = True,
        quantile: float = 0.5,
        schedule: Schedule | None = None,
        order: Order = "paper",
        clip: Clip | None = None,
        target: Auto | None = None,
        center: bool = False,
        falling_scales: bool = False,
        interactions: Any = None,
        bits: int | None = None,
        average: bool = False,
        model_type: ModelType = "linear",
        ensemble: bool = False,
        sparsity: float | Auto = 0.0,
        l2: float = 0.0,
        n_trees: int = 64,
        max_leaves: int = 256,
        **further: Any,
    ) -> None:
        check_names(further)
        options = Options(
            rule=rule,
            loss=loss,
            learning_rate=learning_rate,
            importance_aware=importance_aware,
            bias=bias,
            quantile=quantile,
            schedule=schedule,
            order=order,
            clip=clip,
            target=target,
            center=center,
            falling_scales=falling_scales,
            interactions=interactions,
            bits=bits,
            average=average,
            model_type=model_type,
            ensemble=ensemble,
            sparsity=sparsity,
            l2=l2,
            n_trees=n_trees,
            max_leaves=max_leaves,
            **further,
        )
        if LOSSES[options.loss].coupled:
            raise OptionError(f"is {loss!r}, which is for several classes: use ul.Softmax", option="loss")
        super().__init__(options)

    @classmethod
    def _fresh(
        cls, options: dict[str, Any], labels: list[Label] | None, open: bool, rates: Sequence[float] | None
    ) -> Learner:
        return Learner(**options)

    def _has_one_lane(self) -> bool:
        return len(self._candidates.rates) == 1 and not self._options.several_lanes

    def learn(self, X: Any, y: Any, weight: Any = None, offset: Any = None) -> Float64:
        """Learn from rows in order. Gives the predictions made before each row was learned.

        Args:
            X: a 2-D array (any numeric type and strides), a SciPy sparse matrix, a pandas, polars or pyarrow frame
                (features by column name), or a list of mappings of names to numbers.
            y: one label per row.
            weight: one importance weight per row; an example of weight 2 counts as two.
            offset: one number per row that is known to be part of its score, and is added to what the model says: an
                earlier prediction or, of counts (poisson), the logarithm of the exposure. Its weight is 1 and is not
                learned. Squared and quantile loss then see labels less their offsets, also where the target's unit
                is learned and where predictions are limited to the range of labels.

        One call, many calls, row by row, dense, sparse or by name: the same model, to the last bit. (With `bits`
        features are hashed by what they are called, so that an array, whose columns have numbers, and a frame, whose
        columns have names, give different models.)
        """
        data, own = self._data_and_offset(X)
        return self._feed(data, self._labels(y, data.rows), weight, offset=own if offset is None else offset)

    def _labels(self, y: Any, rows: int) -> Float64:
        """Labels as the core takes them. A model that `train` made takes those of two classes as the data had them."""
        target = self._two_classes()
        if target is None or np.asarray(y).dtype == bool:
            return inputs.vector(y, "y", rows)
        from ..data import labels  # noqa: PLC0415  (only models of train need them)
        from ..data.sources import located_rows  # noqa: PLC0415  (only models of train need them)

        found = labels.labels_of(y)
        if len(found) != rows:
            raise InputError(f"y has {len(found)} values, but X has {rows} rows")
        if not (present := found.present()).all():
            raise InputError("y has no label", row=int(np.argmin(present)), advice="leave out such rows")
        return target.numbers(found, located_rows.Place("", "row", 0))

    def _two_classes(self) -> Target | None:
        """The two labels, where `train` made the model and there are two."""
        if self._training is None or not LOSSES[self._options.loss].for_classes:
            return None
        from ..data.labels import Target  # noqa: PLC0415  (only models of train need them)

        return Target.read(self._training["target"])

    def predict(self, X: Any, offset: Any = None, *, extrapolate: bool = False) -> Float64:
        """The predictions for rows; changes nothing.

        Each is what `learn` would have predicted for that row. Beyond the largest value that a feature has shown,
        "nag" holds it at that value (Algorithm 2's squash); with `extrapolate=True` the model is plainly linear.
        `offset` is added to the scores, one number per row (see `learn`).
        """
        data, own = self._data_and_offset(X)
        return self._ask(data, extrapolate, own if offset is None else offset)

    def predict_label(self, X: Any, offset: Any = None) -> np.ndarray[Any, Any]:
        """The label of each row: of two classes the one whose score is higher, otherwise the number that is predicted.

        A model that `train` made gives the labels of its data; another one booleans, which are True for the positive
        class.

        Example:
            >>> import numpy as np, unitless as ul
            >>> m = ul.Learner(loss="logistic")
            >>> _ = m.learn([[1.0], [-1.0]] * 100, [True, False] * 100)
            >>> m.predict_label([[2.0], [-2.0]]).tolist()
            [True, False]
        """
        scores = self.predict(X, offset)
        if not LOSSES[self._options.loss].for_classes:
            return self._link(scores)
        if self._training is None:
            return np.asarray(scores > 0)
        return label_array(self.predictor.classes)[(scores > 0).astype(np.intp)]

    def predict_proba(self, X: Any, offset: Any = None) -> Float64:
        """The probabilities of the negative and of the positive class: two columns. Only with logistic loss."""
        if not LOSSES[self._options.loss].link.gives_probabilities:
            raise OptionError(f"probabilities are for logistic loss; this model's is {self._options.loss!r}")
        return self._shares(self.predict(X, offset))

    def predict_interval(self, X: Any, level: float = USUAL_LEVEL, offset: Any = None) -> Any:
        """The prediction interval of each row, two columns: low and high. Of two classes a list of sets of labels.

        Only for models that have followed their errors, as those of `train` have.
        """
        from .prediction_errors import bounds, label_sets, quantiles_of  # noqa: PLC0415  (which read models)

        reach = quantiles_of(self).known_reach(checked_level(level))
        loss = LOSSES[self._options.loss]
        if not loss.for_classes:
            return np.stack(bounds(self._link(self.predict(X, offset)), reach, loss.smallest_label), axis=1)
        shares = self.predict_proba(X, offset)
        labels = [False, True] if self._training is None else self.predictor.classes
        return label_sets(shares, shares.argmax(axis=1), reach, labels)

    def _shares(self, scores: Float64) -> Float64:
        """The probabilities of the negative and of the positive class that scores stand for: two columns."""
        positive = self._link(scores.reshape(-1))
        return np.stack([1.0 - positive, positive], axis=1)

    def _scores_and_truth(self, scores: Float64, y: Any, weight: Float64 | None) -> tuple[Float64, NDArray[Any]]:
        """What a user gives to be compared, checked: see `Scored`."""
        if scores.ndim != 1:
            raise InputError(f"predictions have {scores.ndim} dimensions; a Learner makes one per row")
        labels = inputs.vector(y, "y", len(scores), "predictions")
        self.losses(scores, labels)  # which names a label that the loss does not accept, and where it is
        return scores.reshape(-1, 1), labels == 1 if self.task == "binary" else labels

    def losses(self, predictions: Any, y: Any) -> Float64:
        """The loss of each prediction: with the predictions of `learn`, the progressive loss."""
        scores = inputs.vector(predictions, "predictions", len(predictions))
        return self._loss(0, scores, inputs.vector(y, "y", len(scores), "predictions"), np.zeros(0))

    @property
    def rates(self) -> dict[float | Walk, float]:
        """The rates that are running, and the mean progressive loss of each ("auto"; otherwise there is one).

        With rule "newton": how the lanes that are running begin and forget (`Walk`), and the loss of each.
        """
        return self._reading().rates(0)

    @property
    def learning_rate(self) -> float:
        """The rate in use: with "auto", that of the rate that leads now. Not-a-number with "newton", which has none."""
        reading = self._reading()
        return reading.rate(reading.leader(0))

    @property
    def sparsity(self) -> float:
        """The sparsity in use: with "auto", that of the lane that leads now."""
        reading = self._reading()
        return reading.penalty(reading.leader(0))

    def prune(self) -> None:
        """Keep the weights that are not zero, and forget all other features: a sparse model becomes as small as it can.

        Predictions stay the same, to the last bit; memory and files shrink to what matters. Of the rates and
        penalties that were tried the leading ones remain. A pruned model learns on: features that were forgotten begin
        anew when they are met, and the leader's neighbors are tried again. Only for models with `sparsity`.

        Example:
            >>> import numpy as np, unitless as ul
            >>> rng = np.random.default_rng(0)
            >>> X = rng.normal(size=(2000, 50))
            >>> m = ul.Learner(loss="logistic", sparsity=10)
            >>> _ = m.learn(X, X[:, 3] > X[:, 5])
            >>> m.prune()
            >>> sorted(name for name in m.weights if name != "(bias)")
            [3, 5]
        """
        pruning.prune(self)

    @property
    def weights(self) -> ByFeature:
        """w by feature, in the data's units. Of several members: those of the linear one with the learner's own rule.

        With `model_type="linear"` and `ensemble=False`, `predict(X, extrapolate=True)` is Σ w·x plus the bias, `BIAS`.
        """
        reading = self._reading()
        return reading.weights(reading.leader(0))

    @property
    def scales(self) -> ByFeature:
        """s by feature: the largest |x| ("snag": the root mean square of x). Of several members: see `weights`."""
        return self._reading().scales()

    @property
    def importance(self) -> ByFeature:
        """|w|·s by feature: how far the feature moves the prediction. It has no unit of the feature's.

        Curves and trees count too: half of what lies between the lowest and the highest step of a feature's curve, and
        half of what each question of a tree sets apart, by the part of the rows that are asked. Of several members it
        is the mean, by how far the prediction follows each.
        """
        if self._mixes():
            return {feature: float(by_head[0]) for feature, by_head in self._form_reading().importance().items()}
        reading = self._reading()
        return reading.importance(reading.leader(0))

    def _reading(self) -> StateReading:
        return StateReading(self._options, self._candidates, self._snapshot())

    def _facts(self) -> list[tuple[str, str]]:
        if self.nbytes >= LARGE:
            return []
        reading = self._reading()
        found = reading.candidate(reading.leader(0))
        return [("lane", str(found)) if isinstance(found, Walk) else ("learning rate", f"{found:.4g}")]

    def _tables(self) -> list[html.Html]:
        weights, importance, scales = self.weights, self.importance, self.scales
        top = ranked(importance, 12)
        rows = [
            [
                html.name(name),
                shown.number(weights[name]) if name in weights else "",
                shown.number(scales[name]) if name in scales else "",
                shown.number(value),
                html.share_bar(value, top[0][1]),
            ]
            for name, value in top
        ]
        more = len(importance) - (BIAS in importance) - len(rows)
        return [
            html.table(["feature", "weight", "scale", "importance", ""], rows),
            *([html.note(f"and {more:,} features of less importance")] if more else []),
            *([html.note(self._of_weights)] if self._of_weights else []),
        ]

    def __repr__(self) -> str:
        return f"<Learner({self._changed_options()}): {self._counted()}>"
