"""unitless train: from any file to a model."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from . import display, options

if TYPE_CHECKING:
    from ..result import TrainResult

NAME = "train"
EXAMPLES = """
[bold]Examples[/]

unitless train prices.csv --target price

unitless train 'logs/*.parquet' --target clicked --ignore user_id --model clicks.unitless

unitless train clicks.vw.gz --bits 20 --checkpoint 1000000 --model clicks.unitless

zcat big.csv.gz | unitless train - --format csv --target y --rate 0.5

unitless train more.csv --resume prices.unitless --model prices.unitless
"""


def command(
    data: options.Data,
    target: options.Target = None,
    task: options.Task = None,
    positive: options.Positive = None,
    loss: options.Loss = None,
    rule: Annotated[
        str | None,
        typer.Option("--rule", help="nag, snag, ng; ag, gd (which notice units).", rich_help_panel=options.LEARNING),
    ] = None,
    rate: options.Rate = None,
    no_centre: options.NoCentre = False,
    interactions: options.Interactions = None,
    bits: options.Bits = None,
    quantile: options.Quantile = None,
    passes: options.Passes = 1,
    holdout: options.Holdout = 0.0,
    seed: options.Seed = 0,
    resume: Annotated[
        str | None,
        typer.Option("--resume", help="Go on with this model.", show_default=False, rich_help_panel=options.LEARNING),
    ] = None,
    checkpoint: Annotated[
        int | None,
        typer.Option("--checkpoint", help="Save the model every so many rows.", rich_help_panel=options.OUTPUT),
    ] = None,
    weight: options.Weight = None,
    ignore: options.Ignore = None,
    only: options.Only = None,
    text: options.Text = None,
    numbers: options.Numbers = None,
    dates: options.Dates = "error",
    missing: options.Missing = "absent",
    on_error: options.OnError = "fail",
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    encoding: options.Encoding = None,
    zero_based: options.ZeroBased = False,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Where to save the model.", rich_help_panel=options.OUTPUT)
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", help="Which metrics to show; all if not given.", rich_help_panel=options.OUTPUT),
    ] = None,
    plot: options.Plot = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn from any data in one pass: nothing to prepare, nothing to tune.

    Every row is predicted before it is learned, so the loss that is shown is out of sample.
    """
    shared = options.shared(locals())
    from ..training import train  # noqa: PLC0415

    if plot is not None:
        from ..plots import check_path  # noqa: PLC0415

        check_path(plot)
    wanted = options.listed(metrics)
    _check_metrics(wanted)
    with display.Watch(quiet or as_json) as watch:
        result = train(
            options.sources(data),
            target,
            rule=rule,  # type: ignore[arg-type]  # the library checks it
            learning_rate=options.rate(rate),
            model=model,
            resume=resume,
            checkpoint=checkpoint,
            **shared,
            opened=lambda run: watch.start(run.source.total_bytes),
            progress=watch.show,
        )
    if plot is not None:
        result.plot(plot)
    if as_json:
        print(json.dumps(result.asdict(), indent=2))
    else:
        summary(result, wanted)
    if result.interrupted:
        saved = f"the model so far is in {model}; go on with --resume {model}"
        where = saved if model else "without --model nothing is saved"
        print(f"unitless: interrupted after {result.rows:,} rows; {where}", file=sys.stderr)
        raise typer.Exit(130)


_METRICS = ("loss", "zero_one", "accuracy", "log_loss", "brier", "auc", "rmse", "mae")


def _check_metrics(wanted: list[str]) -> None:
    from ..errors import OptionError  # noqa: PLC0415

    for name in wanted:
        if name not in _METRICS:
            raise OptionError(f"--metrics: there is no {name!r}; there are {', '.join(_METRICS)}")


def summary(result: TrainResult, wanted: list[str]) -> None:
    """What came of it."""
    metrics = dict(result.metrics)
    low, high = result.interval
    lines: list[tuple[str, str]] = [("task", result.task)]
    lines.append(("rows", display.learned(result)))
    lines.append(("features", f"{result.features:,}"))
    lines += [("missing", _missing(result.missing))] if result.missing else []
    error = metrics.get("zero_one")
    values = {"loss": f"{display.number(metrics.get('loss'))} ({result.model.options.loss})"}
    if error is not None:
        sure = f"90% sure: {display.share(1 - high)} to {display.share(1 - low)}"
        values["accuracy"] = f"{display.share(1 - error)} ({sure})"
        values["zero_one"] = display.share(error)
    elif metrics:
        sure = f"90% sure: {display.number(low)} to {display.number(high)}"
        values["rmse"] = f"{display.number(metrics['rmse'])} ({sure})"
    for name in ("mae", "log_loss", "brier", "auc"):
        if name in metrics:
            values[name] = display.number(metrics[name])
    hidden = () if wanted else ("zero_one", "log_loss") if "auc" in metrics else ("zero_one",)
    shown = [name for name in values if (name in wanted if wanted else name not in hidden)]
    lines += [(name.replace("_", " "), values[name]) for name in shown]
    if result.holdout:
        scores = ", ".join(f"{name.replace('_', ' ')} {display.number(x)}" for name, x in result.holdout.items())
        lines.append(("hold-out", scores))
    lines.append(("rate", display.rates(result.learning_rate)))
    speed = f", {result.rows * max(result.passes, 1) / result.seconds:,.0f} rows/s" if result.seconds else ""
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
    if result.path is None:
        print("note: the model was not kept; --model FILE saves it", file=sys.stderr)
