"""What the classifier and the regressor share: options, passes over the data, reading the model, keeping it."""

from __future__ import annotations

import math
import operator
import warnings
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
from ..data import Batch, Schema, Target
from ..data.labels import Numbers, RawLabels
from ..data.progress import Progress
from ..data.rows import random_order
from ..errors import Error, InputError, OptionError
from ..inputs import Float64
from ..metrics.held_errors import ENOUGH as ENOUGH_HELD
from ..models import file as model_file
from ..models.error_quantiles import checked_level
from ..models.learner import Learner
from ..models.model import BIAS, Feature
from ..models.numbered_columns import column_names, named
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import has_errors, quantiles_of
from ..models.scored import Scored
from ..models.training_record import record
from ..options import Auto, ModelType, Options, is_sparse
from ..training.defaults import DataFacts, resolve
from ..training.fit import make_passes
from ..training.passes import Passes
from ..training.plan import ENOUGH, FIRST_PASSES, SEEN, Plan
from ..training.session import Session
from ..training.trial import needs_trial, take_trial
from . import rows
from .rows import Rows

# What `fit`, the next batch or a prediction is told; all other parameters are those of the model.
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
    _empty_columns: list[str]  # of a frame that is read by its types: those that had no value so far
    _made_with: dict[str, Any]  # the parameters that the model was made with
    _column_record: dict[str, Any] | None = None  # what `fit` inferred of a frame's columns, as a model file stores it
    _columns_are_named = False  # whether the model knows the columns of arrays by name: one of them was missing

    @abstractmethod
    def _note(self, scored: Scored) -> None:
        """Predictions that were made before their rows were learned, for `progressive_score_`."""

    def _learn_passes(
        self, model: Learner | OneVsAll, data: Rows, labels: RawLabels, weight: Float64 | None
    ) -> Learner | OneVsAll:
        """`fit`'s work: as `train` fits a table, or the rows in their order. Gives the model that has learned them."""
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
            self.__dict__.update(before)  # what was noted of the chunks before
            raise

    @abstractmethod
    def _new_model(self, data: Rows, model_type: ModelType | None = None) -> Learner | OneVsAll:
        """A new model for the data; of a given model type, or of the estimator's own."""

    def _resolved(self, task: str, data: Rows, model_type: ModelType | None = None) -> Options:
        """The options of a new model: the estimator's own, and for the others those of `train`."""
        _check_flag("infer_columns", self.infer_columns)
        own = self.get_params(deep=False)
        given = {name: own[name] for name in Options.__dataclass_fields__ if name in own}
        if model_type is not None:
            given["model_type"] = model_type
        if given.get("target") == "auto":  # the default, which depends on the loss
            del given["target"]
        if is_sparse(given) and given["model_type"] in ("curves", "trees", "curves only"):
            # An error would be a missing score in a search over grids of parameters.
            warnings.warn(
                f"model_type={given['model_type']!r} has no penalty: l2 and sparsity are ignored; give "
                "model_type='linear' to use them",
                stacklevel=4,
            )
            given |= {"l2": 0.0, "sparsity": 0.0}
        options = resolve(task, DataFacts(fitted=bool(self.shuffle), rows=data), given)
        if options.penalty_note is not None:
            warnings.warn(str(options.penalty_note), stacklevel=4)
        return options

    def _fit(
        self, model: Learner | OneVsAll, data: Rows, labels: RawLabels, weight: Float64 | None
    ) -> Learner | OneVsAll:
        """Rows in random order, in as many passes as help; the weights that do best on held-out rows are selected."""
        auto = isinstance(self.max_iter, str) and self.max_iter == "auto"
        seed = int(check_random_state(self.random_state).randint(2**31))
        plan = Plan(passes="auto" if auto else self._passes(data.rows), random_state=seed)
        numbers = np.arange(data.rows) if weight is None else np.flatnonzero(weight)  # a row of weight 0 is not there
        shuffled = rows.RandomRows(data, labels, weight, numbers[random_order.order(seed, 0, len(numbers))])
        held = plan.held_rows(shuffled.rows)
        held = held if held >= ENOUGH else 0
        learned, passes = shuffled.rows - held, Passes()
        if needs_trial(model, len(getattr(self, "classes_", ()))):
            trial = take_trial(lambda of: self._new_model(data, of), shuffled.batches(0, learned), self._session)
            if trial is not None and trial.model_type == "linear":
                model = self._new_model(data, "linear")
        session = self._session(model)

        def learn_pass(number: int) -> bool:
            self._learn_pass(session, shuffled, learned, first=number == 1)
            self.n_iter_ = number
            return False

        make_passes(session, shuffled, held, plan, passes, learn_pass)
        if held >= ENOUGH_HELD and has_errors(model):
            session.calibrate(shuffled.batches(learned))
        for batch in shuffled.batches(learned):
            session.learn(batch, "nothing")
        passes.finish(model)
        return model

    def _learn_in_order(self, model: Learner | OneVsAll, given: rows.RandomRows) -> None:
        """`fit`'s work without a random order."""
        session, passes = self._session(model), self._passes(given.rows)
        for number in range(passes):
            self._learn_pass(session, given, given.rows, first=number == 0)
        self.n_iter_ = passes

    def _learn_pass(self, session: Session, given: rows.RandomRows, last: int, first: bool) -> None:
        for batch in given.batches(0, last):
            scored = session.learn(batch, "errors" if first else "nothing")
            if first:
                self._note(scored)

    def _session(self, model: Learner | OneVsAll) -> Session:
        # Estimators give the labels of two classes as 0 and 1.
        return Session(model, Target("binary", ["0", "1"]) if model.task == "binary" else Target(model.task))

    def _learn_batch(self, model: Learner | OneVsAll, data: Rows, labels: RawLabels, weight: Float64 | None) -> None:
        """`partial_fit`'s work: the rows in their order, all of them or none. Then the latest weights predict."""
        with _errors_as_scikit_learn():
            scored = self._session(model).learn(Batch(data, data.rows, labels, weight), "errors")
        if model.options.average:
            model.keep("last")
        self._note(scored)

    def _scores(self, X: Any) -> Float64:
        """The scores that the model gives for X."""
        check_is_fitted(self)
        _check_flag("extrapolate", self.extrapolate)
        data = rows.read(self, X)
        model = self._taking(self.model_, data)
        with _errors_as_scikit_learn():
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
        text, empty = rows.text_columns(self, data), rows.empty_columns(self, data)
        if not first:  # columns that have had a value stay what they are
            decided = [name for name in self._text_columns if name not in self._empty_columns]
            text = decided + [name for name in text if name in self._empty_columns]
            empty = [name for name in empty if name in self._empty_columns]
        self._text_columns, self._empty_columns = text, empty
        if first:
            self._made_with = self._model_params()
        self._columns_are_named = rows.has_numbered_names(self, data)
        self.model_ = model
        if self._column_record is not None:
            # Like a model of `train` it reads rows by itself, in a file and in a service too.
            schema = Schema.read(self._column_record["schema"])
            model._training = record(schema, self._target(), self._column_record["reading"], Progress())

    @abstractmethod
    def _target(self) -> Target:
        """What is predicted, as a model file stores it."""

    def _model_params(self) -> dict[str, Any]:
        """The parameters that cannot be changed while the model goes on to learn."""
        own = self.get_params(deep=False)
        return {name: value for name, value in own.items() if name not in _NOT_OF_THE_MODEL}

    def _check_unchanged(self) -> None:
        """Refuse parameters that are not those of the model, which would be ignored."""
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
        """Does `fit` go on where the last one stopped? Otherwise the old model is gone, even if the new data is bad."""
        _check_flag("warm_start", self.warm_start)
        if hasattr(self, "model_") and not self.warm_start:
            del self.model_
        go_on = hasattr(self, "model_")
        if go_on:
            self._check_unchanged()
        return go_on

    def _begins(self) -> bool:
        """Does `partial_fit` begin a model? Otherwise it goes on with the one that there is."""
        first = not hasattr(self, "model_")
        if not first:
            self._check_unchanged()
        return first

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
def _errors_as_scikit_learn() -> Iterator[None]:
    """Errors about bad values begin as those of scikit-learn do."""
    try:
        yield
    except Error as error:
        if error.value is not None:
            error.at(problem=f"X contains {'NaN' if math.isnan(error.value) else 'infinity'}: {error.problem}")
        raise error from None
