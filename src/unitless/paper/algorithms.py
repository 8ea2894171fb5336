"""The paper's algorithms in plain NumPy, in the paper's order and letters: the oracle.

*Normalized Online Learning* (Ross, Mineiro, Langford 2013), sections 1.1 and 3. Everything is float64 and literal:
weights w, scales s, squared gradients G, normalizer N. Where the paper is silent or ambiguous, the docstring states the
choice. The compiled core computes the same values in dimensionless form and is tested against this module.

    >>> import numpy as np
    >>> from unitless.paper import algorithms as reference
    >>> X = np.random.default_rng(0).normal(size=(500, 2)) * [1, 1e6]
    >>> y = X @ [1, 1e-6]
    >>> p = reference.run(reference.NAG(eta=0.5), X, y)
    >>> bool(np.mean((p[250:] - y[250:]) ** 2) < 0.01)
    True
"""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from ..inputs import Float64

# ------------------------------------------------------------------------------------------------------------ losses


class Loss(abc.ABC):
    """A loss: L(ŷ, y), its slope ∂L/∂ŷ, and the importance-aware step."""

    @abc.abstractmethod
    def value(self, p: float, y: float) -> float:
        """L(p, y)."""

    @abc.abstractmethod
    def slope(self, p: float, y: float) -> float:
        """∂L/∂p."""

    @abc.abstractmethod
    def step(self, p: float, y: float, e: float, P: float) -> float:
        """The importance-aware step u: the solution p(τ) of dp/dτ = −P ∂L/∂p moves by u·P in the time e.

        Karampatziakis & Langford, Online Importance Weight Aware Updates (2011).
        """


class Squared(Loss):
    """(p − y)²."""

    def value(self, p: float, y: float) -> float:
        return (p - y) ** 2

    def slope(self, p: float, y: float) -> float:
        return 2 * (p - y)

    def step(self, p: float, y: float, e: float, P: float) -> float:
        return float((p - y) * np.expm1(-2 * e * P) / P)


class Logistic(Loss):
    """log(1 + exp(−yp)), y = ±1."""

    def value(self, p: float, y: float) -> float:
        return float(np.logaddexp(0, -y * p))

    def slope(self, p: float, y: float) -> float:
        return float(-y * np.exp(-np.logaddexp(0, y * p)))

    def step(self, p: float, y: float, e: float, P: float) -> float:
        # The margin m = yp gains δ where δ + exp(m)·expm1(δ) = eP. Newton's method falls monotonically to it from
        # this upper bound, because the left side is convex and increasing.
        m, target = y * p, e * P
        if m < -300:  # exp(m) is negligible: the new margin q = m + δ solves q + exp(q) = eP + m
            c = target + m
            if c < -40:  # exp(q) is negligible too
                return y * e
            q = float(np.log(c)) if c > 1 else min(c, 0.0)
            for _ in range(200):
                q -= float((q - c + np.exp(q)) / (1 + np.exp(q)))
            return y * (q - m) / P
        with np.errstate(over="ignore"):
            delta = min(target, float(np.log1p(target * np.exp(-m))))
        for _ in range(200):
            # Divided by exp(m) where that is large, so that nothing overflows.
            a, b = (1.0, np.exp(m)) if m < 0 else (np.exp(-m), 1.0)
            f = a * (delta - target) + b * np.expm1(delta)
            following = delta - f / (a + b * np.exp(delta))
            if not abs(following - delta) > 1e-16 * delta:
                break
            delta = float(following)
        return y * delta / P


class Hinge(Loss):
    """max(0, 1 − yp), y = ±1. Steps end at a margin that equals 1 to rounding."""

    reached = 1 - 2.0**-40

    def value(self, p: float, y: float) -> float:
        return max(0.0, 1 - y * p)

    def slope(self, p: float, y: float) -> float:
        return -y if y * p < self.reached else 0.0

    def step(self, p: float, y: float, e: float, P: float) -> float:
        return y * min(e, (1 - y * p) / P) if y * p < self.reached else 0.0


