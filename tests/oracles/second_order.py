"""Second order (rule="newton") in plain NumPy: the oracle of core/engine/newton/.

In a lane, the weights have a normal distribution with mean v and covariance P. z is x divided by the largest |x| so
far; the bias is a feature with value 1. For a row of weight h:

    k = P z;  var = z·k;  m = v·z                      predicts m, or m shrunk by its variance
    a scale grows, ρ = s before / s now:               w is kept, and the prior is that of the new unit
        v_i /= ρ;  P[i, :] /= ρ;  P[:, i] /= ρ
        c = λ(1 - ρ²);  f = c/(1 + c·P_ii);  v -= f·P_i·v_i;  P -= f·P_i·P_iᵀ
    k, var, m again;  v += g·k;  P -= f·k·kᵀ;  diag(P) += h·q, for the bias h·q_b

where g and f follow from the loss: the implicit step, and the curvature at its end.

                 squared predicts m or m/(1 + var); g = h(y - m)/(1 + h·var); f = h/(1 + h·var) logistic predicts m/√(1
                 + π·var/8); σ = 1/(1 + exp(y·m + h·var·σ)); g = h·y·σ; c = h·σ(1 - σ); f = c/(1 + c·var) classes o = V
                 z, one row of V a head, predicts o/√(1 + π·var/8); o' = o + h·var·(onehot(y) - softmax(o')); each head
                 g = h(onehot - p); c = h·½Σp(1 - p), p = softmax(o'); f as above

Lanes differ in λ, q and q_b. The lane with the smallest loss makes the prediction; later rows count more, as in the
choice of rates.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .curves_and_trees import Limits, is_look
from .mixture import MOST_CERTAIN
from .rates import WALKS, Walk

Float64 = NDArray[np.float64]

Kind = Literal["squared", "logistic", "classes"]


def softmax(o: Float64) -> Float64:
    """The probabilities of scores."""
    e = np.exp(o - o.max())
    return np.asarray(e / e.sum())


def log_odds(o: Float64) -> Float64:
    """The log odds of each head against all others; 0 if there is no other head."""
    if len(o) == 1:
        return np.zeros(1)
    others = [np.logaddexp.reduce(np.delete(o, head)) for head in range(len(o))]
    return np.asarray(np.clip(o - others, -MOST_CERTAIN, MOST_CERTAIN))


def implicit_slope(margin: float, tau: float) -> float:
    """The σ that solves σ = 1/(1 + exp(margin + τσ)), by bisection."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        value = 1 / (1 + math.exp(min(margin + tau * middle, 700.0)))
        low, high = (middle, high) if value > middle else (low, middle)
    return 0.5 * (low + high)


def implicit_scores(o: Float64, y: int, tau: float) -> Float64:
    """The scores that solve o' = o + τ(onehot - softmax(o')), the minimum of |o' - o|²/2 - τ·log p_y(o').

    Newton's method; each step is halved until it decreases the objective.
    """
    onehot = np.arange(len(o)) == y

    def height(move: Float64) -> float:
        return float(0.5 * move @ move + tau * (np.logaddexp.reduce(o + move) - o[y] - move[y]))

    move = np.zeros(len(o))
    for _ in range(200):
        p = softmax(o + move)
        step = np.linalg.solve(np.eye(len(o)) + tau * (np.diag(p) - np.outer(p, p)), move - tau * (onehot - p))
        for _ in range(60):
            if height(move - step) <= height(move) * (1 + 1e-9):
                break
            step = step / 2
        move = move - step
        if np.abs(step).max() <= 1e-9 * np.abs(move).max():
            break
    return np.asarray(o + move)


