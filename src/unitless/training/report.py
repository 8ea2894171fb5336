"""The page that `train` writes if asked: what was learned from what, how good it is, and what was noticed."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import shown, whole_file
from ..charts import Axis, Frame, limits, percent
from ..errors import OptionError
from ..evaluation.baseline import error_gone
from ..evaluation.curves import Bars, Curve, Curves, Pairs, Reliability
from ..evaluation.metrics import METRICS
from ..html import Html, joined, tag
from ..losses import LOSSES
from ..models.one_vs_all import OneVsAll
from ..page import bar, bar_table, facts, figure, folded, listed, page, paragraph, section, table, tile
from ..version import __version__

if TYPE_CHECKING:
    from .result import TrainResult

Say: TypeAlias = Callable[[str], str]

SUFFIXES = (".html", ".htm")
FEATURES = 15  # of which the page shows the importance
CLASSES, MOST_CLASSES = 20, 200  # that are shown at once; and at all
COLUMNS, BAD = 12, 5  # with missing values; rows that were skipped
_METRICS = {metric.name: metric for metric in METRICS}
_NAMES = {"auc": "AUC", "f1": "F1", "rmse": "RMSE", "mae": "MAE", "r2": "R²", "brier": "Brier score"}
_KINDS = {"number": "numbers", "flag": "flags", "text": "text", "boolean": "true or false"}


def write(result: TrainResult, path: str | os.PathLike[str], say: Say = str) -> None:
    """Write the page: whole or not at all.

    Args:
        result: what it is about.
        path: where to; the name ends in .html.
        say: how texts that name options are written, such as the notes.
    """
    check_path(path)
    whole_file.write(path, made(result, say).encode("utf-8", "backslashreplace"))


def check_path(path: str | os.PathLike[str]) -> None:
    """Before long work: could a report be written there?"""
    text = os.fspath(path)
    folder = os.path.dirname(os.path.realpath(text))
    if os.path.splitext(text)[1].lower() not in SUFFIXES:
        raise OptionError(f"a report cannot be written to {text!r}; its name must end in {' or '.join(SUFFIXES)}")
    if os.path.isdir(text):
        raise OptionError(f"a report cannot be written to {text!r}: it is a folder")
    if not os.path.isdir(folder):
        raise OptionError(f"a report cannot be written to {text!r}: there is no folder {folder!r}")


def made(result: TrainResult, say: Say = str) -> str:
    """The page."""
    target = result.schema.target
    title = f"Learned from {_source(result)}" if target is None else f"Predicting {_short(target)}"
    when = f"{result.when.day} {result.when:%B %Y, %H:%M}"
    return page(
        title,
        tag("h1", title),
        paragraph(f"{_count(result.rows, 'row')} of {_source(result)}, learned on {when}", kind="quiet"),
        _interrupted(result),
        *_headline(result),
        section("All metrics", *_metrics(result)),
        section("What the predictions look like", *_looks(result)),
        section("By class", *_classes(result)),
        section("What matters most", *_features(result)),
        section("How the learning went", *_progress(result)),
        section("What was noticed in the data", *_noticed(result, say)),
        section("What was learned from what", _facts(result)),
        section("How to use the model", *_use(result)),
        tag("footer", f"Made by unitless {__version__}. This page loads nothing and runs no script."),
    )


# ------------------------------------------------------------------------------------------------ the score


def _interrupted(result: TrainResult) -> Html:
    if not result.interrupted:
        return Html("")
    which = f" in pass {result.passes + 1}" if result.passes else ""
    return paragraph(
        tag("b", "The training was interrupted"),
        f"{which}, after {_count(result.learned, 'row')} had been learned: this is the model of that moment.",
        kind="warning",
    )


def _headline(result: TrainResult) -> Iterator[Html]:
    """In a sentence, in numbers, and as bars: how good the kept model is."""
    if not result.metrics:
        yield paragraph("There were too few rows to say how good the model is.", kind="warning")
        return
    if result.score:
        yield from _sentences(result)
    else:
        yield paragraph(
            tag("b", "The kept model has no score of its own"),
            ", because no rows were held back. The numbers here are progressive: each row was predicted before it was "
            "learned, by the weights of that moment.",
            kind="warning",
        )
    yield tag("div", joined(_tiles(result)), class_="tiles")
    yield _errors(result)


def _sentences(result: TrainResult) -> Iterator[Html]:
    by, score, trivial = _judged_by(result), result.score, result.baseline
    if by == "zero_one":
        good, other = f"is right for {_accuracy(score)} of the rows", f"is right for {_accuracy(trivial)}"
    else:
        name = _name(by, result)
        good, other = f"has a {name} of {shown.number(score[by])}", f"has one of {shown.number(trivial[by])}"
    gone = error_gone(score, trivial, by)
    of = {"zero_one": "errors are", "rmse": "squared error is"}.get(by, "loss is")
    end = f": {gone:.1%} of its {of} gone." if gone > 0 else "."
    yield paragraph(
        tag("span", joined(["The kept model ", tag("b", good), f", scored on {result.scored_on}. "])),
        f"The trivial answer, {_trivial(result)}, {other}{end}",
        kind="lead",
    )
    if not gone > 0:
        yield paragraph(
            tag("b", "The model is no better than the trivial answer."),
            " What was used says little about the target, or too few rows were learned.",
            kind="warning",
        )


def _tiles(result: TrainResult) -> Iterator[Html]:
    by, score = _judged_by(result), result.score
    label = {"zero_one": "Accuracy", "rmse": "RMSE"}.get(by, f"{result.model.options.loss.capitalize()} loss")

    def big(metrics: Mapping[str, float]) -> str:
        return _accuracy(metrics) if by == "zero_one" else shown.number(metrics[by])

    progressive = ("each row was predicted before it was learned", _interval(by, result.interval))
    if not score:
        yield tile(f"{label}, progressive", big(result.metrics), joined(_lines(*progressive)), "main")
    else:
        yield tile(f"{label} of the kept model", big(score), _interval(by, result.score_interval), "main")
        yield tile("Trivial answer", big(result.baseline), _trivial(result))
        gone = error_gone(score, result.baseline, by)
        if gone > 0:
            about = {"zero_one": "of the trivial answer's errors", "rmse": "of the trivial answer's squared error: R²"}
            yield tile("Gone", f"{gone:.1%}", about.get(by, "of the trivial answer's loss"), "good")
    area = (score or result.metrics).get("auc", math.nan)
    if math.isfinite(area):
        yield tile("AUC", f"{area:.3f}", _METRICS["auc"].about)
    if result.repeated and score:
        yield tile(f"{label}, progressive", big(result.metrics), progressive[0])
    if by in result.repeated:
        yield tile("Repeating the last label", big(result.repeated), "of the row before; progressive")


def _errors(result: TrainResult) -> Html:
    """Bars of the errors side by side; short is good."""
    by = _judged_by(result)
    asked = [
        ("kept model", result.score, result.score_interval, ""),
        (f"trivial answer: {_trivial(result)}", result.baseline, None, "other"),
        ("progressive", result.metrics, result.interval, ""),
        ("repeating the last label, progressive", result.repeated, None, "other"),
    ]
    found = [(name, values[by], ends, kind) for name, values, ends, kind in asked if by in values]
    found = [(name, value, ends if by != "loss" else None, kind) for name, value, ends, kind in found]
    finite = [value for _, value, _, _ in found if math.isfinite(value)]
    if len(finite) < 2 or max(finite) <= 0:
        return Html("")
    largest = 1.05 * min(max(finite), 4 * max(finite[:2]))
    write_out = (lambda value: f"{value:.2%}") if by == "zero_one" else shown.number
    rows = []
    for name, value, ends, kind in found:
        inside = ends is not None and all(map(math.isfinite, ends))
        whisker = (ends[0] / largest, min(1.0, ends[1] / largest)) if ends is not None and inside else None
        share = value / largest if math.isfinite(value) else 1.0
        rows.append([name, bar(share, kind, whisker), write_out(value)])
    title = {"zero_one": "error", "rmse": "RMSE"}.get(by, f"{result.model.options.loss} loss")
    whiskers = " Thin lines: 90% confidence." if by != "loss" else ""
    return joined([bar_table(["", f"{title} (short is good)", ""], rows), tag("small", f"{whiskers}".strip())])


def _metrics(result: TrainResult) -> Iterator[Html]:
    columns: list[tuple[str, Mapping[str, float]]] = [
        ("kept model", result.score),
        ("trivial answer", result.baseline),
        ("progressive", result.metrics),
        ("last label", result.repeated),
    ]
    columns = [(name, values) for name, values in columns if values]
    task = result.target.task
    rows: list[list[Any]] = []
    if "zero_one" in result.metrics:
        rows.append([_about("accuracy", "the share of rows that are predicted right", False)])
        rows[0] += [_accuracy(values) if "zero_one" in values else "" for _, values in columns]
    for metric in METRICS:
        if task in metric.hidden or not any(metric.name in values for _, values in columns):
            continue
        form = (lambda value: f"{value:.2%}") if metric.is_share else shown.number
        cells = [form(values[metric.name]) if metric.name in values else "" for _, values in columns]
        rows.append([_about(_name(metric.name, result), metric.about, metric.smaller_is_better), *cells])
    if not rows:
        return
    yield table(["", *(name for name, _ in columns)], rows)
    said = {
        "kept model": f"the model that was kept, scored on {result.scored_on}.",
        "trivial answer": f"{_trivial(result)}, on the same rows.",
        "progressive": "each row was predicted before it was learned, by the weights of that moment"
        + (" (in the first pass)." if result.passes > 1 else ".")
        + " It says how the learning went, not how good the kept model is.",
        "last label": "the label of the row before is repeated; progressive as well.",
    }
    yield paragraph(joined(_lines(*(joined([tag("b", name), ": ", said[name]]) for name, _ in columns))), kind="quiet")


def _about(name: str, about: str, smaller_is_better: bool) -> Html:
    better = "small is good" if smaller_is_better else "large is good"
    return joined([name, tag("small", f"{about}; {better}")])


# ------------------------------------------------------------------------------------------------ the curves


def _looks(result: TrainResult) -> Iterator[Html]:
    """Charts of the kept model's predictions; of the progressive ones if that is all there is."""
    curves = result.curves
    if curves is None and result.evaluation.ranking is not None and result.evaluation.examples:
        curves = Curves(result.model, result.evaluation)
    if curves is None:
        return
    positive = _short(result.target.classes[1]) if result.target.task == "binary" else ""
    drawn = [
        *([_roc(curves.roc)] if curves.roc is not None else []),
        *([_precision_recall(curves.precision_recall)] if curves.precision_recall is not None else []),
        *([_reliability(curves.reliability, positive)] if curves.reliability is not None else []),
        *([_against(curves.pairs, result)] if curves.pairs is not None else []),
        *([_residuals(curves.residuals)] if curves.residuals is not None else []),
    ]
    if not drawn:
        return
    which = f"the kept model's, on {result.scored_on}" if result.score else "progressive"
    yield paragraph(f"The predictions are {which}.", kind="quiet")
    yield tag("div", joined(drawn), class_="charts")
    if result.target.task == "binary":
        yield _confusion(result, positive)


