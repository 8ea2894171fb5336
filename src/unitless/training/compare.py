"""Which rule learns this data best? Several learners side by side, in one reading.

comparison = ul.compare("prices.csv", target="price")
comparison.best, comparison.verdicts, comparison.differences

All learners predict the same rows, and what counts is by how much one loses more than another on them: what is hard for
all of them cancels. See `evaluation/paired.py`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .. import notebook_bar
from .. import rules as update_rules
from ..data import Batch
from ..data.memory import memory_size
from ..data.read_options import Reading, given_reading
from ..errors import OptionError
from ..inputs import Float64
from ..metrics.evaluation import Moment
from ..metrics.paired import Difference, Paired
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..options import USUAL_LEVEL, Auto, Rule
from . import notebook
from .plan import Plan
from .result import TrainResult
from .run import ModelRequest, Run
from .shared_run import Contender, SharedRun

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
    progress: Callable[[SharedRun[Run]], None] | Literal[False] | None = None,
    **options: Any,
) -> Comparison:
    """Learn the same data with several rules in one reading, each as `train` would.

    A learner that diverges, as those can that notice units, is left out from there; the others go on.

    Args:
        source: any data; see `train`.
        target: the column to predict, or the labels themselves.
        rules: which to compare.
        learning_rate: "auto", or a number for all.
        weight: as for `train`; so are task, positive, shuffle, passes, random_state, memory, level and reading.
        holdout: the fraction of the rows on which the learners are scored as they are at the end. Only for rows in
            random order.
        judged_by: which is best: the one with the least "error_rate" (the share of errors, of classes), or with the
            least "loss". If not given, the error of classes and the loss of numbers.
        progress: called after every batch. If not given, a notebook shows a bar; False for none.
        options: the options of the learners, as for `train`; but `ensemble` is False if it is not given, so that rules
            are compared.

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
            hint = "give them as rules" if name == "rule" else "train has it"
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

    def run(data: Any, rule: Rule) -> Run:
        request = ModelRequest(task, positive, {**learning, "rule": rule, "learning_rate": learning_rate})
        one = Run(data, target, weight, how, request, plan, None)
        if holdout and not one.fitted:
            raise OptionError("is for rows in random order; these are followed as they come", option="holdout")
        return one

    runs = JudgedRun(rules, source, run, judged_by)
    with notebook_bar.watching(progress) as watch:
        notebook_bar.opened(watch, runs)
        runs.go(watch)
    return Comparison(runs)


JUDGES = ("error_rate", "loss")


class JudgedRun(SharedRun[Run]):
    """Runs of the same data whose losses are compared row by row."""

    def __init__(self, rules: Iterable[str], source: Any, make: Callable[[Any, Rule], Run], by: str | None) -> None:
        super().__init__(rules, source, make)
        self.paired = Paired(one.rule for one in self.contenders)
        self._by = by

    @property
    def judged_by(self) -> str:
        """The metric by which the learners are ranked."""
        evaluation = self.contenders[0].run.evaluation
        if evaluation is None:  # no row has been predicted yet
            return self._by or JUDGES[0]
        if self._by == "error_rate" and evaluation.judged_by != "error_rate":
            raise OptionError("is 'error_rate', the share of errors; numbers are judged by 'loss'", option="judged_by")
        return self._by or ("error_rate" if evaluation.judged_by == "error_rate" else "loss")

    def _take(self, batch: Batch) -> None:
        counts = [_examples(one.run) for one in self.contenders]
        super()._take(batch)
        new = [_examples(one.run) - before for one, before in zip(self.contenders, counts, strict=True)]
        going = [(one, rows) for one, rows in zip(self.contenders, new, strict=True) if one.diverged is None]
        if not going or not going[0][1]:  # rows of a further pass are not scored
            return
        losses: dict[str, Float64] = {}
        weight: Float64 | None = None
        for one, _ in going:
            assert one.run.evaluation is not None
            losses[one.rule], weight = one.run.evaluation.latest(self.judged_by)
        self.paired.add(losses, weight)


def _examples(run: Run) -> int:
    return 0 if run.evaluation is None else run.evaluation.examples


class Compared:
    """One learner's outcome."""

    def __init__(self, contender: Contender[Run]) -> None:
        self.rule = contender.rule
        self.result: TrainResult = contender.run._result()
        self.seconds = contender.seconds
        self.diverged = contender.diverged
        """Where the learner diverged, if it did. The metrics are then of the batches before."""

    @property
    def model(self) -> Learner | OneVsAll:
        """The learner itself, which can be used and saved."""
        return self.result.model

    @property
    def metrics(self) -> dict[str, float]:
        """Progressive metrics by name."""
        return self.result.progressive

    @property
    def loss(self) -> float:
        """The mean progressive loss."""
        return self.result._evaluation.loss

    @property
    def metrics_ci(self) -> tuple[float, float]:
        """The 90% confidence interval of the error rate, or of the RMSE."""
        return self.result._evaluation.interval

    @property
    def holdout(self) -> dict[str, float] | None:
        """Metrics of the learner as it was at the end, on the held-out rows; None without any."""
        return self.result.metrics if self.result.metrics_on_holdout else None

    def judged(self, by: str) -> float:
        """The metric by which learners are ranked: "error_rate", or the "loss"."""
        return self.loss if by == "loss" else self.metrics[by]

    @property
    def learning_rate(self) -> Any:
        """The rate in use at the end; by class if there are classes."""
        return self.result.model.learning_rate

    @property
    def recent(self) -> tuple[int, float]:
        """The loss since the last moment of the history, and which that was; all of it if there is but one."""
        evaluation = self.result._evaluation
        history = evaluation.history
        if len(history) < 2:
            return 0, evaluation.now.loss
        if evaluation.examples > history[-1].examples:
            return history[-1].examples, evaluation.now.since_last
        return history[-2].examples, history[-1].since_last

    @property
    def curve(self) -> list[Moment]:
        """The loss over time, for plots; at the end infinite if the learner diverged."""
        curve = [*self.result._evaluation.curve, self.result._evaluation.now]
        if self.diverged is not None:
            curve[-1] = Moment(max(1, curve[-1].examples), curve[-1].weight, math.inf, math.inf, None)
        return curve