@dataclass
class Lane:
    """One lane: a prior, a rate of forgetting, and their losses."""

    number: int
    V: Float64  # [head, feature], the bias first
    P: Float64
    loss: float = 0.0
    recent: float = 0.0
    gap: float = 0.0
    square: float = 0.0
    total_gap: float = 0.0
    total_square: float = 0.0
    speakers: list[float] = field(default_factory=lambda: [0.0, 0.0])  # recent losses of m and of m/(1 + var)

    @property
    def how(self) -> Walk:
        """The prior and the rate of forgetting."""
        return WALKS[self.number]

    def lost(self) -> bool:
        """Whether the loss is significantly larger than the leader's, both recently and over the whole stream."""
        total_gap, total_square = self.total_gap + self.gap, self.total_square + self.square
        return self.gap > 6 * math.sqrt(self.square) and total_gap > 6 * math.sqrt(total_square)

    def meet(self, i: int) -> None:
        """Add a feature that is met for the first time."""
        self.P[i, i] = 1 / self.how.prior

    def grow(self, i: int, rho: float) -> None:
        """Adapt to the grown scale of a feature."""
        self.V[:, i] /= rho
        self.P[i, :] /= rho
        self.P[:, i] /= rho
        c = self.how.prior * (1 - rho * rho)
        k = self.P[:, i].copy()
        f = c / (1 + c * k[i])
        self.V -= f * np.outer(self.V[:, i], k)
        self.P -= f * np.outer(k, k)

    def say(self, kind: Kind, z: Float64, offset: float) -> list[Float64]:
        """Predict a row: scores by head; for squared loss also the shrunk ones, if the lane does not forget."""
        o, variance = self.V @ z, z @ self.P @ z
        if kind == "squared":
            return [o, o if self.how.walk > 0 else o / (1 + variance)]
        return [o / math.sqrt(1 + math.pi * variance / 8) + offset]

    def learn(self, kind: Kind, z: Float64, y: float, h: float, offset: float, met: Float64) -> None:
        """Learn a row; `met` marks the features that are known."""
        k = self.P @ z
        variance, o = float(z @ k), self.V @ z
        if kind == "squared":
            f = h / (1 + h * variance)
            g = f * (y - o)
        elif kind == "logistic":
            slope = implicit_slope(y * (float(o[0]) + offset), h * variance)
            g, c = np.array([h * y * slope]), h * slope * (1 - slope)
            f = c / (1 + c * variance)
        else:
            after = implicit_scores(o, int(y), h * variance)
            p = softmax(after)
            others = [np.delete(p, head).sum() for head in range(len(p))]  # 1 - p, accurate also where it is nearly 0
            g, c = (after - o) / variance, h * 0.5 * float(p @ others)
            f = c / (1 + c * variance)
        self.V += np.outer(g, k)
        self.P -= f * np.outer(k, k)
        self.P += np.diag(met * h * self.how.walk)
        # A faster bias would only repeat the last label.
        bias_walk = self.how.bias_walk if kind == "squared" else min(self.how.bias_walk, 1.0)
        self.P[0, 0] += h * (bias_walk - self.how.walk)