class Quantile(Loss):
    """τ(y − p) below the label, (1 − τ)(p − y) above it."""

    def __init__(self, tau: float = 0.5) -> None:
        self.tau = tau

    def value(self, p: float, y: float) -> float:
        return self.tau * (y - p) if p < y else (1 - self.tau) * (p - y)

    def slope(self, p: float, y: float) -> float:
        return -self.tau if p < y else 1 - self.tau if p > y else 0.0

    def step(self, p: float, y: float, e: float, P: float) -> float:
        if p < y:
            return min(self.tau * e, (y - p) / P)
        return max((self.tau - 1) * e, (y - p) / P)


class Poisson(Loss):
    """exp(p) − yp + (y log y − y), y ≥ 0: half the deviance."""

    def value(self, p: float, y: float) -> float:
        return float(np.exp(p) - y * p + (y * np.log(y) - y if y > 0 else 0))

    def slope(self, p: float, y: float) -> float:
        return float(np.exp(p) - y)

    def step(self, p: float, y: float, e: float, P: float) -> float:
        # q = exp(−p) obeys dq/dτ = P(1 − yq), a linear equation.
        decay = -np.expm1(-y * e * P) / y if y > 0 else e * P
        part = (np.exp(p) - y) * decay
        # This form of 1 + part keeps all digits; near −1 the sum would cancel.
        return float(-(np.log1p(part) if part > -0.5 else np.log(np.exp(-y * e * P) + np.exp(p) * decay)) / P)


# -------------------------------------------------------------------------------------------------------- algorithms


class Algorithm(abc.ABC):
    """The common loop of the algorithms over examples (x, y) with importance weight h.

    Where the paper is silent: t counts every example by its weight, also empty examples and those without gradient. A
    feature with x = 0 is skipped (0/0 → 0). G includes the current gradient; a weight without a gradient so far (G = 0)
    is not updated. There is no epsilon, because it would have a unit. While N = 0 (only empty examples so far), nothing
    is updated.

    `aware=False` is the paper's gradient step; `aware=True` replaces −η·h·∂L/∂ŷ by the importance-aware step u.
    """

    def __init__(self, eta: float = 0.5, loss: Loss | None = None, aware: bool = True) -> None:
        self.eta, self.loss, self.aware = eta, loss or Squared(), aware
        self.t = self.N = 0.0
        self.w: Float64 = np.zeros(0)
        self.s: Float64 = np.zeros(0)
        self.G: Float64 = np.zeros(0)

    def learn_one(self, x: Float64, y: float, h: float = 1.0, offset: float = 0.0) -> float:
        """One timestep; returns ŷ from before the update. An example of weight 0 changes nothing.

        Not in the paper: ŷ = w·x + offset, if an offset is given.

        Where the paper is silent: the prediction and the step treat the example as if it had weight 1, because a weight
        may depend on the label; the sums t, N, s and G count it h times.
        """
        if not len(self.w):
            self.w, self.s, self.G = np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x))
        saved = (self.t, self.N, self.w.copy(), self.s.copy(), self.G.copy())
        self.t += h if h else 1.0
        share, x = self.observe(x, h if h else 1.0)
        p = share * float(self.w @ x) + offset
        if h == 0:
            self.t, self.N, self.w, self.s, self.G = saved
            return p
        slope = self.loss.slope(p, y)
        self.G = self.G + h * (slope * x) ** 2
        if slope != 0:
            with np.errstate(divide="ignore", invalid="ignore"):
                rate = np.where(x != 0, self.rate(), 0.0)
            rate[~np.isfinite(rate)] = 0.0
            eta = self.eta_t()
            P = share * float(rate @ x**2)
            u = self.loss.step(p, y, eta * h, P) if self.aware and P > 0 else -eta * h * slope
            self.w = self.w + u * rate * x
        return p

    def observe(self, x: Float64, h: float) -> tuple[float, Float64]:
        """Steps (a) and (c): update the scales and N. Without normalization, s is only recorded.

        Returns the example as the algorithm uses it: ŷ is the first number times w·x.
        """
        self.s = np.maximum(self.s, np.abs(x))
        return 1.0, x

    @abc.abstractmethod
    def rate(self) -> Float64:
        """Step (d): the factor of η_t ∂L/∂w_i."""

    def unit(self) -> Float64:
        """The scale that makes w dimensionless: w times it has no unit. Without normalization it is 1."""
        return np.ones(len(self.w))

    def eta_t(self) -> float:
        """The learning rate at time t."""
        return self.eta


