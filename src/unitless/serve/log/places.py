"""Places in a log by time: records are in the order of their times."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from .segments import Segment, TornHeaderError, listed, opened, parsed
from .tail import Tail


def time_of(text: str) -> int | None:
    """A time in the form of ISO 8601, in microseconds since 1970; None if it is not one. Without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
        found = found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)
        since = found - datetime(1970, 1, 1, tzinfo=timezone.utc)
    except (ValueError, OverflowError):
        return None
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def time_text(time: int) -> str:
    """A time in microseconds since 1970 as ISO 8601 has it."""
    seconds, microseconds = divmod(time, 1_000_000)
    found = datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=microseconds)
    return found.isoformat(timespec="microseconds").replace("+00:00", "Z")


def first_kept(folder: Path) -> int:
    """The oldest sequence number that a log has."""
    return min((int(path.stem) for path in listed(folder)), default=1)


def first_since(folder: Path, time: int) -> int:
    """The sequence number of the first record at a time or later; without one, that of the next new record."""
    begins = None
    for path in reversed(listed(folder)):
        if (segment := _segment(path)) is not None:
            begins = segment.first_seq
            if segment.time < time:
                break
    if begins is None:
        return 1
    with Tail(folder, begins) as tail:
        while records := tail.read():
            if records[-1].time >= time:
                return next(record.seq for record in records if record.time >= time)
        return tail.next_seq


def _segment(path: Path) -> Segment | None:
    """The header of a file; None if the file is being made or was removed."""
    try:
        with opened(path) as handle:
            return parsed(path, handle)
    except (FileNotFoundError, TornHeaderError):
        return None
