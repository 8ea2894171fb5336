"""Which rows of its log a model learned before it joined its stream, and which were left out.

A model that a replay made can itself be replayed, so its origin names every model from which that can begin: the one
that was replayed first, and then the one from which that one was made, and so on.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

import msgspec

NEW = ""  # no model: the replay begins with a new one
_MOST_SOURCES = 8  # limits the origin of a model that is a replay of a replay, and so on
_encode = msgspec.json.Encoder(order="deterministic").encode


class Span(msgspec.Struct, array_like=True, frozen=True):
    """Records that are left out.

    The label of a left-out prediction is left out too, if it arrived before the request.
    """

    first: int
    last: int
    asked_at: int  # the last record at the time of the request


class Source(msgspec.Struct, frozen=True):
    """A model from which a replay can begin, and the records that the replay leaves out."""

    model: str  # its name, or NEW
    seq: int  # the record by which it joined
    skipped: list[Span]
    replayed: bool = False  # whether it had learned earlier records when it joined

    def unchanged_until(self) -> int | None:
        """The last record up to which the replay leaves out nothing that this model knows; None: it leaves out nothing.

        The history that a model joined with cannot be taken apart.
        """
        if not self.skipped:
            return None
        last = min(span.first for span in self.skipped) - 1
        return last if self.replayed else max(last, self.seq)

    def first_needed(self, after: int) -> int:
        """The first record after another one that the replay does not leave out."""
        seq = after + 1
        for span in sorted(self.skipped, key=lambda span: span.first):
            if span.first <= seq <= span.last:
                seq = span.last + 1
        return seq


class Origin(msgspec.Struct, frozen=True):
    """The history of a model before it joined."""

    seq: int  # the last record when it was requested; all later records were learned
    sources: list[Source]  # the first from which the replay can begin is used
    request: str = ""  # a digest of the request, by which the same request again is recognized

    def of(self) -> str | None:
        """The model that was replayed; None if it is a new one."""
        return (self.sources[0].model or None) if self.sources else None


def like(model: str, seq: int, before: Origin | None) -> list[Source]:
    """The models from which a copy of a model can be made.

    Args:
        model: the name of the model to copy.
        seq: of the record by which it joined.
        before: the history that it had learned by then.
    """
    older = [] if before is None else before.sources[: _MOST_SOURCES - 1]
    return [Source(model, seq, [], replayed=before is not None), *older]


def digest(request: Any) -> str:
    """A hash that identifies a request."""
    return hashlib.sha256(_encode(request)).hexdigest()


def without(sources: Iterable[Source], spans: list[Span]) -> list[Source]:
    """The sources of a replay that leaves out further records."""
    return [Source(one.model, one.seq, [*one.skipped, *spans], one.replayed) for one in sources]


class Skipped:
    """Decides which rows a replay leaves out.

    Args:
        spans: the records that it leaves out.
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        requests: dict[int, list[tuple[int, int]]] = {}
        for span in spans:
            requests.setdefault(span.asked_at, []).append((span.first, span.last))
        self._requests = [(asked_at, merged(found)) for asked_at, found in requests.items()]

    def places(self, seq: int, rows: int, prediction: int | None) -> list[int]:
        """The places, counted from 0, of rows that are left out.

        Args:
            seq: of the first row.
            rows: how many there are.
            prediction: the sequence number of the prediction whose label the row is, if it is one.
        """
        found: set[int] = set()
        for asked_at, spans in self._requests:
            found |= {place for place in range(rows) if _within(spans, seq + place)}
            if prediction is not None and seq <= asked_at and _within(spans, prediction):
                found.add(0)
        return sorted(found)


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order; those that overlap or adjoin become one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def _within(spans: list[tuple[int, int]], seq: int) -> bool:
    place = bisect_right(spans, seq, key=lambda span: span[0]) - 1
    return place >= 0 and seq <= spans[place][1]
