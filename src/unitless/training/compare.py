"""`compare`: several update rules learn the same data in one reading, to find the best one.

comparison = ul.compare("prices.csv", target="price")
comparison.best, comparison.verdicts, comparison.differences

All learners predict the same rows, and the differences of their losses are compared row by row, because rows that are
hard for all of them cancel. See `metrics/paired.py`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from .. import rules as update_rules
from ..data import Batch
from ..data.memory import memory_size
from ..data.read_options import Reading, given_reading
from ..errors import OptionError
from ..inputs import Float64
from ..metrics.history import Moment
from ..metrics.paired import Difference, Paired
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..options import USUAL_LEVEL, Auto, Rule
from ..presentation import html
from ..presentation.json_values import named, plain
from .contest import Contender, Contest
from .plan import Plan
from .result import TrainResult
from .setup import ModelRequest, Setup
from .side_by_side import comparison_sections
from .training import Training

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RULES: tuple[Rule, ...] = update_rules.FIRST_ORDER


def compare(
    source: Any,
    target: Any = None,
    rules: Iterable[str] = RULES,
    learning_rate: float | Auto = "auto",
    *,
    weight: Any = None,
    task: str | None = None,
    positive: str | None = None,
    shuffle: bool = True,
    passes: int = 1,
    holdout: float = 0.0,
    random_state: int = 0,
    memory: int | str | None = None,
    judged_by: str | None = None,
    level: float = USUAL_LEVEL,
    reading: Reading | None = None,
    progress: Callable[[Contest[Training]], None] | Literal[False] | None = None,
    **options: Any,
) -> Comparison:
    """Compare update rules: learn the same data with each of them in one reading, as `train` would.

    A learner that diverges (rules that depend on units can) stops there; the others continue.

    Args:
        source: any data; see `train`.
        target: the column to predict, or the labels themselves.
        rules: the update rules to compare.
        learning_rate: "auto", or a number for all of them. Default: "auto".
        weight: as for `train`; so are task, positive, shuffle, passes, random_state, memory, level and reading.
        holdout: the fraction of the rows that are held out to evaluate the final models. Only for rows in random order.
        judged_by: the metric used for ranking: "error_rate" (only for classes) or "loss". Default: the error rate for
            classes, the loss for numbers.
        progress: called after every batch. Default: a bar in notebooks; False for none.
        options: the options of the learners, as for `train`, except that the default of `ensemble` is False, so that
            single rules are compared.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(4000, 3)) * [1e-3, 1, 1e3]
        >>> y = X @ [1000, 1, -0.001] > 0
        >>> comparison = ul.compare(X, y, rules=["nag", "gd"])
        >>> comparison.best
        'nag'
        >>> comparison.verdicts
        {'nag': 'best', 'gd': 'clearly worse'}
        >>> comparison["nag"].metrics == ul.train(X, y, holdout=0, ensemble=False).progressive
        True
    """
    for name in ("rule", "output", "resume", "checkpoint"):
        if name in options:
            hint = "give rules instead" if name == "rule" else "it is an option of train"
            raise OptionError(f"compare runs several learners and has no option {name!r}; {hint}")
    if judged_by not in (None, *JUDGES):
        raise OptionError(f"is {judged_by!r}; it must be one of {', '.join(map(repr, JUDGES))}", option="judged_by")
    learning = {"ensemble": False, **{name: value for name, value in options.items() if value is not None}}
    if type(passes) is not int:
        raise OptionError(f"is {passes!r}; to compare learners it must be a whole number", option="passes")
    if not isinstance(holdout, int | float):
        raise OptionError(f"is {holdout!r}; to compare learners it must be a fraction of the rows", option="holdout")
    room = None if memory is None else memory_size(memory)
    plan = Plan(passes, holdout, random_state, shuffle=shuffle, memory=room, level=level)

    how = given_reading(reading)

    def training(data: Any, rule: Rule) -> Training:
        request = ModelRequest(task, positive, {**learning, "rule": rule, "learning_rate": learning_rate})
        setup = Setup.of(data, target, weight, how, request, plan)
        if holdout and not setup.fitted:
            raise OptionError("is for rows in random order; these are a stream", option="holdout")
        return Training(setup)

    contest = JudgedContest(rules, source, training, judged_by)
    contest.go(progress)
    return Comparison(contest)


JUDGES = ("error_rate", "loss")


class JudgedContest(Contest[Training]):
    """Learners of the same data whose losses are compared row by row."""

    def __init__(
        self, rules: Iterable[str], source: Any, make: Callable[[Any, Rule], Training], by: str | None
    ) -> None:
        super().__init__(rules, source, make)
        self.paired = Paired(one.rule for one in self.contenders)
        self._by = by

    @property
    def judged_by(self) -> str:
        """The metric by which the learners are ranked."""
        evaluation = self.contenders[0].training.evaluation
        if evaluation is None:  # no row has been predicted yet
            return self._by or JUDGES[0]
        if self._by == "error_rate" and evaluation.judged_by != "error_rate":
            raise OptionError("is 'error_rate', the share of errors; numbers are judged by 'loss'", option="judged_by")
        return self._by or ("error_rate" if evaluation.judged_by == "error_rate" else "loss")

    def _take(self, batch: Batch) -> None:
        super()._take(batch)
        losses: dict[str, Float64] = {}
        weight: Float64 | None = None
        for one in self.going:
            evaluation = one.training.evaluation
            if evaluation is None or evaluation.examples == self.paired.rows:  # rows of a further pass are not scored
                return
            losses[one.rule], weight = evaluation.latest(self.judged_by)
        if losses:
            self.paired.add(losses, weight)


class Compared:
    """The outcome of one learner of `compare`."""

    def __init__(self, contender: Contender[Training]) -> None:
        self.rule = contender.rule
        self.result: TrainResult = contender.training.result()
        self.seconds = contender.seconds
        self.diverged = contender.diverged
        """Where the learner diverged; None if it did not. Its metrics describe the batches before."""

    @property
    def model(self) -> Learner | OneVsAll:
        """The model, which can be used and saved."""
        return self.result.model

    @property
    def metrics(self) -> dict[str, float]:
        """Progressive metrics by name."""
        return self.result.progressive

    @property
    def loss(self) -> float:
        """The mean progressive loss."""
        return self.result.details.evaluation.loss

    @property
    def metrics_ci(self) -> tuple[float, float]:
        """The 90% confidence interval of the error rate, or of the RMSE."""
        return self.result.details.evaluation.interval

    @property
    def holdout(self) -> dict[str, float] | None:
        """Hold-out metrics of the final model; None without a hold-out."""
        return self.result.metrics if self.result.details.on_holdout else None

    def judged(self, by: str) -> float:
        """The metric by which learners are ranked: "error_rate", or the "loss"."""
        return self.loss if by == "loss" else self.metrics[by]

    @property
    def learning_rate(self) -> Any:
        """The learning rate of the final model; for several classes, by class."""
        return self.result.model.learning_rate

    @property
    def recent(self) -> tuple[int, float]:
        """The number of rows before the last part of the history, and the mean loss since then.

        If the history has only one entry, the loss is that of all rows.
        """
        evaluation = self.result.details.evaluation
        history = evaluation.history
        if len(history) < 2:
            return 0, evaluation.now.loss
        if evaluation.examples > history[-1].examples:
            return history[-1].examples, evaluation.now.since_last
        return history[-2].examples, history[-1].since_last

    @property
    def curve(self) -> list[Moment]:
        """The progressive loss over time, for plots; it ends with infinity if the learner diverged."""
        curve = [*self.result.details.evaluation.curve, self.result.details.evaluation.now]
        if self.diverged is not None:
            curve[-1] = Moment(max(1, curve[-1].examples), curve[-1].weight, math.inf, math.inf, None)
        return curve


class Comparison:
    """The outcome of `compare`: `comparison["nag"]` is that of one rule, `comparison.best` the name of the best."""

    def __init__(self, contest: JudgedContest) -> None:
        self.learners: dict[str, Compared] = {one.rule: Compared(one) for one in contest.contenders}
        self.source: str = contest.source.name
        self.interrupted = contest.interrupted
        self.seconds = contest.progress.seconds
        self._paired = contest.paired
        self.judged_by = contest.judged_by
        """The metric used for ranking: "error_rate" or "loss"."""
        lasting = (contest.going or contest.contenders)[0]
        self.whole: TrainResult = self.learners[lasting.rule].result
        """What all learners have in common: how many rows were read, learned, held out or skipped."""

    def __getitem__(self, rule: str) -> Compared:
        return self.learners[rule]

    @property
    def task(self) -> str:
        """The task, in words."""
        return self.whole.task

    @property
    def baselines(self) -> dict[str, dict[str, float]]:
        """For a stream: the progressive metrics of the baselines, which know only the earlier labels; else empty."""
        found = self.whole.details.stream_baselines
        return {} if found is None else found.metrics

    @property
    def ranked(self) -> list[str]:
        """The rules, best first; those that diverged at the end."""

        def key(rule: str) -> tuple[bool, float, float]:
            one = self.learners[rule]
            if one.diverged is not None:
                return True, 0.0, 0.0
            return False, one.judged(self.judged_by), one.loss

        return sorted(self.learners, key=key)

    @property
    def best(self) -> str | None:
        """The rule whose learner did best; None if all diverged."""
        first = self.ranked[0]
        return None if self.learners[first].diverged is not None else first

    @property
    def differences(self) -> dict[str, Difference]:
        """By rule, best first: how much worse it is than the best rule in the ranking metric, with an interval.

        The intervals are simultaneous 90% confidence intervals, computed from the means of the row-by-row differences
        in long blocks of rows. Rules that diverged are left out.
        """
        best = self.best
        lasting = [rule for rule in self.ranked if self.learners[rule].diverged is None and rule != best]
        return {} if best is None else {rule: self._paired.difference(rule, best) for rule in lasting}

    @property
    def verdicts(self) -> dict[str, str]:
        """By rule, best first: "best", "no difference found" (from the best), "clearly worse" or "diverged"."""
        best, differences = self.best, self.differences

        def verdict(rule: str) -> str:
            if best is None or self.learners[rule].diverged is not None:
                return "diverged"
            if rule == best:
                return "best"
            return "clearly worse" if differences[rule].low > 0 else "no difference found"

        return {rule: verdict(rule) for rule in self.ranked}

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot the progressive loss of all learners over time; saved if a path is given.

        A second panel shows the error rate for classes, the recent loss for numbers.
        """
        from .. import figures  # noqa: PLC0415  (needs matplotlib)

        curves, loss = {rule: one.curve for rule, one in self.learners.items()}, self.whole.model.options.loss
        title, numbers = os.path.basename(self.source), self.whole.details.target.task == "regression"
        return figures.save(figures.progress(curves, f"{loss} loss", title, recent=numbers), path)

    def asdict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        whole = self.whole.asdict()
        shared = ["source", "task", "classes", "loss_function", "model_type", "rows", "learned", "skipped"]
        shared += ["skipped_rows", "unlabeled", "held_out", "passes", "missing", "features"]
        verdicts, differences = self.verdicts, self.differences
        learners = []
        for rule in self.ranked:
            one, apart = self.learners[rule], differences.get(rule)
            found = named(one, "loss", "metrics", "metrics_ci", "holdout", "learning_rate")
            learner = {
                **named(one, "rule", "diverged", "seconds"),
                **(found if one.diverged is None else dict.fromkeys(found)),
                "verdict": verdicts[rule],
                "history": one.result.details.history,
                "difference": None if apart is None else {"mean": apart.mean, "interval": (apart.low, apart.high)},
            }
            learners.append(plain(learner))
        return {
            **{name: whole[name] for name in shared},
            **named(self, "baselines", "best", "judged_by", "seconds", "interrupted"),
            "clearly_better_than": [rule for rule, verdict in verdicts.items() if verdict == "clearly worse"],
            "no_difference_found_to": [rule for rule, verdict in verdicts.items() if verdict == "no difference found"],
            "learners": learners,
        }

    def _repr_html_(self) -> str:
        return html.sections("Comparison", comparison_sections(self))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{rule} diverged" if one.diverged else f"{rule} {one.judged(self.judged_by):.4g}"
            for rule, one in ((rule, self.learners[rule]) for rule in self.ranked)
        )
        return f"<Comparison: {self.task}; {self.judged_by} {shown}>"
