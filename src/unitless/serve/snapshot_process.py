"""The process that reads every stream's log and writes snapshots: `python -m unitless.serve.snapshot_process`.

The server never stops to write its state. This process computes the same state from the same records, which is also a
running check that records determine it: ticks carry digests of the models, and a difference is reported.

Its arguments are the server's folder, the seconds between snapshots, and `apart` of `snapshots.remove_old`. What it
receives, a line of JSON each:

    {"do": "advance", "stream": uuid, "seq": n}    records up to n count; those beyond may yet be taken back
    {"do": "snapshot", "stream": uuid}            write one now, after all that counts
    {"do": "forget", "stream": uuid}              the stream is about to be deleted: write there no more
    {"do": "stop"}                                last snapshots, then end

What it sends: a `Report` for a stream whenever something of it has changed; {"stream": uuid, "forgotten": true}.
"""

from __future__ import annotations

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
from .log.reader import Reader
from .streams import Stream, snapshots
from .streams.recovery import newest_state

_ROUND = 0.5  # seconds between looks at the logs
_BYTES = 4 << 20  # how much of one log is read at a time, so that memory is bounded and all streams get their turn
_RECORDS = 200_000  # after which a snapshot is due before its time, so that a crash does not take long to recover from
_SHARE = 10.0  # times as long as a snapshot takes is waited for the next such one
_IDLE = 300.0  # seconds after which a stream without news is let go; its snapshot has all


class Report(msgspec.Struct, omit_defaults=True):
    """How far the snapshots of a stream are."""

    stream: str
    seq: int = 0  # the last record that was applied
    snapshot_seq: int = 0  # the last one that the newest snapshot has
    lag: int = 0  # records that count and are not applied yet
    bytes: int = 0  # the size of the newest snapshot
    seconds: float = 0.0  # that it took
    mismatch: str | None = None  # the state differs from the server's
    error: str | None = None  # why there is no new snapshot


class StreamCopy:
    """One stream.

    Args:
        folder: of the stream.
        apart: bytes of the log between the older snapshots that stay.
    """

    def __init__(self, folder: Path, apart: float) -> None:
        self.folder, self._apart = folder, apart
        self.report = Report(folder.name, snapshot_seq=max(snapshots.seqs(folder), default=0))
        self.counts = 0  # the last record that counts
        self.wanted = False  # a request waits for a snapshot
        self.failed = False  # and its log is not read any more
        self._open: tuple[Stream, Tail, Reader] | None = None
        self._read: deque[Record] = deque()  # records that were read and do not count yet
        self._written = self._news = time.monotonic()
        snapshots.remove_abandoned(folder / snapshots.FOLDER)

    @property
    def behind(self) -> bool:
        """Whether there are records to apply."""
        return self.counts > max(self.report.seq, self.report.snapshot_seq) and not self.failed

    def catch_up(self) -> None:
        """Apply some of what is new."""
        if self._open is None:
            self._begin()
        assert self._open is not None
        stream, tail, _ = self._open
        if not self._read:
            self._read.extend(tail.read(_BYTES))
        while self._read and (record := self._read[0]).seq + record.rows - 1 <= self.counts:
            try:
                stream.apply(record)
            except BaseException:  # half of it may be applied; begin again from a snapshot
                self.close()
                self.report.seq = 0
                raise
            self._read.popleft()
        self._news = time.monotonic()
        self.report.seq, self.report.lag = stream.seq, max(0, self.counts - stream.seq)
        if stream.mismatch is not None:
            self.report.mismatch, self.failed = stream.mismatch, True

    def _begin(self) -> None:
        reader = Reader(self.folder / "log")
        stream = newest_state(self.folder, reader.read, self._note)
        for path in snapshots.listed(self.folder):
            if int(path.name) > stream.seq:
                self._remove_damaged(path)
        self.report.snapshot_seq = max(snapshots.seqs(self.folder), default=0)
        self._open = stream, Tail(self.folder / "log", stream.seq + 1), reader

    @staticmethod
    def _remove_damaged(path: Path) -> None:
        """Remove a damaged snapshot: only a few are kept, and a good one would be removed instead."""
        try:
            snapshots.read(path)
        except snapshots.SnapshotError:
            snapshots.remove(path)

    def due(self, every: float) -> bool:
        """Whether it is time for a snapshot."""
        if self._open is None or self.failed or self.report.seq <= self.report.snapshot_seq:
            return False
        since = time.monotonic() - self._written
        many = self.report.seq - self.report.snapshot_seq >= _RECORDS and since >= _SHARE * self.report.seconds
        return (self.wanted and not self.behind) or many or since >= every

    def snapshot(self) -> None:
        """Write one, after the log is on the disk as far as that."""
        assert self._open is not None
        stream, tail, reader = self._open
        begin = self._written = time.monotonic()
        tail.sync()
        waits = stream.join.oldest_position()
        needs = None if waits is None else reader.read(waits).seq
        path = snapshots.write(self.folder, stream, seq=stream.seq, position=stream.end, needs=needs)
        first_seq = min((int(segment.stem) for segment in (self.folder / "log").glob("*.seg")), default=1)
        snapshots.remove_old(self.folder, apart=self._apart, first_seq=first_seq)
        self.report.snapshot_seq, self.report.error = stream.seq, None
        self.report.bytes = sum(file.stat().st_size for file in path.iterdir())
        self.report.seconds = round(time.monotonic() - begin, 3)

    def rest(self) -> None:
        """Let go of what is known if there was no news for long and a snapshot has it all."""
        kept = self.report.snapshot_seq >= self.report.seq and not self._read
        if self._open is not None and kept and time.monotonic() - self._news > _IDLE:
            self.close()

    def close(self) -> None:
        """Let go of all that is open."""
        if self._open is not None:
            _, tail, reader = self._open
            tail.close()
            reader.close()
        self._open = None
        self._read.clear()

    def _note(self, text: str) -> None:
        self.report.error = text


