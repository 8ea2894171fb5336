"""How good the kept model is: in a sentence, in numbers, beside the trivial answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ... import shown
from ...evaluation.baseline import error_gone
from ...evaluation.coverage import COVERAGE
from ...evaluation.metrics import METRICS
from ...evaluation.stream_baselines import MEAN, REPEAT
from ...html import Html, joined, tag
from ...page import bar, bar_table, paragraph, table, tile
from . import words

if TYPE_CHECKING:
    from ..result import TrainResult

_ABOUT = {metric.name: metric.about for metric in METRICS}


def interrupted(result: TrainResult) -> Html:
    """That the training did not come to its end."""
    if not result.interrupted:
        return Html("")
    rows = words.count(result.learned, "row")
    where = f" in pass {result.passes + 1}" if result.passes else f" after {rows} had been learned"
    return paragraph(
        tag("b", "The training was interrupted"),
        f"{where}: this is the model of that moment.",
        kind="warning",
    )


def headline(result: TrainResult) -> Iterator[Html]:
    """In a sentence, in numbers, and as bars: how good the kept model is."""
    if not result.metrics:
        yield paragraph("There were too few rows to say how good the model is.", kind="warning")
        return
    if result.score:
        yield from _sentences(result)
    else:
        yield paragraph(
            tag("b", "The kept model has no score of its own"),
            ", because no rows were held back. The numbers here are progressive: each row was predicted before it was "
            "learned, by the weights of that moment.",
            kind="warning",
        )
    yield tag("div", joined(_tiles(result)), class_="tiles")
    yield _errors(result)


def _sentences(result: TrainResult) -> Iterator[Html]:
    by, score, trivial = result.judged_by, result.score, result.baseline
    if by == "zero_one":
        good, other = f"is right for {words.accuracy(score)} of the rows", f"is right for {words.accuracy(trivial)}"
    else:
        name = words.name(by, result)
        good, other = f"has {words.one(name)} of {shown.number(score[by])}", f"has one of {shown.number(trivial[by])}"
    gone = error_gone(score, trivial, by)
    of = {"zero_one": "errors are", "rmse": "squared error is"}.get(by, "loss is")
    end = f": {gone:.1%} of its {of} gone." if gone > 0 else "."
    yield paragraph(
        tag("span", joined(["The kept model ", tag("b", good), f", scored on {result.scored_on}. "])),
        f"The trivial answer, {words.trivial(result)}, {other}{end}",
        kind="lead",
    )
    if not result.fitted:
        yield paragraph(_along_the_way(result, by))
    if not gone > 0:
        why = " What was used says little about the target, or too few rows were learned."
        yield paragraph(
            tag("b", "On these rows the model is no better than the trivial answer."),
            why if result.fitted else " The rows were followed, so it is made for those that come next.",
            kind="warning",
        )


def _along_the_way(result: TrainResult, by: str) -> str:
    """How good the predictions of a stream were, each made before its row was learned."""
    thing = "" if by == "zero_one" else f"{words.one(words.name(by, result))} of "
    was, would = ("was right for ", "be right for ") if by == "zero_one" else ("had ", "have ")
    said = {REPEAT: "repeating the label before", MEAN: f"saying the {_mean_of(result)}"}
    last = "".join(
        f"; {said[name]} would {would}{thing}{_main(found, by)}"
        for name, found in result.baselines.items()
        if by in found
    )
    return (
        f"While the rows were followed, each was predicted before it was learned: so the model {was}{thing}"
        f"{_main(result.metrics, by)}{last}."
    )


def _mean_of(result: TrainResult) -> str:
    return "mean of the labels so far" if result.target.task == "regression" else "most frequent class so far"


def _main(metrics: Mapping[str, float], by: str) -> str:
    return words.accuracy(metrics) if by == "zero_one" else shown.number(metrics[by])


def _tiles(result: TrainResult) -> Iterator[Html]:
    by, score = result.judged_by, result.score
    label = {"zero_one": "Accuracy", "rmse": "RMSE"}.get(by, f"{result.model.options.loss.capitalize()} loss")

    progressive = ("each row was predicted before it was learned", words.interval(by, result.interval))
    if not score:
        yield tile(f"{label}, progressive", _main(result.metrics, by), joined(words.lines(*progressive)), "main")
    else:
        yield tile(f"{label} of the kept model", _main(score, by), words.interval(by, result.score_interval), "main")
        yield tile("Trivial answer", _main(result.baseline, by), words.trivial(result))
        gone = error_gone(score, result.baseline, by)
        if gone > 0:
            about = {"zero_one": "of the trivial answer's errors", "rmse": "of the trivial answer's squared error: R²"}
            yield tile("Error gone", f"{gone:.1%}", about.get(by, "of the trivial answer's loss"), "good")
    area = (score or result.metrics).get("auc", math.nan)
    if math.isfinite(area):
        yield tile("AUC", f"{area:.3f}", _ABOUT["auc"])
    if result.repeated and score:
        yield tile(f"{label}, progressive", _main(result.metrics, by), progressive[0])
    if by in result.repeated:
        yield tile("Repeating the last label", _main(result.repeated, by), "of the row before; progressive")
    if by in result.baselines.get(MEAN, {}):
        yield tile("Running mean", _main(result.baselines[MEAN], by), f"the {_mean_of(result)}; progressive")


def _errors(result: TrainResult) -> Html:
    """Bars of the errors side by side; short is good."""
    by = result.judged_by
    asked = [
        ("kept model", result.score, result.score_interval, ""),
        (f"trivial answer: {words.trivial(result)}", result.baseline, None, "other"),
        ("progressive", result.metrics, result.interval, ""),
        ("repeating the last label, progressive", result.repeated, None, "other"),
        (f"the {_mean_of(result)}, progressive", result.baselines.get(MEAN, {}), None, "other"),
    ]
    found = [(name, values[by], ends, kind) for name, values, ends, kind in asked if by in values]
    found = [(name, value, ends if by != "loss" else None, kind) for name, value, ends, kind in found]
    finite = [value for _, value, _, _ in found if math.isfinite(value)]
    if len(finite) < 2 or max(finite) <= 0:
        return Html("")
    largest = 1.05 * min(max(finite), 4 * max(finite[:2]))
    write_out = (lambda value: f"{value:.2%}") if by == "zero_one" else shown.number
    rows = []
    for name, value, ends, kind in found:
        inside = ends is not None and all(map(math.isfinite, ends))
        whisker = (ends[0] / largest, min(1.0, ends[1] / largest)) if ends is not None and inside else None
        share = value / largest if math.isfinite(value) else 1.0
        rows.append([name, bar(share, kind, whisker), write_out(value)])
    title = {"zero_one": "error", "rmse": "RMSE"}.get(by, f"{result.model.options.loss} loss")
    said = [tag("small", "Thin lines: 90% confidence.")] if by != "loss" else []
    return joined([bar_table(["", f"{title} (short is good)", ""], rows), *said])


def metrics(result: TrainResult) -> Iterator[Html]:
    """All metrics of the kept model, of the trivial answer and along the way, each named for what it is."""
    columns: list[tuple[str, Mapping[str, float]]] = [
        ("kept model", result.score),
        ("trivial answer", result.baseline),
        ("progressive", result.metrics),
        ("last label", result.repeated),
        ("running mean", result.baselines.get(MEAN, {})),
    ]
    columns = [(name, values) for name, values in columns if values]
    task = result.target.task
    rows: list[list[Any]] = []
    if "zero_one" in result.metrics:
        rows.append([_about("accuracy", "the share of rows that are predicted right", False)])
        rows[0] += [words.accuracy(values) if "zero_one" in values else "" for _, values in columns]
    for metric in (*METRICS, *COVERAGE):
        if task in metric.hidden or not any(metric.name in values for _, values in columns):
            continue
        cells = [
            words.value(metric.name, values[metric.name]) if metric.name in values else "" for _, values in columns
        ]
        about = f"{metric.about} (of {100 * result.plan.interval:.4g}%)" if metric in COVERAGE else metric.about
        rows.append([_about(words.name(metric.name, result), about, metric.smaller_is_better), *cells])
    if not rows:
        return
    yield table(["", *(name for name, _ in columns)], rows)
    said = {
        "kept model": f"the model that was kept, scored on {result.scored_on}.",
        "trivial answer": f"{words.trivial(result)}, on the same rows.",
        "progressive": "each row was predicted before it was learned, by the weights of that moment"
        + (" (in the first pass)." if result.passes > 1 else ".")
        + " It says how the learning went, not how good the kept model is.",
        "last label": "the label of the row before is repeated; progressive as well.",
        "running mean": f"the {_mean_of(result)}; progressive as well.",
    }
    yield paragraph(
        joined(words.lines(*(joined([tag("b", name), ": ", said[name]]) for name, _ in columns))), kind="quiet"
    )


def _about(name: str, about: str, smaller_is_better: bool) -> Html:
    better = "small is good" if smaller_is_better else "large is good"
    return joined([name, tag("small", f"{about}; {better}")])
