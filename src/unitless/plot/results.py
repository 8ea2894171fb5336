"""Draw results and models on an axis of matplotlib, one function for each picture: `ul.plot.history(result, ax=ax)`.

A function takes the thing to show and, to be part of a larger picture, an axis; it returns the axis. Without an axis it
makes a new figure, which a notebook shows by itself. The drawing is done by figures.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .. import figures
from ..errors import OptionError
from ..inference import importance_summary
from ..inference.evaluate_result import EvaluateResult
from ..inference.explanation import Explanation, class_number
from ..inference.importance import Importance, stored
from ..metrics.curves import Curves
from ..metrics.evaluation import Evaluation
from ..metrics.history import Moment
from ..models.any_model import model_of
from ..models.model import BIAS
from ..models.sweep import Sweep
from ..training.compare import Comparison
from ..training.result import TrainResult
from ..training.sweep import SweepResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_METRICS = ("loss", "error_rate", "since_last")


@figures.styled
def history(
    result: Any, *, ax: Axes | None = None, metric: Literal["loss", "error_rate", "since_last"] = "loss"
) -> Axes:
    """Draw the progressive loss against the number of examples.

    Args:
        result: the result of `train` or `compare`, an `Evaluation`, or a mapping of names to several of them.
        ax: the axis to draw on. Default: a new figure.
        metric: "loss", the mean so far; "error_rate", the share of errors so far; "since_last", the loss between
            two points, which earlier errors do not influence. Default: "loss".

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
            evaluation = one.details.evaluation if isinstance(one, TrainResult) else one
            curves[str(name)] = evaluation.curve_to_now
            loss = f"{one.model.options.loss} loss" if isinstance(one, TrainResult) else loss
        else:
            raise OptionError(
                f"{type(one).__name__} has no history; give the result of train or compare, or an Evaluation"
            )
    if metric == "error_rate" and not any(m.error_rate is not None for curve in curves.values() for m in curve):
        raise OptionError("is 'error_rate', but numbers are predicted, not classes", option="metric")
    ax = figures.axis(ax)
    figures.history(ax, curves, metric, loss)
    return ax


@figures.styled
def importance(
    model: Any,
    *,
    ax: Axes | None = None,
    most: int = 15,
    by: Literal["column", "feature"] | None = None,
    label: Any = None,
) -> Axes:
    """Draw what matters for the predictions as bars, the largest on top.

    By column: how much the metric rises if the column's values are permuted, with the 90% confidence interval; see
    `TrainResult.importance`. By feature (values of text columns, words, parts of dates, products): the effect, which is
    how far the feature moves the score.

    Args:
        model: the result of `train`, or of `evaluate` with `importance=True`; any model, a model file, a `Predictor`,
            or an estimator.
        ax: the axis to draw on. Default: a new figure.
        most: the largest number of columns or features to show. Default: 15.
        by: "column" or "feature". Default: by column if importance was measured, as `train` does, and `label` is not
            given.
        label: the class whose effects are shown, if there are several. Default: for each feature the class that it
            moves most.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(2000, 3)) * [1.0, 1e-3, 1e3]
        >>> result = ul.train(X, X @ [3.0, 1000.0, 0.002], model_type="linear")
        >>> [text.get_text() for text in ul.plot.importance(result).get_yticklabels()]
        ['0', '2', '1']
    """
    if by not in (None, "column", "feature"):
        raise OptionError(f"is {by!r}; it must be 'column' or 'feature'", option="by")
    found = _importance(model) if label is None and by != "feature" else None
    if by == "column" and found is None:
        raise OptionError("the importance of columns was not measured; use ul.evaluate(..., importance=True)")
    if found is not None:
        ax = figures.axis(ax, height=1.2 + 0.28 * max(4, min(most, len(found))))
        scale = 100.0 if found.metric == "error_rate" else 1.0
        bars = [(one.column, scale * one.value, scale * one.low, scale * one.high) for one in found.columns[:most]]
        rises = importance_summary.rises(found.metric, model_of(model).options.loss)
        figures.importance(ax, bars, f"without the column, the {rises}")
        return ax
    ranked = _effects(model_of(model), label)[:most]
    ax = figures.axis(ax, height=1.2 + 0.28 * max(4, len(ranked)))
    figures.importance(ax, [(str(name), value, value, value) for name, value in ranked], "effect on the score")
    return ax