def _roc(curve: Curve) -> Html:
    frame = Frame(
        "ROC curve", Axis("false alarms, of all negative", 0, 1, form=percent), Axis("found", 0, 1, form=percent)
    )
    drawn = frame.drawn(frame.line([0, 1], [0, 1], "level"), frame.line(curve.x.tolist(), curve.y.tolist()))
    return figure(
        "ROC",
        drawn,
        "How many of the positive rows are found, at the price of how many false alarms. On the dashed line lies what "
        "knows nothing.",
    )


def _precision_recall(curve: Curve) -> Html:
    frame = Frame("precision and recall", Axis("recall", 0, 1, form=percent), Axis("precision", 0, 1, form=percent))
    base = float(curve.y[-1])
    drawn = frame.drawn(frame.level(base), frame.line(curve.x.tolist(), curve.y.tolist()))
    return figure(
        "Precision and recall",
        drawn,
        f"The more positive rows are found (recall), the fewer of those that are named are right (precision). Dashed: "
        f"the share of positive rows, {base:.1%}.",
    )


def _reliability(data: Reliability, positive: str) -> Html:
    frame = Frame(
        "reliability",
        Axis("predicted probability", 0, 1, form=percent),
        Axis("how often it was so", 0, 1, form=percent),
    )
    x, y, weight = data.predicted, data.observed, data.weight
    drawn = frame.drawn(
        frame.line([0, 1], [0, 1], "level"),
        frame.line(x.tolist(), y.tolist(), "faint"),
        frame.circles(x.tolist(), y.tolist(), (weight / weight.max()).tolist()),
    )
    gap = float(np.average(np.abs(x - y), weights=weight))
    of = f"“{positive}”" if positive else "the class that was predicted"
    return figure(
        "Reliability",
        drawn,
        f"Whether probabilities of {of} can be taken at their word: on the dashed line, they can. Here they are off by "
        f"{gap:.1%} on average. Large points stand for many rows.",
    )