class SnapshotWriter:
    """All streams of a server.

    Args:
        data: the server's folder.
        every: seconds between the snapshots of a stream that has news.
        apart: bytes of a log between its older snapshots that stay.
        parent: the server.
    """

    def __init__(self, data: Path, every: float, apart: float, parent: Parent) -> None:
        self._data, self._every, self._apart, self._parent = data, every, apart, parent
        self._streams: dict[str, StreamCopy] = {}
        self._told: dict[str, bytes] = {}
        self._stopping = False

    def run(self) -> None:
        """Work until the server sends stop."""
        moved = False
        while not self._stopping:
            for message in self._parent.receive(0.0 if moved else _ROUND):
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
            if (gone := self._streams.pop(name, None)) is not None:
                gone.close()
            self._told.pop(name, None)
            self._parent.send(stream=name, forgotten=True)
            return
        if name not in self._streams:
            self._streams[name] = StreamCopy(self._data / "streams" / name, self._apart)
        one = self._streams[name]
        one.counts = max(one.counts, message.get("seq", 0))
        if message["do"] == "snapshot":
            one.wanted = True

    def _round(self) -> bool:
        """Give every stream its turn; whether one of them has moved."""
        moved = False
        for one in list(self._streams.values()):
            before, has_failed = one.report.seq, False
            try:
                if one.behind:
                    one.catch_up()
                if one.due(self._every):
                    one.snapshot()
            except OSError as error:  # such as a full disk; it is tried again
                one.report.error, has_failed = f"no snapshot could be written: {error}", True
            except Exception as error:  # the other streams go on
                one.report.error, one.failed = str(error), True
                if not isinstance(error, Error):
                    traceback.print_exc()
            one.rest()
            self._tell(one, has_failed)
            moved |= one.report.seq != before
        return moved

    def _tell(self, one: StreamCopy, has_failed: bool) -> None:
        """Report on a stream, and answer a request for a snapshot: it is written, or this round has failed."""
        text = msgspec.json.encode(one.report)
        is_done = not one.behind and (one.failed or one.report.error or not one.due(0.0))
        if one.wanted and (is_done or has_failed):
            one.wanted = False
            self._parent.send(**msgspec.to_builtins(one.report), answer=True)
        elif self._told.get(one.report.stream) != text:
            self._parent.send(**msgspec.to_builtins(one.report))
        self._told[one.report.stream] = text


if __name__ == "__main__":
    SnapshotWriter(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), Parent()).run()