def _importance(of: Any) -> Importance | None:
    """The importance of the columns, if it was measured."""
    return of.importance if isinstance(of, TrainResult | EvaluateResult) else stored(model_of(of))


def _effects(model: Any, label: Any) -> list[tuple[Any, float]]:
    """The features with their effects, the largest first; for several classes the largest effect over them."""
    chosen = model._of_heads("importance")
    if label is not None:
        if model.task != "classes":
            raise OptionError(f"class {label!r}: this model has no classes of its own; leave it out")
        chosen = [chosen[class_number(model, label)]]
    effects: dict[Any, float] = {}
    for one in chosen:
        for name, value in one.items():
            effects[name] = max(value, effects.get(name, 0.0))
    effects.pop(BIAS, None)
    return sorted(effects.items(), key=lambda item: -item[1])


@figures.styled
def explanation(explanation: Explanation, *, ax: Axes | None = None, most: int = 10) -> Axes:
    """Draw how a prediction is made: from the base value, one column's contribution after the other, to the score.

    Args:
        explanation: the result of `explain`.
        ax: the axis to draw on. Default: a new figure.
        most: how many columns have a bar of their own; the others share one. Default: 10.

    Example:
        >>> import unitless as ul
        >>> rows = [{"age": 20 + i % 50, "job": "clerk" if i % 3 else "pilot"} for i in range(300)]
        >>> result = ul.train([{**row, "rich": row["job"] == "pilot"} for row in rows], target="rich")
        >>> ax = ul.plot.explanation(ul.explain(result, {"age": 30, "job": "pilot"}))
        >>> ax.get_yticklabels()[0].get_text()
        'job = pilot'
    """
    if not isinstance(explanation, Explanation):
        raise OptionError(f"{type(explanation).__name__} is not an explanation; give the result of explain")
    listed = [(f"{name} = {value}" if value else name, amount) for name, value, amount in explanation.rows(most)[:-2]]
    ax = figures.axis(ax, height=1.4 + 0.32 * max(4, len(listed)))
    start, end = explanation.base_value, explanation.score
    figures.steps(ax, start, listed, f"score: from the base value, {start:.3g}, to the sum, {end:.3g}")
    ax.set_title(explanation.meaning[0], fontsize="medium", loc="center")
    return ax


