"""Progressive validation: every row is predicted before it is learned.

Example:
    >>> import numpy as np, unitless as ul
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2)) * [1e-3, 1e3]
    >>> y = X @ [1000, -0.001] > 0
    >>> result = ul.metrics.progressive(ul.Learner(loss="logistic"), X, y)
    >>> print(", ".join(f"{name} {value:.3f}" for name, value in result.metrics.items()))
    accuracy 0.987, error_rate 0.013, log_loss 0.185, brier 0.047, auc 0.999, precision 0.988, recall 0.986, f1 0.987
    >>> low, high = result.interval  # of the error, with 90% confidence
    >>> bool(low < result.metrics["error_rate"] < high)
    True
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import inputs
from ..errors import InputError, OptionError
from ..inputs import Float64
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored
from .evaluation import Evaluation
from .history import Moment
from .stream_baselines import StreamBaselines


@dataclass(frozen=True)
class Progressive:
    """The outcome of a progressive validation: the predictions, and their metrics; see `progressive`."""

    predictions: Float64
    evaluation: Evaluation
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)
    """Metrics of baselines that know only the labels of earlier rows: "last_label" and "constant" (for
    classes: the most frequent class so far). Empty where labels come late (`delay`).
    """

    @property
    def metrics(self) -> dict[str, float]:
        """All metrics by name."""
        return self.evaluation.metrics

    @property
    def interval(self) -> tuple[float, float]:
        """The 90% confidence interval of the error."""
        return self.evaluation.interval

    @property
    def history(self) -> list[Moment]:
        """The metrics after 1, 2, 4, 8, ... examples."""
        return self.evaluation.history

    @property
    def curve(self) -> list[Moment]:
        """The metrics at four times as many moments as `history`, for plots."""
        return self.evaluation.curve


def progressive(model: Learner | OneVsAll, X: Any, y: Any, weight: Any = None, *, delay: int = 0) -> Progressive:
    """Predict every row, then learn it: immediately, or after `delay` further rows have been predicted.

    Labels often come late. With a delay, the model predicts a row without having learned the `delay` rows before it;
    the rows that remain at the end are then learned.

    Args:
        model: the model that learns the rows.
        X: the rows: an array, a frame, a sparse matrix or mappings.
        y: the labels.
        weight: the sample weights. Default: every row counts once.
        delay: how many further rows are predicted before a row is learned. Default: 0.

    Example:
        >>> import unitless as ul
        >>> X, y = [[i % 5] for i in range(300)], [i % 5 for i in range(300)]
        >>> at_once = ul.metrics.progressive(ul.Learner(), X, y)
        >>> late = ul.metrics.progressive(ul.Learner(), X, y, delay=20)
        >>> at_once.metrics["rmse"] < late.metrics["rmse"]
        True
    """
    if not hasattr(delay, "__index__") or isinstance(delay, bool) or delay < 0:
        raise OptionError(f"is {delay!r}; it must be a whole number of rows, 0 or more", option="delay")
    evaluation = Evaluation(model)
    if delay == 0:
        predictions = model.learn(X, y, weight)
    else:
        predictions = _delayed(model, X, inputs.as_array(y, "y"), weight, int(delay))
    evaluation.add(predictions, y, weight)
    baselines = StreamBaselines(model)
    if delay == 0:
        baselines.count(Scored.read(model, predictions, y, weight))
    return Progressive(predictions, evaluation, baselines.metrics)


def _delayed(model: Learner | OneVsAll, X: Any, y: np.ndarray[Any, Any], weight: Any, delay: int) -> Float64:
    rows = model._data(X).rows
    if len(y) != rows:
        raise InputError(f"y has {len(y)} values, but X has {rows} rows")
    h = None if weight is None else inputs.vector(weight, "weight", rows)

    def learn(first: int, last: int) -> None:
        model.learn(_slice(X, first, last), y[first:last], None if h is None else h[first:last])

    predictions: list[Float64] = []
    for row in range(rows):
        if row > delay:
            learn(row - delay - 1, row - delay)
        predictions.append(model.predict(_slice(X, row, row + 1)))
    if rows:
        learn(max(0, rows - delay - 1), rows)
    if model.task != "classes":
        return np.concatenate(predictions) if predictions else np.zeros(0)
    scores = np.full((rows, model.heads), -np.inf)  # a class that was unknown at prediction time has probability 0
    for row, known in enumerate(predictions):
        scores[row, : known.shape[1]] = known[0]
    return scores


def _slice(X: Any, first: int, last: int) -> Any:
    """Slice rows of an array, a frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[first:last]
    if hasattr(X, "column_names"):  # pyarrow
        return X.slice(first, last - first)
    return (X.tocsr() if hasattr(X, "tocsr") else X)[first:last]
