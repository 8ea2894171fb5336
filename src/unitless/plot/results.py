"""Pictures of results and models on an axis of matplotlib, one function for each: `ul.plot.history(result, ax=ax)`.

Each takes the thing to show and, if it is to be part of a larger picture, an axis, and gives the axis. Without an axis
it makes a new figure, which a notebook shows by itself. What they draw is in figures.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .. import figures
from ..errors import OptionError
from ..inference.evaluate import EvaluateResult
from ..inference.explanation import Explanation, class_number
from ..metrics.curves import Curves
from ..metrics.evaluation import Evaluation
from ..metrics.history import Moment
from ..models.any_model import model_of
from ..models.model import BIAS
from ..models.one_vs_all import OneVsAll
from ..models.sweep import Sweep
from ..training.compare import Comparison
from ..training.result import TrainResult
from ..training.sweep import SweepResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_METRICS = ("loss", "error_rate", "since_last")


def history(
    result: Any, *, ax: Axes | None = None, metric: Literal["loss", "error_rate", "since_last"] = "loss"
) -> Axes:
    """How the learning went: the progressive loss against the number of examples.

    Args:
        result: what `train` or `compare` gave, an `Evaluation`, or several of them in a mapping of names.
        ax: where to draw; a new figure if not given.
        metric: "loss", the mean so far; "error_rate", the share of errors so far; "since_last", the loss of each
            stretch, on which what happened long ago does not weigh.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(2000, 3))
        >>> result = ul.train(X, X[:, 0] > 0, model_type="linear")
        >>> ul.plot.history(result, metric="error_rate").get_ylabel()
        'progressive error, %'
    """
    if metric not in _METRICS:
        raise OptionError(f"is {metric!r}; it must be one of {', '.join(map(repr, _METRICS))}", option="metric")
    several = result if isinstance(result, Mapping) else {"": result}
    curves: dict[str, Sequence[Moment]] = {}
    loss = "loss"
    for name, one in several.items():
        if isinstance(one, Comparison):
            curves |= {_joined(str(name), rule): learner.curve for rule, learner in one.learners.items()}
            loss = f"{one.whole.model.options.loss} loss"
        elif isinstance(one, TrainResult | Evaluation):
            evaluation = one._evaluation if isinstance(one, TrainResult) else one
            curves[str(name)] = evaluation.curve
            loss = f"{one.model.options.loss} loss" if isinstance(one, TrainResult) else loss
        else:
            raise OptionError(f"{type(one).__name__} has no history; give what train or compare gave, or an Evaluation")
    if metric == "error_rate" and not any(m.error_rate is not None for curve in curves.values() for m in curve):
        raise OptionError("is 'error_rate', but numbers are predicted, not classes", option="metric")
    ax = figures.axis(ax)
    figures.history(ax, curves, metric, loss)
    return ax


def importance(model: Any, *, ax: Axes | None = None, most: int = 15, label: Any = None) -> Axes:
    """How far each feature moves the prediction, whatever its unit: bars, the largest on top.

    Args:
        model: any model, a model file, what `train` gave, a `Predictor`, or an estimator.
        ax: where to draw; a new figure if not given.
        most: how many features, at most.
        label: of several classes, the one to show; otherwise each feature counts by the class that it moves most.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(2000, 3)) * [1.0, 1e-3, 1e3]
        >>> m = ul.Learner()
        >>> _ = m.learn(X, X @ [3.0, 1000.0, 0.002])
        >>> [text.get_text() for text in ul.plot.importance(m).get_yticklabels()]
        ['0', '2', '1']
    """
    model = model_of(model)
    if isinstance(model, OneVsAll):
        by_class = model.importance
        chosen = list(by_class.values()) if label is None else [by_class[model.classes[class_number(model, label)]]]
    elif label is not None:
        raise OptionError(f"class {label!r}: this model has no classes of its own; leave it out")
    else:
        chosen = [model.importance]
    importance: dict[Any, float] = {}
    for one in chosen:
        for name, value in one.items():
            importance[name] = max(value, importance.get(name, 0.0))
    importance.pop(BIAS, None)
    ranked = sorted(importance.items(), key=lambda item: -item[1])[:most]
    ax = figures.axis(ax, height=1.2 + 0.28 * max(4, len(ranked)))
    figures.importance(ax, [(str(name), value) for name, value in ranked])
    return ax


def explanation(explanation: Explanation, *, ax: Axes | None = None, most: int = 10) -> Axes:
    """Why a model says what it says: from the bias, one contribution after the other, to the score.

    Args:
        explanation: what `explain` gave.
        ax: where to draw; a new figure if not given.
        most: how many features are shown one by one; the others are one bar.

    Example:
        >>> import unitless as ul
        >>> rows = [{"age": 20 + i % 50, "job": "clerk" if i % 3 else "pilot"} for i in range(300)]
        >>> result = ul.train([{**row, "rich": row["job"] == "pilot"} for row in rows], target="rich")
        >>> ax = ul.plot.explanation(ul.explain(result, {"age": 30, "job": "pilot"}))
        >>> ax.get_yticklabels()[0].get_text()
        'job=pilot'
    """
    if not isinstance(explanation, Explanation):
        raise OptionError(f"{type(explanation).__name__} is not an explanation; give what explain gave")
    listed = [
        (name if value in ("", "1") or "=" in name else f"{name} = {value}", amount)
        for name, value, _, amount in explanation.rows(most)[:-2]
    ]
    ax = figures.axis(ax, height=1.4 + 0.32 * max(4, len(listed)))
    start, end = explanation.bias, explanation.score
    figures.steps(ax, start, listed, f"score: from the bias, {start:.3g}, to the sum, {end:.3g}")
    ax.set_title(explanation.meaning[0], fontsize="medium")
    return ax


def sweep(sweep: Any, *, ax: Axes | None = None) -> Axes:
    """Loss against learning rate, with the best rates marked.

    Args:
        sweep: what `sweep_rates` gave, or a `Sweep`.
        ax: where to draw; a new figure if not given.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(2000, 3))
        >>> sweep = ul.Sweep([0.01, 0.1, 1.0])
        >>> _ = sweep.learn(X, X[:, 0])
        >>> ul.plot.sweep(sweep).get_xlabel()
        'learning rate'
    """
    if isinstance(sweep, Sweep):
        losses = {str(sweep.options.rule): dict(zip(sweep.rates.tolist(), sweep.losses.tolist(), strict=True))}
        loss = sweep.options.loss
    elif isinstance(sweep, SweepResult):
        losses = {rule: dict(zip(one.rates, one.losses, strict=True)) for rule, one in sweep.rules.items()}
        loss = sweep.loss
    else:
        raise OptionError(f"{type(sweep).__name__} is not a sweep; give a Sweep, or what sweep_rates gave")
    ax = figures.axis(ax)
    figures.rates(ax, losses, f"progressive {loss} loss")
    return ax


def roc(result: Any, *, ax: Axes | None = None, name: str | None = None) -> Axes:
    """Of two classes: how many positive rows are found, against how many negative ones are taken for positive.

    Args:
        result: what `train` or `score` gave. Of `train`, the rows that were held back.
        ax: where to draw; a new figure if not given. Several models can be drawn on one axis.
        name: of the line, for the legend.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(2000, 3))
        >>> ul.plot.roc(ul.train(X, X[:, 0] > 0, model_type="linear")).get_title()
        'ROC'
    """
    curve = _needed(_curves(result).roc, "a ROC curve needs two classes, and rows of both that were scored")
    ax = figures.axis(ax, 5.0)
    figures.roc(ax, curve, _with_metric(name, result, "auc", "AUC"))
    return ax


def precision_recall(result: Any, *, ax: Axes | None = None, name: str | None = None) -> Axes:
    """Of two classes: precision against recall. Arguments as for `plot_roc`."""
    curve = _needed(
        _curves(result).precision_recall, "precision and recall need two classes, and rows that were scored"
    )
    ax = figures.axis(ax, 5.0)
    figures.precision_recall(ax, curve, name)
    return ax


def reliability(result: Any, *, ax: Axes | None = None, name: str | None = None) -> Axes:
    """Whether probabilities can be believed: how often what was given a probability was true. Arguments as for
    `plot_roc`. Of several classes it is about the one that was predicted.
    """
    data = _needed(_curves(result).reliability, "only models with logistic loss give probabilities")
    ax = figures.axis(ax, 5.0)
    figures.reliability(ax, data, name)
    return ax


def residuals(result: Any, *, ax: Axes | None = None) -> Axes:
    """Of numbers: how far the truth is from the prediction.

    Args:
        result: what `train` or `score` gave. Of `train`, the rows that were held back.
        ax: where to draw; a new figure if not given.
    """
    data = _needed(_curves(result).residuals, "residuals need a model that predicts numbers")
    ax = figures.axis(ax)
    figures.residuals(ax, data)
    return ax


def predictions(result: Any, *, ax: Axes | None = None) -> Axes:
    """Of numbers: what was true against what was predicted, in a sample of rows. Arguments as for `plot_residuals`."""
    data = _needed(_curves(result).pairs, "this picture needs a model that predicts numbers")
    ax = figures.axis(ax, 5.0)
    figures.against(ax, data)
    return ax


def _curves(result: Any) -> Curves:
    if isinstance(result, Curves):
        return result
    if not isinstance(result, TrainResult | EvaluateResult):
        raise OptionError(f"{type(result).__name__} has no predictions to show; give what train or evaluate gave")
    curves = result.curves if isinstance(result, EvaluateResult) else result.details.curves
    if curves is None:
        raise OptionError("no row was held out, so there is nothing to show; use ul.evaluate on other rows")
    return curves


def _needed(data: Any, otherwise: str) -> Any:
    if data is None:
        raise OptionError(otherwise)
    return data


def _with_metric(name: str | None, result: Any, metric: str, called: str) -> str | None:
    """The name of a line and a number beside it."""
    found = {} if isinstance(result, Curves) else result.metrics
    parts = [name, f"{called} {found[metric]:.3f}" if metric in found else None]
    return "  ".join(part for part in parts if part) or None


def _joined(*names: str) -> str:
    return " ".join(name for name in names if name)
