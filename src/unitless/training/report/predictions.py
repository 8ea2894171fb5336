"""The charts of the predictions: ROC, precision and recall, reliability, confusion matrix, residuals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...losses import LOSSES
from ...metrics.curves import Bars, Curve, Curves, Pairs, Reliability
from ...metrics.ranking import Ranking
from ...presentation import shown
from ...presentation.charts import Axis, Frame, percent
from ...presentation.html import Html, joined, tag
from ...presentation.page import figure, paragraph, table
from . import words

if TYPE_CHECKING:
    from ..result import TrainResult


def looks(result: TrainResult) -> Iterator[Html]:
    """Charts of the predictions that the metrics describe."""
    curves = result.details.curves
    if curves is None and result.details.evaluation.ranking is not None and result.details.evaluation.examples:
        curves = Curves(result.model, result.details.evaluation)
    if curves is None:
        return
    charts: list[tuple[Any, Callable[[Any, TrainResult], Html]]] = [
        (curves.roc, _roc),
        (curves.precision_recall, _precision_recall),
        (curves.reliability, _reliability),
        (result.details.measured.ranking, _confusion),
        (curves.pairs, _against),
        (curves.residuals, _residuals),
    ]
    drawn = [draw(data, result) for data, draw in charts if data is not None]
    if not drawn:
        return
    yield paragraph(f"The predictions are those {result.details.curves_on}.", kind="quiet")
    yield tag("div", joined(drawn), class_="charts")


def _roc(curve: Curve, _: TrainResult) -> Html:
    frame = Frame(
        "ROC curve", Axis("false alarms, of all negative", 0, 1, form=percent), Axis("found", 0, 1, form=percent)
    )
    drawn = frame.drawn(frame.line([0, 1], [0, 1], "level"), frame.line(curve.x.tolist(), curve.y.tolist()))
    return figure(
        "ROC",
        drawn,
        "The share of the positive rows that are found, against the share of false alarms. Dashed line: guessing.",
    )


def _precision_recall(curve: Curve, _: TrainResult) -> Html:
    frame = Frame("precision and recall", Axis("recall", 0, 1, form=percent), Axis("precision", 0, 1, form=percent))
    base = float(curve.y[-1])
    drawn = frame.drawn(frame.level(base), frame.line(curve.x.tolist(), curve.y.tolist()))
    return figure(
        "Precision and recall",
        drawn,
        "Recall: the share of the positive rows that are found. Precision: the share of the rows predicted as positive "
        f"that are positive. Dashed: the share of positive rows, {base:.1%}.",
    )


def _reliability(data: Reliability, result: TrainResult) -> Html:
    frame = Frame(
        "reliability",
        Axis("predicted probability", 0, 1, form=percent),
        Axis("how often it was true", 0, 1, form=percent),
    )
    x, y, weight = data.predicted, data.observed, data.weight
    drawn = frame.drawn(
        frame.line([0, 1], [0, 1], "level"),
        frame.line(x.tolist(), y.tolist(), "faint"),
        frame.circles(x.tolist(), y.tolist(), (weight / weight.max()).tolist()),
    )
    gap = float(np.average(np.abs(x - y), weights=weight))
    binary = result.details.target.task == "binary"
    of = words.quoted(words.pair(result)[1]) if binary else "the class that was predicted"
    return figure(
        "Reliability",
        drawn,
        f"Predicted probabilities of {of} against how often it was true. On the dashed line both are equal; here they "
        f"differ by {gap:.1%} on average. Large points stand for many rows.",
    )


def _confusion(ranking: Ranking, result: TrainResult) -> Html:
    """The confusion matrix of two classes, in rows or in sample weight."""
    total, found = result.details.measured.weight, ranking.found()
    hits, predicted, true = found.hits, found.predicted, found.positive
    negative, positive = words.pair(result)
    rows = [
        [f"truly {negative}", words.amount(total - predicted - true + hits), words.amount(predicted - hits)],
        [f"truly {positive}", words.amount(true - hits), words.amount(hits)],
    ]
    counted = table(["", f"predicted {negative}", f"predicted {positive}"], rows)
    counts = "In rows." if result.details.schema.weight is None else "By weight."
    probable = LOSSES[result.model.options.loss].link.gives_probabilities
    when = "its probability is above 50%" if probable else "its score is above 0"
    return figure("Right and wrong", counted, f"{counts} {words.quoted(positive)} is predicted if {when}.")


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
        f"A sample of {shown.count(len(data.truth), 'row')}. On the dashed line the prediction is exact.{extra}",
    )


def _residuals(data: Bars, _: TrainResult) -> Html:
    top = float(data.weight.max()) * 1.05 or 1.0
    frame = Frame(
        "residuals", Axis("truth - prediction", float(data.edges[0]), float(data.edges[-1])), Axis("rows", 0, top)
    )
    drawn = frame.drawn(frame.bars(data.edges.tolist(), data.weight.tolist()), frame.upright(0.0, "kept"))
    beyond = f" {data.beyond:.1%} of the rows lie further out." if data.beyond >= 0.001 else ""
    return figure("Residuals", drawn, f"How far the truth is from the prediction.{beyond}")
