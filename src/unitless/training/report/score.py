"""How good the model is: in a sentence, in numbers, next to the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ...metrics import shown_metrics
from ...metrics.coverage import COVERAGE
from ...metrics.records import METRICS
from ...presentation import shown
from ...presentation.html import Html, joined, tag
from ...presentation.page import bar, bar_table, paragraph, table, tile
from .. import summary
from . import words

if TYPE_CHECKING:
    from ..result import TrainResult

_ABOUT = {metric.name: metric.about for metric in METRICS}


def interrupted(result: TrainResult) -> Html:
    """A warning if the training was interrupted."""
    if not result.details.interrupted:
        return Html("")
    rows = shown.count(result.details.learned, "row")
    where = f" in pass {result.passes + 1}" if result.passes else f" after {rows} had been learned"
    return paragraph(
        tag("b", "The training was interrupted"),
        f"{where}: this is the model of that moment.",
        kind="warning",
    )


def headline(result: TrainResult) -> Iterator[Html]:
    """How good the model is: a sentence, numbers and bars."""
    if not result.metrics:
        yield paragraph("There were too few rows to measure how good the model is.", kind="warning")
        return
    yield from _sentences(result)
    yield tag("div", joined(_tiles(result)), class_="tiles")
    yield _errors(result)


def _sentences(result: TrainResult) -> Iterator[Html]:
    by, found, baseline = result.details.judged_by, result.metrics, result.baseline
    if by == "error_rate":
        good = f"is right for {shown.share(found['accuracy'])} of the rows"
        other = f"is right for {shown.share(baseline['accuracy'])}" if baseline else ""
    else:
        good = f"has {words.one(shown_metrics.name(by, result.model.options.loss))} of {shown.number(found[by])}"
        other = f"has one of {shown.number(baseline[by])}" if by in baseline else ""
    of = {"error_rate": "error", "rmse": "squared error"}.get(by, "loss")
    end = f": the model's {of} is {result.skill:.1%} below the baseline's." if result.skill > 0 else "."
    yield paragraph(
        tag("span", joined(["The model ", tag("b", good), f", on {result.metrics_on}. "])),
        f"The baseline ({words.baseline(result)}) {other}{end}" if other else "",
        kind="lead",
    )
    if other and not result.skill > 0:
        yield paragraph(
            tag("b", "On these rows the model is no better than the baseline."),
            " The columns that were used tell little about the target, or too few rows were learned.",
            kind="warning",
        )


def _main(metrics: Mapping[str, float], by: str) -> str:
    return shown.share(metrics["accuracy"]) if by == "error_rate" else shown.number(metrics[by])


def _tiles(result: TrainResult) -> Iterator[Html]:
    by, found = result.details.judged_by, result.metrics
    label = {"error_rate": "Accuracy", "rmse": "RMSE"}.get(by, f"{result.model.options.loss.capitalize()} loss")
    yield tile(label, _main(found, by), shown_metrics.interval(by, result.metrics_ci), "main")
    if by in result.baseline:
        yield tile("Baseline", _main(result.baseline, by), words.baseline(result))
    if result.skill > 0:
        of = {"error_rate": "error", "rmse": "squared error (R²)"}.get(by, "loss")
        yield tile("Skill", f"{result.skill:.1%}", f"of the baseline's {of} is removed", "good")
    area = found.get("auc", math.nan)
    if math.isfinite(area):
        yield tile("AUC", f"{area:.3f}", _ABOUT["auc"])
    if by in result.last_label_baseline:
        yield tile("Last-label baseline", _main(result.last_label_baseline, by), "predicts the label of the row before")


def _errors(result: TrainResult) -> Html:
    """Bars of the errors of the model and of the baselines."""
    by, held_out = result.details.judged_by, result.details.on_holdout
    candidates = [
        ("model", result.metrics, result.metrics_ci, ""),
        (f"baseline: {words.baseline(result)}", result.baseline, None, "other"),
        ("model, progressive", result.progressive if held_out else {}, result.details.evaluation.interval, ""),
        ("last-label baseline", result.last_label_baseline, None, "other"),
    ]
    found = [(name, values[by], ends, kind) for name, values, ends, kind in candidates if by in values]
    found = [(name, value, ends if by != "loss" else None, kind) for name, value, ends, kind in found]
    finite = [value for _, value, _, _ in found if math.isfinite(value)]
    if len(finite) < 2 or max(finite) <= 0:
        return Html("")
    longest = 4 * max(finite[:2])
    largest = 1.05 * (min(max(finite), longest) if longest > 0 else max(finite))
    write_out = (lambda value: f"{value:.2%}") if by == "error_rate" else shown.number
    rows = []
    for name, value, ends, kind in found:
        inside = ends is not None and all(map(math.isfinite, ends))
        whisker = (ends[0] / largest, min(1.0, ends[1] / largest)) if ends is not None and inside else None
        share = value / largest if math.isfinite(value) else 1.0
        rows.append([name, bar(share, kind, whisker), write_out(value)])
    title = {"error_rate": "error rate", "rmse": "RMSE"}.get(by, f"{result.model.options.loss} loss")
    legend = [tag("small", "Thin lines: 90% confidence intervals.")] if by != "loss" else []
    return joined([bar_table(["", f"{title} (shorter is better)", ""], rows), *legend])


def metrics(result: TrainResult) -> Iterator[Html]:
    """A table of all metrics of the model and of the baselines."""
    columns = {name: values for name, values in summary.columns(result).items() if values}
    every = {name for values in columns.values() for name in values}
    records = shown_metrics.shown_records(every, result.details.target.task, [*every])
    records = [one for one in records if result.details.target.task not in one.hidden]
    described = shown_metrics.table(columns, "", result.model.options.loss, [one.name for one in records])
    if not records:
        return
    level = f" (level {100 * result.details.plan.level:.4g}%)"
    abouts = [f"{one.about}{level if one in COVERAGE else ''}" for one in records]
    rows = [
        [_about(name, about, record.smaller_is_better), *cells]
        for (name, *cells), about, record in zip(described.rows, abouts, records, strict=True)
    ]
    yield table(["", *columns], rows)
    rows_described = {
        "model": f"on {result.metrics_on}.",
        "baseline": f"{words.baseline(result)}, on the same rows.",
        "progressive": "each row was predicted before it was learned, by the weights of that moment"
        + (" (in the first pass)." if result.passes > 1 else "."),
        "last label": "predicts the label of the row before; progressive.",
    }
    yield paragraph(
        joined(words.lines(*(joined([tag("b", name), ": ", rows_described[name]]) for name in columns))), kind="quiet"
    )


def _about(name: str, about: str, smaller_is_better: bool) -> Html:
    better = "smaller is better" if smaller_is_better else "larger is better"
    return joined([name, tag("small", f"{about}; {better}")])
