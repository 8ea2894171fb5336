"""The common base of both estimators: passing rows and frames to a model, and reading that model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, get_args

import numpy as np
from river import base
from river.utils import pretty

from .. import inputs
from ..data import Batch
from ..data.labels import Numbers, RawLabels, Texts
from ..errors import OptionError
from ..inference.explanation import explain_batch, one_row
from ..inputs import Float64
from ..models.by_feature import ByFeature
from ..models.classes import Label, distinct_labels
from ..models.error_quantiles import checked_level
from ..models.learner import Learner
from ..models.model import BIAS
from ..models.one_vs_all import OneVsAll
from ..training.defaults import DataFacts, estimator_options, new_model, resolve
from ..training.first_row import orders_names
from ..training.session import Session
from . import rows
from .rows import Missing

Row: TypeAlias = Mapping[Any, Any]

ByClass: TypeAlias = ByFeature | dict[Label, ByFeature]

# The core's own methods, to avoid an attribute lookup for each row.
learn_noting: Any = Learner._learn_noting
learn_side: Any = Learner._learn_side
predict_one: Any = Learner.predict_one
predict_shares: Any = Learner._predict_shares
learn_class_noting: Any = OneVsAll._learn_class_noting
predict_class_shares: Any = OneVsAll._predict_class_shares


class Linear(base.Estimator):
    """A model behind River's interface.

    The model is made at the first example, whose label may decide its kind. Rows are passed to the core directly. If it
    rejects one, the values are converted here; if that succeeds, as it does with text, all later rows are converted.
    """

    missing: Missing

    def _begin(self, task: str) -> None:
        """Check the parameters, which are options of the future model. `train`'s defaults stand for None."""
        if self.missing not in (known := get_args(Missing)):
            names = ", ".join(map(repr, known))
            raise OptionError(f"is {self.missing!r}; it must be one of {names}", option="missing")
        self._given = estimator_options(vars(self))
        settled = resolve(task, DataFacts(), self._given)
        self._sorts = orders_names(settled)
        if (note := settled.penalty_note) is not None:
            warnings.warn(str(note), stacklevel=3)
        self._session: Any = None  # the session of the model, which the first example makes
        self._direct = False  # whether rows can be passed to the core directly
        self._y_name: Any = None

    def _new_model(self, task: str, classes: Iterable[Any] | None = None) -> Learner | OneVsAll:
        return new_model(resolve(task, DataFacts(), self._given), task, classes)

    @property
    def _model(self) -> Learner | OneVsAll | None:
        return None if self._session is None else self._session.model

    @property
    def model(self) -> Learner | OneVsAll | None:
        """The model behind the estimator, to save, merge or inspect; None before the first example."""
        if self._session is not None:
            self._session.count_pending("errors")
        return self._model

    def _reach(self, level: float) -> float:
        """The quantile of the prediction errors at a level; infinite with too few rows."""
        level, model = checked_level(level, "level"), self.model
        return math.inf if model is None or model._errors is None else model._errors.reach(level)

    @property
    def weights(self) -> ByClass:
        """The weights by feature, in the data's units; for more than two classes, by class and feature."""
        return self._read("weights")

    @property
    def importance(self) -> ByClass:
        """|w|·s by feature, which has no unit: how far a feature can move the score. For several classes, by class."""
        return self._read("importance")

    @property
    def intercept(self) -> float | dict[Label, float]:
        """The score where all features are 0; for more than two classes, by class."""
        if self._model is None:
            return 0.0
        found = [weights.get(BIAS, 0.0) for weights in self._model._of_heads("weights")]
        return dict(zip(self._model._class_labels, found, strict=True)) if self._model.task == "classes" else found[0]

    def _read(self, what: str) -> ByClass:
        if self._model is None:
            return {}
        found = [
            {feature: value for feature, value in one.items() if feature != BIAS} for one in self._model._of_heads(what)
        ]
        return dict(zip(self._model._class_labels, found, strict=True)) if self._model.task == "classes" else found[0]

    # ----------------------------------------------------------------------------------------------- one at a time

    def _learn_row(self, model: Learner | OneVsAll, x: Row, label: Any, w: Any) -> None:
        """Learn a row whose values must be converted, or the first row."""
        row = rows.numbers(x, self.missing)
        if model is self._model:
            self._note(model.learn_one(row, label, w), label, w)
        else:
            row = dict(sorted(row.items())) if self._sorts else row
            self._learn_batch(model, inputs.NamedRows([row]), [label], inputs.vector([w], "weight", 1))
        self._direct = self._direct and row == x

    def _note(self, scores: Any, label: Any, w: float) -> None:
        """Count the error of a prediction made before its row was learned."""
        self._session.note(scores, self._session.model._number_of(label), w, "errors")

    def debug_one(self, x: Row, decimals: int = 5) -> str:
        """Explain the prediction for `x` as a table: each feature's contribution to the score.

        A contribution is the weight, in the data's units, times the value; for centered values, times the difference
        from the feature's mean. Values beyond the largest one so far are limited to it. The importance is how far the
        feature can move the score; it has no unit. For a model type other than "linear" use `ul.explain`.

        Args:
            x: a row.
            decimals: the number of digits after the decimal point. Default: 5.
        """
        if self._model is None:
            return "Nothing has been learned yet."
        why = explain_batch(self._model, one_row(inputs.NamedRows([rows.numbers(x, self.missing)])))
        importance: Any = self._model.importance
        if why.label is not None:
            importance = importance[why.label]
        means = self._model._reading().means()
        lines: list[tuple[Any, ...]] = [("Intercept", 1.0, None, why.base_value, why.base_value, abs(why.base_value))]
        for part in why.features:
            name, mean = part.feature, means.get(part.feature)
            lines.append((str(name), part.value, mean, part.weight, part.contribution, importance.get(name, 0.0)))
        lines.sort(key=lambda line: -line[4])
        headers = ["Name", "Value", "Mean", "Weight", "Contribution", "Importance"]
        columns = [[_shown(value, decimals) for value in column] for column in zip(*lines, strict=True)]
        if why.bent:
            del headers[3], columns[3]
        if not means:
            del headers[2], columns[2]
        table: str = pretty.print_table(headers, columns)
        return table if why.label is None else f"Class: {why.label}\n{table}"

    # ------------------------------------------------------------------------------------------------------- frames

    def _table(self, X: Any) -> tuple[Any, inputs.Frame | inputs.NamedRows]:
        frame = rows.wrapped(X)
        table = rows.table(frame, self.missing, center=self._model is None)
        if self._model is None and self._sorts and isinstance(table, inputs.Frame):
            table = rows.by_name(table)
        return frame, table

    def _learn_batch(
        self, model: Learner | OneVsAll, data: inputs.Frame | inputs.NamedRows, labels: Any, weight: Float64 | None
    ) -> None:
        """Learn rows. A new model is stored in the estimator only if all of them could be learned."""
        if model.task == "classes":
            distinct, places = distinct_labels(inputs.as_array(labels, "y"))
            given: RawLabels = Texts(places.astype(np.int32), [label for label, _ in distinct])
        else:
            given = Numbers(inputs.vector(labels, "y", data.rows))
        session = self._session if model is self._model else Session(model)
        session.learn(Batch(data, data.rows, given, weight), "errors")
        if weight is None or weight.any():
            self._direct = self._direct or session is not self._session
            self._session = session


def _shown(value: str | float | None, digits: int) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or math.isnan(value) else f"{value: ,.{digits}g}"


def weights_of(w: Any, count: int) -> Float64 | None:
    """The weight of each row, or None if all are 1."""
    if isinstance(w, int | float):
        return None if w == 1 else np.full(count, float(w))
    return inputs.vector(w, "w", count)
