"""unitless sweep: loss against learning rate."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

from ..rules import FIRST_ORDER
from . import arguments, display, options
from .options import LEARNING, OUTPUT, Flag

if TYPE_CHECKING:
    from ..training.sweep import SweepResult, Swept

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
    options.rules_flag(FIRST_ORDER),
    Flag("rates", "Learning rates, separated by commas; 36 from 0.01 to 11 if not given.", many=True, panel=LEARNING),
    Flag(
        "classes",
        "The classes of the target; needed if the data can be read only once.",
        many=True,
        panel=LEARNING,
    ),
    *options.MODEL,
    *options.ORDER,
    options.WEIGHT,
    *options.COLUMNS,
    Flag("show_all", "Print every rate, not only the best.", bool, False, flag="--all", panel=OUTPUT),
    options.PLOT,
    options.JSON,
    options.QUIET,
)


def command(
    *,
    data: list[str],
    target: str | None,
    rules: list[str] | None,
    rates: list[str] | None,
    classes: list[str] | None,
    show_all: bool,
    plot: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Compare learning rates: every rate of a grid, for several rules, while the data is read once.

    Every row is predicted before it is learned, so all losses are out of sample.
    """
    shared = arguments.passed_on(given, (*options.MODEL, *options.ORDER, options.WEIGHT))
    from ..errors import DivergedError  # noqa: PLC0415
    from ..training.sweep import RULES, sweep  # noqa: PLC0415

    if plot is not None:
        from ..figures import check_path  # noqa: PLC0415

        check_path(plot)
    with display.Counter(quiet or as_json) as counter:
        outcome = sweep(
            arguments.sources(data),
            target,
            arguments.listed(rules) or RULES,
            _numbers(arguments.listed(rates)),
            classes=arguments.listed(classes) or None,
            **shared,
            reading=arguments.reading(given, options.COLUMNS),
            progress=display.Watching(counter, lambda runs: arguments.not_over(plot, runs.source)),
        )
    if plot is not None:
        outcome.plot(plot)
    if as_json:
        print(json.dumps(outcome.asdict(), indent=2))
    else:
        summary(outcome, show_all)
    if outcome.interrupted:
        print(f"unitless: interrupted after {outcome.rows:,} rows", file=sys.stderr)
        return 130
    if outcome.best is None:
        raise DivergedError("every rate diverged; look for extremely large values, or give smaller rates")
    return 0


def _numbers(rates: list[str]) -> list[float] | None:
    from ..errors import OptionError  # noqa: PLC0415

    numbers: list[float] = []
    for rate in rates:
        try:
            numbers.append(float(rate))
        except ValueError:
            raise OptionError(f"--rates has {rate!r}; it must be numbers, separated by commas") from None
        if not 0 < numbers[-1] < math.inf:
            raise OptionError(f"--rates has {rate}; a rate must be positive and finite")
    return numbers or None


def summary(outcome: SweepResult, show_all: bool) -> None:
    """Print the results."""
    first = next(iter(outcome.rules.values()))
    rows = [display.count(outcome.learned, "row") + " learned"]
    rows += [f"{outcome.unlabeled:,} without label"] if outcome.unlabeled else []
    rows += [f"{outcome.skipped:,} skipped"] if outcome.skipped else []
    grid = f"{len(first.rates)} from {first.rates[0]:.3g} to {first.rates[-1]:.3g}"
    display.facts(
        [
            ("task", outcome.task),
            ("loss", outcome.loss),
            ("rows", ", ".join(rows)),
            ("rates", grid if len(first.rates) > 1 else f"{first.rates[0]:.3g}"),
            ("time", f"{outcome.seconds:.2f} s"),
        ]
    )
    print()
    score = ["error"] if first.errors is not None else ["RMSE"] if first.rmse is not None else []
    if show_all:
        _every_rate(outcome)
        print()
    header = ["rule", "", "best rate", "loss", *score, "loss within 10%", "seconds"]
    display.table(None, header, [_line(outcome, one) for one in outcome.rules.values()], left=2)
    hints = [_hint(one) for one in outcome.rules.values()]
    if any(hints):
        print("", *filter(None, hints), sep="\n")
    for bad in outcome.skipped_rows[:3]:
        print(f"skipped: {bad}", file=sys.stderr)


def _line(outcome: SweepResult, one: Swept) -> list[str]:
    score = 1 if one.errors is not None or one.rmse is not None else 0
    if one.best is None:
        return [one.rule, "diverged", *["-"] * (3 + score), f"{one.seconds:.2f}"]
    mark = "best" if outcome.best is not None and outcome.best[0] == one.rule else ""
    line = [one.rule, mark, f"{one.best_rate:.3g}", display.number(one.best_loss), *_score(one, one.best)]
    low, high = one.good_rates
    return [*line, f"{low:.3g} to {high:.3g}" if low < high else f"{low:.3g}", f"{one.seconds:.2f}"]


def _score(one: Swept, place: int) -> list[str]:
    if one.errors is not None:
        return [display.share(one.errors[place]) if math.isfinite(one.errors[place]) else "-"]
    return [display.number(one.rmse[place])] if one.rmse is not None else []


def _every_rate(outcome: SweepResult) -> None:
    """One row for each rate, a loss (and error) for each rule; the least one of each rule is starred."""
    header = ["rate"]
    for one in outcome.rules.values():
        header += [f"{one.rule} loss", *(["error"] if one.errors is not None else ["RMSE"] if one.rmse else [])]
    rates = next(iter(outcome.rules.values())).rates
    lines = []
    for k, rate in enumerate(rates):
        line = [f"{rate:.4g}"]
        for one in outcome.rules.values():
            finite = math.isfinite(one.losses[k])
            star = "*" if k == one.best else " "
            line += [f"{display.number(one.losses[k])}{star}" if finite else "diverged ", *_score(one, k)]
        lines.append(line)
    display.table(None, header, lines, left=0)


def _hint(one: Swept) -> str:
    if one.diverged is not None:
        return f"{one.rule} diverged at {one.diverged}, at every rate."
    if one.best_rate is None or one.at_edge is None:
        return ""
    which, beyond = ("smallest", "below") if one.at_edge == "first" else ("largest", "above")
    return (
        f"{one.rule}: the best rate is the {which} that was tried; a better one may lie {beyond} {one.best_rate:.3g}."
    )