def _confusion(result: TrainResult, positive: str) -> Html:
    """Of two classes: what was predicted against what was true, in rows."""
    evaluation = result._score or result.evaluation
    ranking = evaluation.ranking
    if ranking is None:
        return Html("")
    total, hits, said, true = evaluation.weight, ranking.hits, ranking.predicted, ranking.positive
    negative = _short(result.target.classes[0] or "something else")
    rows = [
        [f"truly {negative}", _amount(total - said - true + hits), _amount(said - hits)],
        [f"truly {positive}", _amount(true - hits), _amount(hits)],
    ]
    return table(["", f"predicted {negative}", f"predicted {positive}"], rows)


def _against(data: Pairs, result: TrainResult) -> Html:
    both = np.concatenate([data.predicted, data.truth])
    low, high = np.quantile(both[np.isfinite(both)], [0.002, 0.998]).tolist() if np.isfinite(both).any() else (0.0, 1.0)
    room = 0.03 * (high - low) or 1.0
    low, high = low - room, high + room
    frame = Frame("prediction and truth", Axis("prediction", low, high), Axis("truth", low, high))
    drawn = frame.drawn(
        frame.dots(data.predicted.tolist(), data.truth.tolist()), frame.line([low, high], [low, high], "kept")
    )
    loss = result.model.options.loss
    extra = ""
    if LOSSES[loss].has_quantile:
        below = float(np.mean(data.truth <= data.predicted))
        extra = (
            f" {below:.1%} of the truths lie at or below the prediction; {result.model.options.quantile:.1%} should."
        )
    return figure(
        "Prediction and truth",
        drawn,
        f"A sample of {_count(len(data.truth), 'row')}. On the dashed line the prediction is exact.{extra}",
    )


