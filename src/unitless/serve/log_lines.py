"""A log as lines of JSON: one for each row, and one for each record of another kind.

Nothing is changed or locked, so a log can be read while a server writes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..errors import Error
from .events import OF_ROWS, Form, Kind, Record
from .log import LogError, Tail
from .log.places import first_kept, first_since, time_of, time_text
from .streams import Refused
from .streams.recovery import name_in

_NONE = msgspec.Raw()


class LogNameError(Error):
    """There is no such data folder or stream."""


class _Row(msgspec.Struct):
    """A row, its values as they were sent."""

    features: msgspec.Raw = _NONE
    label: msgspec.Raw = _NONE
    weight: msgspec.Raw = _NONE
    id: str | None = None
    model: str | None = None
    level: msgspec.Raw = _NONE
    context: msgspec.Raw = _NONE
    actions: msgspec.Raw = _NONE
    reward: msgspec.Raw = _NONE


_NAMES = ("id", "features", "label", "weight", "model", "level", "context", "actions", "reward")
_row = msgspec.json.Decoder(_Row).decode
_rows = msgspec.json.Decoder(_Row).decode_lines
_encode = msgspec.json.Encoder().encode


class Wanted(NamedTuple):
    """Which records and rows to read.

    Args:
        first: the first place, a sequence number or microseconds since 1970; None: the oldest record of the log.
        until: the last place; None: the end.
        kinds: the kinds of records.
        ids: of rows; none: all.
    """

    first: Place | None = None
    until: Place | None = None
    kinds: Collection[Kind] = tuple(Kind)
    ids: Collection[str] = ()


class Place(NamedTuple):
    """A sequence number, or a time in microseconds since 1970."""

    seq: int | None
    time: int | None

    @classmethod
    def of(cls, text: str) -> Place | None:
        """Parse a place; None if the text is neither a number nor a time."""
        if text.isascii() and text.isdigit():
            return cls(int(text), None)
        time = time_of(text)
        return None if time is None else cls(None, time)


def find(data: Path, name: str | None) -> Path:
    """The log of a stream in the data folder of a server.

    Raises:
        LogNameError: there is no such folder or stream, or there are several streams and none was named.
    """
    if not (data / "streams").is_dir():
        reason = "there is no such folder" if not data.exists() else "this is not the data folder of a server"
        raise LogNameError(reason, file=str(data), advice="name the folder that `unitless serve --data` has")
    folders = [path for path in (data / "streams").iterdir() if not path.name.startswith(".")]
    streams = {_name(path): path for path in sorted(folders) if (path / "log").is_dir()}
    names = ", ".join(sorted(streams)) or "none"
    if name is None and len(streams) != 1:
        raise LogNameError(f"there are {len(streams)} streams", file=str(data), advice=f"name one of them: {names}")
    if name is not None and name not in streams:
        raise LogNameError(f"there is no stream {name!r}", file=str(data), advice=f"there are: {names}")
    return (next(iter(streams.values())) if name is None else streams[name]) / "log"


def _name(folder: Path) -> str:
    """The name of a stream; that of its folder if it cannot be read."""
    try:
        return name_in(folder)
    except Error:
        return folder.name


def read(log: Path, wanted: Wanted) -> Iterator[bytes]:
    """Yield the lines in parts.

    Raises:
        LogError: a record is damaged. The lines before it have been yielded.
    """
    first, last = _first(log, wanted.first), wanted.until
    refused = _refused(log, first, last)
    with Tail(log, first) as tail:
        while records := tail.read():
            lines = [
                line
                for record in records
                if not _is_behind(record, last)
                for line in _lines(record, first, wanted, refused)
            ]
            if lines:
                yield b"\n".join(lines) + b"\n"
            if _is_behind(records[-1], last):
                return
        tail.check_end()


def _refused(log: Path, first: int, last: Place | None) -> dict[int, str]:
    """The rows that were refused, with the reasons. A refusal has the time of its rows, and follows them."""
    found: dict[int, str] = {}
    end: int | None = None  # the time of the first record that is not wanted
    with suppress(LogError), Tail(log, first) as tail:
        while records := tail.read():
            for record in records:
                end = record.time if end is None and _is_behind(record, last) else end
                if end is not None and record.time > end:
                    return found
                if record.kind is Kind.refused:
                    found |= msgspec.msgpack.decode(record.payload, type=Refused).rows
    return found


def _first(log: Path, place: Place | None) -> int:
    oldest = first_kept(log)
    if place is None:
        return oldest
    return max(oldest, first_since(log, place.time) if place.time is not None else place.seq or 0)


def _is_behind(record: Record, last: Place | None) -> bool:
    if last is None:
        return False
    return record.seq > last.seq if last.seq is not None else record.time > (last.time or 0)


def _lines(record: Record, first: int, wanted: Wanted, refused: dict[int, str]) -> Iterator[bytes]:
    if record.kind not in wanted.kinds:
        return
    head = {"seq": record.seq, "time": time_text(record.time), "kind": record.kind.name}
    if record.kind not in OF_ROWS:
        if not wanted.ids:
            yield _encode(head | _about(record))
        return
    last = None if wanted.until is None else wanted.until.seq
    for place, row in enumerate(_rows_of(record)):
        seq = record.seq + place
        if seq >= first and (last is None or seq <= last) and (not wanted.ids or row.get("id") in wanted.ids):
            yield _encode(head | {"seq": seq} | row | ({"refused": refused[seq]} if seq in refused else {}))


def _rows_of(record: Record) -> Iterator[dict[str, Any]]:
    payload, more = record.payload, dict[str, Any]()
    if record.form is Form.vw:
        yield from ({"line": line.decode(errors="replace")} for line in payload.split(b"\n")[: record.rows])
        return
    if record.form is Form.json:
        rows = [_row(msgspec.json.format(payload, indent=-1) if b"\n" in payload else payload)]
    else:
        if record.form is Form.broker:
            place, _, payload = payload.partition(b"\n")
            more["source"], more["position"] = msgspec.json.decode(place)
        rows = _rows(payload)
    for row in rows:
        found = {name: getattr(row, name) for name in _NAMES}
        yield {name: value for name, value in found.items() if value is not None and value != _NONE} | more


def _about(record: Record) -> dict[str, Any]:
    """The content of a record that has no rows."""
    content = msgspec.msgpack.decode(record.payload)
    if record.kind is Kind.tick:
        since = {name: time_text(max(0, content[name])) for name in ("waiting_since", "done_since")}
        return since | {"max_done": content["max_done"]}
    if record.kind in (Kind.promote, Kind.delete):
        return {"model": content["name"]}
    if record.kind is Kind.refused:
        return {"rows": list(content["rows"])}
    if record.kind is not Kind.create:
        return dict(content)
    found = {"model": content["name"], "role": content["role"], "options": content["options"]}
    if content.get("model") is not None:
        found["file_bytes"] = len(content["model"])
    if content.get("parts") is not None:
        found["state_bytes"] = sum(map(len, content["parts"].values()))
    if content.get("origin") is not None:
        source = (content["origin"]["sources"] or [{}])[0]
        skipped = [[first, last] for first, last, _ in source.get("skipped", ())]
        found["replay"] = {"of": source.get("model") or None, "seq": content["origin"]["seq"], "skipped": skipped}
    return found
