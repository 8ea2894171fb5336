"""Columns that give the target away: a status that is only known afterwards, the label in another unit, its two parts.

Such a column makes the hold-out metrics excellent and the model useless. It is looked for only where the metrics are
excellent: one column, or a pair of numeric ones, must predict other rows than it was judged from almost without error,
and a model without it must do far worse. Both are measured on a sample of the rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

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
FEW = 50  # held-out rows: with fewer, half of all rows take their place
LEAST = 60  # different rows of a table: fewer do not tell
WORTH_A_LOOK = 0.9  # the skill of the model, below which its metrics are not too good to be true; and of a column
ALMOST_ALL = 0.98  # the skill of a column that determines the target almost alone
EXACTLY = 0.999  # the skill of columns each of which determines the target, so that they are left out together
MOST_OTHERS = 0.9  # the skill of all other columns together: above it the column is one strong feature among others
IDENTITY = 1e-6  # the share of the squared error that rounding may leave
PAIR = 1e-4  # the same for two columns: two strong features may predict well together, but only an identity so well
BETTER = 0.01  # the share of the error of the best single column that a pair may leave, to be named instead of it
FAR = 5.0  # times as much error is left by the others
MORE_ERRORS = 8  # and so many more wrong predictions: on few rows, fewer may be chance
BINS = 64  # bins for a numeric column
MOST_NUMERIC = 50  # columns whose pairs are looked at
PASSES = 3  # how often the model without the column learns the sample

Columns: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Leak:
    """Columns that determine the target almost alone.

    Args:
        columns: their names.
        skill: their skill.
        others: the skill of all other columns together.
        each: whether each of the columns determines the target; otherwise they do so together.
    """

    columns: Columns
    skill: float
    others: float
    each: bool = False

    def note(self) -> Phrase:
        """What a user should know, and what to do."""
        named = " and ".join(map(repr, self.columns))
        if len(self.columns) == 1:
            which, known = f"column {named} alone predicts", "it is"
        elif self.each:
            which, known = f"each of the columns {named} alone predicts", "they are"
        else:
            which, known = f"columns {named} alone predict", "they are"
        options: list[str | Option] = [Option("ignore", self.columns[0])]
        for name in self.columns[1:]:
            options += [" and " if self.each else " or ", Option("ignore", name)]
        return Phrase(
            f"{which} the target almost without error (skill {self.skill:.2%}; all other columns together: "
            f"{max(0.0, self.others):.0%}). If {known} known only after the target, new rows will not have such good "
            "predictions: leave out what is not known in time, with ",
            *options,
        )


def find_leak(training: Training, rows: RandomRows, learned: int) -> Leak | None:
    """The columns that give the target away, if there are any.

    Args:
        training: a fit whose passes are done and whose hold-out metrics are known.
        rows: its rows in random order.
        learned: how many of them were learned; the others are held out.
    """
    session, holdout = training.session, training.findings.holdout
    if session is None or holdout is None:
        return None
    by = holdout.judged_by
    found, baseline = holdout.metrics, session.metrics.baseline.metrics
    if by not in found or by not in baseline or not skill(found, baseline, by) >= WORTH_A_LOOK:
        return None
    parts = _parts(training, rows, learned)
    if parts is None:
        return None
    sample = _Sample(session, *(list(rows.batches(*part)) for part in parts))
    source = FeatureColumns(training.schema.columns)
    dates = {f"{name}.time" for name, kind in training.schema.columns if kind in DATES}
    for names, alone, each in sample.candidates(dates):
        columns = tuple(dict.fromkeys(str(source.of(name)) for name in names))
        left_out = [name for name in batch_columns.names(sample.learned[0].data) or () if source.of(name) in columns]
        others = _skill_without(training, sample, left_out)
        if others is not None and sample.is_leak(alone, others):
            return Leak(columns, alone, others, each and len(columns) > 1)
    return None


def _parts(training: Training, rows: RandomRows, learned: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The rows from which columns are judged, and those on which they are judged; None if there are too few.

    The model takes no part in this, so that in a small table, half of all rows are judged instead of its few held-out
    rows.
    """
    kin = training.findings.kin
    different = rows.rows - (0 if kin is None else kin.duplicates or 0)
    if different < LEAST or (kin is not None and kin.known):  # then every column tells which row it is
        return None
    held = training.progress.held
    if held >= FEW:
        return (0, min(learned, LEARNED)), (rows.rows - held, min(rows.rows, rows.rows - held + HELD_OUT))
    if different < rows.rows:  # copies would be in both halves
        return None
    half = rows.rows // 2
    return (0, min(half, LEARNED)), (half, min(rows.rows, half + HELD_OUT))


