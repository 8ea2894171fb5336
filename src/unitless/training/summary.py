"""The summary that `train` prints: data, model, metrics of the model and of the baselines, and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from ..errors import Option, Phrase
from ..inference import importance_summary
from ..losses import LOSSES
from ..metrics import shown_metrics
from ..models.extra_members import shares_shown
from ..presentation import shown
from ..presentation.sections import Facts, Notes, Section, lines

if TYPE_CHECKING:
    from .result import TrainResult

_SKIPPED, _MISSING, _WIDE = 3, 5, 3  # skipped rows, columns with missing values, wide columns that are named
_KINDS = {
    "number": "numeric",
    "flag": "with 0 and 1",
    "text": "text",
    "boolean": "true or false",
    "words": "words",
    "ngrams": "n-grams",
}


def sections(
    result: TrainResult, write: Callable[[str], str] = str, wanted: Collection[str] = (), further: Sequence[str] = ()
) -> list[Section]:
    """All sections of the summary, in the order in which they are shown.

    Args:
        result: what `train` returned.
        write: writes a text that names options, such as a note. Default: as Python writes options.
        wanted: the metrics to show. Default: those of the task.
        further: notes in addition to those of the result.
    """
    return [
        data(result, write),
        model(result),
        metrics(result, wanted),
        shown_metrics.classes(result.details.per_class),
        importance_summary.section(result.importance, result.model.options.loss),
        notes(result, write, further),
    ]


def _kind(kind: str, number: int) -> str:
    """The number of columns of a kind: "17 numeric", "1 date", "2 dates"."""
    return shown.count(number, kind) if kind == "date" else f"{number:,} {kind}"


def data(result: TrainResult, write: Callable[[str], str] = str) -> Section:
    """The section about the data."""
    details, schema = result.details, result.details.schema
    kinds = Counter(_KINDS.get(kind, "date") for _, kind in schema.columns)
    facts: list[tuple[str, str | None]] = [
        ("source", shown.short(result.source, 300)),
        ("target", None if schema.target is None else shown.short(schema.target, 60)),
        ("rows", rows(result)),
        ("columns", ", ".join(_kind(kind, number) for kind, number in kinds.most_common())),
        ("sample weights", None if schema.weight is None else shown.short(schema.weight, 60)),
        ("offset", None if schema.offset is None else shown.short(schema.offset, 60)),
        ("groups", groups(result)),
        ("duplicates", duplicates(result)),
        ("ignored", shown.some(details.reading.ignore, 20)),
        ("missing", missing(result)),
        *lines("inferred", (shown.short(write(one), 400) for one in result.column_report)),
        *lines("skipped", (shown.short(bad, 200) for bad in details.skipped_rows[:_SKIPPED])),
    ]
    return Section("Data", [Facts(facts)])


def rows(result: TrainResult) -> str:
    """The number of rows, their order, and how many were held out, unlabeled or skipped, as text."""
    details = result.details
    stopped = details.interrupted and result.passes > 0
    found = [shown.count(details.learned if stopped else result.rows, "row")]
    found += [f"interrupted in pass {result.passes + 1}"] if stopped else []
    found += [f"in random order ({details.shuffled})"] if details.fitted else ["in their own order"]
    found += [f"{details.held_out:,} held out"] if details.held_out else []
    found += [f"{details.unlabeled:,} without label"] if details.unlabeled else []
    found += [f"{details.skipped:,} skipped"] if details.skipped else []
    found += [f"{result.passes} passes"] if result.passes > 1 and not stopped else []
    return ", ".join(found)


def groups(result: TrainResult) -> str:
    """The column of groups, how many there are, and how many rows have none, as text; empty without groups."""
    details = result.details
    if details.groups is None:
        return ""
    column = details.schema.groups
    named = "" if column is None else f" of column {shown.short(column, 60)!r}"
    alone = f", {details.ungrouped:,} of them rows without a group" if details.ungrouped else ""
    return f"{details.groups:,}{named}{alone}, {details.held_out_groups:,} of them held out"


def duplicates(result: TrainResult) -> str:
    """The number of rows that equal an earlier row, as text; empty if there are none."""
    count, rows = result.details.duplicates, result.details.compared_rows
    return f"{shown.count(count, 'row')} ({count / rows:.1%})" if count else ""


def missing(result: TrainResult) -> str:
    """The columns with missing values, as text."""
    ranked = sorted(result.details.missing.items(), key=lambda item: -item[1])
    if not ranked:
        return ""
    named = ", ".join(f"{_column(name)}: {count:,}" for name, count in ranked[:_MISSING])
    return f"{shown.count(sum(result.details.missing.values()), 'value')} ({named}{', ...' * (len(ranked) > _MISSING)})"


def _column(name: str) -> str:
    """The name of a column in front of a number; one that is a number itself, as without a header row, is marked."""
    return f"column {name}" if name.isdigit() else shown.short(name, 60)


def model(result: TrainResult) -> Section:
    """The section about the model."""
    options, details, members = result.model.options, result.details, result.model.members
    one = "linear" if "linear" in members else "learner"  # the member with this rule and rate, or the only learner
    several = details.target.task == "classes"
    over = f" over {result.passes} passes" if result.passes > 1 else ""
    speed = f", {details.rows_per_second:,.0f} rows/s{over}" if details.rows_per_second else ""
    of_pass = f" of pass {details.selected_pass}" if result.passes > 1 else ""
    facts = [
        ("task", shown.short(result.task, 200)),
        ("classes", shown.some([str(name) for name in result.predictor.classes], 10) if several else None),
        ("model type", result.model_type or f"{options.model_type} (not chosen yet)"),
        ("features", details.features_shown),
        ("ensemble", shares_shown(members)),
        (one, f"{options.rule}, {options.loss} loss, learning rate {shown.rates(result.model.learning_rate)}"),
        ("quantile", f"{options.quantile:g}" if LOSSES[options.loss].has_quantile else None),
        ("sparsity", shown.rates(result.model.sparsity) if options.sparsity else None),
        ("l2", f"{options.l2:g}" if options.l2 else None),
        ("interactions", None if options.interactions is None else shown.short(str(options.interactions), 200)),
        ("hashed into", None if options.bits is None else f"{2**options.bits:,} places"),
        ("selected", f"the {result.selected} weights{of_pass}" if details.fitted and not details.interrupted else None),
        ("time", f"{result.seconds:.2f} s{speed}"),
        ("output", None if details.output is None or details.interrupted else shown.short(str(details.output), 300)),
    ]
    return Section("Model", [Facts(facts)])


def metrics(result: TrainResult, wanted: Collection[str] = ()) -> Section:
    """The section with the metrics of the model and of the baselines."""
    details, loss = result.details, result.model.options.loss
    found, by = result.metrics, details.judged_by
    if not found:
        return Section("Metrics", [Notes(["there were too few rows to measure how good the model is"])])
    last = result.last_label_baseline
    stale = result.max_staleness
    facts = [
        ("model", f"{shown_metrics.with_interval(found, by, loss, result.metrics_ci)} on {result.metrics_on}"),
        ("baseline", shown_metrics.baseline(result.baseline, by, loss, result.baseline_name, result.skill)),
        (
            "last label",
            f"{shown_metrics.main(last, by, loss)} (predict the label of the row before)" if by in last else "",
        ),
        shown_metrics.coverage({} if wanted else found, details.plan.level),
        (
            "progressive",
            f"without up to {stale:,} rows that other partitions learned in the same round" if stale else "",
        ),
    ]
    return Section("Metrics", [Facts(facts), shown_metrics.table(columns(result), details.target.task, loss, wanted)])


def columns(result: TrainResult) -> dict[str, dict[str, float]]:
    """The columns of the table of metrics: the model, the baseline, progressive metrics, the last label."""
    return {
        "model": result.metrics,
        "baseline": result.baseline,
        "progressive": result.progressive if result.details.on_holdout else {},
        "last label": result.last_label_baseline,
    }


def notes(result: TrainResult, write: Callable[[str], str] = str, further: Sequence[str] = ()) -> Section:
    """The section with the notes."""
    wide = [
        Phrase(
            f"column {name!r} gave {count:,} features, nearly one per row; if it only identifies rows, leave it out (",
            *(Option("ignore", name), ")"),
        )
        for name, count in result.details.wide_columns[:_WIDE]
    ]
    interrupted = ["the training was interrupted"] if result.details.interrupted else []
    found = [*interrupted, *result.notes, *wide, *further]
    return Section("Notes", [Notes([shown.short(write(one), 600) for one in found])])
