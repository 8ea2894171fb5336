"""unitless train: from any file to a model."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options
from .train_action import carry_out

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
    if code := carry_out(locals()):
        raise typer.Exit(code)
