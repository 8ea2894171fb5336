"""Estimators for River that need neither a scaler in front of them nor a learning rate."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp
from typing import Any, Literal, TypeAlias

import numpy as np

from . import inputs
from .classes import Classes, Label
from .errors import InputError, OptionError
from .explaining import explain_batch, one_row
from .inputs import Float64
from .learner import Learner
from .model import BIAS
from .one_vs_all import OneVsAll
from .options import Auto, Clip, Options, Order, Precision, Rule, Schedule
from .reading import ByFeature

try:
    from river import base
    from river.utils import dataframe, pretty
except ModuleNotFoundError as error:  # pragma: no cover
    raise ModuleNotFoundError("unitless.river needs River: pip install 'unitless[river]'", name=error.name) from None

from . import river_inputs
from .river_inputs import Missing

__all__ = ["UnitlessClassifier", "UnitlessRegressor"]

Row: TypeAlias = Mapping[Any, Any]

ByClass: TypeAlias = ByFeature | dict[Label, ByFeature]

# The core's own methods, without looking them up for each row.
_learn_one: Any = Learner.learn_one
_predict_one: Any = Learner.predict_one


class _Linear(base.Estimator):
    """What both estimators share: rows and frames on their way to a model, and reading that model.

    There is no model before the first example, whose label may say what kind it has to be. Rows go to the core as they
    are. Only when it refuses one are the values looked at here; if that helps, as it does with text, then those of all
    rows are from then on.
    """

    missing: Missing

    def _begin(self, **options: Any) -> None:
        """Check the options of the model that there will be."""
        if self.missing not in ("error", "absent"):
            raise OptionError(f"missing is {self.missing!r}; it must be one of 'error', 'absent'")
        if options["centre"] == "auto":
            options["centre"] = options["bits"] is None and options["order"] == "paper"
        Options(**options)
        self._options = options
        self._model: Learner | OneVsAll | None = None
        self._direct = False  # rows can go to the core as they are
        self._y_name: Any = None

    @property
    def model(self) -> Learner | OneVsAll | None:
        """The model behind the estimator, to save, merge or inspect; None before the first example."""
        return self._model

    @property
    def weights(self) -> ByClass:
        """w by feature, in the data's units; of more than two classes, by class and feature."""
        return self._read(lambda model: model.weights)

    @property
    def importance(self) -> ByClass:
        """|w|·s by feature, which has no unit: how far a feature can move the score. By class, if there are many."""
        return self._read(lambda model: model.importance)

    @property
    def intercept(self) -> float | dict[Label, float]:
        """The score where all features are 0; of more than two classes, by class."""
        if isinstance(self._model, OneVsAll):
            return {label: weights.get(BIAS, 0.0) for label, weights in self._model.weights.items()}
        return self._model.weights.get(BIAS, 0.0) if self._model else 0.0

    def _read(self, what: Callable[[Any], Any]) -> ByClass:
        def features(values: ByFeature) -> ByFeature:
            return {feature: value for feature, value in values.items() if feature != BIAS}

        if self._model is None:
            return {}
        if isinstance(self._model, OneVsAll):
            return {label: features(values) for label, values in what(self._model).items()}
        return features(what(self._model))

    # ----------------------------------------------------------------------------------------------- one at a time

    def _learn_row(self, model: Learner | OneVsAll, x: Row, label: Any, w: Any) -> None:
        """Learn a row that has to be looked at, or is the first."""
        row = river_inputs.numbers(x, self.missing)
        if model is self._model:
            model.learn_one(row, label, w)
        else:
            self._learn_first(model, row, label, w)
            if w == 0:
                return
            self._model = model
            self._direct = True
        self._direct = self._direct and row == x

    def _learn_first(self, model: Learner | OneVsAll, row: dict[str, Any], label: Any, w: Any) -> None:
        """The numbers of a model's first row are columns, which can be centred."""
        if model.options.centre:
            model.predict_one(row)  # refuses a bad row in the same words as later
            model.learn(river_inputs.first_row(row), [label], [w])
        else:
            model.learn_one(row, label, w)

    def debug_one(self, x: Row, decimals: int = 5) -> str:
        """How the prediction for `x` comes about, as a table: each feature's contribution to the score.

        A contribution is the weight, in the data's units, times the value; where values are centred, times what the
        value is above the feature's mean. (Beyond the largest value so far, a value is held at it.) The importance is
        how far the feature can move the score; it has no unit.

        Args:
            x: a row.
            decimals: how many digits of each number are shown.
        """
        if self._model is None:
            return "Nothing has been learned yet."
        why = explain_batch(self._model, one_row(inputs.NamedRows([river_inputs.numbers(x, self.missing)])))
        importance: Any = self._model.importance
        if why.label is not None:
            importance = importance[why.label]
        means = self._model._reading().means()
        lines: list[tuple[Any, ...]] = [("Intercept", 1.0, None, why.bias, why.bias, abs(why.bias))]
        for part in why.contributions:
            name, mean = part.feature, means.get(part.feature)
            lines.append((str(name), part.value, mean, part.weight, part.contribution, importance.get(name, 0.0)))
        lines.sort(key=lambda line: -line[4])
        headers = ["Name", "Value", "Mean", "Weight", "Contribution", "Importance"]
        columns = [[_shown(value, decimals) for value in column] for column in zip(*lines, strict=True)]
        if not means:
            del headers[2], columns[2]
        table: str = pretty.print_table(headers, columns)
        return table if why.label is None else f"Class: {why.label}\n{table}"

    # ------------------------------------------------------------------------------------------------------- frames

    def _table(self, X: Any) -> tuple[Any, inputs.Frame | inputs.NamedRows]:
        frame = river_inputs.wrapped(X)
        return frame, river_inputs.table(frame, self.missing, centre=self._model is None)

    def _learn_batch(
        self, model: Learner | OneVsAll, data: inputs.Frame | inputs.NamedRows, labels: Any, weight: Float64 | None
    ) -> None:
        """Learn rows. A new model becomes the estimator's only if all of them could be learned."""
        weights = np.ones(data.rows) if weight is None else weight
        if not weights.any():
            model.learn(data, labels, weights)
            return
        if model is self._model or isinstance(data, inputs.Frame) or not model.options.centre:
            model.learn(data, labels, weight)
        else:
            rows, first = data.mappings, int((weights != 0).argmax())
            model.learn(inputs.NamedRows(rows[:first]), labels[:first], weights[:first])
            with _rows_counted_from(first):
                self._learn_first(model, dict(rows[first]), labels[first], float(weights[first]))
            with _rows_counted_from(first + 1):
                model.learn(inputs.NamedRows(rows[first + 1 :]), labels[first + 1 :], weights[first + 1 :])
        self._direct = self._direct or model is not self._model
        self._model = model


