"""Predictions for any data, with a model that `train` made, which stores the table's columns and the labels' names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..data import Batch, Reader, ReadOptions, open_source
from ..data.fitting import fitting_source
from ..data.labels import number_text
from ..data.read_options import Reading, given_reading
from ..data.sources.byte_stream import never
from ..data.sources.in_memory import is_frame
from ..errors import Error, InputError, OptionError
from ..inputs import Float64
from ..losses import LOSSES
from ..models import file as model_file
from ..models.any_model import model_of
from ..models.error_quantiles import checked_level
from ..models.extra_members import shares_shown
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import bounds, label_sets, quantiles_of
from ..presentation import html
from . import frames
from .intervals import Interval, LabelSet
from .predictions import Predictions, places

if TYPE_CHECKING:
    from ..models.trained_rows import TrainedRows
    from .explanation import Explanation


SHOWN_COLUMNS = 12  # in notebooks


class Predictor:
    """Predicts labels or numbers for rows in the form of the training data, with a trained model.

    It reads text, booleans, dates and missing values as training did. A category that was not in the training data
    counts as none of the known ones. Threads may share a predictor.

    Args:
        model: a model file of `train`, the result of `ul.load` or `train`, or another predictor.

    Example:
        >>> import unitless as ul
        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [20 + i % 50 for i in range(300)], "job": ["clerk", "pilot", "cook"] * 100})
        >>> people["rich"] = (people["job"] == "pilot").map({True: "yes", False: "no"})
        >>> predictor = ul.Predictor(ul.train(people, target="rich"))
        >>> predictor.features
        {'age': 'number', 'job': 'text'}
        >>> predictor.predict_one({"age": 31, "job": "pilot"})
        'yes'
        >>> {label: round(p) for label, p in predictor.predict_proba_one({"job": "cook"}).items()}
        {'no': 1, 'yes': 0}
        >>> predictor.predict([{"age": 31, "job": "pilot"}, {"age": 31, "job": "cook"}])
        ['yes', 'no']
        >>> predictor.predict_interval_one({"age": 31, "job": "pilot"}, level=0.9)
        LabelSet(prediction='yes', set=['yes'])
    """

    def __init__(self, model: Any) -> None:
        model = model_of(model)
        if model._training is None:
            raise OptionError(
                "this model was not made by train, so it does not know what a table's columns are; "
                "use its own predict with arrays, frames or mappings of numbers"
            )
        self.model: Learner | OneVsAll = model
        assert model._rows is not None
        self._rows: TrainedRows = model._rows
        self.schema, self.target = self._rows.schema, self._rows.target
        self._direct = self._rows.reader.direct
        self._reading = model._training["reading"]
        self._link = LOSSES[model.options.loss].link

    # ------------------------------------------------------------------------------------------------ one row

    def predict_one(self, row: Any, *, extrapolate: bool = False) -> Any:
        """Predict the label of one row, as it was in the data; or the number.

        Args:
            row: a mapping of columns to values, a Series or a frame of one row; for a model of arrays, a list of
                numbers. Unknown keys are ignored, and columns without a key count as missing.
            extrapolate: predict linearly beyond the range of training values, see `Learner.predict`. Default: False.
        """
        if self._several:
            return self._class_of(row, extrapolate)
        score: Any = self._rows.predict(row, 0.0, extrapolate)
        if self.target.task == "binary":
            return self._two_labels[score > 0]
        return score if self._link.name == "identity" else float(self.model._link(np.array([score]))[0])

    def predict_interval_one(self, row: Any, *, level: float = 0.9, extrapolate: bool = False) -> Interval | LabelSet:
        """Predict an interval for one row: an `Interval` for numbers, or a `LabelSet` for classes.

        Args:
            row: as for `predict_one`.
            level: the probability that the interval or set contains the truth; at most 0.999. Default:
                0.9.
            extrapolate: as for `predict_one`. Default: False.
        """
        return self._one_interval(row, extrapolate, self.reach(level))

    def predict_proba_one(self, row: Any, *, extrapolate: bool = False) -> dict[Any, float]:
        """Predict the probability of each label for one row.

        Args:
            row: as for `predict_one`.
            extrapolate: as for `predict_one`. Default: False.
        """
        self._check_probabilities()
        if self._several:
            scores, labels = self._class_scores(row, extrapolate)
            shares = self.model._shares(scores[None, :])[0]
            return dict(zip(labels, shares.tolist(), strict=True))
        p = self.model._link(np.array([self.score_one(row, extrapolate=extrapolate)]))
        negative, positive = self._two_labels
        return {negative: float((1 - p)[0]), positive: float(p[0])}

    def score_one(self, row: Any, *, extrapolate: bool = False) -> Any:
        """The score of one row, as the model's own `predict` returns it.

        For several classes, one score for each class.

        Args:
            row: as for `predict_one`.
            extrapolate: as for `predict_one`. Default: False.
        """
        return self._rows.predict(row, 0.0, extrapolate)

    def reach(self, level: float) -> float:
        """The quantile of the prediction errors at a level, which makes intervals and sets.

        Numbers: |truth - prediction| divided by the scale of errors there. Classes: 1 - the probability of the true
        class.

        Args:
            level: the probability of a smaller error; at most 0.999.
        """
        return quantiles_of(self.model).known_reach(checked_level(level))

    def _one_interval(self, row: Any, extrapolate: bool, reach: float) -> Interval | LabelSet:
        if not self._several and self.target.task == "regression":
            number = self.predict_one(row, extrapolate=extrapolate)
            low, high = bounds(self.model, np.array([number]), reach)
            return Interval(number, float(low[0]), float(high[0]))
        if self._several:
            scores, labels = self._class_scores(row, extrapolate)
            if not labels:
                raise InputError("the model has not learned any class yet")
            best = scores[None, :].argmax(axis=1)
        else:
            scores, labels = np.array(self.score_one(row, extrapolate=extrapolate)), self._two_labels
            best = np.array([int(scores > 0)])
        shares = self.model._shares(scores[None])
        return LabelSet(labels[int(best[0])], label_sets(shares, best, reach, labels)[0])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a file for predictions only: much smaller than the full file, with the same predictions.

        `ul.Predictor(path)` and `ul.load(path)` read it. The loaded model cannot learn.

        Args:
            path: the file to write.
        """
        model_file.save_predict_only(self.model, path)

    def explain(self, row: Any, label: Any = None) -> Explanation:
        """Compute each column's contribution to the prediction for one row; see `ul.explain`.

        Args:
            row: as for `predict_one`.
            label: for classes, the class whose score is explained. Default: the predicted class.
        """
        from .explanation import explain  # noqa: PLC0415  (that module imports this one)

        return explain(self, row, label)

    def read_one(self, row: Any) -> tuple[inputs.Input, list[str]]:
        """One row as the model takes it, and the names in it that are not columns of the table."""
        return self._rows.read_one(row), [] if is_frame(row) else self._rows.reader.unknown(row)

    def offset_one(self, row: Any) -> float:
        """The offset of one row, where the model was trained with a column of them; otherwise 0."""
        return self._rows.offset(row)

    def _class_of(self, row: Any, extrapolate: bool) -> Any:
        assert isinstance(self.model, OneVsAll)
        with self.model._locked():  # a class that joins meanwhile has no score or label here
            labels = self.model._classes.labels
            if not labels:
                raise InputError("the model has not learned any class yet")
            if self._direct is not None:
                winner = self.model._winner_of_row(self._direct, row, extrapolate)
                if winner is not None:
                    return labels[winner]
        scores, known = self._class_scores(row, extrapolate)
        return known[int(scores.argmax())]

    def _class_scores(self, row: Any, extrapolate: bool) -> tuple[Float64, list[Any]]:
        """The classes' scores for a row, and the classes."""
        with self.model._locked():  # no class joins meanwhile
            return self._rows.predict(row, 0.0, extrapolate), self.model._class_labels

    # ------------------------------------------------------------------------------------------------ many rows

    def predict(self, source: Any, *, extrapolate: bool = False, reading: Reading | None = None) -> Any:
        """Predict labels or numbers for data of the kind that the model was trained on; it must fit into memory.

        Returns a list, or for a pandas, polars or pyarrow frame a Series (with its index) or Array. Invalid rows that
        are skipped give None. See `batches` for data that does not fit into memory.

        Args:
            source: a file, several of them or a folder, a frame, a list of mappings, an array.
            extrapolate: predict linearly beyond the range of training values, see `Learner.predict`. Default: False.
            reading: how the data is read; see `Reading`. Default: as the training data.
        """
        parts = self.batches(source, extrapolate=extrapolate, reading=reading)
        return frames.column(source, self.as_it_was([value for part in parts for value in part.values]))

    def predict_interval(
        self, source: Any, *, level: float = 0.9, extrapolate: bool = False, reading: Reading | None = None
    ) -> Any:
        """Predict intervals for numbers, or sets for classes; the data must fit into memory.

        For a frame it returns a frame with the columns prediction, low and high; for classes prediction and set, the
        labels of the set, most likely first. Otherwise it returns a list of `Interval` or `LabelSet`, which are named
        tuples.

        Args:
            source: as for `predict`.
            level: the probability that an interval or set contains the truth; at most 0.999. Default:
                0.9.
            extrapolate: as for `predict`. Default: False.
            reading: how the data is read; see `Reading`. Default: as the training data.
        """
        reach = self.reach(level)
        return self._with_intervals(source, list(self.batches(source, extrapolate=extrapolate, reading=reading)), reach)

    def _with_intervals(self, source: Any, parts: list[Predictions], reach: float) -> Any:
        columns = {"prediction": self.as_it_was([value for part in parts for value in part.values])}
        kind: Any = LabelSet
        if not self._several and self.target.task == "regression":
            kind = Interval
            limits = [self.bounds(part, reach) for part in parts]
            columns["low"] = [value for low, _ in limits for value in low]
            columns["high"] = [value for _, high in limits for value in high]
        else:
            columns["set"] = [
                None if labels is None else self.as_it_was(labels)
                for part in parts
                for labels in self.sets(part, reach)
            ]
        table = frames.table(source, columns)
        if table is not None:
            return table
        rows = zip(*columns.values(), strict=True)
        return [None if row[0] is None else kind(*row) for row in rows]

    def bounds(self, part: Predictions, reach: float) -> tuple[list[Any], list[Any]]:
        """The lower and upper limits of predicted numbers; None where there is no prediction."""
        assert part.numbers is not None
        low, high = bounds(self.model, part.numbers, reach)
        missing = part.missing.tolist()
        ends = [
            [None if without else value for value, without in zip(limit.tolist(), missing, strict=True)]
            for limit in (low, high)
        ]
        return ends[0], ends[1]

    def sets(self, part: Predictions, reach: float) -> list[list[Any] | None]:
        """The labels of each row's set, most likely first; None where there is no prediction."""
        assert part.codes is not None
        assert part.probabilities is not None
        rows = np.flatnonzero(~part.missing)
        found: list[list[Any] | None] = [None] * len(part.codes)
        made = label_sets(part.probabilities[rows], part.codes[rows], reach, part.labels)
        for row, labels in zip(rows.tolist(), made, strict=True):
            found[row] = labels
        return found

    def predict_proba(self, source: Any, *, extrapolate: bool = False, reading: Reading | None = None) -> Any:
        """Predict probabilities, one column per class of `classes`: an array, or a frame if a frame was given.

        Args:
            source: as for `predict`.
            extrapolate: as for `predict`. Default: False.
            reading: how the data is read; see `Reading`. Default: as the training data.
        """
        self._check_probabilities()
        parts = list(self.batches(source, extrapolate=extrapolate, reading=reading))
        found = [part.probabilities for part in parts if part.probabilities is not None]
        if not found:
            return frames.columns(source, np.zeros((0, len(self.classes))), self._column_labels())
        names = self._column_labels()[: max(len(part.classes) for part in parts)]
        # A class that joined between two batches has no probabilities in the first one.
        wide = [np.pad(part, ((0, 0), (0, len(names) - part.shape[1]))) for part in found]
        return frames.columns(source, np.concatenate(wide), names)

    def _column_labels(self) -> list[Any]:
        """The names of probability columns: integers for whole numbers, text for booleans."""
        return self.class_names if self._boolean else self.classes

    def as_it_was(self, values: list[Any]) -> list[Any]:
        """Convert "true" and "false" back to booleans, if the labels were booleans."""
        return [None if value is None else value == "true" for value in values] if self._boolean else values

    def _check_probabilities(self) -> None:
        if not self._link.gives_probabilities:
            raise OptionError("only models with logistic loss give probabilities")

    # ------------------------------------------------------------------------------------------------ properties

    @property
    def classes(self) -> list[Any]:
        """The labels as in the data, in the order of the probabilities; empty for models of numbers."""
        return self.as_it_was(self.labels)

    @property
    def class_names(self) -> list[str]:
        """The labels as text."""
        if self._several:
            return [label if isinstance(label, str) else number_text(label) for label in self.model._class_labels]
        classes: list[str] = self.target.classes
        return classes

    @property
    def features(self) -> dict[Any, str]:
        """The columns that it reads, in order, with their types.

        A type is "number", "flag" (a number, 0 or 1), "text", "boolean" (true or false), "date", "moment" (a date with
        a time) or "time". Data that is not a table has features by name or, in arrays, by number; each is a number.
        """
        if self.schema.family == "table":
            return {name: str(kind) for name, kind in self.schema.columns}
        state = self.model._snapshot()
        known = range(state["columns"] or 0) if state["names"] is None else state["names"]
        return dict.fromkeys(known, "number")

    @cached_property
    def _several(self) -> bool:
        return self.model.task == "classes"

    @cached_property
    def _boolean(self) -> bool:
        return not self._several and self.target.classes == ["false", "true"] and not self.target.number

    @cached_property
    def _two_labels(self) -> list[Any]:
        return self.classes

    def __reduce__(self) -> tuple[Any, ...]:
        return Predictor, (self.model,)

    def __repr__(self) -> str:
        what = "numbers" if not self._several and self.target.task == "regression" else f"one of {self.classes[:8]}"
        return f"<Predictor: {what.replace(']', ', ...]') if len(self.classes) > 8 else what}>"

    def _repr_html_(self) -> str:
        columns = self.features
        rows = [[html.name(name), kind] for name, kind in list(columns.items())[:SHOWN_COLUMNS]]
        facts = [("predicts", str(self.target)), ("examples", f"{self.model.examples:,}")]
        facts += [("model type", self.model.model_type or ""), ("members", shares_shown(self.model.members))]
        facts += [("columns", f"{len(columns):,}")]
        more = len(columns) - len(rows)
        return html.card(
            "Predictor",
            html.facts(facts),
            html.table(["column", "holds"], rows, left=2) if rows else "",
            *([html.note(f"{more:,} further columns are in .features.")] if more else []),
        )

    # ------------------------------------------------------------------------------------------------ batch by batch

    def batches(
        self,
        source: Any,
        *,
        extrapolate: bool = False,
        keep: bool = False,
        stopped: Callable[[], bool] = never,
        reading: Reading | None = None,
    ) -> Iterator[Predictions]:
        """Predict batch by batch. Rows of a pipe are predicted as they arrive.

        Args:
            source: as for `predict`.
            extrapolate: predict linearly beyond the range of training values, see `Learner.predict`. Default: False.
            keep: keep the original rows in the results. Default: False.
            stopped: called while waiting for a pipe or a growing file; if it returns true, reading ends. Default: it
                never does.
            reading: how the data is read; with `tail=True` a file is read while it grows. Default: as the training
                data.
        """
        skip = given_reading(reading).get("on_error") == "skip"
        for batch in self.read(source, keep, stopped, reading):
            yield self.predictions(batch, extrapolate, skip)

    def _options(self, reading: Reading | None = None) -> ReadOptions:
        """The reading options that training has fixed."""
        return ReadOptions.settled(self._reading, **given_reading(reading))

    def read(
        self,
        source: Any,
        keep: bool = False,
        stopped: Callable[[], bool] = never,
        reading: Reading | None = None,
    ) -> Iterator[Batch]:
        """Read data like the model's training data, batch by batch."""
        options = self._options(reading)
        opened = fitting_source(open_source(source, options), self.schema, options, originals=keep)
        if keep and opened.family != "table":
            raise OptionError(f"{opened.name} is not a table: it has no columns to keep")
        yield from Reader(opened, options, self.schema, target_needed=False, originals=keep).batches(None, stopped)

    def predictions(self, batch: Batch, extrapolate: bool = False, skip: bool = False) -> Predictions:
        """Predict a batch; `skip`: leave out rows that cannot be predicted."""
        used, readable, total = batch, places(batch), batch.rows + len(batch.bad_numbers)
        if skip:
            invalid = _invalid(batch)
            used, readable = batch.select(~invalid), readable[~invalid]
        several = self._several
        if used.offset is not None and (missing := np.isnan(used.offset)).any():
            where = used.place.at(int(np.flatnonzero(missing)[0]))
            raise InputError(f"the offset {self.schema.offset!r} is missing", **where)
        try:
            if not used.rows:
                labels = self.labels
                scores = np.zeros((0, len(labels)) if several else 0)
            else:
                scores, labels = self.model._scores_and_labels(used.data, extrapolate, used.offset)
                labels = labels if several else self.labels
        except Error as error:
            raise error.moved(used.place.at) from None
        classes = self.class_names[: len(labels)] if several else self.class_names
        width = (len(labels),) if several else ()
        every = np.full((total, *width), np.nan)
        every[readable] = scores
        codes = numbers = probabilities = None
        if several or self.target.task == "binary":
            codes = np.full(total, -1, np.int32)
            if used.rows:
                codes[readable] = scores.argmax(axis=1) if several else scores > 0
        else:
            numbers = self.model._link(every)
        if LOSSES[self.model.options.loss].link.gives_probabilities:
            probabilities = np.full((total, len(classes)), np.nan)
            if several:
                probabilities[readable] = self.model._shares(scores)
            else:
                p = self.model._link(scores)
                probabilities[readable] = np.stack([1 - p, p], axis=1)
        return Predictions(batch, labels, codes, every, numbers, probabilities, classes, readable)

    @property
    def labels(self) -> list[Any]:
        """The classes as in the data; empty for models of numbers."""
        if self._several:
            return self.model._class_labels
        if self.target.task == "binary" and "" in self.target.classes:
            known = next((name for name in self.target.classes if name), "")
            raise InputError(
                f"the training of this model was interrupted when the target had had only one value, {known!r}; "
                "continue with it, so that there is another one to predict"
            )
        if self.target.task == "binary":
            return [_as_it_was(name, self.target.number) for name in self.target.classes]
        return []


def _as_it_was(name: str, number: bool) -> Any:
    if not number:
        return name
    value = float(name)
    return int(value) if value == int(value) else value


def _invalid(batch: Batch) -> NDArray[np.bool_]:
    """Whether each row cannot be predicted."""
    wrong = inputs.invalid_rows(batch.data)
    return wrong if batch.offset is None else wrong | ~np.isfinite(batch.offset)
