"""Log: appends records to the last file of a folder, reads them, and finds what is left of them after a crash."""

from __future__ import annotations

import bisect
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from zlib import crc32

from ... import whole_file
from ...version import __version__
from ..events import Record
from .damage import LogError, damaged, dropped, dropped_at, exchanged, gap
from .records import Event, encode
from .segments import (
    LIBRARY_BYTES,
    SEGMENT_HEADER_BYTES,
    OpenFiles,
    Segment,
    TornHeaderError,
    checksum,
    create,
    listed,
    named,
    opened,
    parsed,
    record_at,
    records_of,
    scanned,
    sync_folder,
    write_whole,
)

if TYPE_CHECKING:
    from typing_extensions import Self

Observer: TypeAlias = Callable[[Path, int], None]  # is called with the file that was synced, and up to which byte

_FEW_FILES = 8  # which are checked one after the other
_LIBRARY = __version__[:LIBRARY_BYTES]
_sync_data = getattr(os, "fdatasync", os.fsync)


class Cut(NamedTuple):
    """What was removed from the end of a log when it was opened."""

    path: Path
    byte: int  # where the file ends now
    removed: int  # bytes


class Log:
    """The records of one stream, in files of bounded size.

    One thread appends and reads; `sync` and `records` may be used by other threads too. `end` and the positions of
    records count the bytes of all records since the log began, without the headers of files.

    Example:
        >>> import pathlib, tempfile
        >>> from unitless.serve.events import Form, Kind
        >>> with tempfile.TemporaryDirectory() as folder, Log.open(pathlib.Path(folder)) as log:
        ...     [record] = log.append([(Kind.learn, Form.json, 1, b"{}")], time=1)
        ...     assert log.sync() == record.end
        ...     log.read(record.position).payload
        b'{}'
    """

    def __init__(self, folder: Path, segment_bytes: int, observer: Observer | None) -> None:
        self.folder = folder
        self.cut: Cut | None = None
        self.end = self.synced_end = 0
        self.next_seq = 1
        self._segment_bytes = segment_bytes
        self._observer = observer
        self._segments: list[Segment] = []
        self._limit = 0  # how large the last file may become
        self._size = 0  # bytes in the last file
        self._crc = 0  # the checksum of the whole last file
        self._time = 0  # the time of the last record
        self._handle = -1  # the descriptor of the last file
        self._older = OpenFiles()  # all but the last
        self._changing = threading.Lock()  # held while the last file is synced or replaced by a new one
        self._sync_failure: OSError | None = None
        self._refusal: LogError | None = None  # why no more records are taken

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        segment_bytes: int = 64 << 20,
        observer: Observer | None = None,
    ) -> Self:
        """Check the whole log, remove an incomplete record at its end, and sync the rest to disk.

        Raises:
            LogError: a file is damaged anywhere but at the end of the last one, or is missing.
        """
        log = cls(folder, segment_bytes, observer)
        try:
            log._open()
        except BaseException:
            log.close()
            raise
        return log

    # Its extent

    @property
    def first_seq(self) -> int:
        """The sequence number of the oldest record that is kept."""
        return self._segments[0].first_seq if self._segments else self.next_seq

    @property
    def segments(self) -> list[tuple[int, Path, int]]:
        """First sequence number, path and bytes of each file, oldest first."""
        ends = [segment.base for segment in self._segments[1:]] + [self.end]
        return [(each.first_seq, each.path, each.offset(end)) for each, end in zip(self._segments, ends, strict=False)]

    @property
    def bytes(self) -> int:
        """The bytes of all files."""
        if not self._segments:
            return 0
        return self.end - self._segments[0].base + SEGMENT_HEADER_BYTES * len(self._segments)

    def versions_from(self, seq: int) -> set[str]:
        """The versions of the library that wrote the records from a sequence number on."""
        after = [segment.first_seq for segment in self._segments[1:]] + [self.next_seq]
        return {
            segment.library
            for segment, stop in zip(self._segments, after, strict=False)
            if segment.first_seq < stop and seq < stop
        }

    # Appending

    def append(self, events: Sequence[Event], time: int) -> list[Record]:
        """Write a group of records at once, all of it or nothing.

        They get the next sequence numbers and the time, or that of the last record if it is later. After an OSError
        the log is unchanged, and takes records again when the disk has space.

        Raises:
            LogError: the log takes no more records, because its end is no longer known for sure.
        """
        if self._refusal is not None:
            raise self._refusal
        time = max(time, self._time)
        data, records, seq = encode(events, self.next_seq, time, self.end)
        size = self._size + len(data)
        if size > self._limit:
            self._make_room()
            size = self._size + len(data)
        try:
            written = os.write(self._handle, data)
            if written != len(data):
                write_whole(self._handle, data[written:])
        except BaseException:
            self._cut_back()
            raise
        self._crc = crc32(data, self._crc)
        self._size, self._time = size, time
        self.next_seq = seq
        self.end += len(data)
        return records

    def sync(self) -> int:
        """Sync what is written to disk; returns the position up to which it is there.

        An error is final: it is not known what of the data the system still has, so the log takes no more records.
        """
        with self._changing:
            return self._sync()

    def _sync(self) -> int:
        if self._sync_failure is not None:
            raise self._sync_failure
        end, size = self.end, self._size
        if end > self.synced_end:
            try:
                _sync_data(self._handle)
            except OSError as error:
                self._sync_failure = error
                self._refuse(f"the disk failed: {error.strerror}")
                raise
            self.synced_end = end
            self._observe(size)
        return self.synced_end

    def _observe(self, size: int) -> None:
        if self._observer is not None:
            self._observer(self._segments[-1].path, size)

    def _refuse(self, why: str) -> None:
        self._refusal = LogError(
            f"the log takes no more records since {why}",
            file=str(self.folder),
            advice="check the disk, then start the server again; it will keep all that is on the disk",
        )

    def _cut_back(self) -> None:
        """Remove what a failed write has left."""
        try:
            os.ftruncate(self._handle, self._size)
        except OSError as error:
            self._refuse(f"a failed write could not be undone: {error.strerror}")

    def _make_room(self) -> None:
        """Begin a new file if the last one is full or was written by another version."""
        if self.next_seq > self._segments[-1].first_seq:  # a record that is larger than a file gets a file of its own
            with self._changing:
                self._sync()
                self._begin()

    def _begin(self) -> None:
        """Begin a new file, which takes the next records."""
        segment = Segment(named(self.folder, self.next_seq), _LIBRARY, self.next_seq, self.end, self._time, self._crc)
        try:
            handle = create(segment)
        except BaseException as error:
            self._remove_unfinished(segment.path, error)
            raise
        if self._handle >= 0:
            os.close(self._handle)
        self._take(segment, handle)
        self._observe(self._size)

    def _remove_unfinished(self, path: Path, error: BaseException) -> None:
        """Remove a file that could not be made. The last one takes no records while it may still be there."""
        try:
            if isinstance(error, FileExistsError):
                raise error
            path.unlink(missing_ok=True)
            sync_folder(self.folder)
        except OSError as reason:
            self._refuse(f"{path.name} stands in the way of a new file: {reason.strerror}")

    def _take(self, segment: Segment, handle: int) -> None:
        self._segments.append(segment)
        self._handle = handle
        self._size = SEGMENT_HEADER_BYTES
        self._crc = crc32(segment.header())
        self._limit = self._segment_bytes if segment.library == _LIBRARY else 0

    # Reading

    def read(self, position: int) -> Record:
        """The record that begins at a position."""
        return record_at(*self._at(position), position)

    def _at(self, position: int) -> tuple[Segment, int]:
        """The open file that contains a position."""
        if self._segments and position >= self._segments[-1].base and self._handle >= 0:
            segment, handle = self._segments[-1], self._handle
        else:
            index = bisect.bisect_right(self._segments, position, key=lambda segment: segment.base) - 1
            if index < 0:
                raise dropped_at(self.folder, position)
            segment = self._segments[index]
            handle = self._older.handle(segment.path)
        if not segment.base <= position < self.end:
            raise LogError(f"there is no record at position {position:,}", file=str(self.folder))
        return segment, handle

    def records(self, from_seq: int) -> Iterator[Record]:
        """The records from the one with a sequence number to the present end of the log."""
        if from_seq < self.first_seq:
            raise dropped(self.folder, from_seq)
        if from_seq > self.next_seq:
            raise LogError(
                f"the log ends before record {from_seq:,}: its next one is {self.next_seq:,}",
                file=str(self.folder),
                advice="start from an older snapshot, or restore the log from a backup",
            )
        index = bisect.bisect_right(self._segments, from_seq, key=lambda segment: segment.first_seq) - 1
        sizes = [size for _, _, size in self.segments]
        return self._records(from_seq, list(zip(self._segments, sizes, strict=True))[max(index, 0) :])

    @staticmethod
    def _records(from_seq: int, segments: list[tuple[Segment, int]]) -> Iterator[Record]:
        for segment, size in segments:
            try:
                handle = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                raise dropped(segment.path.parent, segment.first_seq) from None
            try:
                start = scanned(segment, handle, size, from_seq)
                for records in records_of(segment, handle, start.used, start.seq, size):
                    yield from records
            finally:
                os.close(handle)

    # Retention and the end

    def drop_before(self, seq: int) -> list[Path]:
        """Remove the files with only records before a sequence number, never the last file; returns those removed."""
        gone = []
        while len(self._segments) > 1 and self._segments[1].first_seq <= seq:
            path = self._segments[0].path
            os.unlink(path)  # oldest first, so that there is never a gap
            del self._segments[0]
            self._older.close(path)
            gone.append(path)
        if gone:
            sync_folder(self.folder)
        return gone

    def close(self) -> None:
        """Close all files; what was written since the last sync is left to the system."""
        with self._changing:
            self._older.close_all()
            if self._handle >= 0:
                os.close(self._handle)
            self._handle = -1
            self._refusal = LogError("the log is closed", file=str(self.folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Recovery

    def _open(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(mode=0o700, parents=True)
            sync_folder(self.folder.parent)
        torn = self._read_headers(listed(self.folder))
        if len(self._segments) > 1:
            with ThreadPoolExecutor() as pool:  # checksums are computed without the interpreter's lock
                each = pool.map if len(self._segments) > _FEW_FILES else map
                deque(each(_check, self._segments[:-1], self._segments[1:]), maxlen=0)
        if self._segments:
            self._recover(self._segments.pop(), torn is not None)
        if torn is not None:
            torn.unlink()
        if not self._segments:
            self._begin()
        sync_folder(self.folder)

    def _read_headers(self, paths: list[Path]) -> Path | None:
        """Fill the list of files; gives the last one if it was never complete."""
        for path in paths:
            with opened(path) as handle:
                try:
                    self._segments.append(parsed(path, handle))
                except TornHeaderError:
                    if path != paths[-1] or (len(paths) == 1 and int(path.stem) != 1):
                        raise damaged(path, 0, "the header of the file is damaged") from None
                    return path
        return None

    def _recover(self, segment: Segment, was_full: bool) -> None:
        """Find the end of the last file, cut off what is not valid behind it, and continue there."""
        handle = os.open(segment.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        self._take(segment, handle)
        size = os.fstat(handle).st_size
        self._size, self.next_seq, self._time, torn_group = scanned(segment, handle, size)
        self.end = segment.position(self._size)
        self._crc = checksum(handle, self._size)
        if self._size < size:
            if was_full:  # it was synced before the next file was made: so this write was finished
                raise damaged(segment.path, self._size)
            self.cut = Cut(segment.path, self._size, size - self._size)
        if self.cut is not None:
            os.ftruncate(handle, self._size)
        os.fsync(handle)
        self.synced_end = self.end
        self._observe(self._size)
        if segment.library != _LIBRARY and self.next_seq == segment.first_seq:
            self._rewrite_header()
        if torn_group:  # what is left of it counts from now on; readers that wait for the rest of it see the new file
            self._begin()

    def _rewrite_header(self) -> None:
        """An empty file of another version becomes one of this version."""
        old = self._segments.pop()
        segment = Segment(old.path, _LIBRARY, old.first_seq, old.base, old.time, old.previous_crc)
        os.close(self._handle)
        self._handle = -1
        whole_file.write(segment.path, segment.header())
        self._take(segment, os.open(segment.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC))


def _check(segment: Segment, after: Segment) -> None:
    """Refuse a file that is not, to the byte, what the one after it knows of it."""
    with opened(segment.path) as handle:
        size = os.fstat(handle).st_size
        if segment.position(size) == after.base and checksum(handle, size) == after.previous_crc:
            return
        end = scanned(segment, handle, size)
        if end.used < size:
            raise damaged(segment.path, end.used)
        if end.seq < after.first_seq:
            raise gap(segment.path, size, end.seq, after.first_seq - 1)
        raise exchanged(segment.path, after.path)
