"""`sweep`: the progressive loss of many learning rates, for several rules, in one reading of the data.

outcome = ul.sweep("prices.csv", target="price")
outcome["nag"].best_rate
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import html, notebook_bar
from .. import rules as update_rules
from ..data import Batch, Reader, Target
from ..data import labels as task_labels
from ..data.memory import memory_size
from ..data.progress import Progress
from ..data.read_options import Reading, given_reading
from ..errors import InputError, OptionError
from ..inputs import Float64
from ..losses import LOSSES
from ..models.classes import Label
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored
from ..models.sweep import Sweep
from ..options import ModelType, Rule
from .contest import Contender, Contest, checked_rules
from .plan import Plan
from .session import Counted, Session, learn_batch
from .setup import ModelRequest, Setup
from .side_by_side import sweep_sections
from .training import Training

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RULES: tuple[Rule, ...] = tuple(
    rule.name for rule in update_rules.RULES.values() if rule.adaptive and not rule.second_order
)


def sweep(
    source: Any,
    target: Any = None,
    rules: Iterable[str] = RULES,
    rates: Iterable[float] | None = None,
    *,
    classes: Iterable[Any] | None = None,
    weight: Any = None,
    task: str | None = None,
    positive: str | None = None,
    shuffle: bool = True,
    random_state: int = 0,
    memory: int | str | None = None,
    reading: Reading | None = None,
    progress: Callable[[Contest[SweepTraining]], None] | Literal[False] | None = None,
    **options: Any,
) -> SweepResult:
    """Compute the progressive loss of every learning rate, for several rules, in one reading of the data.

    Args:
        source: any data; see `train`.
        target: the column to predict, or the labels themselves.
        rules: the update rules to try; each must have a learning rate.
        rates: the learning rates to try. Default: the paper's learning-rate grid.
        classes: the labels, if there are more than two. A sweep must know them before it begins. Default: the target is
            read once before the sweep.
        weight: as for `train`; so are task, positive, shuffle, random_state, memory and reading.
        progress: called after every batch. Default: a bar in notebooks; False for none.
        options: the options of the learners; see `Learner`.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3)) * [1e-6, 1, 1e6]
        >>> y = X @ [2e6, 1.0, -3e-6] + rng.normal(size=2000)
        >>> outcome = ul.sweep(X, y, ["nag", "ag"], [0.01, 0.1, 1.0])
        >>> {rule: swept.best_rate for rule, swept in outcome.rules.items()}
        {'nag': 1.0, 'ag': 0.01}
        >>> outcome.best
        ('nag', 1.0)
    """
    for name in ("rule", "learning_rate", "output", "resume", "checkpoint", "passes", "holdout"):
        if name in options:
            hint = {"rule": "; give rules instead", "learning_rate": "; give rates instead"}.get(name, "")
            raise OptionError(f"a sweep has no option {name!r}{hint}")
    wanted = checked_rules(rules)
    for rule in wanted:
        if rule not in update_rules.FIRST_ORDER:
            others = ", ".join(map(repr, update_rules.FIRST_ORDER))
            raise OptionError(f"has {rule!r}, which has no learning rate; a sweep is for {others}", option="rules")
    how, learning = given_reading(reading), dict(options)
    plan = Plan(1, 0.0, random_state, shuffle=shuffle, memory=None if memory is None else memory_size(memory))
    grid = _checked(rates, learning.pop("model_type", "linear"))
    known = _KnownClasses(source, None if classes is None else list(classes))

    def training(data: Any, rule: Rule) -> SweepTraining:
        request = ModelRequest(
            task,
            positive,
            {**learning, "rule": rule, "learning_rate": grid[0], "model_type": "linear", "ensemble": False},
        )
        return SweepTraining(Setup.of(data, target, weight, how, request, plan), grid, known)

    contest = Contest(wanted, source, training)
    with notebook_bar.watching(progress) as watch:
        notebook_bar.opened(watch, contest)
        contest.go(watch)
    return SweepResult(contest)


def _checked(rates: Iterable[float] | None, model_type: ModelType) -> list[float]:
    grid: list[float] = Sweep(rates, model_type=model_type).rates.tolist()  # refuses invalid rates
    for rate in grid:
        if grid.count(rate) > 1:
            raise OptionError(f"has {rate:g} twice", option="rates")
    return grid


class _KnownClasses:
    """The classes, which all rules share: given, or found by reading the target once."""

    def __init__(self, source: Any, given: list[Any] | None) -> None:
        self._source, self._given = source, given
        self._found: list[Label] | None = None

    def of(self, training: Training) -> list[Label]:
        """The classes for a training with several classes."""
        if self._found is None:
            self._found = self._read(training) if self._given is None else self._labels(training)
            if len(self._found) < 2:
                raise InputError(
                    f"the target has one value only, {self._found[0]!r}" if self._found else "the target has no classes"
                )
        return self._found

    def _labels(self, training: Training) -> list[Label]:
        """The given classes in the form that the target has: text or numbers."""
        assert training.target is not None
        assert self._given is not None
        try:
            return [task_labels.plain_number(label) if training.target.number else str(label) for label in self._given]
        except (TypeError, ValueError):
            raise OptionError(f"are {self._given!r}, but the target's values are numbers", option="classes") from None

    def _read(self, training: Training) -> list[Label]:
        if not training.source.repeatable:
            raise OptionError(
                f"{training.source.name} can be read only once, and a sweep must know the classes before it begins: "
                "list them as classes"
            )
        schema, main = training.reader.schema, training.reader
        assert schema is not None
        assert training.target is not None
        if schema.family == "table":
            schema = replace(schema, columns=schema.columns[:1])  # only the target is needed
        as_label: Callable[[str], Label] = task_labels.plain_number if training.target.number else str
        reader = Reader(training.source, main.options, schema, main._target, main._weight, drop_invalid=True)
        found: dict[Label, None] = {}
        for batch in reader.batches():
            if batch.labels is None:
                continue
            counted = batch.labels.present()
            if isinstance(batch.labels, task_labels.Numbers):
                counted &= np.isfinite(batch.labels.values)
            if batch.weight is not None:
                counted &= batch.weight > 0
            distinct, first, _ = batch.labels.take(counted).distinct()
            for k in np.argsort(first):  # in the order in which they are met, as in OneVsAll
                found.setdefault(as_label(distinct[k]))
        return list(found)


class SweepTraining(Training):
    """A training that learns with all rates at once. The model of its session only provides their common options."""

    def __init__(self, setup: Setup, rates: list[float], classes: _KnownClasses) -> None:
        super().__init__(setup)
        self._rates, self._known = rates, classes

    def take(self, model: Learner | OneVsAll, target: Target) -> None:
        """Begin a session that learns with all rates."""
        options = model.options.asdict()
        del options["learning_rate"]
        self.session = SweepSession(model, target, on_error=self.reader.options.on_error)
        classes = self._known.of(self) if model.task == "classes" else None
        self.session.sweep = Sweep(self._rates, classes=classes, **options)

    @property
    def sweep(self) -> Sweep | None:
        """The model with all rates; None before the first label."""
        return self.session.sweep if isinstance(self.session, SweepSession) else None

    def scored(self, losses: Float64) -> Float64:
        """Mean losses over the rows that are counted. The core has counted the first row's weight, but not its loss."""
        assert isinstance(self.session, SweepSession)
        weight, blind = self.session.sweep.total_weight, self.session.blind_weight
        return losses * (weight / (weight - blind)) if weight > blind else np.full(len(losses), np.nan)


