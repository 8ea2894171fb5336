"""The tables that `compare` and `sweep` print: one row per learner, the best first or marked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..metrics import shown_metrics
from ..metrics.stream_baselines import shown_name
from ..presentation import shown
from ..presentation.sections import Facts, Notes, Section, Table
from . import summary

if TYPE_CHECKING:
    from ..metrics.paired import Difference
    from .compare import Compared, Comparison
    from .result import TrainResult
    from .sweep import SweepResult, Swept


def comparison_sections(comparison: Comparison) -> list[Section]:
    """The sections that show the outcome of `compare`."""
    whole, numbers = comparison.whole, "rmse" in comparison.whole.progressive
    best = comparison.learners[comparison.best or comparison.ranked[0]]
    called, intervals = shown_metrics.coverage(best.metrics, whole.details.plan.level)
    facts = [
        ("source", shown.short(comparison.source, 300)),
        ("task", comparison.task),
        ("loss", whole.model.options.loss),
        ("rows", summary.rows(whole)),
        ("features", whole.details.features_shown),
        ("model type", whole.model_type or f"{whole.model.options.model_type} (not chosen yet)"),
        (called, f"{best.rule}: {intervals}" if intervals else ""),
        ("time", f"{comparison.seconds:.2f} s"),
    ]
    score = "rmse" if numbers else "error_rate"
    apart = "error" if comparison.judged_by == "error_rate" else "loss"
    header = ["rule", "", _loss(whole), f"since {best.recent[0]:,}", "RMSE" if numbers else "error"]
    header += [f"more {apart}", "90% interval", *(["held out"] if whole.details.on_holdout else []), "rate", "seconds"]
    table = Table(header, [_learner_row(comparison, rule, score) for rule in comparison.ranked], left=2)
    remarks = [_verdict(comparison), _baselines(comparison, score)]
    remarks += [f"{rule} diverged at {one.diverged}." for rule, one in comparison.learners.items() if one.diverged]
    remarks += [f"Skipped: {bad}" for bad in whole.details.skipped_rows[:3]]
    return [Section("", [Facts(facts), table, Notes([remark for remark in remarks if remark])])]


def sweep_sections(outcome: SweepResult, every_rate: bool = False) -> list[Section]:
    """The sections that show the outcome of `sweep`: the best rate of each rule and, if wanted, every rate."""
    first = next(iter(outcome.rules.values()))
    rows = [f"{shown.count(outcome.learned, 'row')} learned"]
    rows += [f"{outcome.unlabeled:,} without label"] if outcome.unlabeled else []
    rows += [f"{outcome.skipped:,} skipped"] if outcome.skipped else []
    grid = f"{len(first.rates)} from {first.rates[0]:.3g} to {first.rates[-1]:.3g}"
    facts = [
        ("source", shown.short(outcome.source, 300)),
        ("task", outcome.task),
        ("loss", outcome.loss),
        ("rows", ", ".join(rows)),
        ("rates", grid if len(first.rates) > 1 else f"{first.rates[0]:.3g}"),
        ("time", f"{outcome.seconds:.2f} s"),
    ]
    score = ["error"] if first.errors is not None else ["RMSE"] if first.rmse is not None else []
    header = ["rule", "", "best rate", "loss", *score, "loss within 10%", "seconds"]
    best = Table(header, [_rule_row(outcome, one) for one in outcome.rules.values()], left=2)
    hints = [_hint(one) for one in outcome.rules.values()]
    hints += [f"Skipped: {bad}" for bad in outcome.skipped_rows[:3]]
    tables = [_every_rate(outcome), best] if every_rate else [best]
    return [Section("", [Facts(facts), *tables, Notes([hint for hint in hints if hint])])]


def _baselines(comparison: Comparison, score: str) -> str:
    """The metrics of the baselines of a stream as text; empty for a fit."""
    title, show = ("RMSE", shown.number) if score == "rmse" else ("error", shown.share)
    task = comparison.whole.details.target.task
    parts = [f"{shown_name(name, task)}: {show(found[score])}" for name, found in comparison.baselines.items()]
    return f"Baselines, {title}: {'; '.join(parts)}." if parts else ""


_SHORT = {"best": "best", "no difference found": "no difference", "clearly worse": "worse", "diverged": "diverged"}


def _learner_row(comparison: Comparison, rule: str, score: str) -> list[str]:
    one, verdict = comparison.learners[rule], _SHORT[comparison.verdicts[rule]]
    held = 1 if comparison.whole.details.on_holdout else 0
    if one.diverged is not None:
        return [rule, verdict, *["-"] * (6 + held), f"{one.seconds:.2f}"]
    line = [rule, verdict, shown.number(one.loss), shown.number(one.recent[1])]
    line.append(_value(one.metrics[score], score))
    line += _apart(comparison.differences.get(rule), comparison.judged_by)
    if held:
        line.append(_value((one.holdout or {}).get(score, float("nan")), score))
    return [*line, _rate(one), f"{one.seconds:.2f}"]


def _loss(whole: TrainResult) -> str:
    """What the loss is called in the header of a table."""
    return shown_metrics.training_loss(whole.model.options.loss, whole.details.target.task)


def _apart(difference: Difference | None, judge: str) -> list[str]:
    """Two cells: by how much a learner is worse than the best, and the confidence interval of this difference."""
    if difference is None:
        return ["", ""]
    if not math.isfinite(difference.low):
        return [_value(difference.mean, judge), "too few rows"]
    return [_value(difference.mean, judge), f"{_value(difference.low, judge)} to {_value(difference.high, judge)}"]


def _value(value: float, score: str) -> str:
    return shown.share(value) if score == "error_rate" else shown.number(value)


def _rate(one: Compared) -> str:
    return shown.rates(one.learning_rate).removesuffix(", by class")


def _verdict(comparison: Comparison) -> str:
    """A sentence about which learners are clearly worse than the best and which are not."""
    best, verdicts = comparison.best, comparison.verdicts
    worse = [rule for rule, verdict in verdicts.items() if verdict == "clearly worse"]
    close = [rule for rule, verdict in verdicts.items() if verdict == "no difference found"]
    if best is None or not (worse or close):
        return ""
    parts = [f"{best} is clearly better than {shown.listed(worse, 'and', str)}"] if worse else []
    parts += [f"no difference found between {best} and {shown.listed(close, written=str)}"] if close else []
    remark = "; ".join(parts)
    remark = remark[0].upper() + remark[1:] if not worse else remark
    lasting = [rule for rule in comparison.ranked if verdicts[rule] != "diverged"]
    least = min(lasting, key=lambda rule: comparison[rule].loss)
    return f"{remark}." if least == best else f"{remark}. The least loss is that of {least}."


def _rule_row(outcome: SweepResult, one: Swept) -> list[str]:
    score = 1 if one.errors is not None or one.rmse is not None else 0
    if one.best is None:
        return [one.rule, "diverged", *["-"] * (3 + score), f"{one.seconds:.2f}"]
    mark = "best" if outcome.best is not None and outcome.best[0] == one.rule else ""
    line = [one.rule, mark, f"{one.best_rate:.3g}", shown.number(one.best_loss), *_score(one, one.best)]
    low, high = one.good_rates
    return [*line, f"{low:.3g} to {high:.3g}" if low < high else f"{low:.3g}", f"{one.seconds:.2f}"]


def _score(one: Swept, place: int) -> list[str]:
    if one.errors is not None:
        return [shown.share(one.errors[place]) if math.isfinite(one.errors[place]) else "-"]
    return [shown.number(one.rmse[place])] if one.rmse is not None else []


def _every_rate(outcome: SweepResult) -> Table:
    """A table with a row for each rate and the loss (and error) of each rule; a star marks the least of a rule."""
    header = ["rate"]
    for one in outcome.rules.values():
        header += [f"{one.rule} loss", *(["error"] if one.errors is not None else ["RMSE"] if one.rmse else [])]
    rates = next(iter(outcome.rules.values())).rates
    lines = []
    for k, rate in enumerate(rates):
        line = [f"{rate:.4g}"]
        for one in outcome.rules.values():
            finite = math.isfinite(one.losses[k])
            star = "*" if k == one.best else " "
            line += [f"{shown.number(one.losses[k])}{star}" if finite else "diverged ", *_score(one, k)]
        lines.append(line)
    return Table(header, lines, left=0)


def _hint(one: Swept) -> str:
    if one.diverged is not None:
        return f"{one.rule} diverged at {one.diverged}, at every rate."
    if one.best_rate is None or one.at_edge is None:
        return ""
    which, beyond = ("smallest", "below") if one.at_edge == "first" else ("largest", "above")
    return (
        f"{one.rule}: the best rate is the {which} that was tried; a better one may lie {beyond} {one.best_rate:.3g}."
    )
