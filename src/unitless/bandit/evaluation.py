"""How good a policy would have been, by the log of another one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from ..errors import InputError, OptionError
from .confidence import FEWEST_EFFECTIVE, Asymptotic, LowerLimit, margin
from .decision import Name, as_name
from .learning import Bandit
from .log import Logged, read_log

Policy: TypeAlias = Callable[[Mapping[str, Any], Any], Any] | Bandit | Name
_CUT = 1.0  # k of the paper: how far below 0 a doubly robust value may be, in units of the range of rewards


@dataclass(frozen=True)
class Estimate:
    """An estimate with its confidence interval, which is right after every row at once.

    Attributes:
        value: the estimate.
        low: the lower limit.
        high: the upper limit.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """How good a policy would have been.

    Attributes:
        rows: the number of decisions with a reward.
        without_reward: the number of decisions without one, which are left out.
        logged: the mean reward of the log: the value of the policy that made it.
        ips: inverse propensity score: the mean of w·r, where w is the probability of the chosen action by the policy,
            divided by that by the log.
        snips: the same divided by the mean of w, which varies less.
        dr: doubly robust: like `ips`, with the expected rewards in the log as a baseline. The best of the three.
        lift: by how much `dr` is above `logged`. If its lower limit is above 0, the policy is better.
        effective_rows: (sum of w)² / sum of w²: so many rows tell as much as these.
        level: the probability with which an interval is right after all rows.
        reward_range: the range of rewards, if it was given.
    """

    rows: int
    without_reward: int
    logged: Estimate
    ips: Estimate
    snips: Estimate
    dr: Estimate
    lift: Estimate
    effective_rows: float
    level: float
    reward_range: tuple[float, float] | None

    def asdict(self) -> dict[str, Any]:
        """Return the attributes as plain values; limits that are not known are None."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Evaluator:
    """Estimates the value of a policy, row by row; see `evaluate`.

    Args:
        reward_range: the least and the largest possible reward. Default: None, unknown.
        level: the level of the intervals. Default: 0.95.
    """

    def __init__(self, reward_range: tuple[float, float] | None = None, level: float = 0.95) -> None:
        if not 0 < level < 1:
            raise OptionError(f"is {level!r}; it must be between 0 and 1", option="level")
        try:
            low, high = (0.0, 1.0) if reward_range is None else reward_range
            is_range = -math.inf < low < high < math.inf
        except (TypeError, ValueError):
            is_range = False
        if not is_range:
            raise OptionError(f"is {reward_range!r}; it must be a lower and an upper limit", option="reward_range")
        self.level, self.range = level, reward_range
        self._alpha = 1 - level
        self.rows, self._missing = 0, 0  # with a reward, and without one
        self._means = {name: Asymptotic() for name in ("logged", "ips", "dr", "lift")}
        # With a range: a lower limit of each value, and one of its mirror image.
        self._limits = {name: (LowerLimit(), LowerLimit()) for name in self._means}
        self._w = self._w2 = self._wr = self._w2r = self._w2r2 = 0.0

    def add(self, logged: Logged, chosen: Mapping[Name, float]) -> None:
        """Count a decision of the log.

        Args:
            logged: the decision.
            chosen: the probability of each action by the policy; actions that are left out have 0.
        """
        if logged.reward is None:
            self._missing += 1
            return
        r = float(logged.reward)
        w = chosen.get(logged.action, 0.0) / logged.propensities[logged.action]
        baseline = self._baseline(logged, chosen)
        of_policy = math.fsum(chosen[name] * baseline.get(name, 0.0) for name in chosen)
        dr = w * (r - baseline.get(logged.action, 0.0)) + of_policy
        self.rows += 1
        for name, x in (("logged", r), ("ips", w * r), ("dr", dr), ("lift", dr - r)):
            self._means[name].add(x)
        self._w += w
        self._w2 += w * w
        self._wr += w * r
        self._w2r += w * w * r
        self._w2r2 += w * w * r * r
        if self.range is not None:
            self._add_limits(logged, chosen, baseline, w)

    def _baseline(self, logged: Logged, chosen: Mapping[Name, float]) -> Mapping[Name, float]:
        """Return what is expected of each action; where the log does not say it, the mean of the rewards before."""
        mean = self._means["logged"].mean
        known = logged.expected
        return {name: known[name] if math.isfinite(known.get(name, math.nan)) else mean for name in chosen}

    def _add_limits(
        self, logged: Logged, chosen: Mapping[Name, float], baseline: Mapping[Name, float], w: float
    ) -> None:
        assert self.range is not None
        low, high = self.range
        r = (float(logged.reward or 0.0) - low) / (high - low)
        if not 0 <= r <= 1:
            raise InputError(
                f"the event {logged.event_id!r} has the reward {logged.reward!r}, outside the reward_range"
            )
        scaled = {name: min(max((q - low) / (high - low), 0.0), 1.0) for name, q in baseline.items()}
        # A baseline needs the weights of all actions of the policy.
        cut = _CUT if all(logged.propensities.get(name, 0.0) > 0 for name, p in chosen.items() if p > 0) else 0.0
        for side, mirror in enumerate((False, True)):
            x = 1 - r if mirror else r
            value = 0.0
            for name, p in chosen.items() if cut else ():
                if p > 0:
                    q = min(1 - scaled[name] if mirror else scaled[name], cut * logged.propensities[name] / p)
                    value += p * q - (w * q if name == logged.action else 0.0)
            dr = w * x + value
            for name, one in (
                ("logged", x),
                ("ips", w * x),
                ("dr", (dr + _CUT) / (1 + _CUT)),
                ("lift", (dr - x + 1 + _CUT) / (1 + _CUT)),
            ):
                self._limits[name][side].add(one)

    def result(self) -> Evaluation:
        """Return the estimates and intervals after the rows so far."""
        if not self.rows:
            raise InputError("the log has no decision with a reward")
        found = {name: self._estimate(name) for name in self._means}
        return Evaluation(
            self.rows, self._missing, **found, snips=self._snips(), effective_rows=self._effective, level=self.level,
            reward_range=self.range,
        )  # fmt: skip

    def is_better(self) -> bool:
        """Return whether the policy is better than the log's: `lift` is above 0 at half the error of the level."""
        if self.range is None:
            return self._means["lift"].mean > self._half("lift")
        return self._limits["lift"][0].exceeds(1.0, self._alpha / 2)

    @property
    def _effective(self) -> float:
        return self._w * self._w / self._w2 if self._w2 else 0.0

    def _half(self, name: str) -> float:
        """Return half the width of an asymptotic interval; infinite if too few rows tell something about the policy."""
        few = name != "logged" and self._effective < FEWEST_EFFECTIVE
        return math.inf if few else self._means[name].margin(self._alpha)

    def _estimate(self, name: str) -> Estimate:
        mean = self._means[name]
        if self.range is None:
            half = self._half(name)
            return Estimate(mean.mean, mean.mean - half, mean.mean + half)
        (low, high), alpha = self.range, self._alpha / 2
        lower, upper = (limit.value(alpha) for limit in self._limits[name])
        # How the values were made from rewards between 0 and 1.
        shift, factor = {"dr": (_CUT, 1 + _CUT), "lift": (1 + _CUT, 1 + _CUT)}.get(name, (0.0, 1.0))
        lower, upper = lower * factor - shift, upper * factor - shift
        if name == "lift":
            return Estimate(mean.mean, max(lower, -1.0) * (high - low), -max(upper, -1.0) * (high - low))
        return Estimate(mean.mean, low + max(lower, 0.0) * (high - low), high - max(upper, 0.0) * (high - low))

    def _snips(self) -> Estimate:
        if not self._w:
            return Estimate(math.nan, -math.inf, math.inf)
        v = self._wr / self._w
        squares = self._w2r2 - 2 * v * self._w2r + v * v * self._w2  # of w (r - v)
        half = margin(self.rows, math.sqrt(max(squares, 0.0) / self.rows), self._alpha) * self.rows / self._w
        half = math.inf if self._effective < FEWEST_EFFECTIVE else half
        return Estimate(v, v - half, v + half)


