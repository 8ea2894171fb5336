"""unitless train, once its arguments are read: what it does, and what it says."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import Option, OptionError, Phrase
from . import arguments, display, failures, options

if TYPE_CHECKING:
    from ..data import Source
    from ..training.result import TrainResult


def carry_out(given: Mapping[str, Any]) -> int:
    """Train with the command's arguments, by name; gives the exit code."""
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
            learning_rate=arguments.rate(given["rate"]),
            model=given["model"],
            resume=given["resume"],
            **arguments.passed_on(
                given, (options.SHAPE, options.EXPERTS, *options.MODEL, *options.PLAN, *options.COLUMNS)
            ),
            **arguments.passed_on(given, (options.CHECKPOINT, *options.ENGINE, options.FOLLOW, options.INTERVAL)),
            opened=lambda run: watch.start(_not_over(given, run.source).total_bytes),
            progress=watch.show,
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
    model = given["model"]
    saved = f"the model so far is in {model}; go on with --resume {model}"
    where = saved if model else "without --model nothing is saved"
    print(f"unitless: interrupted after {result.rows:,} rows{display.of_pass(result)}; {where}", file=sys.stderr)
    return 130


def _check_outputs(given: Mapping[str, Any]) -> None:
    """Before long work: every output can be written, and replaces neither an input nor another output."""
    outputs = [("plot", "the picture")] if given["plot"] is not None else []
    outputs += [("report", "the report")] if given["report"] is not None else []
    if given["plot"] is not None:
        from ..plots import check_path  # noqa: PLC0415

        check_path(given["plot"])
    if given["report"] is not None:
        from ..training import report  # noqa: PLC0415

        report.check_path(given["report"])
    others = [("model", "the model"), ("resume", "the model"), ("plot", "the picture")]
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
    from ..evaluation.coverage import COVERAGE  # noqa: PLC0415
    from ..evaluation.metrics import METRICS  # noqa: PLC0415

    known = ["accuracy", *(metric.name for metric in (*METRICS, *COVERAGE))]
    for name in wanted:
        if name not in known:
            raise OptionError(f"--metrics: there is no {name!r}; there are {', '.join(known)}")


def summary(result: TrainResult, wanted: list[str], remarked: Sequence[str] = ()) -> None:
    """Print the results: first how good the kept model is, then how it came about.

    Args:
        result: of training.
        wanted: metrics that were asked for.
        remarked: notes that people have seen.
    """
    from ..models.company import shares_shown  # noqa: PLC0415

    said = [failures.written(one) for one in result.decisions]
    lines: list[tuple[str, str]] = [("data" if k == 0 else "", one) for k, one in enumerate(said)]
    lines.append(("task", result.task))
    lines += _score(result, wanted)
    lines.append(("progressive", _progressive(result, wanted)))
    lines += [("", _beside(result))] if result.baselines else []
    if not wanted:
        lines += display.intervals(result.score if result.fitted else result.metrics, result.plan.interval)
    lines.append(("rows", display.learned(result, result.interrupted)))
    lines.append(("features", result.said_features))
    lines += [("shape", str(result.shape))] if result.model.options.shape != "linear" else []
    lines.append(("experts", shares_shown(result.experts)))
    lines += [("missing", _missing(result.missing))] if result.missing else []
    lines.append(("rate", display.rates(result.learning_rate)))
    lines += [("sparsity", display.rates(result.model.sparsity))] if result.model.options.sparse else []
    speed = f", {result.rows_per_second:,.0f} rows/s" if result.rows_per_second else ""
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
        which = "of the score" if result.score else "progressive"
        display.table(None, (f"class ({which})", "share", "precision", "recall"), rows_of)
    top = result.top_features(8)
    if top:
        print()
        display.table(None, ("feature", "importance"), [(name, display.number(value)) for name, value in top])
    _warn(result, remarked)


def _score(result: TrainResult, wanted: list[str]) -> list[tuple[str, str]]:
    """Of the kept model, beside the trivial answer."""
    score, trivial = result.score, result.baseline
    if not score:
        return []
    low, high = result.score_interval
    if "zero_one" in score:
        main = f"accuracy {display.share(1 - score['zero_one'])}"
        between = f"{display.share(1 - high)} to {display.share(1 - low)}"
        answer = f"accuracy {display.share(1 - trivial['zero_one'])}"
    elif result.judged_by == "rmse":
        main = f"rmse {display.number(score['rmse'])}"
        between = f"{display.number(low)} to {display.number(high)}"
        answer = f"rmse {display.number(trivial['rmse'])}"
    else:
        main, between = f"loss {display.number(score['loss'])}", ""
        answer = f"loss {display.number(trivial['loss'])}"
    error = {"zero_one": "error", "rmse": "squared error"}.get(result.judged_by, "loss")
    gone = f"; {display.share(result.gone)} of its {error} is gone" if result.gone > 0 else "; the model is no better"
    return [
        ("score", f"{main}{f' (90% confidence: {between})' if between else ''} on {result.scored_on}"),
        ("", _listed(score, result, wanted, apart=("zero_one", result.judged_by))),
        ("baseline", f"{answer} by saying {result.trivial}{gone}"),
    ]


def _progressive(result: TrainResult, wanted: list[str]) -> str:
    metrics = result.metrics
    if not metrics:
        return ""
    if "zero_one" in metrics:
        main = f"accuracy {display.share(1 - metrics['zero_one'])}"
    else:
        main = f"rmse {display.number(metrics['rmse'])}"
    stale = f"; without up to {result.stale:,} rows that others learned in the same round" if result.stale else ""
    return ", ".join(filter(None, (main, _listed(metrics, result, wanted, apart=("zero_one", "rmse"))))) + stale


def _beside(result: TrainResult) -> str:
    """What answers score on the way that know the labels before and nothing else."""
    from ..evaluation.stream_baselines import shown_name  # noqa: PLC0415

    def score(found: dict[str, float]) -> str:
        if "zero_one" in found:
            return f"accuracy {display.share(1 - found['zero_one'])}"
        return f"rmse {display.number(found['rmse'])}"

    task = result.target.task
    return "; ".join(f"{shown_name(name, task)}: {score(found)}" for name, found in result.baselines.items())


def _listed(metrics: dict[str, float], result: TrainResult, wanted: list[str], apart: tuple[str, ...]) -> str:
    """Metrics in one line: those that were asked for, or those that people look at."""
    from ..evaluation.coverage import COVERAGE  # noqa: PLC0415
    from ..evaluation.metrics import METRICS  # noqa: PLC0415

    hidden = [metric.name for metric in METRICS if result.target.task in metric.hidden]
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
    wide = result.wide_columns()
    for name, features in wide[:3]:
        print(
            f"note: column {name!r} gave {features:,} features, nearly one per row; if it only identifies, --ignore it",
            file=sys.stderr,
        )
    if result.path is None and not result.interrupted:  # an interruption says so itself
        print("note: the model was not kept; --model FILE saves it", file=sys.stderr)
