"""The display of an evaluation: metrics next to the baseline's, by class and by group, and notes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..data.columns.schema import VALUE
from ..metrics import shown_metrics
from ..presentation import shown
from ..presentation.sections import Facts, Notes, Section, Table
from . import importance_summary

if TYPE_CHECKING:
    from .evaluate_result import EvaluateResult, GroupMetrics

GROUPS = 50  # the most groups that are shown


def sections(found: EvaluateResult) -> list[Section]:
    """All sections of the display, in order."""
    by, loss = found.judged_by, found.model.options.loss
    rows = [f"{shown.count(found.scored, 'row')} evaluated"]
    rows += [f"{found.unlabeled:,} without label"] if found.unlabeled else []
    rows += [f"{found.skipped:,} skipped"] if found.skipped else []
    facts = [
        ("source", shown.short(found.source, 300)),
        ("task", found.task),
        ("rows", ", ".join(rows)),
        ("model", shown_metrics.with_interval(found.metrics, by, loss, found.metrics_ci)),
        ("baseline", shown_metrics.baseline(found.baseline, by, loss, found.baseline_name, found.skill)),
        shown_metrics.coverage(found.metrics, found.level),
        ("time", f"{found.seconds:.2f} s"),
    ]
    columns = {"model": found.metrics, "baseline": found.baseline}
    return [
        Section("", [Facts(facts), shown_metrics.table(columns, found.target.task, loss)]),
        shown_metrics.classes(found.per_class),
        _groups(found),
        importance_summary.section(found.importance, loss),
        Section("Notes", [Notes(_notes(found))]),
    ]


def _groups(found: EvaluateResult) -> Section:
    """The metrics of each group; nothing without groups."""
    metric = found.judged_by
    further = [one for one in ("auc", "mae", "r2", "log_loss") if one in found.metrics and one != metric]
    further = [one for one in further if not (metric == "error_rate" and one == "r2")][:2]

    def row(group: str, one: GroupMetrics) -> list[str]:
        ends = " to ".join(shown_metrics.value(metric, end) for end in one.metrics_ci)
        values = [shown_metrics.value(name, one.metrics.get(name)) for name in (metric, *further)]
        return [group, f"{one.rows:,}", values[0], ends, *values[1:]]

    groups = list(found.groups.items())
    rows = [row("(no value)" if name is None else shown.short(name, 40), one) for name, one in groups[:GROUPS]]
    if found.others is not None:
        rows.append(row("(others)", found.others))
    loss = found.model.options.loss
    names = [shown_metrics.name(one, loss) for one in (metric, *further)]
    more = f", the first {GROUPS} of {len(groups):,}" if len(groups) > GROUPS else ""
    header = [str(found.by), "rows", names[0], "90% confidence interval", *names[1:]]
    return Section(f"Groups{more}", [Table(header, rows)])


def _notes(found: EvaluateResult) -> list[str]:
    notes = [f"skipped: {bad}" for bad in found.skipped_rows[:3]]
    for name, (count, place, value) in list(found.first_invalid.items())[:5]:
        what = VALUE[str(found.schema.kinds.get(name, found.schema.target_kind))]
        notes.append(shown.invalid(name, value, shown.place(place), what, count))
    if found.unknown:
        labels = ", ".join(map(repr, found.unknown_labels[:3]))
        wrong = "counts" if found.unknown == 1 else "count"
        rows = shown.count(found.unknown, "row")
        notes.append(f"{rows} of classes that the model does not know ({labels}) {wrong} as wrong")
    if not math.isnan(found.skill) and not found.skill > 0:
        notes.append("the model is no better than the baseline on these rows: the data may differ from the training's")
    return notes