def _residuals(data: Bars) -> Html:
    top = float(data.weight.max()) * 1.05 or 1.0
    frame = Frame(
        "residuals", Axis("truth - prediction", float(data.edges[0]), float(data.edges[-1])), Axis("rows", 0, top)
    )
    drawn = frame.drawn(frame.bars(data.edges.tolist(), data.weight.tolist()), frame.upright(0.0, "kept"))
    beyond = f" {data.beyond:.1%} of the rows lie further out." if data.beyond >= 0.001 else ""
    return figure("Residuals", drawn, f"How far the truth is from the prediction.{beyond}")


# ------------------------------------------------------------------------------------------------ classes, features


def _classes(result: TrainResult) -> Iterator[Html]:
    per_class = result.per_class
    if not per_class:
        return
    ranked = sorted(
        per_class.items(), key=lambda item: -item[1]["share"] if item[1]["share"] == item[1]["share"] else 0
    )
    which = f"Of the kept model, on {result.scored_on}." if result.score else "Progressive."
    keys = joined(
        [tag("span", "", class_="key"), "precision", tag("span", "", class_="key fall"), "recall"],
    )
    yield paragraph(f"{which} ", keys, kind="quiet")
    rows = [_class_row(label, of) for label, of in ranked[:MOST_CLASSES]]
    header = ["class", "", "share", "precision", "recall"]
    yield bar_table(header, rows[:CLASSES])
    if rows[CLASSES:]:
        yield folded(f"{len(rows) - CLASSES:,} more classes", bar_table(header, rows[CLASSES:]))
    if len(ranked) > MOST_CLASSES:
        yield paragraph(f"There are {len(ranked):,} classes; the {MOST_CLASSES} most frequent are shown.", kind="quiet")


