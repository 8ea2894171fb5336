"""The parts of the report about the model: classes, importance, curves, progress."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...inference import importance_summary
from ...inference.curve_panels import curve_panels
from ...losses import LOSSES
from ...metrics import shown_metrics
from ...models.curve_panels import Panel
from ...presentation import shown
from ...presentation.charts import Axis, Frame, limits, percent
from ...presentation.html import Html, joined, tag
from ...presentation.page import bar, bar_table, figure, folded, paragraph
from . import words

if TYPE_CHECKING:
    from ..result import TrainResult

COLUMNS = 15  # columns whose importance is shown
CURVES = 12  # columns whose curves are shown
CLASSES, MOST_CLASSES = 20, 200  # classes that are shown at once, and with "more classes" opened


def classes(result: TrainResult) -> Iterator[Html]:
    """Precision and recall of each class, the most frequent first."""
    per_class = result.details.per_class
    if not per_class:
        return
    ranked = sorted(per_class.items(), key=lambda item: -item[1]["share"])
    which = f"On {result.metrics_on}."
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
    return [words.short(label), both, *cells]


def importance(result: TrainResult) -> Iterator[Html]:
    """The columns that matter most."""
    found = result.importance
    if found is None:
        return
    loss = result.model.options.loss
    yield paragraph(
        f"How much worse the predictions are without knowing a column: the rise of the "
        f"{shown_metrics.name(found.metric, loss)} on {found.on} if the column's values are permuted among these rows"
        f"{importance_summary.extent(found, COLUMNS)}. The lines are 90% confidence intervals.",
        kind="quiet",
    )
    signs: dict[str, float] = {}
    if result.model.task != "classes" and not result.model._bends():
        signs = {str(name): w for name, w in result.model._form_reading().directions().items()}
        binary = result.details.target.task == "binary"
        down, up = (f"toward {words.quoted(name)}" for name in words.pair(result)) if binary else ("down", "up")
        keys = [tag("span", "", class_="key"), f"large values move the prediction {up}"]
        keys += [tag("span", "", class_="key fall"), down]
        yield paragraph(joined(keys), kind="quiet")
    ranked = [one for one in found.columns[:COLUMNS] if math.isfinite(one.high)]
    largest = max((one.high for one in ranked), default=0.0) or 1.0
    rows = [
        [
            words.short(one.column),
            bar(
                one.value / largest,
                "fall" if signs.get(one.column, 0.0) < 0 else "",
                whisker=(max(0.0, one.low / largest), one.high / largest),
            ),
            *importance_summary.texts(one, found),
        ]
        for one in ranked
    ]
    yield bar_table(["column", "", importance_summary.rises(found.metric, loss), "90% confidence interval"], rows)


def curves(result: TrainResult) -> Iterator[Html]:
    """What each column adds to the score, if the model has curves."""
    if not result.model._bends():
        return
    drawn, names = curve_panels(result.model, CURVES)
    if not drawn:
        return
    explanation = (
        "What each column adds to the score, compared with its mean: its linear term and its curve. Bars: how many "
        "values there are."
    )
    if result.model.model_type == "trees":
        explanation += " What trees add depends on several columns together and is not shown."
    if len(names) > 1:
        drawn, names = curve_panels(result.model, CURVES, _most_frequent(result))
        explanation += f" Shown for {words.quoted(names[0])}, the most frequent class."
    yield paragraph(explanation, kind="quiet")
    heights = [height for panel in drawn for height in panel.heights()]
    low, high = min(heights), max(heights)
    room = 0.08 * (high - low) or 0.5
    charts = [_panel(panel, low - 3 * room, high + room) for panel in drawn]
    yield tag("div", joined(charts), class_="charts")


def _most_frequent(result: TrainResult) -> Any:
    per_class = result.details.per_class or {}
    return max(per_class, key=lambda label: per_class[label]["share"], default=None)


def _panel(panel: Panel, low: float, high: float) -> Html:
    """The curve of one column: a line for numbers, a bar for each value of text."""
    name = words.short(panel.column)
    if panel.texts:
        most = max(abs(float(y)) for y in panel.y[:, 0]) or 1.0
        rows = [
            [words.short(text), bar(abs(float(y)) / most, "fall" if y < 0 else ""), shown.number(float(y))]
            for text, y in zip(panel.texts, panel.y[:, 0], strict=True)
        ]
        return figure(name, bar_table(["", "", ""], rows))
    x, y = panel.x.tolist(), panel.y[:, 0].tolist()
    frame = Frame(f"what {name} adds", Axis(name, x[0], x[-1]), Axis("adds", low, high))
    most = float(panel.rows.max(initial=0.0)) or 1.0
    heights = [low + 0.2 * (high - low) * rows / most if rows > 0 else low for rows in panel.rows.tolist()]
    marks = [frame.bars(panel.edges.tolist(), heights, "seen"), frame.level(0.0), frame.line(x, y)]
    caption = ""
    if panel.missing is not None:
        marks.append(frame.level(float(panel.missing[0]), "kept"))
        caption = f"Dashed: a missing value adds {shown.number(float(panel.missing[0]))}."
    return figure(name, frame.drawn(*marks), caption)


def progress(result: TrainResult) -> Iterator[Html]:
    """Progressive loss and error along the rows."""
    moments = result.details.evaluation.curve_to_now
    start = moments[-1].examples ** (1 / 3) if moments else 0
    moments = [moment for moment in moments if moment.examples >= start]
    if len(moments) < 3:
        return
    where = "the first pass" if result.passes > 1 or (result.details.interrupted and result.passes) else "the data"
    yield paragraph(
        f"Each row of {where} was predicted before it was learned. Line: the mean over all rows so far.",
        *([" Dashed: ", tag("span", "", class_="key fall"), "the final model"] if result.details.on_holdout else []),
        *([tag("span", "", class_="key other"), "the baseline"] if result.baseline else []),
        kind="quiet",
    )
    root = LOSSES[result.model.options.loss].is_squared_error and result.details.target.task == "regression"
    name = "RMSE" if root else f"{result.model.options.loss} loss"
    drawn = []
    if moments[-1].error_rate is not None:
        drawn.append(_curve("error", [(m.examples, m.error_rate or 0.0) for m in moments], result, "error_rate", True))
    means = [(m.examples, math.sqrt(m.loss) if root and m.loss >= 0 else m.loss) for m in moments]
    drawn.append(_curve(name, means, result, "rmse" if root else "loss", False))
    yield tag("div", joined(drawn), class_="charts")


def _curve(name: str, points: Sequence[tuple[float, float]], result: TrainResult, by: str, share: bool) -> Html:
    """A progressive metric against the number of rows, with levels for the final model and the baseline."""
    final = result.metrics if result.details.on_holdout else {}
    levels = [(values[by], kind) for values, kind in ((result.baseline, "level"), (final, "kept")) if by in values]
    x, y = [point[0] for point in points], [point[1] for point in points]
    low, high, log = limits([*y, *(value for value, _ in levels)], from_zero=share)
    across = Axis("rows seen", x[0], x[-1], log=True)
    up = Axis(name, low, min(high, 1.0) if share else high, log, percent) if share else Axis(name, low, high, log)
    frame = Frame(f"progressive {name}", across, up)
    drawn = frame.drawn(*(frame.level(value, kind) for value, kind in levels), frame.line(x, y))
    last = f"{y[-1]:.2%}" if share else shown.number(y[-1])
    return figure(f"Progressive {name}", drawn, f"{last} after {x[-1]:,} rows.")