@contextlib.contextmanager
def _rows_counted_from(first: int) -> Iterator[None]:
    """Errors name the rows of a part as those of the whole."""
    try:
        yield
    except InputError as error:
        message, found = re.subn(r"\brow (\d+)", lambda match: f"row {int(match[1]) + first}", str(error), count=1)
        raise InputError(message if found else f"row {first}: {message}") from None


def _shown(value: str | float | None, digits: int) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else f"{value: ,.{digits}g}"


def _weights(w: Any, rows: int) -> Float64 | None:
    """One weight per row, or None if all are 1."""
    if isinstance(w, int | float):
        return None if w == 1 else np.full(rows, float(w))
    return inputs.vector(w, "w", rows)


class UnitlessRegressor(_Linear, base.MiniBatchRegressor):
    """Linear regression that depends neither on the features' units nor on the target's.

    It is used like `preprocessing.StandardScaler() | linear_model.LinearRegression()`, without the scaler and without a
    learning rate to choose. By default it learns the rate (`learning_rate="auto"`), the target's unit and offset
    (`target="auto"`) and the features' offsets (`centre="auto"`) on the way.

    Values can be numbers; booleans, which count 0 or 1; and text, of which `{"job": "clerk"}` becomes the feature
    `"job=clerk"`. Numbers of the first row learned are used as x minus their running mean, so that their offset (°C or
    K) does not matter, and such a feature counts as its mean where it is absent. Features that come up later are used
    as they are: they were absent before, and absent counts as 0. Where that holds for all features, as with bags of
    words, say `centre=False`.

    What it is not for: it is linear, so what bends needs features that bend (`interactions=2` makes products), and it
    weighs all its past, so what drifts needs a model that forgets.

    Args:
        rule: see `unitless.Learner`; as all options whose meaning is not said here.
        loss: "squared", "quantile" (predicts the quantile given by `quantile`) or "poisson" (counts; predicts
            their mean).
        learning_rate: a number, or "auto".
        target: "auto" learns the unit and the offset of the target, if the loss is squared or quantile and there is no
            `clip`; None leaves them to the learning rate.
        centre: "auto" does, unless names are hashed (`bits`) or `order` is "vw", where there is no centring.
        missing: what None and not-a-number are: "absent", as if the feature were not in the row, or an "error".

    Example:
        >>> from river import datasets, evaluate, metrics
        >>> from unitless.river import UnitlessRegressor
        >>> model = UnitlessRegressor()
        >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
        MAE: 0.229075
        >>> print(f"{model.weights['gallup']:.2f} for each point of Gallup's")
        0.11 for each point of Gallup's
    """

    def __init__(
        self,
        rule: Rule = "nag",
        loss: Literal["squared", "quantile", "poisson"] = "squared",
        learning_rate: float | Auto = "auto",
        importance_aware: bool = True,
        bias: bool = True,
        quantile: float = 0.5,
        schedule: Schedule | None = None,
        order: Order = "paper",
        clip: Clip | None = None,
        target: Auto | None = "auto",
        centre: bool | Auto = "auto",
        interactions: Any = None,
        bits: int | None = None,
        precision: Precision = "float64",
        missing: Missing = "absent",
    ) -> None:
        self.rule = rule
        self.loss = loss
        self.learning_rate = learning_rate
        self.importance_aware = importance_aware
        self.bias = bias
        self.quantile = quantile
        self.schedule = schedule
        self.order = order
        self.clip = clip
        self.target = target
        self.centre = centre
        self.interactions = interactions
        self.bits = bits
        self.precision = precision
        self.missing = missing
        if loss in ("logistic", "hinge"):
            raise OptionError(f"{loss} loss is for classes; use UnitlessClassifier")
        fits = loss in ("squared", "quantile") and clip is None and order == "paper"
        self._begin(
            rule=rule,
            loss=loss,
            learning_rate=learning_rate,
            importance_aware=importance_aware,
            bias=bias,
            quantile=quantile,
            schedule=schedule,
            order=order,
            clip=clip,
            target=target if fits or target != "auto" else None,
            centre=centre,
            interactions=interactions,
            bits=bits,
            precision=precision,
        )

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"learning_rate": 0.5, "centre": False}
        yield {"loss": "quantile"}

    def learn_one(self, x: Row, y: float, w: float = 1.0) -> None:
        """Learn from one row and its target; an example of weight 2 counts as two."""
        if self._direct:
            try:
                _learn_one(self._model, x, y, w)
                return
            except InputError:  # looked at below: it can be learned, or the error explained
                pass
        self._learn_row(self._model or Learner(**self._options), x, y, w)

    def predict_one(self, x: Row) -> float:
        """The prediction for one row; changes nothing."""
        if self._direct and self.loss != "poisson":
            try:
                return _predict_one(self._model, x)  # type: ignore[no-any-return]
            except InputError:  # it may be text
                pass
        model: Any = self._model or Learner(**self._options)
        return float(model.link(model.predict_one(river_inputs.numbers(x, self.missing))))

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a pandas, polars or pyarrow frame in order, exactly as `learn_one` would one by one."""
        _, data = self._table(X)
        weight = _weights(w, data.rows)
        labels = inputs.vector(y, "y", data.rows)
        self._learn_batch(self._model or Learner(**self._options), data, labels, weight)
        self._y_name = getattr(y, "name", None)

    def predict_many(self, X: Any) -> Any:
        """The predictions for the rows of a frame, as a series of the same library."""
        frame, data = self._table(X)
        model = self._model or Learner(**self._options)
        return dataframe.to_native_series(model.link(model.predict(data)), name=self._y_name, like=frame)


class UnitlessClassifier(_Linear, base.MiniBatchClassifier):
    """Logistic regression, for two classes or many, that does not depend on the features' units.

    It is used like `preprocessing.StandardScaler() | linear_model.LogisticRegression()`, without the scaler and without
    a learning rate to choose. By default it learns the rate (`learning_rate="auto"`) and the features' offsets
    (`centre="auto"`) on the way.

    Labels can be of any kind. Booleans, and any two labels that are named in `classes`, are one model (`Learner`), the
    fastest. With any other labels nobody knows how many classes will come; then each has a model of its own, one more
    waits for those to come, and all learn in one pass (`OneVsAll`). A class that comes up late has exactly the model
    that it would have had if it had been known from the beginning. Probabilities of more than two classes are those of
    each class against the rest, scaled to add up to 1.

    What values can be, and what is centred: see `UnitlessRegressor`.

    Args:
        classes: all labels, if they are known; any other is then an error. With two the first is the negative one.
        rule: see `unitless.Learner`; as all options whose meaning is not said here.
        loss: "logistic", or "hinge", which gives no probabilities.
        learning_rate: a number, or "auto"; each class finds its own.
        centre: "auto" does, unless names are hashed (`bits`) or `order` is "vw", where there is no centring.
        missing: what None and not-a-number are: "absent", as if the feature were not in the row, or an "error".

    Example:
        >>> from river import datasets, evaluate, metrics
        >>> from unitless.river import UnitlessClassifier
        >>> evaluate.progressive_val_score(datasets.Phishing(), UnitlessClassifier(), metrics.Accuracy())
        Accuracy: 89.75%
        >>> model = UnitlessClassifier()  # more than two classes
        >>> evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.MacroF1())
        MacroF1: 88.69%
        >>> sorted(model.weights)
        ['brickface', 'cement', 'foliage', 'grass', 'path', 'sky', 'window']
    """

    def __init__(
        self,
        classes: Sequence[Any] | None = None,
        rule: Rule = "nag",
        loss: Literal["logistic", "hinge"] = "logistic",
        learning_rate: float | Auto = "auto",
        importance_aware: bool = True,
        bias: bool = True,
        schedule: Schedule | None = None,
        order: Order = "paper",
        centre: bool | Auto = "auto",
        interactions: Any = None,
        bits: int | None = None,
        precision: Precision = "float64",
        missing: Missing = "absent",
    ) -> None:
        self.classes = classes
        self.rule = rule
        self.loss = loss
        self.learning_rate = learning_rate
        self.importance_aware = importance_aware
        self.bias = bias
        self.schedule = schedule
        self.order = order
        self.centre = centre
        self.interactions = interactions
        self.bits = bits
        self.precision = precision
        self.missing = missing
        if loss not in ("logistic", "hinge"):
            raise OptionError(f"loss is {loss!r}; it must be one of 'logistic', 'hinge'")
        self._begin(
            rule=rule,
            loss=loss,
            learning_rate=learning_rate,
            importance_aware=importance_aware,
            bias=bias,
            schedule=schedule,
            order=order,
            centre=centre,
            interactions=interactions,
            bits=bits,
            precision=precision,
        )
        self._two: tuple[Label, Label] | None = None  # the negative label and the positive one
        self._side: dict[Label, bool] = {}
        if classes is not None:
            named = Classes(classes, open=False).labels
            if len(named) < 2:
                raise OptionError("classes must be at least two, or None to meet them on the way")
            if len(named) == 2:
                self._tell_apart(named[0], named[1])

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"learning_rate": 0.5, "centre": False}
        yield {"loss": "hinge"}

    @property
    def _multiclass(self) -> bool:
        return True

    def _tell_apart(self, negative: Label, positive: Label) -> None:
        self._two = negative, positive
        self._side = {negative: False, positive: True}

    # ----------------------------------------------------------------------------------------------- one at a time

    def learn_one(self, x: Row, y: Label, w: float = 1.0) -> None:
        """Learn from one row and its label; an example of weight 2 counts as two."""
        if self._direct:
            try:
                if self._two:
                    _learn_one(self._model, x, self._side[y], w)
                else:
                    self._model.learn_one(x, y, w)  # type: ignore[arg-type, union-attr]
                return
            except (InputError, KeyError, TypeError):  # looked at below: it can be learned, or the error explained
                pass
        two = self._pair(y)
        self._learn_row(self._model or self._new(two), x, _side_of(y, two) if two else y, w)
        if self._model and two:
            self._tell_apart(*two)

    def predict_one(self, x: Row) -> Any:  # type: ignore[override]
        """The likelier label; None before the first example, if the classes are not known. Changes nothing."""
        if not self._two:
            scores = self._scores_of(x)
            return self._labels[scores.index(max(scores))] if scores else None
        if self._direct:
            try:
                return self._two[_predict_one(self._model, x) > 0]
            except InputError:  # it may be text
                pass
        return self._two[self._score_of(x) > 0]

    def predict_proba_one(self, x: Row) -> dict[Any, float]:  # type: ignore[override]
        """The probability of each label; none before the first example, if the classes are not known."""
        if self.loss != "logistic":
            raise NotImplementedError(_NO_PROBABILITIES)
        if not self._two:
            scores = self._scores_of(x)
            return dict(zip(self._labels, _shares(scores), strict=True)) if scores else {}
        negative, positive = self._two
        try:
            score = _predict_one(self._model, x) if self._direct else self._score_of(x)
        except InputError:  # it may be text
            score = self._score_of(x)
        p = 1.0 / (1.0 + exp(-score)) if score > -700.0 else exp(score)  # `_logistic`, without the call
        return {negative: 1.0 - p, positive: p}

    def _score_of(self, x: Row) -> Any:
        """The score of a row that has to be looked at, for the second of two classes."""
        return (self._model or self._new(self._two)).predict_one(river_inputs.numbers(x, self.missing))

    def _scores_of(self, x: Row) -> list[float]:
        """One score for each class."""
        model: Any = self._model
        if self._direct:
            try:
                return list(model.predict_one(x).tolist())
            except InputError:  # it may be text
                pass
        row = river_inputs.numbers(x, self.missing)
        if model is None:
            if self.classes is None:
                return []
            model = self._new(None)
        return list(model.predict_one(row).tolist())

    # ------------------------------------------------------------------------------------------------------- frames

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a pandas, polars or pyarrow frame in order, exactly as `learn_one` would one by one."""
        _, data = self._table(X)
        labels: Any = inputs.as_array(y, "y")
        if labels.shape != (data.rows,):
            raise InputError(f"y has shape {labels.shape}, but X has {data.rows} rows; it must be one label per row")
        if not data.rows:
            return
        weight = _weights(w, data.rows)
        two = self._pair(labels[0 if weight is None else int((weight != 0).argmax())])
        if two:
            labels = np.array(
                [_side_of(label, two, row) for row, label in enumerate(labels.tolist())], dtype=np.float64
            )
        self._learn_batch(self._model or self._new(two), data, labels, weight)
        self._y_name = getattr(y, "name", None)
        if self._model and two:
            self._tell_apart(*two)

    def predict_many(self, X: Any) -> Any:
        """The likelier label of each row of a frame, as a series of the same library."""
        frame, scores = self._scores(X)
        if scores is None:
            labels: Any = [None] * len(frame)
        elif self._two:
            labels = [self._two[score > 0] for score in scores]
        else:
            labels = [self._labels[score.index(max(score))] for score in scores]
        return dataframe.to_native_series(labels, name=self._y_name, like=frame)

    def predict_proba_many(self, X: Any) -> Any:
        """The probability of each label, one column each, for the rows of a frame; as a frame of the same library."""
        if self.loss != "logistic":
            raise NotImplementedError(_NO_PROBABILITIES)
        frame, scores = self._scores(X)
        columns: dict[Label, Any] = {}
        if scores is not None and self._two:
            p = np.array([_logistic(score) for score in scores])
            columns = {self._two[0]: 1.0 - p, self._two[1]: p}
        elif scores is not None:
            shares = np.array([_shares(score) for score in scores]).reshape(-1, len(self._labels))
            columns = {label: shares[:, k] for k, label in enumerate(self._labels)}
        return dataframe.to_native_frame(columns, like=frame)

    def _scores(self, X: Any) -> tuple[Any, Any]:
        """The frame under one interface, and a list of what `_score` gives."""
        frame, data = self._table(X)
        if self._model is None and self.classes is None:
            return frame, None
        return frame, (self._model or self._new(self._two)).predict(data).tolist()

    # ------------------------------------------------------------------------------------------------------- labels

    @property
    def _labels(self) -> list[Label]:
        model = self._model or self._new(None)
        assert isinstance(model, OneVsAll)
        return model._classes.labels

    def _new(self, two: tuple[Label, Label] | None) -> Learner | OneVsAll:
        return Learner(**self._options) if two else OneVsAll(self.classes, **self._options)

    def _pair(self, y: Any) -> tuple[Label, Label] | None:
        """The two labels, if there are no more; y is the first label, if there was none before."""
        starts_with_boolean = self._model is None and self.classes is None and isinstance(y, bool | np.bool_)
        return (False, True) if starts_with_boolean else self._two


_NO_PROBABILITIES = "hinge loss gives no probabilities; loss='logistic' does"


def _side_of(label: Any, two: tuple[Label, Label], row: int | None = None) -> bool:
    """Whether it is the positive one of two labels."""
    if label in two:
        return bool(label == two[1])
    where = "" if row is None else f" at row {row}"
    raise InputError(
        f"the label{where} is {label!r}; it must be {two[0]!r} or {two[1]!r}. If there are more classes, name them in "
        "classes, or give labels that are no booleans"
    )


def _logistic(score: float) -> float:
    """1 / (1 + exp(-score)), which does not overflow: far below 0 it is exp(score), to the last bit."""
    return 1.0 / (1.0 + exp(-score)) if score > -700.0 else exp(score)


def _shares(scores: list[float]) -> list[float]:
    """Each class's probability against the rest, scaled so that they add up to 1."""
    each = [_logistic(max(score, -700.0)) for score in scores]  # so that one is not 0
    total = sum(each)
    return [p / total for p in each]