class _Sample:
    """Some rows from which columns are judged, and some on which they are judged, by column."""

    def __init__(self, session: Session, learned: list[Batch], held: list[Batch]) -> None:
        self.learned, self.held = learned, held
        self.task = session.model.task
        parts = [[session.scored(batch).truth for batch in batches] for batches in (learned, held)]
        self._y, self._held_y = (np.concatenate(part).astype(np.float64) for part in parts)

    def candidates(self, dates: Collection[str]) -> Iterator[tuple[Columns, float, bool]]:
        """Columns that determine the target almost alone, their skill, and whether each of them does.

        Args:
            dates: the columns that have the seconds of dates.
        """
        single, numeric = self._single()
        best = max(single.values(), default=-np.inf)
        pair = self._pair(numeric, dates)
        if pair is not None and 1 - pair[1] < BETTER * (1 - best):
            yield *pair, False
        if single:
            exact = tuple(name for name, alone in single.items() if alone >= EXACTLY)
            yield exact or (max(single, key=lambda name: single[name]),), best, True

    def is_leak(self, alone: float, others: float) -> bool:
        """Whether columns with this skill give the target away, if all others together have that skill."""
        if 1 - others < FAR * (1 - alone):
            return False
        if self.task == "regression":
            identity = 1 - alone < IDENTITY  # the target in another unit, or a sum
            return others <= MOST_OTHERS or identity
        baseline = int((self._held_y != self._usual).sum())
        return others <= MOST_OTHERS and (alone - others) * baseline >= MORE_ERRORS

    @property
    def _usual(self) -> int:
        """The most frequent class."""
        return int(np.bincount(self._y.astype(np.intp)).argmax())

    def _single(self) -> tuple[dict[str, float], dict[str, tuple[Float64, Float64]]]:
        """The columns each of which determines the target almost alone, with their skill; and all numeric columns."""
        found: dict[str, float] = {}
        numeric: dict[str, tuple[Float64, Float64]] = {}
        for name in batch_columns.names(self.learned[0].data) or ():
            values, held = (batch_columns.values(batches, name) for batches in (self.learned, self.held))
            if values is None or held is None or len(values) != len(self._y) or len(held) != len(self._held_y):
                continue
            alone = max(self._skill(*codes) for codes in _codings(values, held))
            if values.dtype.kind == "f" and np.isfinite(values).all() and np.isfinite(held).all():
                numeric[name] = values, held
                if self.task == "regression" and alone >= WORTH_A_LOOK:  # it may be the target in another unit
                    alone = max(alone, self._linear([numeric[name]]))
            if alone >= ALMOST_ALL:
                found[name] = alone
        return found, numeric

    def _pair(
        self, numeric: dict[str, tuple[Float64, Float64]], dates: Collection[str]
    ) -> tuple[Columns, float] | None:
        """The two numeric columns that determine the target almost without error, and their skill."""
        some = dict(itertools.islice(numeric.items(), MOST_NUMERIC))
        if self.task == "regression":
            return max(self._sums(some), default=None, key=lambda found: found[1])
        between = self._between({name: pair for name, pair in numeric.items() if name in dates})
        return between or (self._larger(some) if self.task == "binary" else None)

    def _between(self, dates: dict[str, tuple[Float64, Float64]]) -> tuple[Columns, float] | None:
        """Two dates between which the time determines the class: "late" is known when both dates are."""
        found = [
            ((one, other), max(self._skill(*codes) for codes in _codings(a - b, held_a - held_b)))
            for (one, (a, held_a)), (other, (b, held_b)) in itertools.combinations(dates.items(), 2)
        ]
        return max((one for one in found if one[1] >= ALMOST_ALL), default=None, key=lambda one: one[1])

    def _larger(self, numeric: dict[str, tuple[Float64, Float64]]) -> tuple[Columns, float] | None:
        """Two numbers of which the larger one determines the class: "overdue" is due > paid."""
        yes = self._y > 0
        found = []
        for (one, (a, held_a)), (other, (b, held_b)) in itertools.combinations(numeric.items(), 2):
            same = float(np.mean((a > b) == yes))
            if max(same, 1 - same) > max(yes.mean(), 1 - yes.mean()):
                codes, held = ((x > y).astype(np.intp) for x, y in ((a, b), (held_a, held_b)))
                found.append(((one, other), self._skill(codes, held)))
        return max((one for one in found if one[1] >= ALMOST_ALL), default=None, key=lambda one: one[1])

    def _skill(self, codes: NDArray[np.intp], held: NDArray[np.intp]) -> float:
        """The skill of predicting by the mean, or the most frequent class, of each value."""
        y, truth, count = self._y, self._held_y, int(max(codes.max(), held.max())) + 1
        if self.task == "regression":
            sizes, sums = np.bincount(codes, minlength=count), np.bincount(codes, y, count)
            means = np.where(sizes > 0, sums / np.maximum(sizes, 1), y.mean())
            return _r2(truth, means[held])
        kinds = int(max(y.max(), truth.max())) + 1
        pairs, sizes = np.unique(codes * kinds + y.astype(np.intp), return_counts=True)
        pairs = pairs[np.argsort(sizes, kind="stable")]
        said = np.full(count, self._usual)
        said[pairs // kinds] = pairs % kinds  # the most frequent class of a value is written last
        errors, baseline = float(np.mean(said[held] != truth)), float(np.mean(self._usual != truth))
        return 1 - errors / baseline if baseline else 0.0

    def _sums(self, numeric: dict[str, tuple[Float64, Float64]]) -> Iterator[tuple[Columns, float]]:
        """Pairs of which the target is a linear combination, or a product of powers, almost without error."""
        yield from self._combinations(numeric, self._y, self._held_y)
        if (self._y > 0).all() and (self._held_y > 0).all():
            positive = {
                name: (np.log(values), np.log(held))
                for name, (values, held) in numeric.items()
                if (values > 0).all() and (held > 0).all()
            }
            yield from self._combinations(positive, np.log(self._y), np.log(self._held_y))

    def _combinations(
        self, numeric: dict[str, tuple[Float64, Float64]], y: Float64, held_y: Float64
    ) -> Iterator[tuple[Columns, float]]:
        """Pairs of columns of which `y` is a linear combination, by the normal equations of all pairs at once."""
        names = [name for name, (values, _) in numeric.items() if values.min() < values.max()]
        if len(names) < 2 or y.min() == y.max():
            return
        X = np.stack([_standardized(numeric[name][0]) for name in names])
        products, with_y = X @ X.T / len(y), X @ _standardized(y) / len(y)
        left = np.maximum(1 - products**2, np.finfo(float).eps)
        explained = (with_y[:, None] ** 2 + with_y**2 - 2 * products * with_y[:, None] * with_y) / left
        one, other = np.nonzero(np.triu(explained >= 1 - 2 * PAIR, 1))
        for k in np.argsort(-explained[one, other])[:3]:
            columns = names[one[k]], names[other[k]]
            alone = self._linear([numeric[name] for name in columns], y, held_y)
            if alone >= 1 - PAIR:
                yield columns, alone

    def _linear(
        self, columns: Sequence[tuple[Float64, Float64]], y: Float64 | None = None, held_y: Float64 | None = None
    ) -> float:
        """The skill of the linear combination of some columns. `y` and `held_y` take the place of the target."""
        y, held_y = (self._y, self._held_y) if y is None or held_y is None else (y, held_y)
        design, held = (
            np.stack([*(pair[k] for pair in columns), np.ones(len(labels))], axis=1)
            for k, labels in ((0, y), (1, held_y))
        )
        scale = np.abs(design).max(axis=0)
        if not (scale > 0).all():
            return 0.0
        weights = np.linalg.lstsq(design / scale, y, rcond=None)[0]
        return _r2(held_y, held / scale @ weights)


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


def _codings(values: NDArray[Any], held: NDArray[Any]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Values as small numbers: texts by value, where new texts share a number; numbers in two ways.

    In bins of equally many rows, so that noise averages out; and by the nearest value, which finds exact limits.
    """
    if values.dtype.kind == "f":
        present = values[~np.isnan(values)]
        cuts = np.unique(np.quantile(present, np.linspace(0, 1, BINS + 1)[1:-1])) if len(present) else np.zeros(0)
        yield _placed(values, cuts), _placed(held, cuts)
        distinct = np.unique(present)
        middles = distinct[:-1] / 2 + distinct[1:] / 2
        yield _placed(values, middles), _placed(held, middles)
        return
    number = {text: k for k, text in enumerate(dict.fromkeys(values.tolist()))}
    unknown = len(number)
    yield (
        np.array([number[text] for text in values.tolist()], np.intp),
        np.array([number.get(text, unknown) for text in held.tolist()], np.intp),
    )


def _placed(values: Float64, cuts: Float64) -> NDArray[np.intp]:
    """The number of the interval between cuts that each value is in; missing values have a number of their own."""
    places = np.searchsorted(cuts, np.nan_to_num(values), side="right")
    return np.where(np.isnan(values), len(cuts) + 1, places).astype(np.intp)


def _standardized(values: Float64) -> Float64:
    scaled = values / np.abs(values).max()
    centered: Float64 = scaled - scaled.mean()
    spread = float(centered.std())
    return centered / spread if spread else centered


def _r2(truth: Float64, predicted: Float64) -> float:
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1 - float(((truth - predicted) ** 2).sum()) / spread if spread else 0.0
