"""unitless evaluate: how good a model is on labeled data."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from . import arguments, display, options
from .options import OUTPUT, READING, Flag

NAME = "evaluate"
STOPPED = "stopped; nothing was evaluated"
EXAMPLES = """
[bold]Examples[/]

unitless evaluate prices.unitless new.csv

unitless evaluate clicks.unitless 'logs/*.parquet' --by country --plot clicks.png

unitless evaluate prices.unitless new.csv --importance

unitless evaluate prices.unitless new.csv --target sold_for --json > metrics.json
"""
OPTIONS = (
    Flag("model", "The file of a model that train has saved.", metavar="MODEL", argument=True, required=True),
    options.DATA,
    Flag("target", "The column of the labels. Default: the target of the training.", short="-t", panel=READING),
    Flag("by", "A column; the metrics are also computed for each of its values. Default: none.", panel=READING),
    Flag("weight", "The column of sample weights. Default: the one of the training.", panel=READING),
    Flag(
        "no_weight",
        "Count every row once, although the model was trained with sample weights.",
        bool,
        False,
        panel=READING,
    ),
    options.EXTRAPOLATE,
    options.MISSING_AS_TRAINED,
    options.ON_ERROR,
    *options.FILES,
    options.LEVEL,
    Flag(
        "importance",
        "Also measure the importance of each column: how much worse the metric becomes if the column's values are "
        "permuted among a sample of 4,000 rows.",
        bool,
        False,
        panel=OUTPUT,
    ),
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
    level: float,
    importance: bool,
    plot: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Measure a model on labeled data: all metrics, next to the baseline's.

    The baseline always answers with the most frequent class, or the mean, of the labels in this data. A row
    whose class the model does not know counts as an error. The model is not changed.
    """
    from ..data.sources.files import File, check_output  # noqa: PLC0415
    from ..errors import Option, OptionError, Phrase  # noqa: PLC0415
    from ..inference.evaluate import evaluate  # noqa: PLC0415
    from ..inference.evaluation_summary import sections  # noqa: PLC0415

    if weight is not None and no_weight:
        raise OptionError(Phrase(Option("weight"), " and --no-weight exclude each other; give one"))
    if plot is not None:
        from ..figures import check_path  # noqa: PLC0415

        check_path(plot)
        check_output(plot, [File(model)], "the picture", "the model")
    reading = arguments.reading(given, (*options.FILES, options.ON_ERROR))
    reading = reading if missing is None else replace(reading, missing=missing)  # type: ignore[arg-type]
    with arguments.model_first(NAME), display.Counter(quiet or as_json) as watch:
        found = evaluate(
            model,
            arguments.sources(data),
            target=target,
            by=by,
            weight=False if no_weight else weight,
            extrapolate=extrapolate,
            level=level,
            importance=importance,
            reading=reading,
            progress=display.Watching(watch, lambda run: arguments.not_over(plot, run.source)),
        )
    if plot is not None:
        found.plot(plot)
    if as_json:
        print(json.dumps(found.asdict(), indent=2))
    else:
        display.show(sections(found))
