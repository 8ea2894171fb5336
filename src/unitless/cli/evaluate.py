"""unitless evaluate: how good a model is on labeled data."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import arguments, display, options
from .options import READING, Flag

if TYPE_CHECKING:
    from ..inference.evaluate import EvaluateResult, GroupMetrics

NAME = "evaluate"
STOPPED = "stopped; nothing was evaluated"
EXAMPLES = """
[bold]Examples[/]

unitless evaluate prices.unitless new.csv

unitless evaluate clicks.unitless 'logs/*.parquet' --by country --plot clicks.png

unitless evaluate prices.unitless new.csv --target sold_for --json > metrics.json
"""
OPTIONS = (
    Flag("model", "A model made by train.", metavar="MODEL", argument=True, required=True),
    options.DATA,
    Flag("target", "The column of the labels; that of the training if not given.", short="-t", panel=READING),
    Flag("by", "A column: the metrics are also given for each of its values.", panel=READING),
    Flag("weight", "A column of importance weights; that of the training if not given.", panel=READING),
    Flag("no_weight", "Every row counts once, though the model was trained with weights.", bool, False, panel=READING),
    Flag(
        "extrapolate", "Predict linearly, without limit, beyond the range of values in the training data.", bool, False
    ),
    Flag(
        "missing", "What missing values are: absent features, or an error; as in training if not given.", panel=READING
    ),
    options.ON_ERROR,
    *options.FILES,
    options.LEVEL,
    options.PLOT,
    options.JSON,
    options.QUIET,
)


def command(
    *,
    model: str,
    data: list[str],
    target: str | None,
    by: str | None,
    weight: str | None,
    no_weight: bool,
    extrapolate: bool,
    missing: str | None,
    on_error: str,
    level: float,
    plot: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Measure a model made by train on labeled data: all metrics, next to the baseline's.

    The baseline is the most frequent class, or the mean, of the labels that are evaluated. A class
    that the model has never met counts as wrong. The model is not changed.
    """
    from ..data.files import File, check_output  # noqa: PLC0415
    from ..errors import Option, OptionError, Phrase  # noqa: PLC0415
    from ..inference.evaluate import evaluate  # noqa: PLC0415

    if weight is not None and no_weight:
        raise OptionError(Phrase(Option("weight"), " and --no-weight are two answers; give one"))
    if plot is not None:
        from ..figures import check_path  # noqa: PLC0415

        check_path(plot)
        check_output(plot, [File(model)], "the picture", "the model")
    reading = replace(arguments.reading(given, options.FILES), on_error=on_error)  # type: ignore[arg-type]
    reading = reading if missing is None else replace(reading, missing=missing)  # type: ignore[arg-type]
    with display.Counter(quiet or as_json) as watch:
        found = evaluate(
            model,
            arguments.sources(data),
            target=target,
            by=by,
            weight=False if no_weight else weight,
            extrapolate=extrapolate,
            level=level,
            reading=reading,
            progress=display.Watching(watch, lambda run: arguments.not_over(plot, run.source)),
        )
    if plot is not None:
        found.plot(plot)
    if as_json:
        print(json.dumps(found.asdict(), indent=2))
    else:
        summary(found, quiet)


def summary(found: EvaluateResult, quiet: bool) -> None:
    """Print the results."""
    from ..metrics.records import METRICS  # noqa: PLC0415

    low, high = found.metrics_ci
    rows = [f"{display.count(found.scored, 'row')} evaluated"]
    rows += [f"{found.unlabeled:,} without label"] if found.unlabeled else []
    rows += [f"{found.skipped:,} skipped"] if found.skipped else []
    lines = [("task", found.task), ("rows", ", ".join(rows)), ("baseline", _baseline(found))]
    main = "accuracy" if "accuracy" in found.metrics else "rmse"
    show = display.share if main == "accuracy" else display.number
    ends = (show(1 - high), show(1 - low)) if main == "accuracy" else (show(low), show(high))
    lines.insert(2, (main, f"{show(found.metrics[main])} (90% confidence interval: {' to '.join(ends)})"))
    for metric in METRICS:
        if metric.name in found.metrics and metric.name != main and found.target.task not in metric.hidden:
            show = display.share if metric.is_share else display.number
            tail = f" ({found.model.options.loss})" if metric.name == "loss" else ""
            lines.append((metric.name.replace("_", " "), show(found.metrics[metric.name]) + tail))
    lines += display.intervals(found.metrics, found.level)
    lines.append(("time", f"{found.seconds:.2f} s"))
    display.facts(lines)
    _classes(found)
    _groups(found)
    if quiet:
        return
    for bad in found.skipped_rows[:3]:
        print(f"skipped: {bad}", file=sys.stderr)
    display.notes_on_odd(found.first_invalid, found.schema)
    if found.unknown:
        labels = ", ".join(map(repr, found.unknown_labels[:3]))
        rows_of = display.count(found.unknown, "row")
        count = "counts" if found.unknown == 1 else "count"
        print(f"note: {rows_of} of classes that the model has never met ({labels}) {count} as wrong", file=sys.stderr)


def _baseline(found: EvaluateResult) -> str:
    by, skill = found.judged_by, found.skill
    error = {"error_rate": "error", "rmse": "squared error"}.get(by, "loss")
    below = f"; the model's {error} is {skill:.1%} below" if skill > 0 else "; the model is no better"
    tail = "" if math.isnan(skill) else below
    return f"{display.main_metric(found.baseline, by)} by {display.short(found.baseline_name, 50)}{tail}"


def _classes(found: EvaluateResult) -> None:
    per_class = sorted(found.per_class.items(), key=lambda item: -item[1]["share"])
    if not per_class:
        return
    rows = [
        (
            display.short(str(label), 40),
            display.share(of["share"]),
            display.number(of["precision"], 3),
            display.number(of["recall"], 3),
        )
        for label, of in per_class[:20]
    ]
    print()
    display.table(None, ("class", "share", "precision", "recall"), rows)
    if len(per_class) > 20:
        print(f"\n{len(per_class) - 20:,} more; --json shows them")


def _groups(found: EvaluateResult) -> None:
    if not found.groups:
        return
    classes = "error_rate" in found.metrics
    name, title = ("error_rate", "error rate") if classes else ("rmse", "RMSE")
    further = [
        one for one in ("auc", "mae", "r2", "log_loss") if one in found.metrics and not (classes and one == "r2")
    ]
    further = further[:2]

    def line(group: str, one: GroupMetrics) -> list[str]:
        show = display.share if classes else display.number
        low, high = one.metrics_ci
        values = [display.number(one.metrics.get(metric, math.nan)) for metric in further]
        return [group, f"{one.rows:,}", show(one.metrics[name]), f"{show(low)} to {show(high)}", *values]

    rows = [
        line("(no value)" if group is None else display.short(group, 40), one) for group, one in found.groups.items()
    ]
    if found.others is not None:
        rows.append(line("(others)", found.others))
    print()
    heads = [metric.replace("_", " ") for metric in further]
    display.table(None, (str(found.by), "rows", title, "90% confidence interval", *heads), rows)