class SweepSession(Session):
    """A session whose batches a `Sweep` learns; it counts the losses of all rates itself."""

    sweep: Sweep
    blind_weight = 0.0  # the sample weight of the first row, which was predicted before any label was known

    def learn(self, batch: Batch, counted: Counted = "metrics", progress: Progress | None = None) -> Scored:
        """Learn the rows of a batch with all rates."""
        counts = Progress() if progress is None else progress
        batch, weight, present = self._readable(batch, counts)
        if self.sweep._classes is not None:
            assert batch.labels is not None
            try:
                numbers, _ = self.sweep._classes.numbers_of(batch.labels, batch.place, weight)
            except InputError as error:
                raise error.at(advice="") from None
            numbers = np.maximum(numbers, 0.0)  # a row without a class has no weight either
        else:
            numbers, _ = self._numbers(batch, weight, present)
        rows = np.arange(len(numbers)) if weight is None else np.flatnonzero(weight)
        if self.blind_weight == 0.0 and len(rows) and self.sweep.options.target:
            self.blind_weight = 1.0 if weight is None else float(weight[rows[0]])
        learn_batch(self.sweep, batch, numbers, weight)
        counts.learned += len(rows)
        return Scored(np.zeros((batch.rows, 0)), numbers, weight)


@dataclass(frozen=True)
class Swept:
    """The outcome of one rule of `sweep`: its rates in ascending order, with the progressive loss and error of each.

    A rate that diverged has infinite loss. If all rates did, `diverged` is where the last one diverged.
    """

    rule: Rule
    rates: list[float]
    losses: list[float]
    errors: list[float] | None
    rmse: list[float] | None
    seconds: float
    diverged: str | None
    sweep: Sweep

    @classmethod
    def of(cls, one: Contender[SweepTraining]) -> Swept:
        """Make the outcome from a training."""
        sweep = one.training.sweep
        if sweep is None:  # interrupted before anything was learned
            raise KeyboardInterrupt
        order = np.argsort(sweep.rates)
        losses = one.training.scored(sweep.losses[order])
        losses = np.where(np.isfinite(losses) & (one.diverged is None), losses, np.inf)
        two = sweep.classes is not None or LOSSES[sweep.options.loss].for_classes
        squared = not two and LOSSES[sweep.options.loss].is_squared_error
        return cls(
            one.rule,
            sweep.rates[order].tolist(),
            losses.tolist(),
            np.where(np.isfinite(losses), sweep.errors[order], np.nan).tolist() if two else None,
            np.sqrt(losses).tolist() if squared else None,
            one.seconds,
            one.diverged,
            sweep,
        )

    @property
    def best(self) -> int | None:
        """The index of the rate with the least loss; None if all diverged."""
        place = int(np.argmin(self.losses))
        return place if math.isfinite(self.losses[place]) else None

    @property
    def best_rate(self) -> float | None:
        """The rate with the least loss; None if all diverged."""
        return None if self.best is None else self.rates[self.best]

    @property
    def best_loss(self) -> float:
        """The least loss; infinite if all diverged."""
        return min(self.losses)

    @property
    def at_edge(self) -> str | None:
        """Whether the best rate is the "first" or "last" of the grid: then a better one may lie beyond."""
        if self.best is None or len(self.rates) < 2:
            return None
        return "first" if self.best == 0 else "last" if self.best == len(self.rates) - 1 else None

    @property
    def good_rates(self) -> tuple[float, float]:
        """The range of rates around the best one whose loss is at most 10% above the least.

        A wide range means that tuning matters little. If a loss is negative, this is only the best rate.
        """
        if self.best is None:
            return math.nan, math.nan
        low = high = self.best
        enough = self.best_loss + 0.1 * max(0.0, self.best_loss)
        while low > 0 and self.losses[low - 1] <= enough:
            low -= 1
        while high + 1 < len(self.rates) and self.losses[high + 1] <= enough:
            high += 1
        return self.rates[low], self.rates[high]

    @property
    def model(self) -> Learner | OneVsAll:
        """The model of the best rate, the same as if it had been trained alone; it can be used and saved."""
        return self.sweep.best