class SecondOrder:
    """A learner of rule "newton".

    `classes` is the number of classes; labels are their numbers. None with kind "classes": classes join when they are
    first learned, and start as a copy of the last head, whose class no row has. `target` subtracts the first label from
    all labels and limits predictions to the labels so far, as `limited` does.
    """

    def __init__(
        self,
        kind: Kind = "squared",
        *,
        classes: int | None = None,
        target: bool = False,
        limited: bool = False,
        center: bool = False,
        lanes: Sequence[int] = range(len(WALKS)),
    ) -> None:
        self.kind, self.target, self.center = kind, target, center
        self.open = kind == "classes" and classes is None
        heads = 1 if kind != "classes" else 1 if classes is None else classes
        self.lanes = [Lane(k, np.zeros((heads, 1)), np.array([[1 / WALKS[k].prior]])) for k in lanes]
        self.limits = Limits(target or limited)
        self.scale = np.zeros(1)
        self.means, self.masses = np.zeros(0), np.zeros(0)
        self.examples, self.t = 0, 0.0
        self.first: float | None = None

    @property
    def leader(self) -> Lane:
        """The lane whose prediction is used."""
        return min(self.lanes, key=lambda lane: lane.recent)

    def _speaker(self, lane: Lane) -> int:
        return int(self.kind == "squared" and lane.speakers[1] < lane.speakers[0])

    def _centered(self, values: Float64, h: float) -> Float64:
        more = len(values) - len(self.means)
        self.means, self.masses = np.append(self.means, np.zeros(more)), np.append(self.masses, np.zeros(more))
        if not self.center:
            return values
        distance = values - self.means
        x = distance - distance / (self.masses + 1)
        if h > 0:
            self.masses = self.masses + h
            self.means = self.means + distance * h / self.masses
        return np.asarray(x)

    def _widen(self, features: int) -> None:
        more = features - len(self.scale)
        self.scale = np.append(self.scale, np.zeros(more))
        for lane in self.lanes:
            lane.V, lane.P = np.pad(lane.V, ((0, 0), (0, more))), np.pad(lane.P, ((0, more), (0, more)))

    def _loss(self, said: Float64, y: float) -> float:
        if self.kind == "squared":
            return float((self.limits.limit(float(said[0])) - y) ** 2)
        if self.kind == "logistic":
            return float(np.logaddexp(0, -y * said[0]))
        own = min(int(y), len(said) - 1)
        return float(np.logaddexp.reduce(said) - said[own])

    def _told(self, said: Float64, classes: int) -> Float64:
        if self.kind == "squared":
            return np.array([self.limits.limit(float(said[0]))])
        if self.kind == "logistic":
            return said
        odds = log_odds(said)
        met = len(said) - self.open
        # The probabilities of known classes are relative to known classes; the spare head stands for the others only if
        # there is no other known class.
        known = log_odds(said[:met]) if self.open and met > 1 else odds
        return np.append(known[:met], np.full(classes, odds[-1]))[:classes]

    def learn_one(self, values: Any, y: float, h: float = 1.0, offset: float = 0.0, classes: int = 0) -> Float64:
        """Predict a row, then learn it. If classes may join, `classes` is the number of classes of the prediction."""
        classes = classes or len(self.lanes[0].V)
        x = np.append(1.0, self._centered(np.asarray(values, dtype=np.float64), h))
        self._widen(len(x))
        known = self.scale > 0
        known[0] = True
        z = np.where(known, np.clip(x / np.where(self.scale > 0, self.scale, 1.0), -1, 1), 0.0)
        leader, started = self.leader, self.first is not None
        said = [lane.say(self.kind, z, offset) for lane in self.lanes]
        told = self._told(said[self.lanes.index(leader)][self._speaker(leader)], classes)
        if h > 0:
            self.examples, self.t = self.examples + 1, self.t + h
            if self.target:
                self.first = y if self.first is None else self.first
                y -= self.first
            self._count(said, y, h)
            self._grow(x)
            if self.open and int(y) >= len(self.lanes[0].V) - 1:
                for lane in self.lanes:
                    more = int(y) + 2 - len(lane.V)
                    lane.V = np.vstack([lane.V, np.repeat(lane.V[-1:], more, axis=0)])
            z = np.divide(x, self.scale, out=np.zeros_like(x), where=self.scale > 0)
            for lane in self.lanes:
                lane.learn(self.kind, z, y, h, offset, (self.scale > 0).astype(float))
            self.limits.low, self.limits.high = min(self.limits.low, y), max(self.limits.high, y)
            if is_look(self.examples):
                self._look()
        if self.target:
            return told + self.first if started and self.first is not None else np.zeros(1)
        return told

    def _grow(self, x: Float64) -> None:
        for i in np.flatnonzero(np.abs(x) > self.scale):
            for lane in self.lanes:
                if self.scale[i] > 0:
                    lane.grow(int(i), float(self.scale[i] / abs(x[i])))
                elif i > 0:
                    lane.meet(int(i))
            self.scale[i] = abs(x[i])

    def _count(self, said: list[list[Float64]], y: float, h: float) -> None:
        leader, share = self.leader, h / self.t
        by_lane = [[h * self._loss(one, y) for one in own] for own in said]
        speaking = [own[self._speaker(lane)] for lane, own in zip(self.lanes, by_lane, strict=True)]
        leading = speaking[self.lanes.index(leader)]
        for lane, own, losses in zip(self.lanes, speaking, by_lane, strict=True):
            lane.loss += own
            lane.recent = lane.recent * (1 - share) + own
            lane.gap += own - leading
            lane.square += (own - leading) ** 2
            if self.kind == "squared":
                lane.speakers = [s * (1 - share) + loss for s, loss in zip(lane.speakers, losses, strict=True)]

    def _look(self) -> None:
        """At powers of two, drop the lanes that have lost; at every look, restore the neighbors of the leader."""
        dropping = self.examples & (self.examples - 1) == 0
        leader, there = self.leader, {lane.number: lane for lane in self.lanes}
        near = {k for k in range(leader.number - 1, leader.number + 2) if 0 <= k < len(WALKS)}
        kept = [
            (k, there.get(k, leader))
            for k in sorted(near | set(there))
            if k in near or not (dropping and there[k].lost())
        ]
        if dropping:
            for lane in self.lanes:
                lane.total_gap, lane.total_square = lane.total_gap + lane.gap, lane.total_square + lane.square
                lane.gap = lane.square = 0.0
        self.lanes = [lane if lane.number == k else _anew(lane, k) for k, lane in kept]

    def run(self, X: Any, y: Any, weight: Any = None, offset: Any = None, classes: int = 0) -> Float64:
        """The progressive predictions over rows in order, [row, head]."""
        weights = np.ones(len(y)) if weight is None else weight
        offsets = np.zeros(len(y)) if offset is None else offset
        rows = zip(X, y, weights, offsets, strict=True)
        return np.array([self.learn_one(x, float(label), float(h), float(o), classes) for x, label, h, o in rows])


def _anew(leader: Lane, number: int) -> Lane:
    lane = copy.deepcopy(leader)
    lane.number = number
    return lane
