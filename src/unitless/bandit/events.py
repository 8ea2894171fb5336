"""Events of a bandit: decisions that wait for their rewards, and ids that are done."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

from .. import _core, limits
from ..errors import InputError
from .context import Row
from .decision import Decision, Name, as_name

Status: TypeAlias = Literal["pending", "rewarded", "expired", "unknown"]


class Event(NamedTuple):
    """A decision that waits for its reward, with the row and the expected rewards of the moment of the decision."""

    time: float | None
    names: list[Name]
    chosen: int
    row: Row  # of the chosen action
    propensities: list[float]
    expected: list[float]  # less the first reward of the bandit
    offset: float | None  # that first reward, if there was one

    def check(self) -> None:
        """Raise an error unless a bandit can have such an event; files may have others."""
        features, slots, z = self.row
        numbers = [*features.values(), *z, *self.propensities, *self.expected]
        numbers += [number for number in (self.time, self.offset) if number is not None]
        lengths = len(self.names) == len(self.propensities) == len(self.expected) and len(slots) == len(z)
        if not (
            lengths
            and all(map(limits.is_usable, numbers))
            and None not in map(as_name, self.names)
            and self.chosen in range(len(self.names))
            and 0 < self.propensities[self.chosen] <= 1
            and all(slot in range(_core.MOST_EXACT + _core.BUCKETS + 1) for slot in slots)
        ):
            raise ValueError("an event is not valid")

    def decision(self, event_id: Name) -> Decision:
        """Return the decision as it was made."""
        # One object stands for all unknown rewards, so that equal decisions compare equal.
        expected = [math.nan if self.offset is None else one + self.offset for one in self.expected]
        by_name = dict(zip(self.names, self.propensities, strict=True))
        return Decision(event_id, self.names[self.chosen], by_name, dict(zip(self.names, expected, strict=True)))


class Events:
    """The events of a bandit, in the order of their decisions.

    Args:
        most: how many events may wait for rewards, and how many ids of done events are remembered.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.pending: dict[Name, Event] = {}
        self.done: dict[Name, float | None] = {}  # the reward, or None if none came in time

    def status(self, event_id: Name) -> Status:
        """Return whether an event waits for its reward."""
        if event_id in self.pending:
            return "pending"
        if event_id not in self.done:
            return "unknown"
        return "expired" if self.done[event_id] is None else "rewarded"

    def check_pending(self, event_id: Name) -> None:
        """Raise an error if an event does not wait for its reward."""
        status = self.status(event_id)
        if status == "unknown":
            raise InputError(f"no event with the id {event_id!r} waits for its reward", advice="decide it first")
        if status != "pending":
            problem = "has its reward already" if status == "rewarded" else "has expired: its reward came too late"
            raise InputError(f"the event {event_id!r} {problem}", advice="each event has one reward")

    def finish(self, event_id: Name, reward: float | None) -> Event:
        """Return an event that waits, and mark it as done."""
        event = self.pending.pop(event_id)
        self.done[event_id] = reward
        if len(self.done) > self.most:
            del self.done[next(iter(self.done))]
        return event

    def late(self, since: float | None, room: int) -> list[Name]:
        """Return the events to expire: those decided before a time, and the oldest ones, so that others have room."""
        late = list(islice(self.pending, max(0, len(self.pending) + room - self.most)))
        if since is None:
            return late
        for event_id, event in islice(self.pending.items(), len(late), None):
            if event.time is None or event.time >= since:
                break
            late.append(event_id)
        return late

    def plain(self) -> dict[str, Any]:
        """Return the state as plain values."""
        pending = [[event_id, *event] for event_id, event in self.pending.items()]
        return {"pending": pending, "done": list(self.done.items())}

    @classmethod
    def restored(cls, most: int, plain: dict[str, Any]) -> Events:
        """Return the object with this state."""
        found = cls(most)
        found.done = dict(plain["done"])
        for event_id, time, names, chosen, row, propensities, expected, offset in plain["pending"]:
            event = Event(time, names, chosen, Row(*row), propensities, expected, offset)
            event.check()
            found.pending[event_id] = event
        return found