class GD(Algorithm):
    """Gradient descent, the baseline of the paper.

        w ← w − η_t g

    where:
        g = ∂L(ŷ, y)/∂w is the gradient.
        η_t is η/√t, or with `constant=True` η.
    """

    def __init__(self, eta: float = 0.5, loss: Loss | None = None, aware: bool = True, constant: bool = False) -> None:
        super().__init__(eta, loss, aware)
        self.constant = constant

    def rate(self) -> Float64:
        return np.ones(len(self.w))

    def eta_t(self) -> float:
        return self.eta if self.constant else self.eta / float(np.sqrt(self.t))


class AG(Algorithm):
    """Adaptive gradient (section 1.1; Duchi, Hazan, Singer 2011) with a diagonal matrix.

        G_i ← G_i + g_i²,   w_i ← w_i − η g_i/√G_i

    where:
        g = ∂L(ŷ, y)/∂w is the gradient.
        G is the sum of squared gradients, including the current one.
    """

    def rate(self) -> Float64:
        return 1 / np.sqrt(self.G)


class NG(GD):
    """Normalized gradient (Algorithm 1).

        (a) if |x_i| > s_i:   w_i ← w_i s_i²/|x_i|²,   s_i ← |x_i|
        (b) ŷ = w·x
        (c) N ← N + Σ_i x_i²/s_i²
        (d) w_i ← w_i − η_t (t/N) g_i/s_i²

    where:
        s_i is the scale of feature i, its largest absolute value so far.
        N/t is the mean squared length of the normalized examples.
        g = ∂L(ŷ, y)/∂w is the gradient.

    Where the paper is silent: η_t is η/√t, or with `constant=True` η. If s_i = 0, at the first non-zero value, w_i is
    not changed in (a).
    """

    squash = 2

    def observe(self, x: Float64, h: float) -> tuple[float, Float64]:
        grown = np.abs(x) > self.s  # 2.(a)
        old = self.s[grown]
        self.w = self.w.copy()
        self.w[grown] *= np.where(old > 0, old / np.abs(x[grown]), 1.0) ** self.squash
        self.s = np.where(grown, np.abs(x), self.s)
        self.N += h * float(np.sum((x[x != 0] / self.s[x != 0]) ** 2))  # 2.(c), with the updated scale
        return 1.0, x

    def rate(self) -> Float64:
        return self.t / self.N / self.s**2

    def unit(self) -> Float64:
        return self.s


class NAG(NG):
    """Normalized adaptive gradient (Algorithm 2).

        (a) if |x_i| > s_i:   w_i ← w_i s_i/|x_i|,   s_i ← |x_i|
        (b) ŷ = w·x
        (c) N ← N + Σ_i x_i²/s_i²
        (d) G_i ← G_i + g_i²,   w_i ← w_i − η √(t/N) g_i/(s_i √G_i)

    where:
        s_i is the scale of feature i, its largest absolute value so far.
        N/t is the mean squared length of the normalized examples.
        G is the sum of squared gradients g = ∂L(ŷ, y)/∂w, including the current one.

    Where the paper is silent: N is not corrected when a scale grows.
    """

    squash = 1

    def rate(self) -> Float64:
        return np.asarray(float(np.sqrt(self.t / self.N)) / (self.s * np.sqrt(self.G)))

    def eta_t(self) -> float:
        return self.eta


