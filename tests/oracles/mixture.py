"""The mixture of members' predictions, in plain NumPy: the oracle of the core's mixture.

The prediction is made from *speakers*: the members, and two stackers, which are small second-order learners over the
members' predictions. A *top* weighs the speakers by their losses so far. Everything is float64 and literal; the
compiled core computes the same and is tested against this module.

    >>> import numpy as np
    >>> from oracles.mixture import Mixture
    >>> rng = np.random.default_rng(0)
    >>> mixture, wrong = Mixture("squared", members=2), []
    >>> for y in rng.normal(size=500):
    ...     members = np.array([[y + 1 + rng.normal()], [y - 2]])  # neither is right, but together they are
    ...     wrong.append((mixture.say(members)[0] - y) ** 2)
    ...     mixture.learn(members, y)
    >>> bool(np.mean(wrong[250:]) < 1)
    True
"""

from __future__ import annotations

import abc

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]

MOST_CERTAIN = float(np.log(1e15))  # limit of the scores of classes

# ---------------------------------------------------------------------------------------------------------------- tops


class Bayes:
    """Bayes' rule on probabilities with a fixed share a: w ∝ w·p(y), then w = (1-a)w + a/n."""

    def __init__(self, speakers: int) -> None:
        self.w = np.full(speakers, 1 / speakers)

    def learn(self, p: Float64, h: float, t: int) -> None:
        """Learn from p(y) by speaker, of row t, whose weight is h."""
        a = min(0.5, 1 / t)
        w = self.w * (p / p.max()) ** h
        self.w = (1 - a) * w / w.sum() + a / len(w)


class AdaHedge:
    """AdaHedge (de Rooij, van Erven, Grünwald, Koolen 2014) with a share and fading losses.

    L: the speakers' losses; Δ: the cost of mixing beyond the mix loss.
    """

    def __init__(self, speakers: int) -> None:
        self.L, self.delta = np.zeros(speakers), 0.0

    def weights(self, t: int) -> Float64:
        """The weights for row t."""
        behind = self.L - self.L.min()
        w = np.exp(-np.log(len(behind)) / self.delta * behind) if self.delta > 0 else (behind == 0).astype(float)
        a = min(0.5, 1 / t)
        return np.asarray((1 - a) * w / w.sum() + a / len(w))

    def learn(self, losses: Float64, t: int) -> None:
        """Learn from the losses of row t."""
        w, best = self.weights(t), float(losses.min())
        mix = best
        if self.delta > 0:
            eta = np.log(len(w)) / self.delta
            mix -= float(np.log(w @ np.exp(-eta * (losses - best))) / eta)
        fading = 1 - 1 / (t + 1)
        self.delta = fading * (self.delta + max(0.0, float(w @ losses) - mix))
        self.L = fading * (self.L + losses)


# ------------------------------------------------------------------------------------------------------------ stackers


def sigmoid(x: Float64 | float) -> Float64:
    """1/(1 + e^-x)."""
    return np.asarray(np.exp(-np.logaddexp(0, -np.asarray(x))))


class LogisticStacker:
    """Second-order logistic regression over x: m = o + mean + u·x, u ~ Normal(0, C).

    o is the row's offset. x are the members' log odds without it, whose mean is `mean`, and the last label.
    """

    def __init__(self, members: int, q: float) -> None:
        self.q, self.u, self.C = q, np.zeros(members + 1), 0.1 * np.eye(members + 1)

    def look(self, x: Float64, o: float) -> tuple[float, Float64, float]:
        """m, k = Cx and v = x·Cx. Since the row before, u may have moved, so C grows by q·I."""
        k = (self.C + self.q * np.eye(len(x))) @ x
        return float(o + x[:-1].mean() + self.u @ x), k, float(x @ k)

    def say(self, x: Float64, o: float) -> float:
        """The log odds, closer to 0 the less is known about u."""
        m, _, v = self.look(x, o)
        return float(m / np.sqrt(1 + np.pi * v / 8))

    def learn(self, x: Float64, y: float, h: float, o: float) -> None:
        """The implicit step: y·m grows by d, where d = h·v·g and g is the slope of the loss."""
        m, k, v = self.look(x, o)
        low, high = 0.0, h * v
        while low < (d := (low + high) / 2) < high:  # d - h·v/(1 + e^(y·m+d)) grows with d
            low, high = (d, high) if d < h * v * sigmoid(-(y * m + d)) else (low, d)
        g = float(sigmoid(-(y * m + high)))
        H = h * g * (1 - g)
        self.u = self.u + y * h * g * k
        self.C = self.C + self.q * np.eye(len(x)) - H / (1 + H * v) * np.outer(k, k)


def mean(p: Float64) -> float:
    """The mean, computed relative to the first number, so that the mean of equal numbers is that number."""
    return float(p[0] + (p - p[0]).mean())


