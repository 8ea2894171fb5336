"""The process that follows every stream's log and writes snapshots: `python -m unitless.serve.snapshotter DATA EVERY`.

The server never stops to write its state. This process computes the same state from the same records, which is also a
running check that records determine it: ticks carry digests of the models, and a difference is reported.

What it is told, a line of JSON each:

    {"do": "follow", "stream": uuid, "seq": n}    records up to n count; those beyond may yet be taken back
    {"do": "snapshot", "stream": uuid}            write one now, after all that counts
    {"do": "forget", "stream": uuid}              the stream is deleted
    {"do": "stop"}                                last snapshots, then end

What it says: a `Report` for a stream whenever something of it has changed.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections import deque
from pathlib import Path
from typing import Any

import msgspec

from ..errors import Error
from .child import Parent
from .events import Record
from .log import Tail
from .streams import snapshots
from .streams.recovery import begun

_ROUND = 0.5  # seconds between looks at the logs
_BYTES = 4 << 20  # of one log at a time, so that memory is bounded and all streams get their turn
_IDLE = 300.0  # seconds after which a stream without news is let go; its snapshot has all


class Report(msgspec.Struct, omit_defaults=True):
    """How far the snapshots of a stream are."""

    stream: str
    seq: int = 0  # the last record that was followed
    snapshot_seq: int = 0  # the last one that the newest snapshot has
    lag: int = 0  # records that count and were not followed yet
    bytes: int = 0  # of the newest snapshot
    seconds: float = 0.0  # that it took
    mismatch: str | None = None  # the state differs from the server's
    error: str | None = None  # why there is no new snapshot


class Followed:
    """One stream.

    Args:
        folder: of the stream.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report = Report(folder.name, snapshot_seq=max(snapshots.seqs(folder), default=0))
        self.counts = 0  # the last record that counts
        self.wanted = False  # somebody waits for a snapshot
        self.failed = False  # and is not followed any more
        self._open: tuple[Any, Tail] | None = None  # the stream and its log
        self._read: deque[Record] = deque()  # records that were read and do not count yet
        self._position = 0
        self._written = self._news = time.monotonic()
        snapshots.remove_abandoned(folder / snapshots.FOLDER)

    @property
    def behind(self) -> bool:
        """Whether there is something to follow."""
        return self.counts > max(self.report.seq, self.report.snapshot_seq) and not self.failed

    def follow(self) -> None:
        """Apply some of what is new."""
        if self._open is None:
            start = begun(self.folder, self._note)
            self._open = start.stream, Tail(self.folder / "log", start.next_seq)
            self.report.seq, self._position = start.next_seq - 1, start.position
        stream, tail = self._open
        if not self._read:
            self._read.extend(tail.read(_BYTES))
        while self._read and (record := self._read[0]).seq + record.rows - 1 <= self.counts:
            stream.apply(record)
            self._read.popleft()
            self.report.seq, self._position = record.seq + record.rows - 1, record.end
        self._news = time.monotonic()
        self.report.lag = max(0, self.counts - self.report.seq)
        if stream.mismatch is not None:
            self.report.mismatch, self.failed = stream.mismatch, True

    def due(self, every: float) -> bool:
        """Whether it is time for a snapshot."""
        if self._open is None or self.failed or self.report.seq <= self.report.snapshot_seq:
            return False
        return (self.wanted and not self.behind) or time.monotonic() - self._written >= every

    def snapshot(self) -> None:
        """Write one, after the log is on the disk as far as that."""
        assert self._open is not None
        begin = self._written = time.monotonic()
        self._flush_log()
        path = snapshots.write(self.folder, self._open[0], seq=self.report.seq, position=self._position)
        snapshots.remove_old(self.folder)
        self.report.snapshot_seq, self.report.error = self.report.seq, None
        self.report.bytes = sum(file.stat().st_size for file in path.iterdir())
        self.report.seconds = round(time.monotonic() - begin, 3)

    def _flush_log(self) -> None:
        segments = sorted((self.folder / "log").glob("*.seg"))
        later = [int(segment.stem) > self.report.snapshot_seq + 1 for segment in segments]
        first = max(0, later.index(True) - 1 if True in later else len(segments) - 1)
        for segment in segments[first:]:
            handle = os.open(segment, os.O_RDONLY)
            try:
                os.fdatasync(handle)
            finally:
                os.close(handle)

    def rest(self) -> None:
        """Let go of what is known if there was no news for long and a snapshot has it all."""
        kept = self.report.snapshot_seq >= self.report.seq and not self._read
        if self._open is not None and kept and time.monotonic() - self._news > _IDLE:
            self._open = None

    def _note(self, text: str) -> None:
        self.report.error = text


class Follower:
    """All streams of a server.

    Args:
        data: the server's folder.
        every: seconds between the snapshots of a stream that has news.
        parent: the server.
    """

    def __init__(self, data: Path, every: float, parent: Parent) -> None:
        self._data, self._every, self._parent = data, every, parent
        self._streams: dict[str, Followed] = {}
        self._told: dict[str, bytes] = {}
        self._stopping = False

    def run(self) -> None:
        """Until the server says stop."""
        moved = False
        while not self._stopping:
            for message in self._parent.heard(0.0 if moved else _ROUND):
                self._hear(message)
            moved = self._round()
        while self._round():
            pass
        self._every = 0.0
        self._round()

    def _hear(self, message: dict[str, Any]) -> None:
        if message["do"] == "stop":
            self._stopping = True
            return
        name = message["stream"]
        if message["do"] == "forget":
            self._streams.pop(name, None)
            self._told.pop(name, None)
            return
        if name not in self._streams:
            self._streams[name] = Followed(self._data / "streams" / name)
        one = self._streams[name]
        one.counts = max(one.counts, message.get("seq", 0))
        if message["do"] == "snapshot":
            one.wanted = True

    def _round(self) -> bool:
        """Give every stream its turn; whether one of them has moved."""
        moved = False
        for one in list(self._streams.values()):
            before = one.report.seq
            try:
                if one.behind:
                    one.follow()
                if one.due(self._every):
                    one.snapshot()
            except OSError as error:  # such as a full disk; it is tried again
                one.report.error = f"no snapshot could be written: {error}"
            except Exception as error:  # the other streams go on
                one.report.error, one.failed = str(error), True
                if not isinstance(error, Error):
                    traceback.print_exc()
            one.rest()
            self._tell(one)
            moved |= one.report.seq != before
        return moved

    def _tell(self, one: Followed) -> None:
        text = msgspec.json.encode(one.report)
        if one.wanted and not one.behind and (one.failed or one.report.error or not one.due(0.0)):
            one.wanted = False
            self._parent.tell(**msgspec.to_builtins(one.report), answer=True)
        elif self._told.get(one.report.stream) != text:
            self._parent.tell(**msgspec.to_builtins(one.report))
        self._told[one.report.stream] = text


if __name__ == "__main__":
    Follower(Path(sys.argv[1]), float(sys.argv[2]), Parent()).run()