def _class_row(label: Any, of: Mapping[str, float]) -> list[Any]:
    bars = [
        tag("i", "", f"width:{100 * of[name] if math.isfinite(of[name]) else 0:.1f}%", class_=kind)
        for name, kind in (("precision", "thin"), ("recall", "thin fall"))
    ]
    both = tag("span", joined(bars), class_="track", aria_hidden="true")
    cells = [f"{of[name]:.1%}" if math.isfinite(of[name]) else "-" for name in ("share", "precision", "recall")]
    return [_short(label), both, *cells]


def _features(result: TrainResult) -> Iterator[Html]:
    ranked = [(name, value) for name, value in result.top_features(FEATURES) if math.isfinite(value) and value > 0]
    if not ranked:
        return
    signs = {} if isinstance(result.model, OneVsAll) else {str(name): w for name, w in result.model.weights.items()}
    largest = ranked[0][1]
    rows = [
        [_short(name), bar(value / largest, "fall" if signs.get(name, 0.0) < 0 else ""), shown.number(value)]
        for name, value in ranked
    ]
    more = f", the first {len(ranked)} of {result.features:,} features" if result.features > len(ranked) else ""
    said = f"Importance is a feature's weight times its scale: it has no unit, so features can be compared{more}."
    if signs:
        up = f"towards “{_short(result.target.classes[1])}”" if result.target.task == "binary" else "up"
        down = f"towards “{_short(result.target.classes[0])}”" if result.target.task == "binary" else "down"
        keys = [tag("span", "", class_="key"), f"large values move the prediction {up}"]
        keys += [tag("span", "", class_="key fall"), down]
        yield paragraph(said, kind="quiet")
        yield paragraph(joined(keys), kind="quiet")
    else:
        yield paragraph(f"{said} Of several classes, the largest is shown.", kind="quiet")
    yield bar_table(["feature", "", "importance"], rows)


# ------------------------------------------------------------------------------------------------ the learning


def _progress(result: TrainResult) -> Iterator[Html]:
    moments = [*result.evaluation.curve]
    now = result.evaluation.now
    if moments and now.examples > moments[-1].examples:
        moments.append(now)
    start = moments[-1].examples ** (1 / 3) if moments else 0
    moments = [moment for moment in moments if moment.examples >= start]
    if len(moments) < 3:
        return
    where = "the first pass" if result.passes > 1 or (result.interrupted and result.passes) else "the data"
    yield paragraph(
        f"Each row of {where} was predicted before it was learned. Lines: the mean over all rows so far. Dashed: ",
        *([tag("span", "", class_="key fall"), "the kept model, "] if result.score else []),
        *([tag("span", "", class_="key other"), "the trivial answer"] if result.baseline else ["nothing to compare"]),
        ".",
        kind="quiet",
    )
    root = LOSSES[result.model.options.loss].is_squared_error and result.target.task == "regression"
    name = "RMSE" if root else f"{result.model.options.loss} loss"
    drawn = []
    if moments[-1].zero_one is not None:
        drawn.append(_curve("error", [(m.examples, m.zero_one or 0.0) for m in moments], result, "zero_one", True))
    means = [(m.examples, math.sqrt(m.loss) if root and m.loss >= 0 else m.loss) for m in moments]
    drawn.append(_curve(name, means, result, "rmse" if root else "loss", False))
    yield tag("div", joined(drawn), class_="charts")