class SquaredStacker:
    """Least squares over the members' differences x from their mean, with forgetting: m + w·x within [low, high]."""

    def __init__(self, members: int, forgetting: float) -> None:
        self.forgetting = forgetting
        self.A, self.b, self.V, self.N = np.zeros((members, members)), np.zeros(members), 0.0, 0.0

    def say(self, p: Float64, low: float, high: float) -> float:
        """Predict from the members' predictions p; low and high are the smallest and largest label so far."""
        m = mean(p)
        x, s = p - m, self.V / self.N if self.N else 0.0
        if s > 0:
            w = np.linalg.solve(self.A + len(p) * s * np.eye(len(p)) + 1e-12 * np.diag(np.diag(self.A)), self.b)
            m += float(w @ x)
        return min(max(m, low), high) if low <= high else m

    def learn(self, p: Float64, said: float, y: float, h: float, t: int) -> None:
        """Learn row t, whose prediction was `said`."""
        m = mean(p)
        x, f = p - m, max(0.0, 1 - self.forgetting / t)
        self.V = f * self.V + h * (said - y) ** 2
        self.N = f * self.N + h
        self.A = f * self.A + h * np.outer(x, x)
        self.b = f * self.b + h * x * (y - m)


class ClassStacker:
    """Second-order softmax regression over x[e, c]: score_c = Σ_e w_e·x[e, c].

    x are the members' log probabilities and, as the last row, whether c is the last label.
    """

    def __init__(self, members: int, q: float) -> None:
        self.q, self.w, self.C = q, np.append(np.full(members, 1 / members), 0.0), 0.1 * np.eye(members + 1)

    def softmax(self, score: Float64) -> Float64:
        """Scores become probabilities."""
        p = np.exp(score - score.max())
        return np.asarray(p / p.sum())

    def say(self, x: Float64) -> Float64:
        """The probabilities, closer to one another the less is known about the two highest scores."""
        score, C = self.w @ x, self.C + self.q * np.eye(len(x))
        kappa = 1.0
        if len(score) > 1:
            first, second = np.argsort(-score, kind="stable")[:2]
            d = x[:, first] - x[:, second]
            kappa = 1 / float(np.sqrt(1 + np.pi / 8 * d @ C @ d))
        return self.softmax(kappa * score)

    def learn(self, x: Float64, y: int, h: float) -> None:
        """Three Newton steps on (w'-w)ᵀC⁻¹(w'-w)/2 - h·log p_y(w'), each limited to a half per weight."""
        precision = np.linalg.inv(self.C + self.q * np.eye(len(x)))
        w = self.w
        for _ in range(3):
            p = self.softmax(w @ x)
            slope = h * (x[:, y] - x @ p) - precision @ (w - self.w)
            w = w + np.clip(np.linalg.solve(precision + h * self.covariance(x, p), slope), -0.5, 0.5)
        self.C = np.asarray(np.linalg.inv(precision + h * self.covariance(x, self.softmax(w @ x))), dtype=np.float64)
        self.w = w

    def covariance(self, x: Float64, p: Float64) -> Float64:
        """Cov_p(x)."""
        d = x - (x @ p)[:, None]
        return np.asarray((d * p) @ d.T)


# ------------------------------------------------------------------------------------------------------------ mixtures


class Mixing(abc.ABC):
    """One kind of mixture.

    Predictions are [member, head]; h: the weight of a row; t: its number, from 1; o: its offset, which is part of all
    predictions. Where labels are numbers, the offset was subtracted from labels and predictions; otherwise it is
    included in them, and only the stackers of log odds use it.
    """

    @abc.abstractmethod
    def say(self, members: Float64, t: int, o: float) -> Float64:
        """Predict, by head."""

    @abc.abstractmethod
    def learn(self, members: Float64, y: float, h: float, losses: Float64, t: int, o: float) -> None:
        """Learn the label of the row."""

    @abc.abstractmethod
    def restart(self) -> None:
        """Forget how good the members were."""


