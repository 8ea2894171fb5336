"""What the classifier and the regressor share: options, passes over the data, reading the model, keeping it."""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import inputs, limits
from ..data import Schema, Target, shuffle
from ..data.progress import Progress
from ..errors import Error, InputError, OptionError
from ..inputs import Float64
from ..metrics.evaluation import Evaluation
from ..metrics.held_errors import ENOUGH as ENOUGH_HELD
from ..models import file as model_file
from ..models.classes import label_array
from ..models.error_quantiles import ErrorQuantiles, checked_level
from ..models.learner import Learner
from ..models.model import BIAS, Feature
from ..models.numbered_columns import column_names, named
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import errors_of, follow_errors, has_errors, hide_unmet, quantiles_of
from ..models.training_record import record
from ..options import Auto, Options
from ..training.defaults import DataFacts, resolve
from ..training.passes import Passes, steering_loss
from ..training.plan import ENOUGH, FIRST_PASSES, SEEN, Plan
from . import rows
from .rows import Rows

# Rows that are brought into another order at a time: few enough to stay near, many enough to be fast.
CHUNK = 16_384


class UnitlessEstimator(BaseEstimator):  # type: ignore[misc]
    """A model behind scikit-learn's interface."""

    model_: Learner | OneVsAll
    n_features_in_: int
    max_iter: int | Auto
    shuffle: bool
    random_state: Any
    extrapolate: bool
    warm_start: bool
    interactions: Any
    infer_columns: bool

    _text_columns: list[str]
    _column_record: dict[str, Any] | None = None  # what the columns of a frame hold, as a model file stores it
    _columns_are_named = False  # whether the model knows the columns of arrays by name: one of them was missing

    @abstractmethod
    def _note(self, scores: Float64, y: NDArray[Any], weight: Float64 | None, model: Learner | OneVsAll) -> None:
        """Predictions that were made before their rows were learned, for `progressive_score_`."""

    def _learn_passes(self, model: Learner | OneVsAll, data: Rows, y: Any, weight: Float64 | None) -> None:
        """`fit`'s work: as `train` fits a table, or the rows in their order."""
        _check_flag("shuffle", self.shuffle)
        if weight is not None and not weight.any():
            raise InputError("the weights of all rows are zero; there is nothing to learn from")
        if weight is not None and not (good := (weight >= 0) & (weight <= limits.MOST_WEIGHT)).all():
            row = int(np.argmin(good))
            raise InputError(f"weight is {weight[row]:g}", row=row, advice=limits.WEIGHTS)
        if isinstance(y, np.ndarray) and (large := limits.beyond(y, limits.MOST_LABEL)) is not None:
            row = int(np.argmax(large))
            raise InputError(f"label is {y[row]:g}", row=row, advice=limits.LABELS)
        before = dict(self.__dict__)
        try:
            if self.shuffle:
                self._fit(model, data, y, weight)
            else:
                passes = self._passes(data.rows)
                for number in range(passes):
                    self._learn_some(model, data, y, weight, np.arange(data.rows), note=number == 0)
                self.n_iter_ = passes
        except Error:
            self.__dict__.update(before)  # what was noted of the chunks before
            raise

    def _resolved(self, task: str, data: Rows, classes: int = 0) -> Options:
        """The options of a new model: the estimator's own, and for the others those of `train`."""
        _check_flag("infer_columns", self.infer_columns)
        own = self.get_params(deep=False)
        given = {name: own[name] for name in Options.__dataclass_fields__ if name in own}
        if given.get("target") == "auto":  # the default, which depends on the loss
            del given["target"]
        return resolve(task, DataFacts(fitted=bool(self.shuffle), classes=classes, rows=data), given)

    def _fit(self, model: Learner | OneVsAll, data: Rows, y: Any, weight: Float64 | None) -> None:
        """Rows in random order, as often as it helps; the weights that do best on rows held back."""
        auto = isinstance(self.max_iter, str) and self.max_iter == "auto"
        seed = int(check_random_state(self.random_state).randint(2**31))
        plan = Plan(passes="auto" if auto else self._passes(data.rows), random_state=seed)
        numbers = np.arange(data.rows) if weight is None else np.flatnonzero(weight)  # a row of weight 0 is not there
        order = numbers[shuffle.order(seed, 0, len(numbers))]
        held = plan.held_rows(len(order))
        held = held if held >= ENOUGH else 0
        learned, apart = np.split(order, [len(order) - held])
        passes = Passes()
        passes.begin(model)
        size, loss = (len(order), held), lambda: self._loss_of(model, data, y, weight, apart)
        for number in passes.made(plan, size, 0, lambda: model, loss):
            self._learn_some(model, data, y, weight, learned, note=number == 1)
            self.n_iter_ = number
        if held >= ENOUGH_HELD and has_errors(model):
            self._calibrate(model, data, y, weight, apart)
        self._learn_some(model, data, y, weight, apart, note=False)
        passes.finish(model)

    def _learn_some(
        self,
        model: Learner | OneVsAll,
        data: Rows,
        y: Any,
        weight: Float64 | None,
        order: NDArray[np.intp],
        note: bool,
    ) -> None:
        for first in range(0, len(order), CHUNK):
            chosen = order[first : first + CHUNK]
            part = weight if weight is None else weight[chosen]
            with _rows_named(chosen):
                scores = self._learned(model, inputs.pick(data, chosen), y[chosen], part, follow=note)
            if note:
                self._note(scores, y[chosen], part, model)

    def _learned(
        self, model: Learner | OneVsAll, data: Rows, y: Any, weight: Float64 | None, *, follow: bool
    ) -> Float64:
        """Learn rows; gives the scores made before. `follow`: they tell how large the model's errors are."""
        known = len(model.classes) if isinstance(model, OneVsAll) else 0
        blind = model.examples == 0 and model.options.target is not None
        scores = model.learn(data, y, weight)
        if follow:
            numbers = _numbers(model, y)
            said = hide_unmet(scores, numbers, weight, known) if isinstance(model, OneVsAll) else scores
            follow_errors(model, said, numbers, weight, skip_first=blind)
        return scores

    def _loss_of(
        self, model: Learner | OneVsAll, data: Rows, y: Any, weight: Float64 | None, rows: NDArray[np.intp]
    ) -> float:
        """Of what the model says of some rows."""
        evaluation = Evaluation(model)
        for first in range(0, len(rows), CHUNK):
            chosen = rows[first : first + CHUNK]
            known = np.isin(y[chosen], label_array(model.classes)) if isinstance(model, OneVsAll) else slice(None)
            chosen = chosen[known]
            with _rows_named(chosen):
                scores = model.predict(inputs.pick(data, chosen))
            evaluation.add(scores, y[chosen], None if weight is None else weight[chosen])
        return steering_loss(evaluation)

    def _calibrate(
        self, model: Learner | OneVsAll, data: Rows, y: Any, weight: Float64 | None, rows: NDArray[np.intp]
    ) -> None:
        """Take what the model knows of its errors from rows that it has not learned."""
        errors = []
        for first in range(0, len(rows), CHUNK):
            chosen = rows[first : first + CHUNK]
            with _rows_named(chosen):
                scores = model.predict(inputs.pick(data, chosen))
            errors.append(errors_of(model, scores, _numbers(model, y[chosen])))
        model._errors = ErrorQuantiles.calibrated(np.concatenate(errors), None if weight is None else weight[rows])

    def _learn_in_order(self, model: Learner | OneVsAll, data: Rows, y: Any, weight: Float64 | None) -> None:
        """`partial_fit`'s work: the rows as they come, all of them or none. Then the latest weights speak."""
        with _rows_named(None):
            scores = self._learned(model, data, y, weight, follow=True)
        if model.options.average:
            model.keep("last")
        self._note(scores, y, weight, model)

    def _scores(self, X: Any) -> Float64:
        """The scores that the model gives for X."""
        check_is_fitted(self)
        _check_flag("extrapolate", self.extrapolate)
        data = rows.read(self, X, self._text_columns)
        model = self._taking(self.model_, data)
        with _rows_named(None):
            return model.predict(data, extrapolate=self.extrapolate)

    def _reach(self, level: float, option: str) -> float:
        """How far from a prediction the truth lies at most, with this probability."""
        check_is_fitted(self)
        level = checked_level(level, option)
        return quantiles_of(self.model_).known_reach(level)

    def _taking(self, model: Learner | OneVsAll, data: Rows) -> Learner | OneVsAll:
        """The model, or one in the same state that knows columns as this data does."""
        if rows.has_numbered_names(self, data) and not self._columns_are_named:
            return named(model)
        return model

    def _keep_model(self, model: Learner | OneVsAll, data: Rows, first: bool) -> None:
        """The model that has learned this data; `first`: and no other."""
        known = [] if first else self._text_columns  # where all values are missing now, it was seen before
        self._text_columns = [*known, *(name for name in rows.text_columns(self, data) if name not in known)]
        self._columns_are_named = rows.has_numbered_names(self, data)
        self.model_ = model
        if self.infer_columns and self._column_record is not None and hasattr(self, "feature_names_in_"):
            # Like a model of `train` it reads rows by itself, in a file and in a service too.
            schema = Schema.read(self._column_record["schema"])
            model._training = record(schema, self._target(), self._column_record["reading"], Progress())

    @abstractmethod
    def _target(self) -> Target:
        """What is predicted, as a model file stores it."""

    def _passes(self, count: int) -> int:
        if isinstance(self.max_iter, str) and self.max_iter == "auto":
            return min(FIRST_PASSES, math.ceil(SEEN / count))
        whole = hasattr(self.max_iter, "__index__") and not isinstance(self.max_iter, bool)
        if not whole or operator.index(self.max_iter) < 1:
            raise OptionError(f"max_iter is {self.max_iter!r}; it must be a number of passes, 1 or more, or 'auto'")
        return operator.index(self.max_iter)

    def _goes_on(self) -> bool:
        """Does `fit` go on where the last one stopped? Otherwise the old model is gone, even if the new data is bad."""
        _check_flag("warm_start", self.warm_start)
        if hasattr(self, "model_") and not self.warm_start:
            del self.model_
        return hasattr(self, "model_")

    @property
    def features_(self) -> NDArray[np.object_]:
        """What the columns of `coef_` belong to: numeric columns, then values of text columns and products."""
        found = np.empty(len(keys := self._keys()), dtype=object)
        found[:] = keys
        if self._columns_are_named:
            found[: self.n_features_in_] = range(self.n_features_in_)
        return found

    def _keys(self) -> list[Feature]:
        """The features as the model names them, in the order of `coef_`."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        numbers = range(self.n_features_in_)
        columns: list[Feature] = [*column_names(len(numbers))] if self._columns_are_named else [*numbers]
        if names is not None:
            columns = [name for name in names.tolist() if name not in self._text_columns]
        known = {*columns, BIAS}
        return [*columns, *sorted((feature for feature in self.model_.scales if feature not in known), key=str)]

    def _by_feature(self, values: Iterable[dict[Feature, float]]) -> Float64:
        """One row for each mapping. A feature that was never other than zero is in none."""
        keys = self._keys()
        return np.array([[mapping.get(key, 0.0) for key in keys] for mapping in values])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "model_" in state:  # as the bytes of a model file, which every way of keeping estimators can keep
            state = {**state, "model_": model_file.to_bytes(state["model_"])}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model_" in state:
            state = {**state, "model_": model_file.from_bytes(state["model_"])}
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _numbers(model: Learner | OneVsAll, y: NDArray[Any]) -> NDArray[Any]:
    """Labels as numbers; of several classes their places among those of the model, beyond all for one not met."""
    if not isinstance(model, OneVsAll):
        return np.asarray(y, dtype=np.float64)
    if not model.classes:
        return np.zeros(len(y), np.intp)
    labels = label_array(model.classes)
    order = np.argsort(labels, kind="stable")
    places = order[np.minimum(np.searchsorted(labels, y, sorter=order), len(labels) - 1)]
    return np.where(labels[places] == y, places, len(labels))


def weights_of(sample_weight: Any, data: Rows) -> Float64 | None:
    """One weight per row, or None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):  # as scikit-learn's own estimators take it
        sample_weight = np.full(data.rows, sample_weight)
    return inputs.vector(sample_weight, "sample_weight", data.rows)


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"is {value!r}; it must be True or False", option=name)


@contextmanager
def _rows_named(numbers: NDArray[np.intp] | None) -> Iterator[None]:
    """Errors name the rows as the user counts them, and bad values as scikit-learn does."""
    try:
        yield
    except Error as error:
        error.moved(lambda row: {"row": row if numbers is None else int(numbers[row])})
        if error.value is not None:
            error.at(problem=f"X contains {'NaN' if math.isnan(error.value) else 'infinity'}: {error.problem}")
        raise error from None