class SNAG(NAG):
    """NAG with scales from second moments (sNAG, end of section 3).

        s_i ← s_i + x_i²,   σ_i = √(s_i/t),   w_i ← w_i σ_i(old)/σ_i(new)
        N ← N + Σ_i x_i²/σ_i²
        G_i ← G_i + g_i²,   w_i ← w_i − η √(t/N) g_i/(σ_i √G_i)

    where:
        σ_i is the scale of feature i, the root of its second moment.
        G is the sum of squared gradients g = ∂L(ŷ, y)/∂w, including the current one.

    Where the paper is silent: w_i σ_i does not change when the scale changes, up or down, also while the feature is
    absent ("as if all past updates had used the new scale"). t counts all examples of the stream, not only those that
    have the feature.
    """

    def observe(self, x: Float64, h: float) -> tuple[float, Float64]:
        t = self.t - h
        before, once = self._sigma(t), self.s + x**2
        self.s = self.s + h * x**2
        now = self._sigma(self.t)
        self.w = self.w * np.where(before > 0, before / np.where(now > 0, now, 1.0), 1.0)
        there = x != 0
        self.N += h * (t + 1) * float(np.sum(x[there] ** 2 / once[there]))
        seen = x.copy()  # x/√s with the s of weight 1, in units of the stored √s
        seen[there] *= np.sqrt(self.s[there] / once[there])
        return float(np.sqrt((t + 1) / (t + h))), seen

    def _sigma(self, t: float) -> Float64:
        return np.sqrt(self.s / t) if t > 0 else np.zeros(len(self.s))

    def rate(self) -> Float64:
        return np.asarray(float(np.sqrt(self.t / self.N)) / (self._sigma(self.t) * np.sqrt(self.G)))

    def unit(self) -> Float64:
        return self._sigma(self.t)


class Sparse(Algorithm):
    """FTRL-Proximal (McMahan et al., Ad Click Prediction, 2013, Algorithm 1), normalized like NAG; not in the paper.

        u_i ← u_i + a g_i − (√G_i(new) − √G_i(old)) v_i
        v_i = 0 where |u_i| ≤ l1 a s_i, otherwise −(u_i − sgn(u_i) l1 a s_i)/(√G_i + l2 a s_i)

    where:
        v_i = w_i s_i is the weight without a unit.
        u is the sum of gradients g = ∂L(ŷ, y)/∂w, and G that of their squares.
        a = η √(t/N), with s, t and N as in NAG.

    u adds each gradient with the a of its own time, so that weights do not change when t/N changes; without penalties
    this is NAG without importance-aware steps. A row is predicted with the s, t and N from before the row, and values
    beyond a scale are limited to it. The first `free` features, which are the bias, have no penalty.
    """

    def __init__(
        self, eta: float = 0.5, loss: Loss | None = None, l1: float = 0.0, l2: float = 0.0, free: int = 1
    ) -> None:
        super().__init__(eta, loss, aware=False)
        self.l1, self.l2, self.free = l1, l2, free
        self.u: Float64 = np.zeros(0)

    def rate(self) -> Float64:
        return np.asarray(float(np.sqrt(self.t / self.N)) / (self.s * np.sqrt(self.G)))

    def v(self) -> Float64:
        """The weights v, which have no unit."""
        a = self.eta * (float(np.sqrt(self.t / self.N)) if self.N > 0 else 1.0)
        unit = np.where(np.arange(len(self.s)) < self.free, 0.0, a * self.s)
        beyond = np.maximum(np.abs(self.u) - self.l1 * unit, 0.0)
        root = np.sqrt(self.G) + self.l2 * unit
        return -np.sign(self.u) * np.divide(beyond, root, out=np.zeros(len(root)), where=self.G > 0)

    def learn_one(self, x: Float64, y: float, h: float = 1.0, offset: float = 0.0) -> float:
        if not len(self.s):
            self.s, self.G, self.u = np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x))
        v = self.v()
        z = np.divide(x, self.s, out=np.sign(x), where=self.s > 0)
        p = float(v @ np.clip(z, -1, 1)) + offset
        if h == 0:
            return p
        self.s = np.maximum(self.s, np.abs(x))
        there = x != 0
        self.t += h
        self.N += h * float(np.sum((x[there] / self.s[there]) ** 2))
        if self.N > 0:
            g = self.loss.slope(p, y) * x
            root = np.sqrt(self.G)
            self.G = self.G + h * g**2
            self.u = self.u + self.eta * float(np.sqrt(self.t / self.N)) * h * g - (np.sqrt(self.G) - root) * v
        self.w = np.divide(self.v(), self.s, out=np.zeros(len(x)), where=self.s > 0)
        return p