def _curve(name: str, points: Sequence[tuple[float, float]], result: TrainResult, by: str, share: bool) -> Html:
    """A progressive mean against the number of rows, beside what was reached and what is trivial."""
    levels = [
        (values[by], kind) for values, kind in ((result.baseline, "level"), (result.score, "kept")) if by in values
    ]
    x, y = [point[0] for point in points], [point[1] for point in points]
    low, high, log = limits([*y, *(value for value, _ in levels)], from_zero=share)
    across = Axis("rows seen", x[0], x[-1], log=True)
    up = Axis(name, low, min(high, 1.0) if share else high, log, percent) if share else Axis(name, low, high, log)
    frame = Frame(f"progressive {name}", across, up)
    drawn = frame.drawn(*(frame.level(value, kind) for value, kind in levels), frame.line(x, y))
    last = f"{y[-1]:.2%}" if share else shown.number(y[-1])
    return figure(f"Progressive {name}", drawn, f"{last} after {x[-1]:,} rows.")


# ------------------------------------------------------------------------------------------------ the data


def _noticed(result: TrainResult, say: Say) -> Iterator[Html]:
    found: list[Any] = [_capital(say(note)) + "." * (not say(note).endswith(".")) for note in result.notes]
    if result.skipped:
        found.append(f"{_count(result.skipped, 'row')} could not be used and {_were(result.skipped)} skipped.")
    if result.unlabelled:
        found.append(f"{_count(result.unlabelled, 'row')} had no label and {_were(result.unlabelled)} not learned.")
    for name, features in result.wide_columns()[:BAD]:
        found.append(
            f"Column {_quoted(name)} gave {features:,} features, nearly one per row. If it only identifies rows, "
            "leave it out."
        )
    if result.missing:
        total = sum(result.missing.values())
        columns = f"{len(result.missing):,} column{'s' * (len(result.missing) != 1)}"
        found.append(f"{_count(total, 'value')} {_were(total)} missing, in {columns}; missing values count as absent.")
    if not found:
        yield paragraph("Nothing: no value was missing and no row had to be skipped.")
        return
    yield listed(found)
    if result.bad:
        yield listed(shown.short(bad, 200) for bad in result.bad[:BAD])
    if result.missing:
        ranked = sorted(result.missing.items(), key=lambda item: -item[1])
        rows = max(1, result.rows + result.skipped)
        lines = [
            [_short(name), bar(count / rows), f"{count:,}", f"{min(1.0, count / rows):.1%}"]
            for name, count in ranked[:COLUMNS]
        ]
        yield bar_table(["column", "missing", "values", "of the rows"], lines)
        if ranked[COLUMNS:]:
            yield paragraph(f"{len(ranked) - COLUMNS:,} more columns have fewer.", kind="quiet")


