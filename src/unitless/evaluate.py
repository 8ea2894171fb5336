"""How good predictions were: metrics over a stream, in constant memory, with honest intervals.

Every number here is a running sum, so that a stream of any length can be evaluated as it passes. With the predictions
of `learn`, which were made before each row was learned, the result is an out-of-sample score of the whole stream
(progressive validation).

    >>> import numpy as np, unitless as ul
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2)) * [1e-3, 1e3]
    >>> y = X @ [1000, -0.001] > 0
    >>> result = ul.evaluate.progressive(ul.Learner(loss="logistic"), X, y)
    >>> {name: round(value, 3) for name, value in result.metrics.items()}
    {'loss': 0.185, 'zero_one': 0.013, 'log_loss': 0.185, 'brier': 0.047, 'auc': 0.999}
    >>> low, high = result.interval  # of the error, with 90% confidence
    >>> bool(low < result.metrics["zero_one"] < high)
    True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import inputs
from .classes import Label
from .errors import InputError, OptionError
from .inputs import Float64
from .learner import Learner
from .one_vs_all import OneVsAll

CONFIDENCE = 0.9


# ----------------------------------------------------------------------------------------------------------- intervals


def chernoff_interval(mean: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Where the true mean lies, given the mean of n independent values in [0, 1]: the relative-entropy Chernoff bound.

    Each end fails with probability at most (1 - confidence)/2: it is the furthest q with n·KL(mean‖q) ≤ ln(1/that).
    This is the test of the paper's experiments.

    >>> low, high = chernoff_interval(0.1, 1000)
    >>> f"{low:.4f} {high:.4f}"
    '0.0784 0.1248'
    """
    if not 0 <= mean <= 1:
        raise InputError(f"the mean is {mean!r}; the bound is for values between 0 and 1")
    if not 0 < confidence < 1:
        raise OptionError(f"confidence is {confidence!r}; it must lie between 0 and 1")
    if n <= 0:
        return 0.0, 1.0
    budget = math.log(2 / (1 - confidence)) / n

    def furthest(inside: float, outside: float) -> float:
        """The last q on the way from inside to outside that is within the budget."""
        for _ in range(100):
            middle = (inside + outside) / 2
            if relative_entropy(mean, middle) <= budget:
                inside = middle
            else:
                outside = middle
        return inside

    return furthest(mean, 0.0), furthest(mean, 1.0)


def relative_entropy(p: float, q: float) -> float:
    """KL(p‖q) of two coins."""
    first = p * math.log(p / q) if p > 0 and q > 0 else (0.0 if p == 0 else math.inf)
    second = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 and q < 1 else (0.0 if p == 1 else math.inf)
    return first + second


# ------------------------------------------------------------------------------------------------------------- metrics


class Ranking:
    """The area under the ROC curve, in constant memory.

    Scores are counted in a million bins whose width is 1/256 of the score itself; a pair within one bin counts half.
    """

    BITS = 20

    def __init__(self) -> None:
        self._counts = np.zeros((2, 1 << self.BITS))

    def add(self, scores: Float64, positive: np.ndarray[Any, np.dtype[np.bool_]], weight: Float64) -> None:
        """Count scores of positive and negative examples."""
        bits = np.ascontiguousarray(scores + 0.0).view(np.int64)  # adding 0 turns -0 into 0
        ordered = np.where(bits < 0, ~bits, bits | np.int64(-(2**63))).view(np.uint64) >> np.uint64(64 - self.BITS)
        for row, mask in enumerate((~positive, positive)):
            np.add.at(self._counts[row], ordered[mask].astype(np.intp), weight[mask])

    @property
    def area(self) -> float:
        """How often a positive example scores above a negative one; not a number before both have been seen."""
        negative, positive = self._counts
        pairs = float(negative.sum() * positive.sum())
        below = np.cumsum(negative) - negative
        return float((positive * (below + negative / 2)).sum()) / pairs if pairs else math.nan


@dataclass(frozen=True)
class Moment:
    """The state of an evaluation after some examples, for tables and plots."""

    examples: int
    weight: float
    loss: float
    since_last: float
    zero_one: float | None