def evaluate(
    log: str | os.PathLike[str] | Iterable[Logged],
    policy: Policy,
    *,
    reward_range: tuple[float, float] | None = None,
    level: float = 0.95,
) -> Evaluation:
    """Estimate how good a policy would have been, by the log of another one.

    The intervals are right after every row at once: one may look at them as often as one likes, and stop at any time.
    With `reward_range` they hold for any number of rows. Without it they are narrower and hold for many rows: they are
    infinite below 100 rows, and below 30 effective rows. The interval of `snips` is always of the second kind.

    Args:
        log: the decisions and their rewards, or a file with them; see `read_log`.
        policy: the name of an action, which is always chosen; a function of the context and the actions that returns
            the name of an action, or the probability of each; or a `Bandit`, which does not change. It must not have
            learned the log; `replay` is for that.
        reward_range: the least and the largest possible reward. Default: None, unknown.
        level: the level of the intervals. Default: 0.95.

    Example:
        >>> import unitless as ul
        >>> log = [ul.bandit.Logged({}, ["a", "b"], "ab"[i % 2], i % 2, {"a": 0.5, "b": 0.5}) for i in range(1000)]
        >>> found = ul.bandit.evaluate(log, "b", reward_range=(0, 1))
        >>> found.dr.value > 0.9 and found.lift.low > 0.3
        True
    """
    found = Evaluator(reward_range, level)
    for one in _rows(log):
        found.add(one, probabilities(policy, one, one.names))
    return found.result()