class Comparison:
    """The outcome of `compare`: `comparison["nag"]` is one learner's, `comparison.best` the name of the best."""

    def __init__(self, runs: JudgedRun) -> None:
        self._paired = runs.paired
        self.judged_by = runs.judged_by
        """The metric used for ranking: "error_rate" or "loss"."""
        self.learners: dict[str, Compared] = {one.rule: Compared(one) for one in runs.contenders}
        self.source = runs.source.name
        self.interrupted = runs.interrupted
        self.seconds = runs.progress.seconds
        lasting = (runs.going or runs.contenders)[0]
        self.whole: TrainResult = self.learners[lasting.rule].result
        """What all learners share: the task, the rows and how many of them were learned, held out or skipped."""

    def __getitem__(self, rule: str) -> Compared:
        return self.learners[rule]

    @property
    def task(self) -> str:
        """The task, in words."""
        return self.whole.task

    @property
    def baselines(self) -> dict[str, dict[str, float]]:
        """When rows were followed, what answers score that know the labels before and nothing else: see `train`."""
        found = self.whole._stream_baselines
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
        """By rule, best first: how much more it has of what it is judged by than the best, and where that truly lies.

        All of these intervals hold at once with 90% confidence. They are made of the differences on the same rows, in
        the means of long blocks of rows; learners that diverged have none.
        """
        best = self.best
        lasting = [rule for rule in self.ranked if self.learners[rule].diverged is None and rule != best]
        return {} if best is None else {rule: self._paired.difference(rule, best) for rule in lasting}

    @property
    def verdicts(self) -> dict[str, str]:
        """By rule, best first: "best", "no difference found" (to the best), "clearly worse", "diverged"."""
        best, differences = self.best, self.differences

        def verdict(rule: str) -> str:
            if best is None or self.learners[rule].diverged is not None:
                return "diverged"
            if rule == best:
                return "best"
            return "clearly worse" if differences[rule].low > 0 else "no difference found"

        return {rule: verdict(rule) for rule in self.ranked}

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Progressive loss of all learners over time; beside it the error, or of numbers the loss of late. Saved if a
        path is given.
        """
        from .. import figures  # noqa: PLC0415  (needs matplotlib)

        curves = {rule: one.curve for rule, one in self.learners.items()}
        loss, title = f"{self.whole.model.options.loss} loss", os.path.basename(self.source)
        figure = figures.progress(curves, loss, title, recent=self.whole._target.task == "regression")
        if path is not None:
            figures.save(figure, path)
        return figure

    def asdict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        whole = self.whole.asdict()
        shared = ("source", "task", "classes", "loss_function", "model_type", "rows", "learned", "skipped")
        verdicts, differences = self.verdicts, self.differences
        learners = []
        for rule in self.ranked:
            one = self.learners[rule]
            plain = one.result.asdict()
            found = {
                "loss": one.loss if math.isfinite(one.loss) else None,
                "metrics": plain["progressive"],
                "metrics_ci": [edge if math.isfinite(edge) else None for edge in one.metrics_ci],
                "holdout": plain["metrics"] if one.holdout is not None else None,
                "learning_rate": plain["learning_rate"],
            }
            found = dict.fromkeys(found) if one.diverged else found
            found["history"] = plain["history"]
            verdict = {"rule": rule, "verdict": verdicts[rule], "diverged": one.diverged, "seconds": one.seconds}
            apart = _plain(differences.get(rule))
            learners.append({**verdict, **found, "difference": apart})
        return {
            **{
                name: whole[name]
                for name in (*shared, "skipped_rows", "unlabeled", "held_out", "passes", "missing", "features")
            },
            "baselines": _finite_all(self.baselines),
            "best": self.best,
            "judged_by": self.judged_by,
            "clearly_better_than": [rule for rule, verdict in verdicts.items() if verdict == "clearly worse"],
            "no_difference_found_to": [rule for rule, verdict in verdicts.items() if verdict == "no difference found"],
            "learners": learners,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
        }

    def _repr_html_(self) -> str:
        return notebook.comparison(self.asdict())

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{rule} diverged" if one.diverged else f"{rule} {one.judged(self.judged_by):.4g}"
            for rule, one in ((rule, self.learners[rule]) for rule in self.ranked)
        )
        return f"<Comparison: {self.task}; {self.judged_by} {shown}>"


def _finite_all(baselines: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    """For JSON, which has no infinity."""
    return {
        name: {metric: value if math.isfinite(value) else None for metric, value in found.items()}
        for name, found in baselines.items()
    }


def _plain(difference: Difference | None) -> dict[str, Any] | None:
    """For JSON, which has no infinity."""
    if difference is None:
        return None
    ends = [end if math.isfinite(end) else None for end in (difference.low, difference.high)]
    return {"mean": difference.mean if math.isfinite(difference.mean) else None, "interval": ends}
