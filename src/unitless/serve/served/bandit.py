"""A bandit in service: it decides, learns rewards, and estimates what simpler policies would have earned."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, NoReturn
from zlib import crc32

import msgspec

from ...bandit import Bandit, Decision
from ...bandit.decision import Name
from ...bandit.events import Event, Status
from ...errors import InputError, OptionError
from ..wire import ActionValue, BanditState
from .model import ServedModel

TASK = "bandit"
PART = "bandit.unitless"  # of the state
OPTIONS = ("model_type", "random_state", "time_limit", "default_reward", "max_pending")
MOST_LISTED = 100  # actions with features whose shares are known: those that were chosen last
LEAST = 10  # rewards that an action needs before its value counts
_PENDING_BYTES = 400  # of one feature of an event that waits


class Values:
    """What the rewards tell of other policies, by doubly robust estimates.

    Each event counts with the reward that was expected before, and for the chosen action with the error of that
    expectation divided by the propensity. So the estimates are right on average, and they have the unit of the rewards.
    """

    def __init__(self) -> None:
        self.decisions = self.rewards = 0
        self.total = 0.0
        self.random = [0, 0.0]  # events, and estimates added up
        self.actions: dict[Name, list[float]] = {}  # decisions, rewards, events with this action, estimates added up

    def offer(self, names: list[Name], chosen: Name, *, keep: bool) -> None:
        """Count a decision.

        Args:
            names: the actions on offer.
            chosen: which of them was chosen.
            keep: whether all actions are remembered, not only those that were chosen last.
        """
        self.decisions += 1
        for name in names if keep else ():
            if name not in self.actions:
                self.actions[name] = [0, 0, 0, 0.0]
        found = self.actions.get(chosen) if keep else self.actions.pop(chosen, None)
        self.actions[chosen] = found = found or [0, 0, 0, 0.0]
        found[0] += 1
        if not keep and len(self.actions) > MOST_LISTED:
            del self.actions[next(iter(self.actions))]

    def count(self, event: Event, reward: float) -> None:
        """Count the reward of a decision."""
        if event.offset is not None:
            expected = [one + event.offset for one in event.expected]
        elif self.rewards:  # decided before the first reward
            expected = [self.mean_reward] * len(event.names)
        else:
            expected = [reward] * len(event.names)
        chosen = event.chosen
        expected[chosen] += (reward - expected[chosen]) / event.propensities[chosen]
        self.rewards += 1
        self.total += reward
        self.random[0] += 1
        self.random[1] += math.fsum(expected) / len(expected)
        for place, name in enumerate(event.names):
            if (sums := self.actions.get(name)) is not None:
                sums[1] += place == chosen
                sums[2] += 1
                sums[3] += expected[place]

    @property
    def mean_reward(self) -> float:
        """The mean of all rewards."""
        return self.total / self.rewards if self.rewards else math.nan

    @property
    def of_random(self) -> float:
        """The estimated mean reward of actions that are drawn uniformly."""
        return self.random[1] / self.random[0] if self.random[0] else math.nan

    def of_action(self, name: Name) -> float:
        """The estimated mean reward of one action, always."""
        _, rewards, events, total = self.actions[name]
        return total / events if rewards >= LEAST else math.nan

    @property
    def best(self) -> tuple[Name | None, float]:
        """The action with the largest estimated mean reward, and that reward."""
        known = [(value, name) for name in self.actions if not math.isnan(value := self.of_action(name))]
        return max(known, key=lambda one: one[0])[::-1] if known else (None, math.nan)

    def state(self) -> list[Any]:
        """The sums as plain values."""
        return [self.decisions, self.rewards, self.total, self.random, list(self.actions.items())]

    @classmethod
    def restored(cls, state: list[Any]) -> Values:
        """Restore the sums."""
        found = cls()
        found.decisions, found.rewards, found.total, found.random, actions = state
        found.actions = dict(actions)
        return found


class _Counted(Bandit):
    """A bandit whose rewards, default rewards included, are counted; deferred events get no default reward."""

    values: Values
    deferred: set[Name]

    def _finish(self, event_id: Name, reward: float | None) -> None:
        if event_id in self.deferred:
            self.deferred.remove(event_id)
            if reward is None:  # the action was never shown
                self._events.finish(event_id, None)
                return
        event = self._events.pending[event_id]
        super()._finish(event_id, reward)
        own = self.default_reward if reward is None else reward
        if own is not None:
            self.values.count(event, float(own))


class ServedBandit(ServedModel):
    """A bandit of a server, alone in its stream. It takes the place of a model there.

    Args:
        name: the name of the bandit.
        role: "champion".
        options: those of `Bandit`, and "task".
        file: a file of a bandit that continues to learn. Default: a new one.
        created: when it was created, in microseconds since 1970.
    """

    def __init__(
        self, name: str, role: str, options: dict[str, Any], file: bytes | None = None, created: int = 0
    ) -> None:
        super().__init__(name, role, {}, None, created)
        self.options = options
        given = {option: value for option, value in options.items() if option != "task"}
        unknown = [option for option in given if option not in OPTIONS]
        if unknown:
            advice = f"there are {', '.join(OPTIONS)}"
            raise OptionError("is not an option of a bandit", option=unknown[0], advice=advice)
        if file is not None and given:
            raise OptionError("is an option of the file's bandit", option=min(given), advice="leave it out")
        self.bandit = _Counted(**given) if file is None else _Counted.from_bytes(file)
        self.bandit.values, self.bandit.deferred = Values(), set()

    @property
    def values(self) -> Values:
        """What the rewards tell of other policies."""
        return self.bandit.values

    @property
    def task(self) -> str:
        """The task: "bandit"."""
        return TASK

    @property
    def examples(self) -> int:
        """The number of rewards that it has learned."""
        return self.bandit.rewards

    @property
    def nbytes(self) -> int:
        """The memory of its models, and about that of the events that wait."""
        models = self.bandit._models.values()
        own = sum(one.model.nbytes + one.exact.nbytes + (0 if one.rest is None else one.rest.nbytes) for one in models)
        newest = next(reversed(self.bandit._events.pending.values()), None)
        waiting = 0 if newest is None else _PENDING_BYTES * (len(newest.row.slots) + len(newest.names))
        return own + self.bandit.pending * waiting

    # ------------------------------------------------------------------------------------------------ events

    def status(self, id: str, time: float) -> Status:
        """What is known of an event at this time, in seconds."""
        self.expire(time)
        return self.bandit.status(id)

    def rank(self, id: str, context: Any, actions: Any, time: float, *, deferred: bool = False) -> Decision:
        """Choose an action for an event that is unknown; see `Bandit.decide`. A deferred one waits for `activate`."""
        known, most = self.values.actions, self.growth.most[1]
        named = isinstance(actions, list) and not any(isinstance(one, dict) for one in actions[:1])
        if named and most and len(known) + len(actions) > most:
            new = len({one for one in actions if isinstance(one, str | int)} - known.keys())
            if new and len(known) + new > most:
                raise InputError(
                    f"{new:,} actions are new; the bandit has {len(known):,}, and can have {most:,} (max_classes)",
                    advice="raise the setting, or give actions features: then one model learns all of them",
                )
        decision = self.bandit.decide(id, context, actions, time=time)
        names, shares = list(decision.propensities), list(decision.propensities.values())
        self.values.offer(names, decision.action, keep=named)
        self.digest = crc32(struct.pack(f"<{len(shares)}dI", *shares, names.index(decision.action)), self.digest)
        self.learned = self.bandit.rewards  # an event may have expired, with a default reward
        if deferred:
            self.bandit.deferred.add(id)
        return decision

    def activate(self, id: str) -> bool:
        """An event is carried out; returns whether it was deferred."""
        was_deferred = id in self.bandit.deferred
        self.bandit.deferred.discard(id)
        return was_deferred

    def decided_at(self, id: str) -> float | None:
        """The time of an event that waits for its reward, in seconds; None if a file did not have it."""
        return self.bandit._events.pending[id].time

    def reward(self, id: str, reward: Any, time: float) -> None:
        """Learn the reward of an event; see `Bandit.learn`."""
        self.bandit.learn(id, reward, time=time)
        self.learned = self.bandit.rewards

    def expire(self, time: float) -> None:
        """Expire the events whose rewards have not come in time."""
        if self.bandit.time_limit is not None:
            self.bandit.expire(time)
            self.learned = self.bandit.rewards

    # ------------------------------------------------------------------------------------------------ what is known

    def sums(self) -> tuple[float, float, float]:
        """Sums over all rewards: how many, the rewards, 0."""
        return float(self.values.rewards), self.values.total, 0.0

    @property
    def metrics(self) -> dict[str, float]:
        """The mean reward, and those of simpler policies."""
        values = self.values
        return {"mean_reward": values.mean_reward, "random": values.of_random, "best_constant": values.best[1]}

    def describe(self) -> BanditState:
        """The state of the bandit in numbers."""
        values = self.values
        best, value = values.best
        actions: list[ActionValue] = [
            {"action": name, "decisions": int(sums[0]), "share": sums[0] / max(1, values.decisions), "value": of}
            for name, sums in values.actions.items()
            for of in (_known(values.of_action(name)),)
        ]
        return {
            "decisions": values.decisions,
            "rewards": values.rewards,
            "mean_reward": _known(values.mean_reward),
            "random": _known(values.of_random),
            "best_constant": _known(value),
            "best_action": best,
            "pending": self.bandit.pending,
            "expired": self.bandit.expired,
            "actions": sorted(actions, key=lambda one: -one["decisions"]),
        }

    # ------------------------------------------------------------------------------------------------ what it is not

    def _refuse(self, *_: Any) -> NoReturn:
        raise InputError(f"{self.name!r} is a bandit", advice="it takes rank and reward")

    scored = learn = learn_batch = score_batch = frozen_later = _refuse  # type: ignore[assignment]

    # ------------------------------------------------------------------------------------------------ state

    def parts(self) -> dict[str, bytes]:
        """The whole state as byte strings by name. Equal states give equal bytes."""
        values = msgspec.json.encode([self.values.state(), sorted(map(str, self.bandit.deferred))])
        return {**super().parts(), "values.json": values, PART: self.bandit.to_bytes()}

    @classmethod
    def from_parts(cls, parts: dict[str, bytes]) -> ServedBandit:
        """Restore the bandit from its `parts`."""
        served = super().from_parts(parts)
        assert isinstance(served, ServedBandit)
        served.bandit = _Counted.from_bytes(parts[PART])
        values, deferred = msgspec.json.decode(parts["values.json"])
        served.bandit.values, served.bandit.deferred = Values.restored(values), set(deferred)
        return served

    def file_later(self) -> Callable[[], bytes]:
        """A function that returns the file of the bandit, for `ul.load`."""
        content = self.bandit.to_bytes()
        return lambda: content


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
