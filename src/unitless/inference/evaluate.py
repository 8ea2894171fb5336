"""Evaluate a model on labeled data: all metrics, compared with a baseline, by class and by group.

ul.evaluate("prices.unitless", "new.csv", by="city")
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..data import Batch, Reader, ReadOptions, Schema, Source, Target, open_source
from ..data import labels as task_labels
from ..data.columns.arrow_column import text, whole
from ..data.columns.feature_columns import FeatureColumns
from ..data.fitting import fitting_source
from ..data.label_values import LabelValues
from ..data.labels import RawLabels, Texts, number_text, plain_number
from ..data.progress import Progress
from ..data.read_options import Reading, given_reading, names_and_values, no_column
from ..data.rows.sample import Sample
from ..data.screening import usable
from ..data.sources.in_memory import Arrays, Mappings
from ..errors import Error, InputError, Option, OptionError, Phrase
from ..inputs import Float64
from ..losses import LOSSES
from ..metrics.baseline import HindsightBaseline
from ..metrics.coverage import Coverage
from ..metrics.curves import Curves
from ..metrics.evaluation import Evaluation
from ..models.any_model import model_of
from ..models.classes import Label
from ..models.error_quantiles import checked_level
from ..models.prediction_errors import has_errors
from ..models.scored import Scored
from ..options import USUAL_LEVEL
from ..presentation import notebook_bar
from .evaluate_result import EvaluateResult
from .importance import ROWS, Importance, measure
from .predictions import places

if TYPE_CHECKING:
    pass

MOST_GROUPS = 1000  # values of `by` that are counted separately; later ones are counted as "others"


def evaluate(
    model: Any,
    source: Any,
    *,
    target: Any = None,
    by: Any = None,
    weight: Any = None,
    extrapolate: bool = False,
    level: float = USUAL_LEVEL,
    importance: bool = False,
    reading: Reading | None = None,
    progress: Callable[[Evaluator], None] | Literal[False] | None = None,
) -> EvaluateResult:
    """Compute all metrics of a model on labeled data, in one pass and in constant memory. The model is not changed.

    Args:
        model: a model made by `train`, a model file, or the result of `train`. A model that was not made by `train` can
            be evaluated on arrays, mappings, VW text and libsvm.
        source: any data of the kind that the model was trained on; see `train`.
        target: the column of the labels, or the labels themselves. Default: the target column of the training.
        by: a column, or a list of values: the metrics are also computed for each of its values. It need not be a
            feature. The largest 50 groups of the first 1,000 values are reported; all others are one group. Default: no
            groups.
        weight: a column of weights, or the weights themselves; False: every row counts once. Default: the weight column
            of the training, if there was one.
        extrapolate: predict linearly beyond the range of values in the training data. Default: False.
        level: the level of the model's prediction intervals (for classes: prediction sets) whose coverage and width the
            metrics show, if the model has them. Default: 0.9.
        importance: measure the importance of each column on a sample of 4,000 of these rows: how much worse the metric
            becomes if the column's values are permuted among them. Default: False.
        reading: how the data is read; see `Reading`. Rows without a label are an error, or counted with
            `on_error="skip"`. Default: as the training data.
        progress: called after every batch. Default: a bar in notebooks; False for none.

    A class that the model does not know counts as wrong.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(6000, 3)) * [1e-3, 1, 1e3]
        >>> y = X @ [1000, 1, -0.001] + rng.normal(size=6000) > 0
        >>> result = ul.train(X[:3000], y[:3000])
        >>> found = ul.evaluate(result, X[3000:], target=y[3000:])
        >>> found                           # doctest: +ELLIPSIS
        <EvaluateResult: binary: ...; 3,000 rows; error rate 1..., baseline 4...; skill 6...%>
        >>> sorted(found.metrics)
        ['accuracy', 'auc', 'brier', 'coverage', 'error_rate', 'f1', 'log_loss', 'precision', 'recall', 'set_size']
    """
    evaluator = Evaluator(model, source, target, by, weight, extrapolate, given_reading(reading), level, importance)
    with notebook_bar.watching(progress) as watch:
        notebook_bar.opened(watch, evaluator)
        return evaluator.go(watch)


class Evaluator:
    """Predicts labeled data and counts metrics, batch by batch."""

    def __init__(
        self,
        model: Any,
        source: Any,
        target: Any,
        by: Any,
        weight: Any,
        extrapolate: bool,
        reading: dict[str, Any],
        level: float = USUAL_LEVEL,
        importance: bool = False,
    ) -> None:
        self.level = checked_level(level)
        self._sample = Sample(0, ROWS) if importance else None
        self.model = model_of(model)
        self._extrapolate = extrapolate
        training = self.model._training
        asked = {"target": target, "weight": weight, "by": by}
        columns, arrays = names_and_values({n: v for n, v in asked.items() if not isinstance(v, bool | None)})
        self.options = ReadOptions.settled(None if training is None else training["reading"], **reading)
        opened = open_source(source, self.options)
        if isinstance(opened, Arrays) and (named := {n: v for n, v in columns.items() if n != "by"}):
            opened, taken = opened.without(named)
            arrays |= taken
            columns = {name: value for name, value in columns.items() if name not in taken}
        schema = Schema.read(training["schema"]) if training is not None else Schema(_family(opened))
        self.source: Source = fitting_source(opened, schema, self.options, originals=True)
        if arrays and self.source.files:
            raise OptionError(f"for files, {' and '.join(arrays)} must be the name of a column")
        self.target = Target.read(training["target"]) if training is not None else None
        self.schema = self._held(schema, columns.get("target"), columns.get("weight", weight), "target" in arrays)
        arrays = {k: v if isinstance(v, list) else inputs.as_array(v, k) for k, v in arrays.items()}
        by = columns.get("by", arrays.get("by"))
        self.by = by if isinstance(by, str) else None
        self._values = None if isinstance(by, str) else by
        self._named_target = "target" in columns
        if self.by is not None and not (self.source.family == "table" or isinstance(self.source, Mappings)):
            raise OptionError(f"names a column; {self.source.name} has none", option="by")
        self._reader = Reader(
            self.source,
            self.options,
            self.schema,
            arrays.get("target"),
            arrays.get("weight"),
            originals=self.by is not None or self.schema.weight in self.schema.kinds,  # they are read twice then
            drop_invalid=True,
        )
        self.progress = Progress()
        errors = self.model._errors if has_errors(self.model) else None
        self._errors = None if errors is None else errors.copy()  # a copy, because the model may learn meanwhile
        self.evaluation = Evaluation(self.model, intervals=self._intervals())
        self.curves = Curves(self.model, self.evaluation)
        self.baseline = HindsightBaseline(self.model)
        self.groups: dict[str | None, Evaluation] = {}
        self.others: Evaluation | None = None
        self.scored = self.strange = 0
        self.strangers: list[str] = []
        self._found_by = False

    def _intervals(self) -> Coverage | None:
        """The counter of interval coverage, with the model's current error quantiles."""
        return None if self._errors is None else Coverage(self.level, self._errors)

    def _held(self, schema: Schema, target: Any, weight: Any, labels_given: bool) -> Schema:
        """The schema of the labeled data, with the names of target and weight."""
        if isinstance(self.source, Mappings) or schema.family == "table":
            if isinstance(target, str) and target in schema.kinds:
                raise OptionError(f"is {target!r}, which is a feature of the model", option="target")
            if isinstance(target, str):
                schema = replace(schema, target=target, target_kind=schema.target_kind or self._kind())
            elif labels_given:
                schema = replace(schema, target=None, target_kind=None)
        elif isinstance(target, str) or isinstance(weight, str):
            given = "target" if isinstance(target, str) else "weight"
            raise OptionError(f"names columns; {self.source.name} has none", option=given)
        if schema.target is None and not labels_given and not self.source.files and schema.family != "table":
            raise OptionError(Phrase("give the labels separately from the data, one per row, as ", Option("target")))
        if schema.target is None and not labels_given and schema.family == "table":
            raise OptionError(
                Phrase("the model was trained with labels given separately from its table; name their column with "),
                option="target",
            )
        if weight is True:
            raise OptionError("is True; it must be a column, weights, or False for none", option="weight")
        if weight is not None:
            schema = replace(schema, weight=weight if isinstance(weight, str) else None)
        return schema

    def _kind(self) -> Any:
        """The type of the target column, if training did not record it."""
        if self.target is None:
            return None
        if self.target.task == "regression" or (self.target.number and not self.target.rest):
            return "number"
        return "boolean" if self.target.classes == ["false", "true"] else "text"

    def go(self, watch: Callable[[Evaluator], None] | None) -> EvaluateResult:
        """Evaluate all data."""
        start = time.perf_counter()
        for batch in self._reader.batches():
            self.progress.read_in(batch)
            self.progress.rows += batch.rows
            if batch.rows:
                self._take(batch)
            self.progress.consumed = batch.consumed
            self.progress.seconds = time.perf_counter() - start
            if watch is not None:
                watch(self)
        self.progress.seconds = time.perf_counter() - start
        if not self.scored:
            raise InputError(f"{self.source.name} has no row that can be evaluated{self._why_none()}")
        if not self.evaluation.examples and not self.strange:
            raise InputError(f"{self.source.name} has no row that can be evaluated: no row has a weight above 0")
        if self.by is not None and not self._found_by:
            raise OptionError(no_column(self.by, [name for name, _ in self.schema.columns], "by"))
        if self.strange == self.scored:
            classes = self.model._class_labels or ([] if self.target is None else self.target.classes)
            known = ", ".join(repr(str(label)) for label in classes[:5])
            raise InputError(
                f"no label is a class of the model: the labels are {', '.join(map(repr, self.strangers[:5]))}, "
                f"the model's are {known}"
            )
        return EvaluateResult(self)

    def _why_none(self) -> str:
        """Why no row was evaluated, as the end of a message; empty if it is not known."""
        if self.progress.bad:
            return f": {self.progress.bad[0]}"
        where = "" if self.schema.target is None else f" in the column {self.schema.target!r}"
        return f": no row has a label{where}" if self.progress.unlabeled else ""

    def _take(self, batch: Batch) -> None:
        if batch.labels is None:
            problem = f"there is no column {self.schema.target!r} with the labels"
            advice = Phrase("if another column has them, name it: ", Option("target", "NAME"))
            raise InputError(problem, advice="" if self._named_target else advice, **batch.place.at(0))
        groups = self._groups_of(batch)
        usable = self._usable(batch)
        batch, groups = batch.select(usable), None if groups is None else groups[usable]
        assert batch.labels is not None
        unlabeled = ~batch.labels.present()
        if unlabeled.any():
            self.progress.unlabeled += int(unlabeled.sum())
            batch, groups = batch.select(~unlabeled), None if groups is None else groups[~unlabeled]
        if not batch.rows or batch.labels is None:
            return
        if self._sample is not None:
            self._sample.add_next(batch, self.scored)
        scored = self._predicted(batch)
        for counter in (self.evaluation, self.baseline, self.curves):
            counter.count(scored)
        self.scored += batch.rows
        if groups is not None:
            self._by_group(groups, scored)

    def _predicted(self, batch: Batch) -> Scored:
        assert batch.labels is not None
        scores = self._scores(batch)
        return Scored.of(self.model, scores, self._truth(batch, batch.labels, scores), batch.weight, batch.offset)

    def importance(self) -> Importance | None:
        """The importance of the columns, if it was asked for and there are enough rows."""
        found = None if self._sample is None else self._sample.rows()
        if found is None:
            return None
        strange = self.strange, self.strangers
        try:
            return measure(
                self.model,
                found[0],
                self._predicted,
                FeatureColumns(self.schema.columns),
                on=lambda count: f"{count:,} of {self.scored:,} rows" if count < self.scored else f"{count:,} rows",
            )
        finally:
            self.strange, self.strangers = strange  # these rows have been counted before

    def _scores(self, batch: Batch) -> Float64:
        try:
            return self.model._scores(batch.data, batch.offset, self._extrapolate)
        except Error as error:
            raise error.moved(batch.place.at) from None

    def _usable(self, batch: Batch) -> NDArray[np.bool_]:
        """Which rows can be evaluated; or an error that names the first that cannot. Unknown classes can, as errors."""
        smallest = LOSSES[self.model.options.loss].smallest_label if self.model.task == "regression" else None
        return usable(batch, None, self.options.on_error, self.progress, smallest)

    def _truth(self, batch: Batch, labels: RawLabels, scores: Float64) -> NDArray[Any]:
        """Convert labels for counting, see `Scored`; a class that the model does not know counts as not predicted."""
        if self.model.task == "classes":
            numbers, _ = self.model._class_numbers(self._as_learned(labels), batch.place, np.zeros(batch.rows))
            self._count_strangers(labels, numbers < 0)
            return numbers
        if self.target is None:  # the model was not made by `train`
            self.target = self._decided(labels)
        if self.target.task == "regression":
            return self.target.numbers(labels, batch.place)
        strange, truth = self.target.unknown(labels), scores[:, 0] <= 0
        truth[~strange] = self.target.numbers(labels.take(~strange), batch.place) > 0
        self._count_strangers(labels, strange)
        return truth

    def _decided(self, labels: RawLabels) -> Target:
        if not LOSSES[self.model.options.loss].for_classes:
            return Target("regression")
        return task_labels.infer_target(LabelValues.of(labels), "binary", None, None)

    def _as_learned(self, labels: RawLabels) -> Texts:
        """Labels as the model's classes are written: the number 1 may be text, and "true" a boolean."""
        known, as_text = set(self.model._class_labels), isinstance(labels, Texts)
        distinct, _, places_of = labels.distinct()
        return Texts(places_of.astype(np.int32), [_known_form(label, as_text, known) for label in distinct])

    def _count_strangers(self, labels: RawLabels, strange: NDArray[np.bool_]) -> None:
        if strange.any():
            self.strange += int(strange.sum())
            new = [label for label in labels.take(strange).distinct()[0] if label not in self.strangers]
            self.strangers += new[: max(0, 5 - len(self.strangers))]

    # ----------------------------------------------------------------------------------------------- by group

    def _groups_of(self, batch: Batch) -> NDArray[Any] | None:
        """Each row's group as text, as an array of objects; None where it has no value."""
        if self._values is not None:
            first = batch.position.offset - batch.rows
            part = self._values[first : first + batch.rows]
            if len(part) != batch.rows:
                raise InputError(f"by has {len(self._values)} values, but the data has more rows")
            self._found_by = True
            return _objects([_word(value) for value in (part if isinstance(part, list) else part.tolist())])
        if self.by is None:
            return None
        if isinstance(batch.original, list):  # the data is a list of mappings
            self._found_by |= any(self.by in row for row in batch.original)
            return _objects([_word(row.get(self.by)) for row in batch.original])
        if self.by not in batch.original.column_names:
            if not self.source.columns_may_come_later:
                raise OptionError(no_column(self.by, list(batch.original.column_names), "by"))
            return _objects([None] * batch.rows)
        self._found_by = True
        codes, ends, letters = text(whole(batch.original.column(self.by)))[0]
        raw, stops = letters.tobytes(), ends.tolist()
        used = np.unique(codes[codes >= 0]).tolist()
        words = np.full(len(stops), None, dtype=object)  # the last one is for rows without a value
        for code in used:
            words[code] = raw[stops[code] : stops[code + 1]].decode()
        return np.asarray(words[codes][places(batch)])

    def _by_group(self, groups: NDArray[Any], scored: Scored) -> None:
        number: dict[str | None, int] = {}
        evaluations: list[Evaluation] = []
        others = -1  # all values beyond the limit are one group
        for group in dict.fromkeys(groups.tolist()):
            if group in self.groups or len(self.groups) < MOST_GROUPS:
                if group not in self.groups:
                    self.groups[group] = Evaluation(self.model, small=True, intervals=self._intervals())
                number[group] = len(evaluations)
                evaluations.append(self.groups[group])
            else:
                if others < 0:
                    others = len(evaluations)
                    self.others = self.others or Evaluation(self.model, small=True, intervals=self._intervals())
                    evaluations.append(self.others)
                number[group] = others
        codes = np.array([number[group] for group in groups.tolist()], dtype=np.intp)
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(evaluations))).tolist()
        for evaluation, first, last in zip(evaluations, [0, *ends], ends, strict=False):
            evaluation.count(scored[order[first:last]])


def _known_form(label: str, as_text: bool, known: set[Label]) -> Label:
    """The known class that the data writes differently, or the label itself."""
    forms: list[Any] = [label]
    with contextlib.suppress(ValueError, OverflowError):
        forms.insert(0 if not as_text else 1, plain_number(label))
    if label in ("false", "true"):
        forms.append(label == "true")
    return next((form for form in forms if form in known), label)


def _family(source: Source) -> Any:
    """The kind of data that a model not made by `train` can be evaluated on."""
    if source.family == "table":
        raise OptionError(
            "this model was not made by train, so it does not know what a table's columns are; "
            "give an array or mappings of numbers, and the labels as target"
        )
    return source.family


def _word(value: Any) -> str | None:
    """A value of `by` as a text file would write it."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or value == "":
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    return number_text(value) if isinstance(value, int | float) else str(value)


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
