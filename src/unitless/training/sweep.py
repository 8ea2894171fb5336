"""`sweep`: the progressive loss of many learning rates, for several rules, in one reading of the data.

outcome = ul.sweep("prices.csv", target="price")
outcome["nag"].best_rate
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from .. import inputs
from .. import rules as update_rules
from ..data import Batch, Reader, Target
from ..data import labels as task_labels
from ..data.memory import memory_size
from ..data.progress import Progress
from ..data.read_options import Reading, given_reading
from ..data.screening import usable
from ..errors import InputError, OptionError
from ..inputs import Float64
from ..losses import LOSSES
from ..models.classes import Classes, Label
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.sweep import Sweep
from ..options import ModelType, Rule
from ..presentation import html
from ..presentation.json_values import named, plain
from .contest import Contender, Contest, checked_rules
from .plan import Plan
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
    known = _KnownClasses(None if classes is None else list(classes))

    def training(data: Any, rule: Rule) -> SweepTraining:
        request = ModelRequest(
            task,
            positive,
            {**learning, "rule": rule, "learning_rate": grid[0], "model_type": "linear", "ensemble": False},
        )
        return SweepTraining(Setup.of(data, target, weight, how, request, plan), grid, known)

    contest = Contest(wanted, source, training)
    contest.go(progress)
    return SweepResult(contest)


def _checked(rates: Iterable[float] | None, model_type: ModelType) -> list[float]:
    grid: list[float] = Sweep(rates, model_type=model_type).rates.tolist()  # refuses invalid rates
    for rate in grid:
        if grid.count(rate) > 1:
            raise OptionError(f"has {rate:g} twice", option="rates")
    return grid


class _KnownClasses:
    """The classes, which all rules share: given, or found by reading the target once."""

    def __init__(self, given: list[Any] | None) -> None:
        self._given = given
        self._found: list[Label] = []

    def of(self, training: Training, target: Target) -> list[Label]:
        """The classes for a training whose target has several classes."""
        if not self._found:
            self._found = self._read(training, target) if self._given is None else self._labels(target)
        if len(self._found) < 2:
            one = self._found[:1]
            raise InputError(f"the target has one value only, {one[0]!r}" if one else "the target has no classes")
        return self._found

    def _labels(self, target: Target) -> list[Label]:
        """The given classes in the form that the target has: text or numbers."""
        assert self._given is not None
        try:
            return [task_labels.plain_number(label) if target.number else str(label) for label in self._given]
        except (TypeError, ValueError):
            raise OptionError(f"are {self._given!r}, but the target's values are numbers", option="classes") from None

    @staticmethod
    def _read(training: Training, target: Target) -> list[Label]:
        """The classes of the rows that can be learned, in the order in which they are met."""
        if not training.source.repeatable:
            raise OptionError(
                f"{training.source.name} can be read only once, and a sweep must know the classes before it begins: "
                "list them as classes"
            )
        schema, main = training.reader.schema, training.reader
        assert schema is not None
        if schema.family == "table":
            schema = replace(schema, columns=schema.columns[:1])  # only the target is needed
        reader = Reader(training.source, main.options, schema, main._target, main._weight, drop_invalid=True)
        found = Classes(None, open=True)
        for batch in reader.batches():
            some = batch.select(usable(batch, target, "skip", Progress()))
            assert some.labels is not None
            weight = np.where(some.labels.present(), 1.0 if some.weight is None else some.weight, 0.0)
            found.accept(found.numbers_of(some.labels, some.place, weight)[1])
        return found.labels


class SweepTraining(Training):
    """A training whose model is a `Sweep`, which counts the losses of all rates itself."""

    def __init__(self, setup: Setup, rates: list[float], classes: _KnownClasses) -> None:
        super().__init__(setup)
        self._rates, self._known = rates, classes
        self._blind_weight = 0.0  # the sample weight of the first row, which was predicted before any label was known

    def new_model(self, target: Target, rows: inputs.Input, model_type: ModelType | None = None) -> Any:
        """A sweep with the options that a single model for this target and such rows would have."""
        options = super().new_model(target, rows, model_type).options.asdict()
        del options["learning_rate"]
        classes = self._known.of(self, target) if target.task == "classes" else None
        return Sweep(self._rates, classes=classes, **options)

    @property
    def sweep(self) -> Sweep | None:
        """The model with all rates; None before the first label."""
        model: Any = self.model
        return cast("Sweep | None", model)

    def learn(self, batch: Batch, held_out: bool = False) -> None:
        """Learn a batch with all rates."""
        self.progress.rows += batch.rows
        if not batch.rows or not self.begin(batch):
            return
        assert self.session is not None
        scored = self.session.learn(batch, "nothing", self.progress).counted
        if self._blind_weight == 0.0 and len(scored) and self.session.model.options.target:
            self._blind_weight = 1.0 if scored.weight is None else float(scored.weight[0])

    def scored(self, losses: Float64) -> Float64:
        """Mean losses over the rows that are counted. The core has counted the first row's weight, but not its loss."""
        assert self.sweep is not None
        weight, blind = self.sweep.total_weight, self._blind_weight
        return losses * (weight / (weight - blind)) if weight > blind else np.full(len(losses), np.nan)


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
    def _each_rate(self) -> list[dict[str, float | None]]:
        """For each rate: its loss, and its error rate or RMSE; None for one that the task does not have."""
        nothing = [None] * len(self.rates)
        columns = zip(self.rates, self.losses, self.errors or nothing, self.rmse or nothing, strict=True)
        return [dict(zip(("rate", "loss", "error_rate", "rmse"), row, strict=True)) for row in columns]

    @property
    def model(self) -> Learner | OneVsAll:
        """The model of the best rate, the same as if it had been trained alone; it can be used and saved."""
        return self.sweep.best


class SweepResult:
    """The outcome of `sweep`: `outcome["nag"]` is that of one rule."""

    def __init__(self, contest: Contest[SweepTraining]) -> None:
        self.rules: dict[str, Swept] = {one.rule: Swept.of(one) for one in contest.contenders}
        self.source: str = contest.source.name
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
        title = os.path.basename(self.source)
        return figures.save(figures.sweep(losses, f"progressive {self.loss} loss", title), path)

    def asdict(self) -> dict[str, Any]:
        """All results as plain values, for JSON; None for the loss of a rate that diverged."""
        rule, rate = self.best or (None, None)
        return {
            **named(
                self, "source", "rows", "learned", "skipped", "skipped_rows", "unlabeled", "seconds", "interrupted"
            ),
            "task": self.target.task,
            "loss_function": self.loss,
            "rules": {name: plain(one._each_rate) for name, one in self.rules.items()},
            "best": {
                name: {"rate": one.best_rate, "loss": plain(one.best_loss), **named(one, "at_edge", "diverged")}
                for name, one in self.rules.items()
            },
            "best_rule": rule,
            "best_rate": rate,
        }

    def _repr_html_(self) -> str:
        return html.sections("SweepResult", sweep_sections(self, every_rate=True))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{rule} diverged" if one.best_rate is None else f"{rule} {one.best_loss:.4g} at {one.best_rate:.3g}"
            for rule, one in self.rules.items()
        )
        return f"<SweepResult: {self.task}; least loss: {shown}>"
