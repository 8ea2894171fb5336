"""Metrics as text for people: names, numbers, confidence intervals, and comparisons with a baseline."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from ..losses import LOSSES
from ..options import Options
from ..presentation import shown
from ..presentation.sections import Section, Table
from .coverage import COVERAGE
from .records import METRICS, Metric

CLASSES = 20  # the most that a table shows
_NAMES = {"auc": "AUC", "f1": "F1", "rmse": "RMSE", "mae": "MAE", "mse": "MSE", "r2": "R²", "brier": "Brier score"}
_ERRORS = {"error_rate": "error", "rmse": "squared error"}


def name(metric: str, loss: str) -> str:
    """The displayed name of a metric; `loss` is the loss of the model."""
    return f"{loss} loss" if metric == "loss" else _NAMES.get(metric, metric.replace("_", " "))


def training_loss(loss: str, task: str) -> str:
    """The displayed name of the training loss; for two classes, logistic loss is the metric log loss."""
    is_log_loss = task == "binary" and LOSSES[loss].link.gives_probabilities
    return "log loss" if is_log_loss else f"{loss} loss"


def value(metric: str, number: float | None) -> str:
    """A metric's value as text."""
    if number is None or not math.isfinite(number):
        return "-"
    if metric in ("accuracy", "error_rate", "coverage"):
        return shown.share(number)
    return f"{number:.4f}" if metric == "r2" and abs(number) < 100 else shown.number(number)


def main(metrics: Mapping[str, float], by: str, loss: str) -> str:
    """The main metric to display, for a model judged by `by`: the accuracy for an error rate."""
    metric = "accuracy" if by == "error_rate" else by
    return f"{name(metric, loss)} {value(metric, metrics[metric])}"


def interval(by: str, ends: tuple[float, float]) -> str:
    """The confidence interval of the main metric as text; empty where there is none."""
    low, high = ends
    if by == "loss" or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    low_text, high_text = (
        (shown.share(1 - high), shown.share(1 - low)) if by == "error_rate" else map(shown.number, ends)
    )
    return f"90% confidence interval: {low_text} to {high_text}"


def with_interval(metrics: Mapping[str, float], by: str, loss: str, ends: tuple[float, float]) -> str:
    """The main metric and its confidence interval."""
    text = interval(by, ends)
    return main(metrics, by, loss) + (f" ({text})" if text else "")


def below_baseline(by: str, skill: float) -> str:
    """The comparison of the model's error with the baseline's as text; empty where it is not known."""
    if math.isnan(skill):
        return ""
    error = _ERRORS.get(by, "loss")
    return (
        f"the model's {error} is {shown.share(skill)} below the baseline's" if skill > 0 else "the model is no better"
    )


def baseline(metrics: Mapping[str, float], by: str, loss: str, called: str, skill: float) -> str:
    """The baseline's main metric as text, and how far the model's error is below the baseline's."""
    if by not in metrics:
        return ""
    below = below_baseline(by, skill)
    return f"{main(metrics, by, loss)} ({shown.short(called, 60)})" + (f"; {below}" if below else "")


def constant(answer: Any, options: Options, regression: bool, has_offsets: bool) -> str:
    """The name of the baseline that always gives this answer: a class, or the best constant for the model's loss."""
    if not regression:
        return f"always predict {answer!r}"
    loss = LOSSES[options.loss]
    what = f"{options.quantile:g} quantile" if loss.has_quantile else loss.best_constant
    return f"always predict the {what}, {shown.given(answer)}{', with the offset' if has_offsets else ''}"


def coverage(metrics: Mapping[str, float], level: float) -> tuple[str, str]:
    """The coverage of prediction intervals or sets as a fact for display; without a value if it is not known."""
    called, size = ("intervals", "width") if "width" in metrics else ("sets", "set_size")
    if "coverage" not in metrics:
        return called[:-1], ""
    covered = (
        f"{100 * level:.4g}% prediction {called} contain the label of {shown.share(metrics['coverage'])} of the rows"
    )
    return called[:-1], f"{covered}; mean {size.replace('_', ' ')} {shown.number(metrics[size])}"


def shown_records(metrics: Collection[str], task: str, wanted: Collection[str] = ()) -> list[Metric]:
    """The metrics that a table shows: those in `wanted`, or by default those that suit the task."""
    known = [metric for metric in (*METRICS, *COVERAGE) if metric.name in metrics]
    if wanted:
        return [metric for metric in known if metric.name in wanted]
    return [metric for metric in known if metric not in COVERAGE and task not in metric.hidden]


def table(columns: Mapping[str, Mapping[str, float]], task: str, loss: str, wanted: Collection[str] = ()) -> Table:
    """A table of all metrics, with a column for each set of results."""
    columns = {title: metrics for title, metrics in columns.items() if metrics}
    names = {metric for metrics in columns.values() for metric in metrics}
    rows = [
        [
            name(metric.name, loss),
            *(value(metric.name, found[metric.name]) if metric.name in found else "" for found in columns.values()),
        ]
        for metric in shown_records(names, task, wanted)
    ]
    return Table(["metric", *columns], rows)


def classes(per_class: Mapping[Any, Mapping[str, float]]) -> Section:
    """A table of share, precision and recall by class, the most frequent class first."""
    ranked = sorted(per_class.items(), key=lambda item: -item[1]["share"])
    rows = [
        [
            shown.short(str(label), 40),
            shown.share(of["share"]),
            shown.number(of["precision"], 3),
            shown.number(of["recall"], 3),
        ]
        for label, of in ranked[:CLASSES]
    ]
    more = f", the {CLASSES} most frequent of {len(ranked):,}" if len(ranked) > CLASSES else ""
    return Section(f"Classes{more}", [Table(["class", "share", "precision", "recall"], rows)])
