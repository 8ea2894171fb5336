"""Which records a request to replay names: `python -m unitless.serve.skipping FOLDER` looks them up in a log.

A request names rows by sequence number, by id, or as everything between two places, which are sequence numbers or
times. The log can be large, so a separate process reads it. That process receives one line of JSON,
{"skip": …, "until": …, "last": n, "sources": …}, and sends one line: {"spans": [[first, last], …]}, or the problem.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..errors import Error
from .child import Child, Parent
from .events import OF_ROWS, Form, Record
from .log import Tail
from .log.places import first_kept, first_since, time_of
from .log.segments import NEVER
from .origin import Source, Span, merged, without
from .problems import Problem
from .streams import starts
from .wire import SkippedRows

MOST_ITEMS = 10_000  # in one request
MOST_SPANS = 30_000  # rows, in all items together
PATIENCE = 600.0  # seconds in which rows are looked up
_SHOWN = 10  # how many missing things a message lists


class _WithId(msgspec.Struct):
    id: str | None = None


class _Search(SkippedRows, kw_only=True):
    last: int
    sources: list[Source]


_id = msgspec.json.Decoder(_WithId).decode
_ids = msgspec.json.Decoder(_WithId).decode_lines


def read_named(body: dict[str, Any]) -> SkippedRows:
    """The rows that a request names.

    Raises:
        Problem: 422 if it cannot be understood.
    """
    try:
        named = msgspec.convert({key: value for key, value in body.items() if key in ("skip", "until")}, SkippedRows)
    except msgspec.ValidationError as error:
        detail = (
            f'{error}; "skip" is a list of sequence numbers, ids and pairs [first, last], "until" is a place; a place '
            'is a sequence number or a time such as "2026-01-31T14:00:00Z"'
        )
        raise Problem(422, "not rows", detail) from None
    if len(named.skip) > MOST_ITEMS:
        detail = f'"skip" has {len(named.skip):,} items, and can have {MOST_ITEMS:,}; use pairs [first, last]'
        raise Problem(422, "too many rows", detail)
    pairs = [item for item in named.skip if isinstance(item, list)]
    for pair in pairs:
        if len(pair) != 2 or pair[0] is None:
            raise Problem(422, "not rows", f"{pair!r} is not a pair [first, last], whose last place may be null")
    for place in [*named.skip, *(place for pair in pairs for place in pair), named.until]:
        if isinstance(place, int) and abs(place) >= NEVER // 2:
            raise Problem(422, "not rows", "a sequence number is beyond all that a log can have")
    for place in [*(place for pair in pairs for place in pair), named.until]:
        if isinstance(place, str) and time_of(place) is None:
            raise Problem(422, "not a time", f'{place[:80]!r} is not a time such as "2026-01-31T14:00:00Z"')
    return named


async def look_up(folder: Path, named: SkippedRows, last: int, sources: list[Source]) -> list[Span]:
    """The records that a replay leaves out.

    Args:
        folder: of the stream.
        named: what a request names.
        last: the last record of the log at the time of the request.
        sources: the models from which the replay can begin, with what it leaves out anyway.

    Raises:
        Problem: 422 if something that is named does not exist, 409 if the log does not go back far enough.
    """
    child = await Child.start("unitless.serve.skipping", str(folder))
    try:
        child.send(skip=named.skip, until=named.until, last=last, sources=msgspec.to_builtins(sources))
        answer = await asyncio.wait_for(anext(child.messages(), {}), PATIENCE)
    except asyncio.TimeoutError:
        raise Problem(503, "the rows were not found in time", "Name fewer ids, or sequence numbers.") from None
    finally:
        await child.end()
    if "spans" not in answer:
        problem = answer.get("problem", {"status": 500, "title": "the log cannot be read", "detail": ""})
        raise Problem(problem["status"], problem["title"], problem.get("detail", ""))
    return [Span(first, last_one, last) for first, last_one in answer["spans"]]


def find(log: Path, named: SkippedRows, last: int) -> list[tuple[int, int]]:
    """The sequence numbers that are named, in order.

    Args:
        log: the folder of the log.
        named: what a request names.
        last: the last record that counts.

    Raises:
        Problem: 422 if something that is named does not exist.
    """
    pairs = [item for item in named.skip if isinstance(item, list)]
    seqs = {item for item in named.skip if isinstance(item, int)}
    ids = {item for item in named.skip if isinstance(item, str)}
    spans = [_span(log, first, end, last) for first, end in pairs]
    if named.until is not None:
        kept = _behind(log, named.until, last)
        if kept < 1:
            raise Problem(422, "no such rows", f"there is no record up to {named.until!r}")
        spans.append((kept + 1, last))
    _check_known(seqs | {place for pair in pairs for place in pair if isinstance(place, int)}, last)
    spans += ((seq, seq) for seq in (*_of_ids(log, ids, last), *_of_rows(log, seqs, last)))
    found = merged((first, end) for first, end in spans if first <= end)
    if len(found) > MOST_SPANS:
        raise Problem(
            422, "too many rows", f"the ids have {len(found):,} rows apart; name them with pairs [first, last]"
        )
    return found


def _span(log: Path, first: Any, end: Any, last: int) -> tuple[int, int]:
    begin = first if isinstance(first, int) else first_since(log, time_of(first) or 0)
    stop = last if end is None else _behind(log, end, last)
    if begin > stop:
        to = "the end" if end is None else repr(end)
        raise Problem(422, "no such rows", f"there is no record from {first!r} to {to}")
    return begin, stop


def _behind(log: Path, place: int | str, last: int) -> int:
    """The last record up to a place."""
    if isinstance(place, int):
        _check_known({place}, last)
        return place
    return min(last, first_since(log, (time_of(place) or 0) + 1) - 1)


def _check_known(seqs: Collection[int], last: int) -> None:
    unknown = sorted(seq for seq in seqs if not 1 <= seq <= last)
    if unknown:
        raise _no_such("record", unknown, f"the log has the records up to {last:,}")


def _of_rows(log: Path, seqs: set[int], last: int) -> Iterator[int]:
    """Sequence numbers, which must be those of rows, as far as the log has them."""
    left, others, kept = sorted(seqs, reverse=True), list[int](), first_kept(log)
    while left and left[-1] < kept:  # what that means depends on the snapshots: see `starts`
        yield left.pop()
    for record in _records(log, left[-1], last) if left else ():
        while left and left[-1] < record.seq + record.rows:
            seq = left.pop()
            if record.kind not in OF_ROWS:
                others.append(seq)
            yield seq
        if not left:
            break
    if others:
        raise _no_such("row", others, "these are records of another kind; see `unitless log`")


def _of_ids(log: Path, ids: set[str], last: int) -> Iterator[int]:
    """The sequence numbers of all rows with one of these ids; each id must have one."""
    if not ids:
        return
    found: set[str] = set()
    for record in _records(log, first_kept(log), last):
        for place, id in enumerate(_ids_of(record)):
            if id in ids:
                found.add(id)
                yield record.seq + place
    if found != ids:
        raise _no_such("id", sorted(ids - found), "no row that is kept in the log has it")


def _ids_of(record: Record) -> Iterable[str | None]:
    if record.kind not in OF_ROWS or record.form is Form.vw:
        return ()
    if record.form is Form.json:
        return (_id(record.payload).id,)
    lines = record.payload
    return (row.id for row in _ids(lines[lines.index(b"\n") + 1 :] if record.form is Form.broker else lines))


def _records(log: Path, first: int, last: int) -> Iterator[Record]:
    with Tail(log, first) as tail:
        while records := tail.read():
            for record in records:
                if record.seq > last:
                    return
                yield record


def _no_such(what: str, unknown: list[Any], reason: str) -> Problem:
    shown = ", ".join(f"{one[:80]!r}" if isinstance(one, str) else f"{one:,}" for one in unknown[:_SHOWN])
    more = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
    return Problem(422, f"no such {what}", f"{shown}{more}: {reason}; nothing was changed")


def _answer(folder: Path, search: _Search) -> dict[str, Any]:
    try:
        spans = find(folder / "log", search, search.last)
        starts.find(folder, without(search.sources, [Span(first, end, search.last) for first, end in spans]))
    except Problem as problem:
        return {"problem": problem.fields()}
    except starts.ReplayError as error:
        return {"problem": Problem(409, "the history is not kept", str(error)).fields()}
    except (Error, OSError) as error:
        return {"problem": Problem(500, "the log cannot be read", str(error)).fields()}
    return {"spans": spans}


if __name__ == "__main__":
    parent = Parent()
    while not (received := parent.receive(1.0)):
        pass
    parent.send(**_answer(Path(sys.argv[1]), msgspec.convert(received[0], _Search)))
