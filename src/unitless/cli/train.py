"""unitless train: from any file to a model."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import Option, OptionError, Phrase
from . import arguments, display, failures, options
from .options import LEARNING, OUTPUT, Flag

if TYPE_CHECKING:
    from ..data import Source
    from ..training.cluster import Cluster
    from ..training.result import TrainResult

NAME = "train"
EXAMPLES = """
[bold]Examples[/]

unitless train prices.csv --target price

unitless train 'logs/*.parquet' --target clicked --ignore user_id --output clicks.unitless

unitless train prices.csv --target price --output prices.unitless --report prices.html

unitless train clicks.vw.gz --bits 20 --checkpoint 1000000 --output clicks.unitless

zcat big.csv.gz | unitless train - --format csv --target y --learning-rate 0.5

unitless train log.csv --target clicked --tail --checkpoint 10000 --output clicks.unitless

unitless train 'clicks/*.parquet' -t clicked --backend ray --partitions 64 -o clicks.unitless

unitless train more.csv --resume prices.unitless --output prices.unitless
"""
OPTIONS = (
    options.DATA,
    options.TARGET,
    Flag(
        "rule",
        "The update rule: nag, snag or ng; newton, of second order; ag or gd, which depend on units. Default: nag.",
        panel=LEARNING,
    ),
    options.LEARNING_RATE,
    options.MODEL_TYPE,
    options.ENSEMBLE,
    *options.MODEL,
    *options.PLAN,
    Flag("resume", "Continue the training of this model.", panel=LEARNING),
    options.CHECKPOINT,
    *options.CLUSTER,
    options.WEIGHT,
    *options.COLUMNS,
    options.TAIL,
    Flag("output", "The file to save the model to.", short="-o", panel=OUTPUT),
    Flag("metrics", "Which metrics to show; all if not given.", many=True, panel=OUTPUT),
    options.LEVEL,
    options.PLOT,
    Flag("report", "Write a page about the model and its score to this file (.html), to be passed on.", panel=OUTPUT),
    options.JSON,
    options.QUIET,
)


def command(**given: Any) -> int:
    """Learn from any data: nothing to prepare, nothing to tune.

    Files are fitted: rows in random order, several passes, some rows held out; the metrics are those of the
    final model on the held-out rows. Pipes, and files with --no-shuffle, are streams: each row is predicted,
    then learned, in its order.
    """
    from .._core import keep_memory  # noqa: PLC0415
    from ..training.request import train  # noqa: PLC0415

    keep_memory()
    _check_outputs(given)
    wanted = arguments.listed(given["metrics"])
    _check_metrics(wanted)
    with display.Watch(given["quiet"] or given["as_json"]) as watch:
        result = train(
            arguments.sources(given["data"]),
            given["target"],
            rule=given["rule"],
            output=given["output"],
            resume=given["resume"],
            **arguments.passed_on(given, (options.LEARNING_RATE, options.MODEL_TYPE, options.ENSEMBLE, *options.MODEL)),
            **arguments.passed_on(given, (*options.PLAN, options.WEIGHT, options.CHECKPOINT, options.LEVEL)),
            reading=arguments.reading(given, (*options.COLUMNS, options.TAIL)),
            cluster=_cluster(given),
            progress=display.Watching(watch, lambda run: _not_over(given, run.source)),
        )
    if given["plot"] is not None:
        result.plot(given["plot"])
    if given["report"] is not None:
        from ..training import report  # noqa: PLC0415

        report.write(result, given["report"], failures.written)
    if given["as_json"]:
        print(json.dumps(result.asdict(), indent=2))
    else:
        summary(result, wanted, watch.remarked)
    if not result.interrupted:
        return 0
    model = given["output"]
    saved = f"the model so far is in {model}; go on with --resume {model}"
    where = saved if model else "without --output nothing is saved"
    print(f"unitless: interrupted after {result.rows:,} rows{display.of_pass(result)}; {where}", file=sys.stderr)
    return 130


def _cluster(given: Mapping[str, Any]) -> Cluster | None:
    """Where training runs in parts, if it does."""
    asked = {name: value for name, value in arguments.passed_on(given, options.CLUSTER).items() if value is not None}
    if not asked or asked == {"workers": 1}:
        return None
    from ..training.cluster import Cluster  # noqa: PLC0415

    return Cluster(**asked)


def _check_outputs(given: Mapping[str, Any]) -> None:
    """Before long work: every output can be written, and replaces neither an input nor another output."""
    outputs = [("plot", "the picture")] if given["plot"] is not None else []
    outputs += [("report", "the report")] if given["report"] is not None else []
    if given["plot"] is not None:
        from ..figures import check_path  # noqa: PLC0415

        check_path(given["plot"])
    if given["report"] is not None:
        from ..training import report  # noqa: PLC0415

        report.check_path(given["report"])
    others = [("output", "the model"), ("resume", "the model"), ("plot", "the picture")]
    for option, what in outputs:
        for other, over in others:
            if option != other and given[other] is not None and _same(given[option], given[other]):
                raise OptionError(
                    Phrase(f"{what} would be written over {over}; name another file for ", Option(option))
                )


def _same(one: str, other: str) -> bool:
    """Whether two names are of one file, that there is or will be."""
    there = os.path.exists(one) and os.path.exists(other)
    return os.path.samefile(one, other) if there else os.path.realpath(one) == os.path.realpath(other)


def _not_over(given: Mapping[str, Any], source: Source) -> Source:
    """The source, which nothing is to be written over."""
    from ..data.files import check_output  # noqa: PLC0415

    check_output(given["report"], source.files, "the report")
    return arguments.not_over(given["plot"], source)


def _check_metrics(wanted: list[str]) -> None:
    from ..metrics.coverage import COVERAGE  # noqa: PLC0415
    from ..metrics.records import METRICS  # noqa: PLC0415

    known = [*(metric.name for metric in (*METRICS, *COVERAGE))]
    for name in wanted:
        if name not in known:
            raise OptionError(f"--metrics: there is no {name!r}; there are {', '.join(known)}")


def summary(result: TrainResult, wanted: list[str], remarked: Sequence[str] = ()) -> None:
    """Print the results: first how good the model is, then how it came about.

    Args:
        result: of training.
        wanted: metrics that were asked for.
        remarked: notes that people have seen.
    """
    from ..models.extra_members import shares_shown  # noqa: PLC0415

    model, details = result.model, result.details
    said = [failures.written(one) for one in result.column_report]
    lines: list[tuple[str, str]] = [("data" if k == 0 else "", one) for k, one in enumerate(said)]
    lines.append(("task", result.task))
    lines += _metrics(result, wanted)
    lines += _progressive(result, wanted) if result.metrics_on_holdout else []
    lines += _last_label(result)
    lines += display.intervals(result.metrics, details.plan.level) if not wanted else []
    lines.append(("rows", display.learned(result, result.interrupted)))
    lines.append(("features", details.features_shown(result)))
    lines += [("model type", str(result.model_type))] if model.options.model_type != "linear" else []
    lines.append(("ensemble", shares_shown(model.members)))
    lines += [("missing", _missing(result.missing))] if result.missing else []
    lines.append(("rate", display.rates(model.learning_rate)))
    lines += [("sparsity", display.rates(model.sparsity))] if model.options.sparse else []
    speed = f", {details.rows_per_second:,.0f} rows/s" if details.rows_per_second else ""
    lines.append(("time", f"{result.seconds:.2f} s{speed}"))
    lines += [("model", str(details.output))] if details.output and not result.interrupted else []
    display.facts(lines)
    for bad in details.skipped_rows[:3]:
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
    _warn(result, remarked)


def _metrics(result: TrainResult, wanted: list[str]) -> list[tuple[str, str]]:
    """The model's metrics, and the baseline's."""
    found, baseline, by = result.metrics, result.baseline, result.judged_by
    if not found:
        return []
    low, high = result.metrics_ci
    if by == "error_rate":
        between = f"{display.share(1 - high)} to {display.share(1 - low)}"
    else:
        between = f"{display.number(low)} to {display.number(high)}" if by == "rmse" else ""
    error = {"error_rate": "error", "rmse": "squared error"}.get(by, "loss")
    below = f"; the model's {error} is {display.share(result.skill)} below"
    below = below if result.skill > 0 else "; the model is no better"
    interval = f" (90% confidence interval: {between})" if between else ""
    lines = [
        ("metrics", f"{display.main_metric(found, by)}{interval} on {result.metrics_on}"),
        ("", _listed(found, result, wanted, apart=("accuracy", by))),
    ]
    if by in baseline:
        lines.append(("baseline", f"{display.main_metric(baseline, by)} by {result.baseline_name}{below}"))
    return lines


def _progressive(result: TrainResult, wanted: list[str]) -> list[tuple[str, str]]:
    found, by = result.progressive, result.judged_by
    if not found:
        return []
    stale = result.max_staleness
    late = f"; without up to {stale:,} rows that others learned in the same round" if stale else ""
    others = _listed(found, result, wanted, apart=("accuracy", by))
    return [("progressive", ", ".join(filter(None, (display.main_metric(found, by), others))) + late)]


def _last_label(result: TrainResult) -> list[tuple[str, str]]:
    """For a stream: the metric of predicting the label of the row before."""
    found, by = result.last_label_baseline, result.judged_by
    return (
        [("last label", f"{display.main_metric(found, by)} by predicting the label of the row before")]
        if by in found
        else []
    )


def _listed(metrics: dict[str, float], result: TrainResult, wanted: list[str], apart: tuple[str, ...]) -> str:
    """Metrics in one line: those that were asked for, or those that people look at."""
    from ..metrics.coverage import COVERAGE  # noqa: PLC0415
    from ..metrics.records import METRICS  # noqa: PLC0415

    hidden = [metric.name for metric in METRICS if result._target.task in metric.hidden]
    hidden += [metric.name for metric in COVERAGE]  # they have a line of their own
    shown = []
    for metric in (*METRICS, *COVERAGE):
        name = metric.name
        if name in apart or name not in metrics or not (name in wanted if wanted else name not in hidden):
            continue
        show = display.share if metric.is_share else display.number
        shown.append(f"{name.replace('_', ' ')} {show(metrics[name])}")
    return ", ".join(shown)


def _missing(missing: dict[str, int]) -> str:
    ranked = sorted(missing.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} {count:,}" for name, count in ranked[:5])
    return f"{sum(missing.values()):,} values were missing ({shown}{', ...' if len(ranked) > 5 else ''})"


def _warn(result: TrainResult, remarked: Sequence[str]) -> None:
    """What a careful colleague would remark."""
    for note in result.notes:
        if note in remarked:
            continue
        print(f"note: {failures.written(note)}", file=sys.stderr)
    wide = result.details.wide_columns(result)
    for name, features in wide[:3]:
        print(
            f"note: column {name!r} gave {features:,} features, nearly one per row; if it only identifies, --ignore it",
            file=sys.stderr,
        )
    if result.details.output is None and not result.interrupted:  # an interruption says so itself
        print("note: the model was not saved; --output FILE saves it", file=sys.stderr)