def log_odds(p: Float64, others: Float64) -> Float64:
    """log(p/others), at most that of 1 - 1e-15."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(p) - np.log(others), -MOST_CERTAIN, MOST_CERTAIN))


class Logistic(Mixing):
    """Log odds of two classes: Bayes over the members and their stackers."""

    def __init__(self, members: int) -> None:
        self.stackers = [LogisticStacker(members, q) for q in (0.0, 1e-5)]
        self.top = Bayes(members + 2)
        self.last = 0.0  # label

    def inputs(self, members: Float64, o: float) -> Float64:
        """The inputs of the stackers."""
        return np.append(np.clip(members[:, 0] - o, -30, 30), self.last)

    def speak(self, members: Float64, o: float) -> Float64:
        """The log odds of all speakers."""
        x = self.inputs(members, o)
        return np.append(members[:, 0], [stacker.say(x, o) for stacker in self.stackers])

    def say(self, members: Float64, t: int, o: float) -> Float64:
        score = self.speak(members, o)
        return log_odds(self.top.w @ sigmoid(score), self.top.w @ sigmoid(-score))[None]

    def learn(self, members: Float64, y: float, h: float, losses: Float64, t: int, o: float) -> None:
        self.top.learn(sigmoid(y * self.speak(members, o)), h, t)
        for stacker in self.stackers:
            stacker.learn(self.inputs(members, o), y, h, o)
        self.last = y

    def restart(self) -> None:
        self.top = Bayes(len(self.top.w))


class Squared(Mixing):
    """Numbers: AdaHedge over the members and their stackers.

    Row 1 adds no loss, because no member can know the label's offset: all members are assumed to have predicted y.
    """

    def __init__(self, members: int) -> None:
        self.stackers = [SquaredStacker(members, forgetting) for forgetting in (1.0, 16.0)]
        self.top = AdaHedge(members + 2)
        self.low, self.high = np.inf, -np.inf

    def speak(self, p: Float64) -> Float64:
        """The predictions of all speakers."""
        return np.append(p, [stacker.say(p, self.low, self.high) for stacker in self.stackers])

    def say(self, members: Float64, t: int, o: float) -> Float64:
        return np.asarray(self.top.weights(t) @ self.speak(members[:, 0]))[None]

    def learn(self, members: Float64, y: float, h: float, losses: Float64, t: int, o: float) -> None:
        p = members[:, 0] if t > 1 else np.full(len(members), y)
        said = self.speak(p)
        self.top.learn(h * (said - y) ** 2, t)
        for stacker, own in zip(self.stackers, said[len(p) :], strict=True):
            stacker.learn(p, own, y, h, t)
        self.low, self.high = min(self.low, y), max(self.high, y)

    def restart(self) -> None:
        self.__init__(len(self.top.L) - 2)  # type: ignore[misc]


class Classes(Mixing):
    """One-vs-all log odds of classes: Bayes over the members' probabilities and their stackers'."""

    def __init__(self, members: int) -> None:
        self.stackers = [ClassStacker(members, q) for q in (0.0, 1e-5)]
        self.top = Bayes(members + 2)
        self.last = -1

    def probabilities(self, members: Float64) -> Float64:
        """The members' sigmoids, normalized to the sum 1; where all vanish, classes are equally likely."""
        p = sigmoid(members)
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1 / members.shape[1])

    def inputs(self, p: Float64) -> Float64:
        """The inputs of the stackers."""
        with np.errstate(divide="ignore"):
            return np.vstack([np.maximum(np.log(p), -30), np.arange(p.shape[1]) == self.last])

    def speak(self, members: Float64) -> Float64:
        """The probabilities of all speakers."""
        p = self.probabilities(members)
        return np.vstack([p, *(stacker.say(self.inputs(p)) for stacker in self.stackers)])

    def say(self, members: Float64, t: int, o: float) -> Float64:
        p = self.top.w @ self.speak(members)
        return log_odds(p, np.array([np.delete(p, c).sum() for c in range(len(p))]))

    def learn(self, members: Float64, y: float, h: float, losses: Float64, t: int, o: float) -> None:
        self.top.learn(self.speak(members)[:, int(y)], h, t)
        for stacker in self.stackers:
            stacker.learn(self.inputs(self.probabilities(members)), int(y), h)
        self.last = int(y)

    def restart(self) -> None:
        self.top = Bayes(len(self.top.w))


class Other(Mixing):
    """Scores with any other loss: AdaHedge over the members alone."""

    def __init__(self, members: int) -> None:
        self.top = AdaHedge(members)

    def say(self, members: Float64, t: int, o: float) -> Float64:
        return np.asarray(self.top.weights(t) @ members)

    def learn(self, members: Float64, y: float, h: float, losses: Float64, t: int, o: float) -> None:
        self.top.learn(h * losses, t)

    def restart(self) -> None:
        self.top = AdaHedge(len(self.top.L))


KINDS: dict[str, type[Logistic] | type[Squared] | type[Classes] | type[Other]] = {
    "logistic": Logistic,
    "squared": Squared,
    "classes": Classes,
    "other": Other,
}


class Mixture:
    """A mixture of members: "logistic" (y = ±1), "squared", "classes" (y counts from 0) or "other".

    With one member, its prediction is the mixture's. A row of weight 0 changes nothing.
    """

    def __init__(self, kind: str, members: int) -> None:
        self.mixing, self.members, self.t = KINDS[kind](members), members, 0

    def say(self, members: Float64, offset: float = 0.0) -> Float64:
        """Predict a row, by head. `members`: their predictions [member, head], the row's offset included."""
        return members[0].copy() if self.members == 1 else self.mixing.say(members, self.t + 1, offset)

    def learn(
        self, members: Float64, y: float, weight: float = 1.0, losses: Float64 | None = None, offset: float = 0.0
    ) -> None:
        """Learn the row's label. `losses`: by member, for the kind "other"."""
        if self.members == 1 or not weight > 0:
            return
        self.t += 1
        self.mixing.learn(members, y, weight, np.zeros(self.members) if losses is None else losses, self.t, offset)

    def restart(self) -> None:
        """Forget how good the members were: one of them began anew."""
        self.t = 0
        self.mixing.restart()