def replay(
    log: str | os.PathLike[str] | Iterable[Logged],
    bandit: Bandit | None = None,
    *,
    reward_range: tuple[float, float] | None = None,
    level: float = 0.95,
) -> Evaluation:
    """Estimate how good a bandit would have been that learns while it decides, by the log of another policy.

    For each decision of the log, the bandit computes its probabilities and then learns the reward of the logged action.

    Args:
        log: the decisions and their rewards, or a file with them; see `read_log`.
        bandit: the bandit, which learns the log. Default: None, a new `Bandit()`.
        reward_range: the least and the largest possible reward. Default: None, unknown.
        level: the level of the intervals. Default: 0.95.

    Example:
        >>> import unitless as ul
        >>> log = [ul.bandit.Logged({}, ["a", "b"], "ab"[i % 2], i % 2, {"a": 0.5, "b": 0.5}) for i in range(1000)]
        >>> found = ul.bandit.replay(log, reward_range=(0, 1))
        >>> found.logged.value, found.dr.value > 0.8
        (0.5, True)
    """
    found, learner = Evaluator(reward_range, level), Bandit() if bandit is None else bandit
    for one in _rows(log):
        if one.reward is None:
            found.add(one, {})
        else:
            found.add(one, learner.observe(one.context, one.actions, one.action, one.reward))
    return found.result()


def probabilities(policy: Policy, logged: Logged, names: Sequence[Name]) -> dict[Name, float]:
    """Return the probability of each action by a policy, for a decision of a log; `names` are those on offer."""
    if isinstance(policy, Bandit):
        return policy.propensities(logged.context, logged.actions)
    chosen = policy(logged.context, logged.actions) if callable(policy) else policy
    one = as_name(chosen)
    if one is not None:
        if one not in names:  # action numbers are text on the command line
            one = next((name for name in names if str(name) == one), one)
        if one not in names:
            raise InputError(f"the policy chose {one!r}, which was not on offer: {', '.join(map(repr, names[:10]))}")
        return {one: 1.0}
    if not isinstance(chosen, Mapping) or not _is_distribution(chosen, names):
        raise InputError(
            f"the policy returned {chosen!r}",
            advice="it must be the name of an action on offer, or probabilities of such actions that add up to 1",
        )
    return dict(chosen)


def _is_distribution(chosen: Mapping[Any, Any], names: Sequence[Name]) -> bool:
    try:
        known = all(name in names and probability >= 0 for name, probability in chosen.items())
        return known and math.isclose(math.fsum(chosen.values()), 1.0, rel_tol=1e-6)
    except TypeError:  # not numbers
        return False


def _rows(log: Any) -> Iterable[Logged]:
    return read_log(log) if isinstance(log, str | os.PathLike) else log
