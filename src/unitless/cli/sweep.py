"""unitless sweep: loss against learning rate."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ..errors import OptionError
from ..rules import FIRST_ORDER, RULES
from . import arguments, display, options
from .options import LEARNING, OUTPUT, Flag
from .side_by_side import learned_together

NAME = "sweep"
EXAMPLES = """
[bold]Examples[/]

unitless sweep prices.csv --target price

unitless sweep clicks.parquet --target clicked --rules nag,ag --rates 0.01,0.1,1,10 --all

unitless sweep prices.csv --target price --plot rates.png

zcat big.csv.gz | unitless sweep - --format csv --target kind --classes low,middle,high
"""
OPTIONS = (
    options.DATA,
    options.TARGET,
    options.rules_flag(FIRST_ORDER, (name for name in FIRST_ORDER if RULES[name].adaptive)),
    Flag(
        "rates",
        "The learning rates to compare, separated by commas. Default: 36 from 0.01 to 11.",
        many=True,
        panel=LEARNING,
    ),
    Flag(
        "classes",
        "The classes of the target, separated by commas; a pipe needs them. Default: inferred.",
        many=True,
        panel=LEARNING,
    ),
    *options.MODEL,
    *options.ORDER,
    options.WEIGHT,
    *options.COLUMNS,
    Flag("show_all", "Print every rate instead of the best ones.", bool, False, flag="--all", panel=OUTPUT),
    options.PLOT,
    options.JSON,
    options.QUIET,
)


def command(**given: Any) -> int:
    """Compare learning rates: every rate of a grid, for several update rules; the data is read once.

    Every row is predicted before it is learned, so all losses are out of sample.
    """
    from ..training.side_by_side import sweep_sections  # noqa: PLC0415
    from ..training.sweep import RULES as USUAL  # noqa: PLC0415
    from ..training.sweep import sweep  # noqa: PLC0415

    learn = partial(
        sweep,
        rules=arguments.listed(given["rules"]) or USUAL,
        rates=_numbers(arguments.listed(given["rates"])),
        classes=arguments.listed(given["classes"]) or None,
        **arguments.passed_on(given, (*options.MODEL, *options.ORDER, options.WEIGHT)),
    )
    show = partial(sweep_sections, every_rate=given["show_all"])
    diverged = "every rate diverged; look for extremely large values, or give smaller rates"
    return learned_together(given, display.Counter, learn, show, diverged)


def _numbers(rates: list[str]) -> list[float] | None:
    numbers: list[float] = []
    for rate in rates:
        try:
            numbers.append(float(rate))
        except ValueError:
            raise OptionError(f"--rates has {rate!r}; it must be numbers, separated by commas") from None
        if not 0 < numbers[-1] < math.inf:
            raise OptionError(f"--rates has {rate}; a rate must be positive and finite")
    return numbers or None