class Evaluation:
    """Metrics of a model's predictions over a stream.

    Args:
        model: whose predictions they are; it says which loss and which classes, and is not changed.
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        if not isinstance(model, Learner | OneVsAll):
            raise InputError(f"only a Learner or a OneVsAll can be evaluated, not {model!r}")
        self._model = model
        self._judge = Learner(loss=model.options.loss, quantile=model.options.quantile)
        self._several = isinstance(model, OneVsAll)
        self._binary = not self._several and model.options.loss in ("logistic", "hinge")
        self._probabilities = model.options.loss == "logistic"
        self._sums: dict[str, float] = {}
        self._ranking = Ranking() if self._binary else None
        self._confusion: dict[Label, list[float]] = {}  # seen, predicted, both
        self._labels = (math.inf, -math.inf)
        self._next, self._last = 1, (0.0, 0.0)
        self.examples = 0
        self.weight = self._squared_weight = 0.0
        self.history: list[Moment] = []

    def add(self, predictions: Any, y: Any, weight: Any = None) -> None:
        """Count predictions (scores, as `learn` and `predict` give them) against labels. Weight 0 does not count."""
        try:
            array = np.asarray(predictions, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("predictions are not all numbers") from None
        if array.ndim == 0 or np.isnan(array).any():
            raise InputError("predictions must be numbers, one or more for each row")
        rows = len(array)
        h = np.ones(rows) if weight is None else inputs.vector(weight, "weight", rows, "predictions")
        if not (np.isfinite(h) & (h >= 0)).all():
            raise InputError("weights must be finite and not negative")
        per_row = self._classes(array, y) if self._several else self._numbers(array, y)
        labels = inputs.as_array(y, "y")
        counted = h > 0
        self._remember(array[counted], labels[counted], h[counted])
        self._total({name: values[counted] for name, values in per_row.items()}, h[counted])

    def _numbers(self, p: Float64, y: Any) -> dict[str, Float64]:
        """What each row adds to each metric."""
        if p.ndim != 1:
            raise InputError(f"predictions have {p.ndim} dimensions; a Learner makes one per row")
        labels = inputs.vector(y, "y", len(p), "predictions")
        result = {"loss": self._judge.losses(p, labels)}
        if self._binary:
            positive = labels > 0
            result["zero_one"] = ((p > 0) != positive).astype(np.float64)
            if self._probabilities:
                result["log_loss"] = result["loss"]
                result["brier"] = (self._judge.link(p) - positive) ** 2
        elif self._model.options.loss == "poisson":
            result["squared"] = (self._judge.link(p) - labels) ** 2
            result["absolute"] = np.abs(self._judge.link(p) - labels)
        else:
            result["squared"] = (p - labels) ** 2
            result["absolute"] = np.abs(p - labels)
        return result

    def _classes(self, scores: Float64, y: Any) -> dict[str, Float64]:
        assert isinstance(self._model, OneVsAll)
        if scores.ndim != 2 or scores.shape[1] > len(self._model.classes):
            raise InputError("predictions must be scores: one row per example, one column per class")
        scores = np.clip(scores, -700, 700)  # a class that was not known has minus infinity
        numbers, new = self._model._classes.numbers(y, len(scores))
        if new:
            raise InputError(f"class {new[0]!r} is not among the model's classes")
        truth = numbers.astype(np.intp)
        known = np.arange(scores.shape[1])
        signs = np.where(truth[:, None] == known, 1.0, 0.0 if self._model.options.loss == "poisson" else -1.0)
        each = self._judge.losses(scores.ravel(), signs.ravel()).reshape(scores.shape)
        best = scores.argmax(axis=1) if scores.shape[1] else np.full(len(scores), -1)
        result = {"loss": each.sum(axis=1), "zero_one": (best != truth).astype(np.float64)}
        if self._probabilities and scores.shape[1]:
            odds = self._judge.link(scores)
            share = odds / np.maximum(odds.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            hit = truth[:, None] == known
            own = np.where(hit, share, 0.0).sum(axis=1)
            result["log_loss"] = -np.log(np.maximum(own, np.finfo(float).tiny))
            result["brier"] = ((share - hit) ** 2).sum(axis=1)
        return result

    def _remember(self, p: Float64, y: np.ndarray[Any, Any], h: Float64) -> None:
        """What is more than a sum over rows."""
        if self._ranking is not None:
            self._ranking.add(p, inputs.vector(y, "y", len(p)) > 0, h)
        elif isinstance(self._model, OneVsAll):
            labels = self._model.classes
            truth = self._model._classes.numbers(y, len(y))[0].astype(np.intp)
            best = p.argmax(axis=1) if p.shape[1] else np.full(len(p), -1)
            for c, label in enumerate(labels):
                counts = self._confusion.setdefault(label, [0.0, 0.0, 0.0])
                counts[0] += float(h[truth == c].sum())
                counts[1] += float(h[best == c].sum())
                counts[2] += float(h[(truth == c) & (best == c)].sum())
        elif len(y):
            values = inputs.vector(y, "y", len(y))
            self._labels = (min(self._labels[0], float(values.min())), max(self._labels[1], float(values.max())))

    def _total(self, per_row: dict[str, Float64], h: Float64) -> None:
        """Adds up, stopping for the history at 1, 2, 4, 8, ... examples."""
        start = 0
        while start < len(h):
            stop = min(len(h), start + self._next - self.examples)
            for name, values in per_row.items():
                self._sums[name] = self._sums.get(name, 0.0) + float(h[start:stop] @ values[start:stop])
            self.examples += stop - start
            self.weight += float(h[start:stop].sum())
            self._squared_weight += float((h[start:stop] ** 2).sum())
            if self.examples == self._next:
                self.history.append(self._moment())
                self._last = (self.weight, self._sums["loss"])
                self._next *= 2
            start = stop

    def _moment(self) -> Moment:
        weight, loss = self._last
        since = (self._sums["loss"] - loss) / (self.weight - weight) if self.weight > weight else math.nan
        zero_one = self._sums["zero_one"] / self.weight if "zero_one" in self._sums else None
        return Moment(self.examples, self.weight, self._sums["loss"] / self.weight, since, zero_one)

    @property
    def now(self) -> Moment:
        """The state after all examples so far."""
        return self._moment() if self.examples else Moment(0, 0.0, math.nan, math.nan, None)

    @property
    def metrics(self) -> dict[str, float]:
        """All metrics by name: means per unit of weight, RMSE and AUC."""
        if not self.examples:
            return {}
        means = {name: total / self.weight for name, total in self._sums.items()}
        if "squared" in means:
            means["rmse"], means["mae"] = math.sqrt(means.pop("squared")), means.pop("absolute")
        if self._ranking is not None:
            means["auc"] = self._ranking.area
        return means

    @property
    def per_class(self) -> dict[Label, dict[str, float]]:
        """By class: how much of the weight it has, its precision and its recall."""
        return {
            label: {
                "share": seen / self.weight if self.weight else math.nan,
                "precision": both / predicted if predicted else math.nan,
                "recall": both / seen if seen else math.nan,
            }
            for label, (seen, predicted, both) in self._confusion.items()
        }

    @property
    def interval(self) -> tuple[float, float]:
        """Where the error, or for numbers the RMSE, truly lies, with 90% confidence: see `chernoff_interval`.

        For numbers squared errors are put in units of the labels' range (and cut off there), as the paper does. With
        weights, n is the number of equally weighted examples that would be worth as much.
        """
        if not self.examples:
            return math.nan, math.nan
        n = self.weight**2 / self._squared_weight
        if "zero_one" in self._sums:
            return chernoff_interval(self._sums["zero_one"] / self.weight, n)
        span = self._labels[1] - self._labels[0]
        if span == 0:
            return 0.0, 0.0
        low, high = chernoff_interval(min(1.0, self._sums["squared"] / self.weight / span**2), n)
        return span * math.sqrt(low), span * math.sqrt(high)


# ------------------------------------------------------------------------------------------------------- progressive


@dataclass(frozen=True)
class Progressive:
    """The outcome of a progressive validation."""

    predictions: Float64
    evaluation: Evaluation

    @property
    def metrics(self) -> dict[str, float]:
        """All metrics by name."""
        return self.evaluation.metrics

    @property
    def interval(self) -> tuple[float, float]:
        """Where the error truly lies, with 90% confidence."""
        return self.evaluation.interval

    @property
    def history(self) -> list[Moment]:
        """The state after 1, 2, 4, 8, ... examples."""
        return self.evaluation.history


def progressive(model: Learner | OneVsAll, X: Any, y: Any, weight: Any = None, *, delay: int = 0) -> Progressive:
    """Predict every row, then learn it: immediately, or when `delay` further rows have been predicted.

    Labels often come late. With a delay the model predicts a row without having learned the `delay` rows before it;
    those that are left at the end are learned then.
    """
    if not hasattr(delay, "__index__") or isinstance(delay, bool) or delay < 0:
        raise OptionError(f"delay is {delay!r}; it must be a whole number of rows, 0 or more")
    evaluation = Evaluation(model)
    if delay == 0:
        predictions = model.learn(X, y, weight)
    else:
        predictions = _delayed(model, X, inputs.as_array(y, "y"), weight, int(delay))
    evaluation.add(predictions, y, weight)
    return Progressive(predictions, evaluation)


def _delayed(model: Learner | OneVsAll, X: Any, y: np.ndarray[Any, Any], weight: Any, delay: int) -> Float64:
    rows = inputs.read(X).rows
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
    if not isinstance(model, OneVsAll):
        return np.concatenate(predictions) if predictions else np.zeros(0)
    scores = np.full((rows, len(model.classes)), -np.inf)  # a class that was not known yet had no chance
    for row, known in enumerate(predictions):
        scores[row, : known.shape[1]] = known[0]
    return scores


def _slice(X: Any, first: int, last: int) -> Any:
    """Rows of whatever holds rows."""
    if hasattr(X, "iloc"):
        return X.iloc[first:last]
    if hasattr(X, "column_names"):  # pyarrow
        return X.slice(first, last - first)
    return (X.tocsr() if hasattr(X, "tocsr") else X)[first:last]
