"""Several classes under one softmax (not in the paper), in plain NumPy: the oracle of core/engine/softmax/.

Each class has a head, an algorithm of the paper with logistic loss, that learns "is it this class?". Heads depend on
each other through their offsets: with o_k = w_k·x, the score of head k is its margin o_k − log Σ_{j≠k} exp(o_j), the
logarithm of the odds of its class under the softmax. So its slope is p_k − [k = y], the slope of the softmax, and its
importance-aware step is that of logistic loss while the other heads stay constant.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unitless.paper.algorithms import Algorithm

from .mixture import MOST_CERTAIN

Float64 = NDArray[np.float64]


def against(outputs: Sequence[float], k: int) -> float:
    """log Σ exp(o_j) over all but the k-th."""
    others = [o for j, o in enumerate(outputs) if j != k]
    return float(np.logaddexp.reduce(others)) if others else -np.inf


class Softmax:
    """Heads of one learning rate.

    Args: head: makes the algorithm of a class, with logistic loss. classes: their number, if it is fixed. None: a class
    joins when its first row is learned, as a copy of a spare head, whose class no row has.
    """

    def __init__(self, head: Callable[[], Algorithm], classes: int | None = None) -> None:
        self.open = classes is None
        self.heads = [head() for _ in range(classes or 0)]
        self.spare = [head()] if self.open else []

    def scores(self, x: Float64, classes: int) -> Float64:
        """The log odds of this number of classes; classes that have not been met yet have those of the spare head."""
        outputs = [head.learn_one(x, 0.0, 0.0) for head in self.heads]
        spare = [head.learn_one(x, 0.0, 0.0) for head in self.spare]
        said = [o - against(outputs if len(outputs) > 1 else outputs + spare, k) for k, o in enumerate(outputs)]
        if spare:
            unmet = spare[0] - against([*outputs, 0.0], len(outputs)) if outputs else 0.0
            said += [unmet] * (classes - len(said))
        return np.clip(said, -MOST_CERTAIN, MOST_CERTAIN)

    def learn_one(self, x: Float64, y: int, h: float = 1.0) -> float:
        """Learn a row of class y; return its loss before learning, −log p_y."""
        if h == 0:
            return 0.0
        while self.open and y >= len(self.heads):
            self.heads.append(copy.deepcopy(self.spare[0]))
        heads = self.heads + self.spare
        outputs = [head.learn_one(x, 0.0, 0.0) for head in heads]
        offsets = [-against(outputs, k) for k in range(len(heads))]
        for k, head in enumerate(heads):
            head.learn_one(x, 1.0 if k == y else -1.0, h, offsets[k])
        return float(np.logaddexp(0.0, -(outputs[y] + offsets[y])))


class Automatic:
    """Several rates; the one with the smallest loss so far makes the prediction. The n-th example has weight n.

    No rate is dropped, as in the core during the first 1,024 examples.
    """

    def __init__(self, models: Sequence[Softmax]) -> None:
        self.models, self.recent, self.t = models, np.zeros(len(models)), 0.0

    def scores(self, x: Float64, classes: int) -> Float64:
        """The scores of the leading rate."""
        return self.models[int(np.argmin(self.recent))].scores(x, classes)

    def learn_one(self, x: Float64, y: int, h: float = 1.0) -> None:
        """Learn a row of class y with all rates."""
        losses = np.array([model.learn_one(x, y, h) for model in self.models])
        self.t += h
        if h:
            self.recent = self.recent * (1 - h / self.t) + h * losses


def run(model: Softmax | Automatic, X: Any, y: Any, classes: int, weight: Any = None, bias: bool = True) -> Float64:
    """The progressive scores over rows in order, a column for each class."""
    X = np.asarray(X, dtype=np.float64)
    if bias:
        X = np.hstack([np.ones((len(X), 1)), X])
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    said = []
    for x, label, h in zip(X, y, weight, strict=True):
        said.append(model.scores(x, classes))
        model.learn_one(x, int(label), float(h))
    return np.array(said)
