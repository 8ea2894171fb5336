"""The common base of the classifier and the regressor: options, passes over the data, state and pickling."""

from __future__ import annotations

import math
import operator
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import inputs, limits
from ..data import Batch, Schema, Target
from ..data.labels import Numbers, RawLabels
from ..data.progress import Progress
from ..errors import Error, InputError, OptionError
from ..inputs import Float64
from ..metrics.holdout_errors import ENOUGH as ENOUGH_HELD
from ..models import file as model_file
from ..models.error_quantiles import checked_level
from ..models.learner import Learner
from ..models.model import BIAS, Feature
from ..models.numbered_columns import column_names, named
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import has_errors, quantiles_of
from ..models.scored import Scored
from ..models.training_record import record
from ..options import Auto, ModelType, Options
from ..training.defaults import DataFacts, estimator_options, resolve
from ..training.fit import make_passes
from ..training.passes import Passes
from ..training.plan import ENOUGH, FIRST_PASSES, SEEN, Plan
from ..training.session import Session
from ..training.trial import needs_trial, take_trial
from . import rows
from .rows import Rows

# Parameters of `fit` and of predictions; all other parameters are options of the model.
_NOT_OF_THE_MODEL = ("max_iter", "shuffle", "random_state", "warm_start", "extrapolate", "class_weight")


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
    _empty_columns: list[str]  # columns of a frame, read by its declared types, that had no value so far
    _made_with: dict[str, Any]  # the parameters that the model was made with
    _column_record: dict[str, Any] | None = None  # the column types that `fit` inferred, as a model file stores them
    _columns_are_named = False  # whether the model has names for the columns of arrays, because one had a missing value

    @abstractmethod
    def _note(self, scored: Scored) -> None:
        """Count predictions made before their rows were learned, for `progressive_score_`."""

    def _learn_passes(
        self, model: Learner | OneVsAll, data: Rows, labels: RawLabels, weight: Float64 | None
    ) -> Learner | OneVsAll:
        """Fit a model: like `train` with shuffling, otherwise in the order of the rows. Returns the fitted model."""
        _check_flag("shuffle", self.shuffle)
        if weight is not None and not weight.any():
            raise InputError("the weights of all rows are zero; there is nothing to learn from")
        if weight is not None and not (good := (weight >= 0) & (weight <= limits.MOST_WEIGHT)).all():
            row = int(np.argmin(good))
            raise InputError(f"weight is {weight[row]:g}", row=row, advice=limits.WEIGHTS)
        if isinstance(labels, Numbers) and (large := limits.beyond(labels.values, limits.MOST_LABEL)) is not None:
            row = int(np.argmax(large))
            raise InputError(f"label is {labels.values[row]:g}", row=row, advice=limits.LABELS)
        before = dict(self.__dict__)
        try:
            with _errors_as_scikit_learn():
                if self.shuffle:
                    return self._fit(model, data, labels, weight)
                self._learn_in_order(model, rows.RandomRows(data, labels, weight, np.arange(data.rows)))
                return model
        except Error:
            self.__dict__.update(before)  # reset what was counted for the failed attempt
            raise

    @abstractmethod
    def _new_model(self, data: Rows, model_type: ModelType | None = None, stream: bool = False) -> Learner | OneVsAll:
        """A new model for the data; of the given model type, or of the estimator's own.

        `stream`: it begins with `partial_fit`.
        """

    def _resolved(self, task: str, data: Rows, model_type: ModelType | None, stream: bool) -> Options:
        """The options of a new model: the estimator's own, and the defaults of `train` for the others."""
        _check_flag("infer_columns", self.infer_columns)
        given = estimator_options(self.get_params(deep=False))
        if model_type is not None:
            given["model_type"] = model_type
        fitted = bool(self.shuffle) and not stream
        options = resolve(task, DataFacts(fitted=fitted, rows=data, count=data.rows), given)
        if options.penalty_note is not None:
            warnings.warn(str(options.penalty_note), stacklevel=4)
        return options

    def _fit(
        self, model: Learner | OneVsAll, data: Rows, labels: RawLabels, weight: Float64 | None
    ) -> Learner | OneVsAll:
        """Fit in random order, with several passes, and select the weights with the smallest loss on held-out rows."""
        auto = isinstance(self.max_iter, str) and self.max_iter == "auto"
        seed = _seed(self.random_state)
        plan = Plan(passes="auto" if auto else self._passes(data.rows), random_state=seed)

        def wanted(count: int) -> int:
            held = plan.held_rows(count)
            return held if held >= ENOUGH else 0

        shuffled = rows.RandomRows.shuffled(data, labels, weight, seed, wanted)
        held, passes = shuffled.held, Passes()
        if needs_trial(model, len(getattr(self, "classes_", ()))):
            trial = take_trial(lambda of: self._new_model(data, of), shuffled.batches(0, shuffled.learned), Session)
            if trial is not None and trial.model_type == "linear":
                model = self._new_model(data, "linear")
        session = Session(model)

        def learn_pass(number: int) -> bool:
            self._learn_pass(session, shuffled, shuffled.learned, first=number == 1)
            self.n_iter_ = number
            return False

        make_passes(session, shuffled, held, plan, passes, learn_pass)
        if held >= ENOUGH_HELD and has_errors(model):
            session.calibrate(shuffled.batches(shuffled.rows - held))
        for batch in shuffled.batches(shuffled.learned):
            session.learn(batch, "nothing")
        passes.finish(model)
        return model

    def _learn_in_order(self, model: Learner | OneVsAll, given: rows.RandomRows) -> None:
        """Fit in the order of the rows."""
        session, passes = Session(model), self._passes(given.rows)
        for number in range(passes):
            self._learn_pass(session, given, given.rows, first=number == 0)
        self.n_iter_ = passes

    def _learn_pass(self, session: Session, given: rows.RandomRows, last: int, first: bool) -> None:
        for batch in given.batches(0, last):
            scored = session.learn(batch, "errors" if first else "nothing")
            if first:
                self._note(scored)

    def _learn_batch(self, model: Learner | OneVsAll, data: Rows, labels: RawLabels, weight: Float64 | None) -> None:
        """Learn rows in their order for `partial_fit`, all or none; then the last weights predict."""
        with _errors_as_scikit_learn():
            scored = Session(model).learn(Batch(data, data.rows, labels, weight), "errors")
        if model.options.average:
            model.keep("last")
        self._note(scored)

    def _scores(self, X: Any) -> Float64:
        """The model's scores for X."""
        check_is_fitted(self)
        _check_flag("extrapolate", self.extrapolate)
        data = rows.read(self, X)
        model = self._taking(self.model_, data)
        with _errors_as_scikit_learn():
            return model.predict(data, extrapolate=self.extrapolate)

    def _reach(self, level: float, option: str) -> float:
        """The quantile of the prediction errors at a level."""
        check_is_fitted(self)
        level = checked_level(level, option)
        return quantiles_of(self.model_).known_reach(level)

    def _taking(self, model: Learner | OneVsAll, data: Rows) -> Learner | OneVsAll:
        """The model, or one in the same state that has this data's columns."""
        if rows.has_numbered_names(self, data) and not self._columns_are_named:
            return named(model)
        return model

    def _keep_model(self, model: Learner | OneVsAll, data: Rows, first: bool) -> None:
        """Store the model after it has learned this data; `first`: it has learned no other data."""
        text, empty = rows.text_columns(self, data), rows.empty_columns(self, data)
        if not first:  # columns that have had a value keep their type
            decided = [name for name in self._text_columns if name not in self._empty_columns]
            text = decided + [name for name in text if name in self._empty_columns]
            empty = [name for name in empty if name in self._empty_columns]
        self._text_columns, self._empty_columns = text, empty
        if first:
            self._made_with = self._model_params()
        self._columns_are_named = rows.has_numbered_names(self, data)
        self.model_ = model
        if self._column_record is not None:
            # Like a model of `train` it can read single rows, also from its file and in a server.
            schema = Schema.read(self._column_record["schema"])
            model._training = record(schema, self._target(), self._column_record["reading"], Progress())

    @abstractmethod
    def _target(self) -> Target:
        """The target as a model file stores it."""

    def _model_params(self) -> dict[str, Any]:
        """The parameters that cannot change while the model continues to learn."""
        own = self.get_params(deep=False)
        return {name: value for name, value in own.items() if name not in _NOT_OF_THE_MODEL}

    def _check_unchanged(self) -> None:
        """Raise an error if parameters differ from the model's, because they would be ignored."""
        for name, now in self._model_params().items():
            if (before := self._made_with[name]) is not now and before != now:
                raise OptionError(
                    f"is {now!r}, but the model was made with {before!r}, which it keeps while it learns",
                    option=name,
                    advice="fit anew (`fit` without warm_start, or a clone of the estimator), or set it back",
                )

    def _passes(self, count: int) -> int:
        if isinstance(self.max_iter, str) and self.max_iter == "auto":
            return min(FIRST_PASSES, math.ceil(SEEN / count))
        whole = hasattr(self.max_iter, "__index__") and not isinstance(self.max_iter, bool)
        if not whole or operator.index(self.max_iter) < 1:
            raise OptionError(f"max_iter is {self.max_iter!r}; it must be a number of passes, 1 or more, or 'auto'")
        return operator.index(self.max_iter)

    def _goes_on(self) -> bool:
        """Whether `fit` continues with the previous model.

        Otherwise that model is dropped, even if the new data is invalid.
        """
        _check_flag("warm_start", self.warm_start)
        if hasattr(self, "model_") and not self.warm_start:
            del self.model_
        go_on = hasattr(self, "model_")
        if go_on:
            self._check_unchanged()
        return go_on

    def _begins(self) -> bool:
        """Whether `partial_fit` begins a new model."""
        first = not hasattr(self, "model_")
        if not first:
            self._check_unchanged()
        return first

    @property
    def features_(self) -> NDArray[np.object_]:
        """The features of `coef_`: numeric columns, then values of text columns and products."""
        found = np.empty(len(keys := self._keys()), dtype=object)
        found[:] = keys
        if self._columns_are_named:
            found[: self.n_features_in_] = range(self.n_features_in_)
        return found

    def _keys(self) -> list[Feature]:
        """The model's names of the features, in the order of `coef_`."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        numbers = range(self.n_features_in_)
        columns: list[Feature] = [*column_names(len(numbers))] if self._columns_are_named else [*numbers]
        if names is not None:
            columns = [name for name in names.tolist() if name not in self._text_columns]
        known = {*columns, BIAS}
        return [*columns, *sorted((feature for feature in self.model_.scales if feature not in known), key=str)]

    def _by_feature(self, values: Iterable[dict[Feature, float]]) -> Float64:
        """One row for each mapping, in the order of `coef_`. A feature that was always zero counts as 0."""
        keys = self._keys()
        return np.array([[mapping.get(key, 0.0) for key in keys] for mapping in values])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "model_" in state:  # the bytes of a model file, which every pickling library can store
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


def _seed(random_state: Any) -> int:
    """The seed of the random order: a whole number is the seed itself, as in `train`; otherwise one is drawn."""
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        check_random_state(random_state)  # which refuses what is no seed
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def weights_of(sample_weight: Any, data: Rows) -> Float64 | None:
    """The weight of each row, or None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):  # as in scikit-learn's own estimators
        sample_weight = np.full(data.rows, sample_weight)
    return inputs.vector(sample_weight, "sample_weight", data.rows)


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"is {value!r}; it must be True or False", option=name)


@contextmanager
def _errors_as_scikit_learn() -> Iterator[None]:
    """Begin errors about invalid values like scikit-learn's."""
    try:
        yield
    except Error as error:
        if error.value is not None:
            error.at(problem=f"X contains {'NaN' if math.isnan(error.value) else 'infinity'}: {error.problem}")
        raise error from None
