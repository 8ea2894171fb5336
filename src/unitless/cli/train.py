"""unitless train: from any file to a model."""

from __future__ import annotations

from typing import Any

from . import options
from .options import LEARNING, OUTPUT, Flag
from .train_action import carry_out

NAME = "train"
EXAMPLES = """
[bold]Examples[/]

unitless train prices.csv --target price

unitless train 'logs/*.parquet' --target clicked --ignore user_id --model clicks.unitless

unitless train prices.csv --target price --model prices.unitless --report prices.html

unitless train clicks.vw.gz --bits 20 --checkpoint 1000000 --model clicks.unitless

zcat big.csv.gz | unitless train - --format csv --target y --rate 0.5

unitless train log.csv --target clicked --follow --checkpoint 10000 --model clicks.unitless

unitless train 'clicks/*.parquet' --target clicked --on ray --shards 64 --rounds 8 --model clicks.unitless

unitless train more.csv --resume prices.unitless --model prices.unitless
"""
OPTIONS = (
    options.DATA,
    options.TARGET,
    Flag(
        "rule",
        "nag, snag or ng; newton, of second order; ag or gd, which depend on units. nag if not given.",
        panel=LEARNING,
    ),
    options.RATE,
    options.SHAPE,
    options.EXPERTS,
    *options.MODEL,
    *options.PLAN,
    Flag("resume", "Continue the training of this model.", panel=LEARNING),
    options.CHECKPOINT,
    *options.ENGINE,
    *options.COLUMNS,
    options.FOLLOW,
    Flag("model", "Where to save the model.", short="-m", panel=OUTPUT),
    Flag("metrics", "Which metrics to show; all if not given.", many=True, panel=OUTPUT),
    options.INTERVAL,
    options.PLOT,
    Flag("report", "Write a page about the model and its score to this file (.html), to be passed on.", panel=OUTPUT),
    options.JSON,
    options.QUIET,
)


def command(**given: Any) -> int:
    """Learn from any data: nothing to prepare, nothing to tune.

    Files are fitted: rows in random order, some held back, and the score is that of the model which is
    kept, on these. Pipes, and files with --no-shuffle, are followed: rows as they come.
    """
    return carry_out(given)