class SweepResult:
    """The outcome of `sweep`: `outcome["nag"]` is that of one rule."""

    def __init__(self, contest: Contest[SweepTraining]) -> None:
        self.rules: dict[str, Swept] = {one.rule: Swept.of(one) for one in contest.contenders}
        self.source = contest.source.name
        self.interrupted = contest.interrupted
        self.seconds = contest.progress.seconds
        training = (contest.going or contest.contenders)[0].training
        assert training.target is not None
        self.target = training.target
        self.loss = next(iter(self.rules.values())).sweep.options.loss
        self.rows, self.learned, self.skipped = (
            contest.progress.rows,
            training.progress.learned,
            training.progress.skipped,
        )
        self.unlabeled, self.skipped_rows = training.progress.unlabeled, [str(bad) for bad in training.progress.bad]

    def __getitem__(self, rule: str) -> Swept:
        return self.rules[rule]

    @property
    def task(self) -> str:
        """The task as a sentence."""
        return str(self.target)

    @property
    def best(self) -> tuple[str, float] | None:
        """The rule and the rate with the least loss of all; None if all diverged."""
        swept = min(self.rules.values(), key=lambda one: one.best_loss)
        return None if swept.best_rate is None else (swept.rule, swept.best_rate)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot the loss against the learning rate, a line for each rule; saved if a path is given."""
        from .. import figures  # noqa: PLC0415  (needs matplotlib)

        losses = {rule: dict(zip(one.rates, one.losses, strict=True)) for rule, one in self.rules.items()}
        figure = figures.sweep(losses, f"progressive {self.loss} loss", os.path.basename(self.source))
        if path is not None:
            figures.save(figure, path)
        return figure

    def asdict(self) -> dict[str, Any]:
        """All results as plain values, for JSON; None for the loss of a rate that diverged."""
        best = self.best

        def rows(one: Swept) -> list[dict[str, float | None]]:
            nothing = [None] * len(one.rates)
            columns = zip(one.rates, one.losses, one.errors or nothing, one.rmse or nothing, strict=True)
            return [
                {"rate": rate, "loss": _finite(loss), "error_rate": _finite(error), "rmse": _finite(rmse)}
                for rate, loss, error, rmse in columns
            ]

        return {
            "source": self.source,
            "task": self.target.task,
            "loss_function": self.loss,
            "rows": self.rows,
            "learned": self.learned,
            "skipped": self.skipped,
            "skipped_rows": self.skipped_rows,
            "unlabeled": self.unlabeled,
            "rules": {rule: rows(one) for rule, one in self.rules.items()},
            "best": {
                rule: {
                    "rate": one.best_rate,
                    "loss": _finite(one.best_loss),
                    "at_edge": one.at_edge,
                    "diverged": one.diverged,
                }
                for rule, one in self.rules.items()
            },
            "best_rule": None if best is None else best[0],
            "best_rate": None if best is None else best[1],
            "seconds": self.seconds,
            "interrupted": self.interrupted,
        }

    def _repr_html_(self) -> str:
        return html.sections("SweepResult", sweep_sections(self, every_rate=True))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{rule} diverged" if one.best_rate is None else f"{rule} {one.best_loss:.4g} at {one.best_rate:.3g}"
            for rule, one in self.rules.items()
        )
        return f"<SweepResult: {self.task}; least loss: {shown}>"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
