"""unitless train, once its arguments are read: what it does, and what it says."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import Option, OptionError, Phrase
from . import arguments, display, options

if TYPE_CHECKING:
    from ..training.result import TrainResult


def carry_out(given: Mapping[str, Any]) -> int:
    """Train with the command's arguments, by name; gives the exit code."""
    from .._core import keep_memory  # noqa: PLC0415
    from ..training.request import train  # noqa: PLC0415

    keep_memory()
    if given["plot"] is not None:
        from ..plots import check_path  # noqa: PLC0415

        check_path(given["plot"])
        if given["model"] is not None and os.path.realpath(given["model"]) == os.path.realpath(given["plot"]):
            raise OptionError(
                Phrase("the picture would be written over the model; name another file for ", Option("plot"))
            )
    wanted = arguments.listed(given["metrics"])
    _check_metrics(wanted)
    with display.Watch(given["quiet"] or given["as_json"]) as watch:
        result = train(
            arguments.sources(given["data"]),
            given["target"],
            rule=given["rule"],
            learning_rate=arguments.rate(given["rate"]),
            model=given["model"],
            resume=given["resume"],
            checkpoint=given["checkpoint"],
            **arguments.passed_on(given, (*options.MODEL, *options.PLAN, *options.COLUMNS)),
            opened=lambda run: watch.start(arguments.not_over(given["plot"], run.source).total_bytes),
            progress=watch.show,
        )
    if given["plot"] is not None:
        result.plot(given["plot"])
    if given["as_json"]:
        print(json.dumps(result.asdict(), indent=2))
    else:
        summary(result, wanted)
    if not result.interrupted:
        return 0
    model = given["model"]
    saved = f"the model so far is in {model}; go on with --resume {model}"
    where = saved if model else "without --model nothing is saved"
    print(f"unitless: interrupted after {result.rows:,} rows{display.of_pass(result)}; {where}", file=sys.stderr)
    return 130


def _check_metrics(wanted: list[str]) -> None:
    from ..evaluation.metrics import METRICS  # noqa: PLC0415

    known = ["accuracy", *(metric.name for metric in METRICS)]
    for name in wanted:
        if name not in known:
            raise OptionError(f"--metrics: there is no {name!r}; there are {', '.join(known)}")


def summary(result: TrainResult, wanted: list[str]) -> None:
    """Print the results."""
    from ..evaluation.metrics import METRICS  # noqa: PLC0415

    metrics = dict(result.metrics)
    low, high = result.interval
    lines: list[tuple[str, str]] = [("task", result.task)]
    lines.append(("rows", display.learned(result, result.interrupted)))
    lines.append(("features", f"{result.features:,}"))
    lines += [("missing", _missing(result.missing))] if result.missing else []
    error = metrics.get("zero_one")
    values = {"loss": f"{display.number(metrics.get('loss'))} ({result.model.options.loss})"}
    if error is not None:
        interval = f"90% confidence interval: {display.share(1 - high)} to {display.share(1 - low)}"
        values["accuracy"] = f"{display.share(1 - error)} ({interval})"
    elif metrics:
        interval = f"90% confidence interval: {display.number(low)} to {display.number(high)}"
        values["rmse"] = f"{display.number(metrics['rmse'])} ({interval})"
    for metric in METRICS:
        if metric.name in metrics:
            show = display.share if metric.is_share else display.number
            values.setdefault(metric.name, show(metrics[metric.name]))
    hidden = [metric.name for metric in METRICS if result.target.task in metric.hidden]
    shown = [name for name in values if (name in wanted if wanted else name not in hidden)]
    lines += [(name.replace("_", " "), values[name]) for name in shown]
    if result.holdout:
        scores = ", ".join(f"{name.replace('_', ' ')} {display.number(x)}" for name, x in result.holdout.items())
        lines.append(("hold-out", scores))
    lines.append(("rate", display.rates(result.learning_rate)))
    passed = result.learned + result.held if result.interrupted else result.rows * max(result.passes, 1)
    speed = f", {passed / result.seconds:,.0f} rows/s" if result.seconds else ""
    lines.append(("time", f"{result.seconds:.2f} s{speed}"))
    lines += [("model", str(result.path))] if result.path and not result.interrupted else []
    display.facts(lines)
    for bad in result.bad[:3]:
        print(f"skipped: {bad}", file=sys.stderr)
    if per_class := result.per_class:
        ranked = sorted(per_class.items(), key=lambda item: -item[1]["share"])[:20]
        rows_of = [
            (
                str(label),
                display.share(of["share"]),
                display.number(of["precision"], 3),
                display.number(of["recall"], 3),
            )
            for label, of in ranked
        ]
        print()
        display.table(None, ("class", "share", "precision", "recall"), rows_of)
    top = result.top_features(8)
    if top:
        print()
        display.table(None, ("feature", "importance"), [(name, display.number(value)) for name, value in top])
    _warn(result)


def _missing(missing: dict[str, int]) -> str:
    ranked = sorted(missing.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} {count:,}" for name, count in ranked[:5])
    return f"{sum(missing.values()):,} values were absent ({shown}{', ...' if len(ranked) > 5 else ''})"


def _warn(result: TrainResult) -> None:
    """What a careful colleague would remark."""
    wide = result.wide_columns()
    for name, features in wide[:3]:
        print(
            f"note: column {name!r} gave {features:,} features, nearly one per row; if it only identifies, --ignore it",
            file=sys.stderr,
        )
    if result.path is None and not result.interrupted:  # an interruption says so itself
        print("note: the model was not kept; --model FILE saves it", file=sys.stderr)
