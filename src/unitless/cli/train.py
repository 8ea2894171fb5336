"""unitless train: from any file to a model."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import Option, OptionError, Phrase
from . import arguments, display, failures, options
from .options import LEARNING, OUTPUT, Flag

if TYPE_CHECKING:
    from ..data import Source
    from ..training.cluster import Cluster

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
    replace(options.RULE, advanced=True),
    options.LEARNING_RATE,
    *options.MODEL_TYPE,
    options.ENSEMBLE,
    *options.MODEL,
    *options.PLAN,
    Flag("resume", "A model file whose training is continued. Default: a new model.", panel=LEARNING, metavar="FILE"),
    options.CHECKPOINT,
    *options.CLUSTER,
    options.WEIGHT,
    *options.COLUMNS,
    options.TAIL,
    Flag(
        "output",
        "The file to save the model to. Default: the model is not saved.",
        short="-o",
        panel=OUTPUT,
        metavar="FILE",
        also=("model", "save"),
    ),
    Flag(
        "metrics",
        "The metrics to show, separated by commas. Default: those that suit the task.",
        many=True,
        panel=OUTPUT,
        advanced=True,
    ),
    options.LEVEL,
    options.PLOT,
    Flag(
        "report",
        "Write a page about the data, the model and its metrics to this file (.html). Default: no page.",
        panel=OUTPUT,
        metavar="FILE",
    ),
    options.JSON,
    options.QUIET,
)


def command(**given: Any) -> int:
    """Learn a model from any data, with nothing to prepare and nothing to tune.

    A file is fitted: its rows are learned in random order, in several passes, and some are held out; the
    metrics are those of the final model on the held-out rows. A pipe, or a file with --no-shuffle, is a
    stream: its rows are learned once, in their order, and each is predicted before it is learned.
    """
    from .._core import keep_memory  # noqa: PLC0415
    from ..training.request import train  # noqa: PLC0415
    from ..training.summary import sections  # noqa: PLC0415

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
            **arguments.passed_on(
                given, (options.LEARNING_RATE, *options.MODEL_TYPE, options.ENSEMBLE, *options.MODEL)
            ),
            **arguments.passed_on(given, (*options.PLAN, options.WEIGHT, options.CHECKPOINT, options.LEVEL)),
            reading=arguments.reading(given, (*options.COLUMNS, options.TAIL)),
            cluster=_cluster(given),
            progress=display.Watching(watch, lambda run: _not_over(given, run.source)),
        )
    if given["plot"] is not None:
        from .. import figures  # noqa: PLC0415  (needs matplotlib)

        options_of = result.model.options
        moments = {"": result.details.evaluation.curve_to_now}
        figures.save(figures.progress(moments, f"{options_of.loss} loss", result.source), given["plot"])
    if given["report"] is not None:
        from ..training import report  # noqa: PLC0415

        report.write(result, given["report"], failures.written)
    if given["as_json"]:
        print(json.dumps(result.asdict(), indent=2))
    else:
        unsaved = Phrase("the model was not saved; name a file to save it to: ", Option("output", "FILE"))
        further = [unsaved] if result.details.output is None and not result.details.interrupted else []
        display.show(sections(result, failures.written, wanted, further))
    if not result.details.interrupted:
        return 0
    model = given["output"]
    saved = f"the model so far is in {model}; continue with --resume {model}"
    where = saved if model else "without --output nothing is saved"
    print(f"unitless: interrupted after {result.rows:,} rows{display.of_pass(result)}; {where}", file=sys.stderr)
    return 130


def _cluster(given: Mapping[str, Any]) -> Cluster | None:
    """The options of training in parts; None if none of them was given."""
    asked = {name: value for name, value in arguments.passed_on(given, options.CLUSTER).items() if value is not None}
    if not asked or asked == {"workers": 1}:
        return None
    from ..training.cluster import Cluster  # noqa: PLC0415

    return Cluster(**asked)


def _check_outputs(given: Mapping[str, Any]) -> None:
    """Raise an error, before long work, if an output cannot be written or would replace a model or another output."""
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
    """Whether two names mean one file, which may not exist yet."""
    there = os.path.exists(one) and os.path.exists(other)
    return os.path.samefile(one, other) if there else os.path.realpath(one) == os.path.realpath(other)


def _not_over(given: Mapping[str, Any], source: Source) -> Source:
    """Return the source, or raise an error if an output would replace one of its files."""
    from ..data.sources.files import check_output  # noqa: PLC0415

    check_output(given["report"], source.files, "the report")
    return arguments.not_over(given["plot"], source)


def _check_metrics(wanted: list[str]) -> None:
    from ..metrics.coverage import COVERAGE  # noqa: PLC0415
    from ..metrics.records import METRICS  # noqa: PLC0415

    known = [*(metric.name for metric in (*METRICS, *COVERAGE))]
    for name in wanted:
        if name not in known:
            raise OptionError(f"--metrics: {name!r} is not a metric; use some of {', '.join(known)}")
