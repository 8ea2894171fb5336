"""unitless compare: several learners side by side."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

from ..rules import RULES
from . import arguments, display, options
from .options import LEARNING, Flag

if TYPE_CHECKING:
    from ..metrics.paired import Difference
    from ..training.compare import Compared, Comparison

NAME = "compare"
EXAMPLES = """
[bold]Examples[/]

unitless compare prices.csv --target price

unitless compare 'logs/*.parquet' --target clicked --rules nag,ag,gd --plot learners.png

unitless compare prices.csv --target price --holdout 0.2 --json > learners.json
"""
WAY = (
    *options.ORDER,
    Flag("passes", "How often to go through the data.", int, 1, panel=LEARNING),
    Flag("holdout", "The fraction of rows that are held out.", float, 0.0, panel=LEARNING),
)
OPTIONS = (
    options.DATA,
    options.TARGET,
    options.rules_flag(RULES),
    options.LEARNING_RATE,
    Flag(
        "judged_by",
        "Metric used for ranking: error_rate or loss. Default: error_rate for classes, loss for numbers.",
        panel=LEARNING,
    ),
    options.MODEL_TYPE,
    options.ENSEMBLE,
    *options.MODEL,
    *WAY,
    options.WEIGHT,
    *options.COLUMNS,
    options.LEVEL,
    options.PLOT,
    options.JSON,
    options.QUIET,
)


def command(
    *,
    data: list[str],
    target: str | None,
    rules: list[str] | None,
    learning_rate: str | None,
    judged_by: str | None,
    plot: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Compare update rules: all of them learn the data side by side, while it is read once.

    Every row is predicted before it is learned, so all numbers are out of sample. A rule that
    diverges is left out from then on. Which is better is decided by a paired test: the difference of
    two rules on the same rows has an interval of its own.
    """
    shared = arguments.passed_on(
        given, (options.MODEL_TYPE, options.ENSEMBLE, *options.MODEL, *WAY, options.WEIGHT, options.LEVEL)
    )
    from ..errors import DivergedError  # noqa: PLC0415
    from ..training.compare import RULES as USUAL  # noqa: PLC0415
    from ..training.compare import compare  # noqa: PLC0415

    if plot is not None:
        from ..figures import check_path  # noqa: PLC0415

        check_path(plot)
    with display.Board(quiet or as_json) as board:
        comparison = compare(
            arguments.sources(data),
            target,
            arguments.listed(rules) or USUAL,
            arguments.rate(learning_rate) or "auto",
            **shared,
            judged_by=judged_by,
            reading=arguments.reading(given, options.COLUMNS),
            progress=display.Watching(board, lambda runs: arguments.not_over(plot, runs.source)),
        )
    if plot is not None:
        comparison.plot(plot)
    if as_json:
        print(json.dumps(comparison.asdict(), indent=2))
    else:
        summary(comparison)
    if comparison.interrupted:
        whole = comparison.whole
        print(f"unitless: interrupted after {whole.rows:,} rows{display.of_pass(whole)}", file=sys.stderr)
        return 130
    if comparison.best is None:
        raise DivergedError("every learner diverged; look for extremely large values, or give a smaller rate")
    return 0


def summary(comparison: Comparison) -> None:
    """Print the results."""
    whole, numbers = comparison.whole, "rmse" in comparison.whole.progressive
    best = comparison.learners[comparison.best or comparison.ranked[0]]
    display.facts(
        [
            ("task", comparison.task),
            ("loss", whole.model.options.loss),
            ("rows", display.learned(whole, comparison.interrupted, kept=False)),
            ("features", whole.details.features_shown(whole)),
            *([("model type", str(whole.model_type))] if whole.model.options.model_type != "linear" else []),
            *(
                (name, f"{best.rule}: {said}")
                for name, said in display.intervals(best.metrics, whole.details.plan.level)
            ),
            ("time", f"{comparison.seconds:.2f} s"),
        ]
    )
    print()
    score = "rmse" if numbers else "error_rate"
    since = f"since {best.recent[0]:,}"
    apart = "error" if comparison.judged_by == "error_rate" else "loss"
    header = ["rule", "", "loss", since, "RMSE" if numbers else "error", f"more {apart}", "90% interval"]
    header += ["held out"] if whole.metrics_on_holdout else []
    lines = [_line(comparison, rule, score) for rule in comparison.ranked]
    display.table(None, [*header, "rate", "seconds"], lines, left=2)
    remarks = [_remark(comparison), _beside(comparison, score)]
    remarks += [f"{rule} diverged at {one.diverged}." for rule, one in comparison.learners.items() if one.diverged]
    if any(remarks):
        print("", *filter(None, remarks), sep="\n")
    for bad in whole.details.skipped_rows[:3]:
        print(f"skipped: {bad}", file=sys.stderr)


def _beside(comparison: Comparison, score: str) -> str:
    """What answers score that know the labels before and nothing else."""
    from ..metrics.stream_baselines import shown_name  # noqa: PLC0415

    title, show = ("RMSE", display.number) if score == "rmse" else ("error", display.share)
    task = comparison.whole._target.task
    said = [f"{shown_name(name, task)}: {show(found[score])}" for name, found in comparison.baselines.items()]
    return f"Baselines, {title}: {'; '.join(said)}." if said else ""


_SHORT = {"best": "best", "no difference found": "no difference", "clearly worse": "worse", "diverged": "diverged"}


def _line(comparison: Comparison, rule: str, score: str) -> list[str]:
    one, verdict = comparison.learners[rule], _SHORT[comparison.verdicts[rule]]
    held = 1 if comparison.whole.metrics_on_holdout else 0
    if one.diverged is not None:
        return [rule, verdict, *["-"] * (6 + held), f"{one.seconds:.2f}"]
    line = [rule, verdict, display.number(one.loss), display.number(one.recent[1])]
    line.append(_shown(one.metrics[score], score))
    line += _apart(comparison.differences.get(rule), comparison.judged_by)
    if held:
        line.append(_shown((one.holdout or {}).get(score, float("nan")), score))
    return [*line, _rate(one), f"{one.seconds:.2f}"]


def _apart(difference: Difference | None, judge: str) -> list[str]:
    """How much more than the best, and the interval of that."""
    if difference is None:
        return ["", ""]
    if not math.isfinite(difference.low):
        return [_shown(difference.mean, judge), "too few rows"]
    return [_shown(difference.mean, judge), f"{_shown(difference.low, judge)} to {_shown(difference.high, judge)}"]


def _shown(value: float, score: str) -> str:
    return display.share(value) if score == "error_rate" else display.number(value)


def _rate(one: Compared) -> str:
    return display.rates(one.learning_rate).removesuffix(", by class")


def _remark(comparison: Comparison) -> str:
    """What the differences say."""
    best, verdicts = comparison.best, comparison.verdicts
    worse = [rule for rule, verdict in verdicts.items() if verdict == "clearly worse"]
    close = [rule for rule, verdict in verdicts.items() if verdict == "no difference found"]
    if best is None or not (worse or close):
        return ""
    parts = [f"{best} is clearly better than {_listed(worse)}"] if worse else []
    parts += [f"no difference found between {best} and {_listed(close, 'or')}"] if close else []
    remark = "; ".join(parts)
    remark = remark[0].upper() + remark[1:] if not worse else remark
    lasting = [rule for rule in comparison.ranked if verdicts[rule] != "diverged"]
    least = min(lasting, key=lambda rule: comparison[rule].loss)
    return f"{remark}." if least == best else f"{remark}. The least loss is that of {least}."


def _listed(names: list[str], last: str = "and") -> str:
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