@figures.styled
def sweep(sweep: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the loss against the learning rate, with the best rates marked.

    Args:
        sweep: the result of `sweep`, or a `Sweep`.
        ax: the axis to draw on. Default: a new figure.

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
        raise OptionError(f"{type(sweep).__name__} is not a sweep; give a Sweep, or the result of ul.sweep")
    ax = figures.axis(ax)
    figures.rates(ax, losses, f"progressive {loss} loss")
    return ax


@figures.styled
def roc(result: Any, *, ax: Axes | None = None, name: str | None = None) -> Axes:
    """Draw the ROC curve of two classes: the true positive rate against the false positive rate.

    Args:
        result: the result of `evaluate`, or of `train`, whose held-out rows are shown.
        ax: the axis to draw on. Default: a new figure. Several models can be drawn on one axis.
        name: the name of the line. Default: none.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(2000, 3))
        >>> ul.plot.roc(ul.train(X, X[:, 0] > 0, model_type="linear")).get_title()
        'ROC'
    """
    curve = _needed(_curves(result).roc, "a ROC curve needs two classes, and evaluated rows of both")
    ax = figures.axis(ax, 5.0)
    figures.roc(ax, curve, _with_metric(name, result, "auc", "AUC"))
    return ax


@figures.styled
def precision_recall(result: Any, *, ax: Axes | None = None, name: str | None = None) -> Axes:
    """Draw precision against recall, for two classes.

    Args:
        result: the result of `evaluate`, or of `train`, whose held-out rows are shown.
        ax: the axis to draw on. Default: a new figure. Several models can be drawn on one axis.
        name: the name of the line. Default: none.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(2000, 3))
        >>> result = ul.train(X, X[:, 0] > 0, model_type="linear")
        >>> ax = ul.plot.precision_recall(result)
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('recall', 'precision')
    """
    curve = _needed(_curves(result).precision_recall, "precision and recall need two classes, and evaluated rows")
    ax = figures.axis(ax, 5.0)
    figures.precision_recall(ax, curve, name)
    return ax


@figures.styled
def reliability(result: Any, *, ax: Axes | None = None, name: str | None = None) -> Axes:
    """Draw the observed share of positive rows against the predicted probability.

    For several classes, the probability is that of the predicted class.

    Args:
        result: the result of `evaluate`, or of `train`, whose held-out rows are shown.
        ax: the axis to draw on. Default: a new figure. Several models can be drawn on one axis.
        name: the name of the line. Default: none.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(2000, 3))
        >>> result = ul.train(X, X[:, 0] > 0, model_type="linear")
        >>> ax = ul.plot.reliability(result)
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('predicted probability', 'observed share')
    """
    data = _needed(_curves(result).reliability, "only models with logistic loss give probabilities")
    ax = figures.axis(ax, 5.0)
    figures.reliability(ax, data, name)
    return ax


@figures.styled
def residuals(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw a histogram of truth minus prediction, for a model that predicts numbers.

    Args:
        result: the result of `evaluate`, or of `train`, whose held-out rows are shown.
        ax: the axis to draw on. Default: a new figure.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(2000, 3))
        >>> result = ul.train(X, X[:, 0], model_type="linear")
        >>> ax = ul.plot.residuals(result)
        >>> ax.get_ylabel()
        'rows'
    """
    data = _needed(_curves(result).residuals, "residuals need a model that predicts numbers")
    ax = figures.axis(ax)
    figures.residuals(ax, data)
    return ax


@figures.styled
def predictions(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the truth against the prediction for a sample of rows, for a model that predicts numbers.

    Args:
        result: the result of `evaluate`, or of `train`, whose held-out rows are shown.
        ax: the axis to draw on. Default: a new figure.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(2000, 3))
        >>> result = ul.train(X, X[:, 0], model_type="linear")
        >>> ax = ul.plot.predictions(result)
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('prediction', 'truth')
    """
    data = _needed(_curves(result).pairs, "this picture needs a model that predicts numbers")
    ax = figures.axis(ax, 5.0)
    figures.against(ax, data)
    return ax


def _curves(result: Any) -> Curves:
    if isinstance(result, Curves):
        return result
    if not isinstance(result, TrainResult | EvaluateResult):
        raise OptionError(f"{type(result).__name__} has no predictions to show; give the result of train or evaluate")
    curves = result.curves if isinstance(result, EvaluateResult) else result.details.curves
    if curves is None:
        raise OptionError("no row was held out, so there is nothing to show; use ul.evaluate on other rows")
    return curves


def _needed(data: Any, otherwise: str) -> Any:
    if data is None:
        raise OptionError(otherwise)
    return data


def _with_metric(name: str | None, result: Any, metric: str, called: str) -> str | None:
    """The name of a line, followed by a metric."""
    found = {} if isinstance(result, Curves) else result.metrics
    parts = [name, f"{called} {found[metric]:.3f}" if metric in found else None]
    return "  ".join(part for part in parts if part) or None


def _joined(*names: str) -> str:
    return " ".join(name for name in names if name)
