"""Late labels: the predictions that wait for their labels, and the ids that have been learned.

A waiting id refers to its features in the log and to the served score. A learned id refers to its content, so that a
repeated request is a duplicate and another request with this id is an error. Ids expire only by the times of ticks, so
that the state depends on the log alone.
"""

from __future__ import annotations

import hashlib
import struct
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import numpy as np

_WAITING = struct.Struct("<qqHB8s")  # time, position, row, kind of score, content
_DONE = struct.Struct("<q8s8sd")  # time, label, content, score
_TIME = struct.Struct("<q")  # with which both begin
_NO_SCORE, _ONE_SCORE, _SCORES = range(3)
_encode = msgspec.json.Encoder(order="deterministic").encode
EXPIRED = b"\xff" * 8
NOTHING = b"\0" * 8


class Waiting(NamedTuple):
    """A prediction that waits for its label."""

    time: int  # when it was made
    position: int  # the place of its record in the log
    row: int  # within the record
    content: bytes  # which features they were, in short
    score: Any  # what was served: a number, an array, or None
    model: str  # the one that answered


class Done(NamedTuple):
    """An id that has its label, or whose label was too late."""

    time: int
    label: bytes  # which label it was, in short
    content: bytes  # the features and label, if they were sent together
    score: float  # what was answered


def in_short(value: Any) -> bytes:
    """A hash of eight bytes."""
    return hashlib.blake2b(_encode(value), digest_size=8).digest()


class Join:
    """The ids of a stream."""

    def __init__(self) -> None:
        self._waiting: dict[str, bytes] = {}
        self._done: dict[str, bytes] = {}
        self.expired = 0

    def __len__(self) -> int:
        """The number of waiting ids."""
        return len(self._waiting)

    @property
    def done_count(self) -> int:
        """The number of learned ids that are remembered."""
        return len(self._done)

    def waiting(self, id: str) -> Waiting | None:
        """The prediction of an id that waits for its label; None if there is none."""
        packed = self._waiting.get(id)
        if packed is None:
            return None
        time, position, row, kind, content = _WAITING.unpack_from(packed)
        rest = packed[_WAITING.size :]
        size = rest[0]
        model, numbers = rest[1 : 1 + size].decode(), rest[1 + size :]
        score: Any = None
        if kind == _ONE_SCORE:
            (score,) = struct.unpack("<d", numbers)
        elif kind == _SCORES:
            score = np.frombuffer(numbers, np.float64)
        return Waiting(time, position, row, content, score, model)

    def wait(self, id: str, waiting: Waiting) -> None:
        """Add a prediction that waits for its label."""
        score = waiting.score
        if score is None:
            kind, numbers = _NO_SCORE, b""
        elif isinstance(score, np.ndarray):
            kind, numbers = _SCORES, score.astype(np.float64).tobytes()
        else:
            kind, numbers = _ONE_SCORE, struct.pack("<d", score)
        name = waiting.model.encode()
        head = _WAITING.pack(waiting.time, waiting.position, waiting.row, kind, waiting.content)
        self._waiting[id] = head + bytes((len(name),)) + name + numbers

    def done(self, id: str) -> Done | None:
        """How an id was learned; None if it was not."""
        packed = self._done.get(id)
        return None if packed is None else Done(*_DONE.unpack(packed))

    def finish(self, id: str, done: Done) -> None:
        """Mark an id as learned."""
        self._waiting.pop(id, None)
        self._done[id] = _DONE.pack(*done)

    def expire(self, now: int, waiting_since: int, done_since: int, max_done: int) -> None:
        """Expire ids: waiting ids are finished without a label, learned ids are forgotten."""
        for id in _older(self._done, done_since):
            del self._done[id]
        for id in list(islice(self._done, max(0, len(self._done) - max_done))):
            del self._done[id]
        late = _older(self._waiting, waiting_since)
        for id in late:
            self.finish(id, Done(now, EXPIRED, NOTHING, 0.0))
        self.expired += len(late)

    def oldest_position(self) -> int | None:
        """The log position of the oldest features that are still needed."""
        first = next(iter(self._waiting.values()), None)
        return None if first is None else _WAITING.unpack_from(first)[1]

    def parts(self) -> dict[str, bytes]:
        """The whole state as byte strings by name."""
        pack = msgspec.msgpack.encode
        return {
            "waiting.ids": pack([list(self._waiting), list(self._waiting.values())]),
            "done.ids": pack([list(self._done), b"".join(self._done.values()), self.expired]),
        }

    @classmethod
    def from_parts(cls, parts: dict[str, bytes]) -> Join:
        """Restore the state from its `parts`."""
        join = cls()
        ids, values = msgspec.msgpack.decode(parts["waiting.ids"], type=tuple[list[str], list[bytes]])
        join._waiting = dict(zip(ids, values, strict=True))
        ids, flat, join.expired = msgspec.msgpack.decode(parts["done.ids"], type=tuple[list[str], bytes, int])
        size = _DONE.size
        join._done = {id: flat[k * size : (k + 1) * size] for k, id in enumerate(ids)}
        return join


def _older(ids: dict[str, bytes], since: int) -> list[str]:
    """The ids that are older; ids are in the order of their times."""
    found = []
    for id, packed in ids.items():
        if _TIME.unpack_from(packed)[0] >= since:
            break
        found.append(id)
    return found
