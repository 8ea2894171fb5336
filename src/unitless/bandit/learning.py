"""`Bandit`: chooses actions, learns from the reward of the chosen action, and needs no unit, rate or exploration."""

from __future__ import annotations

import hashlib
import math
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _core, limits
from ..errors import InputError, Option, OptionError, Phrase
from ..options import ModelType
from . import state
from .context import Features, Read, Row, Slots, combined, with_constant
from .decision import Actions, Decision, Name, checked_id, checked_reward, drawn, named_actions
from .errors import Errors
from .events import Event, Events, Status
from .reward_models import ACTION, CONTEXT, NEW, RewardModel

if TYPE_CHECKING:
    from typing_extensions import Self

_TYPES = ("linear", "curves", "trees", "auto")


class Bandit:
    """A contextual bandit: it chooses one of several actions, and learns from the reward of that action alone.

    It explores by Thompson sampling: an action is chosen with the probability that it is the best one, as far as the
    rewards so far can tell. Neither features nor rewards need a unit, a range or an offset; if they change all at once,
    the bandit chooses the same actions. Choices depend on `random_state`, the event ids, and the calls before; there is
    no other source of randomness, and no clock.

    Args:
        model_type: what the models of rewards can express: "linear", "curves", "trees", or "auto", which means "trees"
            for up to 1,000 features. "linear" is the fastest. Default: "auto".
        random_state: the seed of all choices. Default: 0.
        time_limit: how long an event waits for its reward, in the unit of `time`, such as seconds. Default: None, no
            limit.
        default_reward: the reward of events that expire, because of `time_limit` or `max_pending`. Default: None,
            nothing is learned from them.
        max_pending: the largest number of events that wait for their rewards; if there are more, the oldest one
            expires. So many ids of done events are remembered, too. Default: 100,000.

    Example:
        >>> import unitless as ul
        >>> bandit = ul.Bandit(model_type="linear")
        >>> for visit in range(500):
        ...     decision = bandit.decide(visit, {"age": 20 + visit % 50}, ["banner", "video"])
        ...     liked = decision.action == ("video" if visit % 50 < 20 else "banner")
        ...     bandit.learn(visit, 1.0 if liked else 0.0)
        >>> bandit.decide("next", {"age": 22}, ["banner", "video"]).action
        'video'
    """

    def __init__(
        self,
        *,
        model_type: ModelType = "auto",
        random_state: int = 0,
        time_limit: float | None = None,
        default_reward: float | None = None,
        max_pending: int = 100_000,
    ) -> None:
        if model_type not in _TYPES:
            raise OptionError(
                f"is {model_type!r}; it must be one of {', '.join(map(repr, _TYPES))}", option="model_type"
            )
        if type(random_state) is not int:
            raise OptionError(f"is {random_state!r}; it must be a whole number", option="random_state")
        if time_limit is not None and not (limits.is_usable(time_limit) and time_limit > 0):
            raise OptionError(f"is {time_limit!r}; it must be a positive number", option="time_limit")
        if default_reward is not None:
            checked_reward(default_reward)
        if type(max_pending) is not int or max_pending < 1:
            raise OptionError(f"is {max_pending!r}; it must be a whole number from 1 on", option="max_pending")
        self.model_type, self.random_state = model_type, random_state
        self.time_limit, self.default_reward, self.max_pending = time_limit, default_reward, max_pending
        self._events = Events(max_pending)
        self._context: Features | None = None  # reads contexts; made by the first one
        self._action: Features | None = None  # reads the features of actions, if they have some
        self._products = Slots()
        self._models: dict[Name, RewardModel] = {}  # by action; with features of actions one, named ""
        self._time: float | None = None  # the latest
        self._rewards = self._expired = 0
        self._sum = 0.0  # of all rewards
        self._errors = Errors()
        # Since the beginning, or since the rewards have changed:
        self._first: float | None = None  # the first reward; all are learned less it
        self._learned = 0
        self._total = 0.0  # of the rewards less the first one

    # ------------------------------------------------------------------------------------------------ decisions

    def decide(self, event_id: Name, context: Any, actions: Actions, *, time: float | None = None) -> Decision:
        """Choose an action, and remember the event until its reward comes.

        If the event waits for its reward already, its decision is returned again, whatever the other arguments are.

        Args:
            event_id: a name for this decision, which no other event has.
            context: the features: a mapping of names to numbers, text, booleans, dates or missing values, or a row of
                a pandas frame.
            actions: the actions on offer: a list of names, which may differ from call to call; or mappings of features,
                by name or in a list. Of mappings in a list, the position is the name.
            time: the time of the event, for `time_limit`. Default: None.
        """
        event_id = checked_id(event_id)
        waiting = self._events.pending.get(event_id)
        if waiting is not None:
            return waiting.decision(event_id)
        if self._events.status(event_id) != "unknown":
            self._events.check_pending(event_id)
        reading, now = self._read(context, actions), self._checked_time(time)
        self._expire(now, room=1)
        rows = self._counted(reading)
        propensities, expected = self._propensities(rows, reading.names)
        chosen = drawn(propensities, self._uniform(event_id))
        event = Event(now, reading.names, chosen, rows[chosen], propensities, expected, self._first)
        self._events.pending[event_id] = event
        return event.decision(event_id)

    def propensities(self, context: Any, actions: Actions) -> dict[Name, float]:
        """Return the probability with which `decide` would choose each action. The bandit does not change.

        Args:
            context: the features, as in `decide`.
            actions: the actions on offer, as in `decide`.
        """
        reading = self._read(context, actions)
        of_context, of_action = reading.of_context.copy(), reading.of_action and reading.of_action.copy()
        rows = _rows(reading._replace(of_context=of_context, of_action=of_action), Slots(self._products))
        return dict(zip(reading.names, self._propensities(rows, reading.names)[0], strict=True))

    def observe(self, context: Any, actions: Actions, action: Name, reward: float) -> dict[Name, float]:
        """Learn the reward of an action that was chosen elsewhere, for example by the policy whose log this is.

        Returns the probability with which this bandit would have chosen each action.

        Args:
            context: the features, as in `decide`.
            actions: the actions that were on offer, as in `decide`.
            action: the name of the one that was chosen.
            reward: its reward.
        """
        reading, reward = self._read(context, actions), checked_reward(reward)
        if action not in reading.names:
            raise InputError(
                f"the action {action!r} was not on offer; these were {', '.join(map(repr, reading.names))}"
            )
        rows, chosen = self._counted(reading), reading.names.index(action)
        propensities, expected = self._propensities(rows, reading.names)
        before = None if self._first is None else (self._first, expected[chosen])
        self._learn(reading.names[chosen], rows[chosen], before, reward)
        return dict(zip(reading.names, propensities, strict=True))

    def _read(self, context: Any, actions: Any) -> Reading:
        """Read the arguments of a decision. Changes nothing."""
        offered = named_actions(actions)
        names, with_features = list(offered), next(iter(offered.values())) is not None
        of_context, of_action = self._context, self._action
        if of_context is None:
            of_context = Features(CONTEXT if with_features else "")
            of_action = Features(ACTION) if with_features else None
        elif with_features != (of_action is not None):
            before = "names before, and mappings now" if with_features else "mappings before, and names now"
            raise InputError(f"the actions were {before}", advice="use another bandit, or give all of them as before")
        read_actions = [] if of_action is None else [of_action.read(given) for given in offered.values()]
        return Reading(names, of_context, of_action, of_context.read(context), read_actions)

    def _counted(self, reading: Reading) -> list[Row]:
        """Return the row of each action on offer, and count them: a context tells what is usual."""
        self._context, self._action = reading.of_context, reading.of_action
        return _rows(reading, self._products)

    def _propensities(self, rows: list[Row], names: list[Name]) -> tuple[list[float], list[float]]:
        """Return the probability of each action, and its expected reward less the first reward."""
        count = len(names)
        known = [self._models.get(name if self._action is None else "") for name in names]
        pooled = self._total / self._learned if self._learned else 0.0
        expected = [pooled if model is None else model.predict(row) for model, row in zip(known, rows, strict=True)]
        squared = self._errors.mean
        if not squared > 0 or count == 1:  # no reward has differed from what was expected
            return [1.0 / count] * count, expected
        uncertainties = [NEW if model is None else model.uncertainty for model in known]
        if self._action is None:
            variances = _core.variances(uncertainties, rows[0].slots, rows[0].z)
        else:
            variances = [_core.variances(uncertainties[:1], row.slots, row.z)[0] for row in rows]
        best = _core.best_probabilities(expected, [0.5 * math.sqrt(squared * variance) for variance in variances])
        uniform = (1.0 + self._learned) ** (-2 / 3)
        return [(1.0 - uniform) * one + uniform / count for one in best], expected

    def _uniform(self, event_id: Name) -> float:
        """Return a number in [0, 1) that depends on the seed and on the event alone."""
        key = hashlib.blake2b(f"{self.random_state}/{event_id}".encode(errors="surrogatepass"), digest_size=8).digest()
        return float((int.from_bytes(key, "big") >> 11) * 2.0**-53)

    # ------------------------------------------------------------------------------------------------ rewards

    def learn(self, event_id: Name, reward: float, *, time: float | None = None) -> None:
        """Learn the reward of an event. Rewards may come in any order, and after any time.

        An event that is unknown, has its reward already, or has expired is an `InputError`, which changes nothing.

        Args:
            event_id: the id that was given to `decide`.
            reward: the reward of the action that was chosen; the larger, the better.
            time: the time at which the reward came, for `time_limit`. Default: None.
        """
        event_id, reward = checked_id(event_id), checked_reward(reward)
        self._expire(self._checked_time(time))
        self._events.check_pending(event_id)
        self._finish(event_id, reward)

    def expire(self, time: float) -> int:
        """Expire the events whose rewards have not come within `time_limit`; returns how many these were.

        `decide` and `learn` do that as well, if they are given the time.

        Args:
            time: the time now.
        """
        before = self._expired
        self._expire(self._checked_time(time))
        return self._expired - before

    def status(self, event_id: Name) -> Status:
        """Return what is known of an event: "pending", "rewarded", "expired" or "unknown".

        Args:
            event_id: the id that was given to `decide`.
        """
        return self._events.status(event_id)

    def reward_of(self, event_id: Name) -> float | None:
        """Return the reward of an event that has had one; None for other events.

        Args:
            event_id: the id that was given to `decide`.
        """
        return self._events.done.get(event_id)

    def pending_event(self, event_id: Name) -> Decision | None:
        """Return the decision of an event that waits for its reward; None for other events.

        Args:
            event_id: the id that was given to `decide`.
        """
        event = self._events.pending.get(event_id)
        return None if event is None else event.decision(event_id)

    def _expire(self, now: float | None, room: int = 0) -> None:
        since = None if self.time_limit is None or now is None else now - self.time_limit
        for event_id in self._events.late(since, room):
            self._finish(event_id, None)
            self._expired += 1

    def _finish(self, event_id: Name, reward: float | None) -> None:
        event, own = self._events.finish(event_id, reward), self.default_reward if reward is None else reward
        if own is not None:
            expected = None if event.offset is None else (event.offset, event.expected[event.chosen])
            self._learn(event.names[event.chosen], event.row, expected, float(own))

    def _learn(self, action: Name, row: Row, expected: tuple[float, float] | None, reward: float) -> None:
        """Learn a reward; `expected` are the first reward and what was expected beyond it, if there was one then."""
        if self._first is not None:  # the first reward is compared with nothing
            offset, beyond = (self._first, 0.0) if expected is None else expected
            if self._errors.add(reward - offset - beyond):
                self._begin_anew()
        if self._first is None:
            self._first = reward
        self._rewards += 1
        self._sum += reward
        self._learned += 1
        self._total += reward - self._first
        key = action if self._action is None else ""
        model = self._models.get(key)
        if model is None:
            model = self._models[key] = RewardModel.new(self.model_type, self._action is not None)
        model.learn(row, reward - self._first)

    def _begin_anew(self) -> None:
        """Forget what was learned of rewards: they have become quite different, such as prices in another currency."""
        self._models, self._errors = {}, Errors()
        self._first, self._learned, self._total = None, 0, 0.0

    def _checked_time(self, time: float | None) -> float | None:
        """Return the latest time so far; times that go back are taken as that one."""
        if time is None:
            if self.time_limit is not None:
                raise InputError(Phrase("there is no ", Option("time"), ", which ", Option("time_limit"), " needs"))
            return self._time
        if isinstance(time, bool) or not limits.is_usable(time):
            raise InputError(f"the time is {time!r}; it must be a number, such as seconds since 1970")
        self._time = float(time) if self._time is None else max(self._time, float(time))
        return self._time

    # ------------------------------------------------------------------------------------------------ what is known

    @property
    def pending(self) -> int:
        """The number of events that wait for their rewards."""
        return len(self._events.pending)

    @property
    def rewards(self) -> int:
        """The number of rewards that were learned, including default rewards."""
        return self._rewards

    @property
    def expired(self) -> int:
        """The number of events that expired without a reward."""
        return self._expired

    @property
    def mean_reward(self) -> float:
        """The mean of all rewards so far; NaN before the first one."""
        return self._sum / self._rewards if self._rewards else math.nan

    # ------------------------------------------------------------------------------------------------ files

    def to_bytes(self) -> bytes:
        """Return the whole state, including events that wait for rewards. Equal bandits give equal bytes."""
        return state.to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the bandit whose state `to_bytes` gave; anything else is a `ModelFileError`.

        Args:
            data: the bytes.
        """
        return state.from_bytes(cls, data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state to a file, completely or not at all. `unitless.load` and `Bandit.load` read it.

        Args:
            path: the file.
        """
        state.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the bandit in a file. It continues as if it had never been saved.

        Args:
            path: the file.
        """
        return state.load(cls, path)


class Reading(NamedTuple):
    """What was read of a decision's arguments, and the readers."""

    names: list[Name]
    of_context: Features
    of_action: Features | None
    context: Read
    actions: list[Read]


def _rows(reading: Reading, products: Slots) -> list[Row]:
    """Return the row of each action on offer, without units; the readers count the values."""
    context = reading.of_context.scaled(*reading.context)
    if reading.of_action is None:
        return [with_constant(context)] * len(reading.names)
    return [combined(context, reading.of_action.scaled(*each), products) for each in reading.actions]
