"""unitless score: how good a model is on labelled data."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

from . import arguments, display, options
from .options import READING, Flag

if TYPE_CHECKING:
    from ..inference.scoring import GroupScore, Score

NAME = "score"
STOPPED = "stopped; nothing was scored"
EXAMPLES = """
[bold]Examples[/]

unitless score prices.unitless new.csv

unitless score clicks.unitless 'logs/*.parquet' --by country --plot clicks.png

unitless score prices.unitless new.csv --target sold_for --json > score.json
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
    options.INTERVAL,
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
    interval: float,
    plot: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Score a model made by train on labelled data: all metrics, beside those of the trivial answer.

    The trivial answer is the most frequent class, or the mean, of the labels that are scored. A class
    that the model has never met counts as wrong. The model is not changed.
    """
    from ..data.files import File, check_output  # noqa: PLC0415
    from ..errors import Option, OptionError, Phrase  # noqa: PLC0415
    from ..inference.scoring import score  # noqa: PLC0415

    if weight is not None and no_weight:
        raise OptionError(Phrase(Option("weight"), " and --no-weight are two answers; give one"))
    if plot is not None:
        from ..plots import check_path  # noqa: PLC0415

        check_path(plot)
        check_output(plot, [File(model)], "the picture", "the model")
    reading: dict[str, Any] = {
        **arguments.passed_on(given, options.FILES),
        "on_error": on_error,
        **({} if missing is None else {"missing": missing}),
    }
    with display.Counter(quiet or as_json) as watch:
        found = score(
            model,
            arguments.sources(data),
            target=target,
            by=by,
            weight=False if no_weight else weight,
            extrapolate=extrapolate,
            interval=interval,
            **reading,
            opened=lambda scoring: watch.start(arguments.not_over(plot, scoring.source).total_bytes),
            progress=watch.show,
        )
    if plot is not None:
        found.plot(plot)
    if as_json:
        print(json.dumps(found.asdict(), indent=2))
    else:
        summary(found, quiet)


def summary(found: Score, quiet: bool) -> None:
    """Print the results."""
    from ..evaluation.metrics import METRICS  # noqa: PLC0415

    low, high = found.interval
    rows = [f"{display.count(found.scored, 'row')} scored"]
    rows += [f"{found.unlabelled:,} without label"] if found.unlabelled else []
    rows += [f"{found.skipped:,} skipped"] if found.skipped else []
    lines = [("task", found.task), ("rows", ", ".join(rows)), ("baseline", _baseline(found))]
    values = {}
    if "zero_one" in found.metrics:
        interval = f"90% confidence interval: {display.share(1 - high)} to {display.share(1 - low)}"
        values["accuracy"] = f"{display.share(1 - found.metrics['zero_one'])} ({interval})"
    else:
        interval = f"90% confidence interval: {display.number(low)} to {display.number(high)}"
        values["rmse"] = f"{display.number(found.metrics['rmse'])} ({interval})"
    lines[2:2] = list(values.items())
    for metric in METRICS:
        if metric.name in found.metrics and metric.name not in values and found.target.task not in metric.hidden:
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
    for bad in found.bad[:3]:
        print(f"skipped: {bad}", file=sys.stderr)
    display.notes_on_odd(found.first_odd, found.schema)
    if found.unknown:
        labels = ", ".join(map(repr, found.unknown_labels[:3]))
        rows_of = display.count(found.unknown, "row")
        print(f"note: {rows_of} of classes that the model has never met ({labels}) count as wrong", file=sys.stderr)


def _baseline(found: Score) -> str:
    answer, name = found.baseline_answer, found.judged_by
    gone = found.error_gone
    error = "squared error" if name == "rmse" else "error"
    tail = f"; {gone:.1%} of its {error} is gone" if math.isfinite(gone) else ""
    if math.isfinite(gone) and gone < 0:
        tail = "; the model is worse"
    if name == "zero_one":
        return f"{display.share(1 - found.baseline[name])} (always {display.short(str(answer), 40)!r}){tail}"
    what = "rmse" if name == "rmse" else "loss"
    return f"{what} {display.number(found.baseline[name])} (always {display.number(answer)}){tail}"


def _classes(found: Score) -> None:
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


def _groups(found: Score) -> None:
    if not found.groups:
        return
    classes = "zero_one" in found.metrics
    name, title = ("zero_one", "error") if classes else ("rmse", "RMSE")
    further = [
        one for one in ("auc", "mae", "r2", "log_loss") if one in found.metrics and not (classes and one == "r2")
    ]
    further = further[:2]

    def line(group: str, one: GroupScore) -> list[str]:
        show = display.share if classes else display.number
        low, high = one.interval
        values = [display.number(one.metrics.get(metric, math.nan)) for metric in further]
        return [group, f"{one.rows:,}", show(one.metrics[name]), f"{show(low)} to {show(high)}", *values]

    rows = [
        line("(no value)" if group is None else display.short(group, 40), one) for group, one in found.groups.items()
    ]
    if found.others is not None:
        rows.append(line("(others)", found.others))
    print()
    heads = [metric.replace("_", " ") for metric in further]
    display.table(None, (str(found.by), "rows", title, "90% interval", *heads), rows)
