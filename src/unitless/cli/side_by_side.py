"""The common part of `compare` and `sweep`: several learners in one pass, then a picture, JSON or tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import DivergedError
from ..presentation.sections import Section
from . import arguments, display, options


def learned_together(
    given: Mapping[str, Any],
    watch: type[display.Watch],
    learn: Callable[..., Any],
    sections: Callable[[Any], Iterable[Section]],
    diverged: str,
) -> int:
    """Train the learners, print the results, and return the exit code.

    Args:
        given: the options of the command.
        watch: the class that shows the progress.
        learn: the function of the library; it is called with the data and the options for reading it.
        sections: makes the sections that are printed from the outcome.
        diverged: the message if every learner has diverged.
    """
    plot = given["plot"]
    if plot is not None:
        from ..figures import check_path  # noqa: PLC0415

        check_path(plot)
    with watch(given["quiet"] or given["as_json"]) as watching:
        outcome = learn(
            arguments.sources(given["data"]),
            given["target"],
            reading=arguments.reading(given, options.COLUMNS),
            progress=display.Watching(watching, lambda runs: arguments.not_over(plot, runs.source)),
        )
    if plot is not None:
        outcome.plot(plot)
    if given["as_json"]:
        print(json.dumps(outcome.asdict(), indent=2))
    else:
        display.show(sections(outcome))
    if outcome.interrupted:
        whole = getattr(outcome, "whole", None)  # a sweep has one pass
        rows, in_pass = (outcome.rows, "") if whole is None else (whole.rows, display.of_pass(whole))
        print(f"unitless: interrupted after {rows:,} rows{in_pass}", file=sys.stderr)
        return 130
    if outcome.best is None:
        raise DivergedError(diverged)
    return 0