class Average:
    """Not in the paper: the average of an algorithm's weights, in which the weights at time t count t times.

    The average is updated at certain numbers of examples, a sixty-fourth of them apart, or a sixteenth of the number of
    features (`slots`, if there are more): the weights then stand for the time since the previous update. If a feature's
    scale has grown more than sixteenfold in between, its unit has changed: then the average of v = w·s is kept, as the
    algorithm keeps its weights.
    """

    def __init__(self, algorithm: Algorithm, slots: int = 0) -> None:
        self.algorithm, self.slots = algorithm, slots
        self.examples, self.look, self.t = 0, max(1, slots // 16), 0.0
        self._w: Float64 = np.zeros(0)
        self._unit: Float64 = np.zeros(0)

    def learn_one(self, x: Float64, y: float, h: float = 1.0, offset: float = 0.0) -> float:
        """One timestep of the algorithm, and an update of the average if it is due."""
        p = self.algorithm.learn_one(x, y, h, offset)
        self.examples += h > 0
        if self.examples == self.look:
            before, part = self.w, 1 - (self.t / self.algorithm.t) ** 2
            self._w, self._unit = before + part * (self.algorithm.w - before), self.algorithm.unit()
            features = max(int(np.count_nonzero(self.algorithm.s)), self.slots)
            self.t, self.look = self.algorithm.t, self.look + max(1, self.look // 64, features // 16)
        return p

    @property
    def w(self) -> Float64:
        """The averaged weights; before the first update, the algorithm's own weights."""
        if self.t == 0:
            return self.algorithm.w
        now, before = self.algorithm.unit(), self._unit
        return np.where(now <= 16 * before, self._w, np.divide(self._w * before, now, out=now * 0, where=now > 0))

    def change_unit(self, i: int, ratio: float) -> None:
        """Multiply the unit of feature i by a ratio; v = w·s of the average is kept."""
        if self.t > 0:
            self._w, self._unit = self._w.copy(), self._unit.copy()
            self._w[i] /= ratio
            self._unit[i] *= ratio

    def predict_one(self, x: Float64, offset: float = 0.0) -> float:
        """ŷ of the averaged weights."""
        own = self.algorithm.w
        self.algorithm.w = self.w
        p = self.algorithm.learn_one(x, 0.0, 0.0, offset)
        self.algorithm.w = own
        return p


def run(
    algorithm: Algorithm | Average, X: Any, y: Any, weight: Any = None, bias: bool = True, offset: Any = None
) -> Float64:
    """The progressive predictions of an algorithm over rows in order."""
    X = np.asarray(X, dtype=np.float64)
    if bias:
        X = np.hstack([np.ones((len(X), 1)), X])
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    offset = np.zeros(len(X)) if offset is None else np.asarray(offset, dtype=np.float64)
    rows = zip(X, y, weight, offset, strict=True)
    return np.array([algorithm.learn_one(x, float(label), float(h), float(o)) for x, label, h, o in rows])