def _facts(result: TrainResult) -> Html:
    options, plan = result.model.options, result.plan
    weights = {"averaged": "averaged over the training", "last": "the last ones"}[result.kept]
    way = f"fitted in random order ({result.shuffled})" if result.fitted else "followed in their own order"
    counts = [f"{_count(result.rows, 'row')} read, {way}"]
    counts += [f"{result.held:,} held back for the score"] if result.held else []
    return facts(
        [
            ("data", shown.short(result.source, 300)),
            ("target", None if result.schema.target is None else _short(result.schema.target)),
            ("task", shown.short(result.task, 200)),
            ("classes", _class_names(result)),
            ("rows", "; ".join(counts)),
            (
                "passes",
                f"{result.passes:,}" + (f", {result.learned:,} rows learned in all" if result.passes > 1 else ""),
            ),
            ("columns", _columns(result)),
            ("features", f"{result.features:,}"),
            ("row weights", None if result.schema.weight is None else _short(result.schema.weight)),
            ("left out", ", ".join(map(_short, result.reading.ignore[:20]))),
            ("learner", f"{options.rule}, {options.loss} loss, rate {_rate(result.learning_rate)}"),
            ("quantile", f"{options.quantile:g}" if LOSSES[options.loss].has_quantile else None),
            ("interactions", None if options.interactions is None else shown.short(str(options.interactions), 200)),
            ("hashed into", None if options.bits is None else f"{2**options.bits:,} places"),
            ("weights kept", weights),
            ("seed", str(plan.seed) if result.fitted or plan.holdout else None),
            ("time", f"{result.seconds:.1f} s"),
            ("model", None if result.path is None else shown.short(str(result.path), 300)),
            ("when", f"{result.when:%Y-%m-%d %H:%M %Z}"),
        ]
    )


def _class_names(result: TrainResult) -> str | None:
    if result.target.task != "classes":
        return None
    names = [_short(name) for name in result.classes]
    return f"{len(names):,}: {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"


def _columns(result: TrainResult) -> str:
    kinds = Counter(_KINDS.get(kind, "dates") for _, kind in result.schema.columns)
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())


def _use(result: TrainResult) -> Iterator[Html]:
    if result.path is None:
        return
    path = shown.short(str(result.path), 200)
    yield tag("pre", f"unitless predict {path} new-rows.csv --output predictions.csv")
    yield tag("pre", f'import unitless as ul\n\nul.Predictor("{path}").predict("new-rows.csv")')


# ------------------------------------------------------------------------------------------------ words


def _judged_by(result: TrainResult) -> str:
    """The metric in front: the error of classes, the RMSE of numbers, or the loss that was asked for in its place."""
    if "zero_one" in (result.score or result.metrics):
        return "zero_one"
    return "rmse" if LOSSES[result.model.options.loss].is_squared_error else "loss"


def _name(metric: str, result: TrainResult) -> str:
    if metric == "loss":
        return f"{result.model.options.loss} loss"
    return _NAMES.get(metric, metric.replace("_", " "))


def _accuracy(metrics: Mapping[str, float]) -> str:
    return f"{1 - metrics['zero_one']:.2%}"


def _interval(by: str, ends: tuple[float, float]) -> str:
    low, high = ends
    if by == "loss" or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    said = f"{1 - high:.2%} to {1 - low:.2%}" if by == "zero_one" else f"{shown.number(low)} to {shown.number(high)}"
    return f"{said}, with 90% confidence"


def _lines(*parts: Any) -> list[Any]:
    """Parts that are not empty, one below the other."""
    found = [part for part in parts if part]
    return [piece for k, part in enumerate(found) for piece in ([Html("<br>")] if k else []) + [part]]


def _trivial(result: TrainResult) -> str:
    return shown.short(result.trivial, 60)


def _rate(rate: Any) -> str:
    values = sorted(rate.values()) if isinstance(rate, Mapping) else [rate]
    if not values:
        return "-"
    return f"{values[0]:.3g}" if values[0] == values[-1] else f"{values[0]:.3g} to {values[-1]:.3g}"


def _source(result: TrainResult) -> str:
    return shown.short(os.path.basename(result.source.rstrip("/\\")) or result.source, 80)


def _short(name: Any) -> str:
    return shown.short(str(name), 60)


def _quoted(name: str) -> str:
    return f"“{_short(name)}”"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _count(value: int, what: str) -> str:
    return f"{value:,} {what}{'s' * (value != 1)}"


def _were(value: int) -> str:
    return "was" if value == 1 else "were"


def _amount(value: float) -> str:
    """Rows, or their weight."""
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-6 * max(1.0, value) else f"{value:,.2f}"
