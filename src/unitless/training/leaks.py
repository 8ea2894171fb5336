"""Columns that give the target away: a status that is only known afterwards, the label in another unit, its two parts.

Such a column makes the hold-out metrics excellent and the model useless. It is looked for only where the metrics are
excellent: one column, or a pair of numeric ones, must predict held-out rows almost without error, and a model without
it must do far worse. Both are measured on a sample of the rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data import Batch
from ..data.columns import batch_columns
from ..data.columns.feature_columns import FeatureColumns
from ..data.columns.schema import DATES
from ..errors import Option, Phrase
from ..inputs import Float64
from ..metrics.baseline import skill
from ..metrics.evaluation import Evaluation
from .session import Session

if TYPE_CHECKING:
    from .fit import RandomRows
    from .training import Training

LEARNED, HELD_OUT = 4000, 2000  # rows of the sample, at most
FEW = 50  # held-out rows: fewer do not tell
WORTH_A_LOOK = 0.9  # the skill of the model, below which no column can determine the target
ALMOST_ALL = 0.98  # the skill of a column that determines the target almost alone
MOST_OTHERS = 0.9  # the skill of all other columns together: above it the column is one strong feature among others
IDENTITY = 1e-6  # the share of the squared error that rounding may leave
FAR = 5.0  # times as much error is left by the others
BINS = 64  # bins for a numeric column
MOST_NUMERIC = 50  # columns whose pairs are looked at
PASSES = 3  # how often the model without the column learns the sample


@dataclass(frozen=True)
class Leak:
    """Columns that determine the target almost alone, their skill, and that of all other columns together."""

    columns: tuple[str, ...]
    skill: float
    others: float

    def note(self) -> Phrase:
        """What a user should know, and what to do."""
        if len(self.columns) == 1:
            which, known = f"column {self.columns[0]!r} alone predicts", "it is"
        else:
            which, known = f"columns {' and '.join(map(repr, self.columns))} alone predict", "they are"
        return Phrase(
            f"{which} the target almost without error (skill {self.skill:.2%}; all other columns together: "
            f"{max(0.0, self.others):.0%}). If {known} known only after the target, new rows will not have such good "
            "predictions: leave out what is not known in time, with ",
            *itertools.chain.from_iterable(
                (" or " if k else "", Option("ignore", name)) for k, name in enumerate(self.columns)
            ),
        )


def find_leak(training: Training, rows: RandomRows, learned: int) -> Leak | None:
    """The columns that give the target away, if there are any.

    Args:
        training: a fit whose passes are done and whose hold-out metrics are known.
        rows: its rows in random order.
        learned: how many of them were learned; the others are held out.
    """
    session, holdout = training.session, training.findings.holdout
    if session is None or holdout is None or rows.rows - learned < FEW:
        return None
    by = holdout.judged_by
    found, baseline = holdout.metrics, session.metrics.baseline.metrics
    if by not in found or by not in baseline or not skill(found, baseline, by) >= WORTH_A_LOOK:
        return None
    sample = _Sample(
        session,
        list(rows.batches(0, min(learned, LEARNED))),
        list(rows.batches(learned, min(rows.rows, learned + HELD_OUT))),
    )
    source = FeatureColumns(training.schema.columns)
    dates = {f"{name}.time" for name, kind in training.schema.columns if kind in DATES}
    best = sample.best(dates)
    if best is None:
        return None
    columns, alone = tuple(dict.fromkeys(str(source.of(name)) for name in best[0])), best[1]
    names = [name for name in batch_columns.names(sample.learned[0].data) or () if source.of(name) in columns]
    others = _skill_without(training, sample, names)
    identity = sample.task == "regression" and 1 - alone < IDENTITY  # the target in another unit, or a sum
    if others is None or 1 - others < FAR * (1 - alone) or (others > MOST_OTHERS and not identity):
        return None
    return Leak(columns, alone, others)


class _Sample:
    """Some rows that were learned and some that were held out, by column."""

    def __init__(self, session: Session, learned: list[Batch], held: list[Batch]) -> None:
        self.learned, self.held = learned, held
        self.task = session.model.task
        parts = [[session.scored(batch).truth for batch in batches] for batches in (learned, held)]
        self._y, self._held_y = (np.concatenate(part).astype(np.float64) for part in parts)

    def best(self, dates: Collection[str]) -> tuple[tuple[str, ...], float] | None:
        """The column, or the pair of numeric columns, that determines the target almost alone; and its skill.

        Args:
            dates: the columns that have the seconds of dates.
        """
        found: tuple[tuple[str, ...], float] | None = None
        numeric: dict[str, tuple[Float64, Float64]] = {}
        for name in batch_columns.names(self.learned[0].data) or ():
            values, held = (batch_columns.values(batches, name) for batches in (self.learned, self.held))
            if values is None or held is None or len(values) != len(self._y) or len(held) != len(self._held_y):
                continue
            alone = self._skill(*_coded(values, held))
            if values.dtype.kind == "f" and np.isfinite(values).all() and np.isfinite(held).all():
                numeric[name] = values, held
            if alone >= ALMOST_ALL and (found is None or alone > found[1]):
                found = (name,), alone
        if self.task == "regression":
            return self._linear(numeric) or found
        return found or self._between({name: pair for name, pair in numeric.items() if name in dates})

    def _between(self, dates: dict[str, tuple[Float64, Float64]]) -> tuple[tuple[str, ...], float] | None:
        """Two dates between which the time determines the class: "late" is known when both dates are."""
        best: tuple[tuple[str, ...], float] | None = None
        for one, other in itertools.combinations(dates, 2):
            (a, held_a), (b, held_b) = dates[one], dates[other]
            alone = self._skill(*_coded(a - b, held_a - held_b))
            if alone >= ALMOST_ALL and (best is None or alone > best[1]):
                best = (one, other), alone
        return best

    def _skill(self, codes: NDArray[np.intp], held: NDArray[np.intp]) -> float:
        """The skill of predicting by the mean, or the most frequent class, of each value."""
        y, truth, count = self._y, self._held_y, int(max(codes.max(), held.max())) + 1
        if self.task == "regression":
            sizes, sums = np.bincount(codes, minlength=count), np.bincount(codes, y, count)
            means = np.where(sizes > 0, sums / np.maximum(sizes, 1), y.mean())
            return _r2(truth, means[held], float(y.mean()))
        kinds = int(max(y.max(), truth.max())) + 1
        table = np.bincount(codes * kinds + y.astype(np.intp), minlength=count * kinds).reshape(count, kinds)
        usual = int(np.bincount(y.astype(np.intp)).argmax())
        said = np.where(table.any(axis=1), table.argmax(axis=1), usual)
        errors, baseline = float(np.mean(said[held] != truth)), float(np.mean(usual != truth))
        return 1 - errors / baseline if baseline else 0.0

    def _linear(self, numeric: dict[str, tuple[Float64, Float64]]) -> tuple[tuple[str, ...], float] | None:
        """One column or two of which the target is a linear combination, almost without error."""
        names = list(numeric)[:MOST_NUMERIC]
        best: tuple[tuple[str, ...], float] | None = None
        for columns in itertools.chain(((name,) for name in names), itertools.combinations(names, 2)):
            if len(columns) == 2 and best is not None and len(best[0]) == 1:
                break  # one column is enough
            design = np.stack([*(numeric[name][0] for name in columns), np.ones(len(self._y))], axis=1)
            scale = np.abs(design).max(axis=0)
            if not (scale > 0).all():
                continue
            weights = np.linalg.lstsq(design / scale, self._y, rcond=None)[0] / scale
            held = np.stack([*(numeric[name][1] for name in columns), np.ones(len(self._held_y))], axis=1)
            alone = _r2(self._held_y, held @ weights, float(self._y.mean()))
            # Two strong features may predict well together: only an identity gives the target away.
            if alone >= (ALMOST_ALL if len(columns) == 1 else 1 - 1e-4) and (best is None or alone > best[1]):
                best = columns, alone
        return best


def _skill_without(training: Training, sample: _Sample, columns: Collection[str]) -> float | None:
    """The skill, on the held-out rows of the sample, of a model that learns its other rows without these columns."""
    assert training.session is not None
    target, first = training.session.target, batch_columns.without(sample.learned[0].data, columns)
    if first is None:
        return 0.0  # there are no others
    model_type = training.session.model.options.model_type  # a trial may have chosen it
    session = Session(training.new_model(target, first, model_type), target, on_error=training.reader.options.on_error)
    session.model._choose_rates(True)
    for number in range(PASSES):
        for batch in _all_without(sample.learned, columns):
            session.learn(batch, "metrics" if number == 0 else "nothing")
        session.model._choose_rates(False)
    evaluation, baseline = Evaluation(session.model), session.metrics.baseline
    baseline.begin_scoring()
    session.score(_all_without(sample.held, columns), [evaluation, baseline])
    by = evaluation.judged_by
    if by not in evaluation.metrics or by not in baseline.metrics:
        return None
    return skill(evaluation.metrics, baseline.metrics, by)


def _all_without(batches: list[Batch], columns: Collection[str]) -> Iterable[Batch]:
    for batch in batches:
        data = batch_columns.without(batch.data, columns)
        assert data is not None
        yield replace(batch, data=data)


def _coded(values: NDArray[Any], held: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Values as small numbers: numeric ones by bins of equally many rows, texts by value; new texts share a number."""
    if values.dtype.kind == "f":
        present = values[~np.isnan(values)]
        cuts = np.unique(np.quantile(present, np.linspace(0, 1, BINS + 1)[1:-1])) if len(present) else np.zeros(0)
        bins = [np.searchsorted(cuts, np.nan_to_num(one), side="right") for one in (values, held)]
        first, second = (
            np.where(np.isnan(one), len(cuts) + 1, found) for one, found in zip((values, held), bins, strict=True)
        )
        return first.astype(np.intp), second.astype(np.intp)
    number = {text: k for k, text in enumerate(dict.fromkeys(values.tolist()))}
    unknown = len(number)
    return (
        np.array([number[text] for text in values.tolist()], np.intp),
        np.array([number.get(text, unknown) for text in held.tolist()], np.intp),
    )


def _r2(truth: Float64, predicted: Float64, mean: float) -> float:
    spread = float(((truth - mean) ** 2).sum())
    return 1 - float(((truth - predicted) ** 2).sum()) / spread if spread else 0.0
