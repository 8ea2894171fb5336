"""Tail: reads a log that another process writes, while it grows."""

from __future__ import annotations

import os
from pathlib import Path

from ..events import Record
from .damage import LogError, damaged, dropped, unknown
from .records import FORM_AT, HEADER_BYTES, MORE, UnknownRecordError, claimed, decode, scan
from .segments import NEVER, SEGMENT_HEADER_BYTES, Segment, TornHeaderError, listed, named, parsed, scanned


class Tail:
    """Reads the records from the one with a sequence number on, while another process or thread writes them.

    Only whole groups are given, that is, all that one `append` has written. So a write that fails half-way and is
    undone is never seen.
    """

    def __init__(self, folder: Path, from_seq: int) -> None:
        self.folder = folder
        self._from_seq = from_seq
        self._segment: Segment | None = None
        self._handle = -1
        self._offset = 0  # in the file, behind the last record that was given or passed over
        self._seq = from_seq  # that of the record there
        self._valid_seq = 0  # that behind the last valid record, which may belong to a group that is not whole
        self._left = False  # whether there are bytes behind what was given
        self._final = False  # there is a later file, so this one does not change any more
        self._last = (0, b"")  # where the last record given begins, and its header

    @property
    def next_seq(self) -> int:
        """The sequence number of the next record."""
        return max(self._seq, self._from_seq)

    def read(self, most_bytes: int = 1 << 20) -> list[Record]:
        """The new records, up to about this many bytes but always whole groups; [] if there are no new ones.

        Raises:
            LogError: the records are damaged or no longer kept, or the log was cut behind what was already read.
        """
        if self._segment is None and not self._find():
            return []
        while True:
            if records := self._read(most_bytes):
                if records[0].seq < self._from_seq:
                    records = [record for record in records if record.seq + record.rows > self._from_seq]
                if records:
                    return records
            elif not self._next_file():
                return []

    def check_end(self) -> None:
        """Check that after the last record there is nothing, or the beginning of a record that is being written.

        Raises:
            LogError: it is neither.
        """
        if self._segment is None:
            return
        rest = os.pread(self._handle, os.fstat(self._handle).st_size - self._offset, self._offset)
        whole = scan(rest, self._seq, 0, NEVER).used
        if len(rest) - whole >= max(HEADER_BYTES, claimed(rest[whole:])):
            raise LogError(
                f"what stands from byte {self._offset + whole:,} on is not a record",
                file=str(self._segment.path),
                advice="a server that starts here cuts it off; restore the file from a backup if there should be more",
            )

    def sync(self) -> None:
        """Sync all that was read to disk: older files are there already, this one is synced now."""
        if self._handle >= 0:
            os.fsync(self._handle)

    def close(self) -> None:
        """Close the file."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle, self._segment = -1, None

    def __enter__(self) -> Tail:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _find(self) -> bool:
        """Open the file that contains the first wanted record, if it exists already."""
        try:
            paths = listed(self.folder)
        except FileNotFoundError:
            return False
        before = [path for path in paths if int(path.stem) <= self._from_seq]
        if paths and not before:
            raise dropped(self.folder, self._from_seq)
        return bool(before) and self._open(before[-1])

    def _open(self, path: Path) -> bool:
        """Go on at the beginning of a file, or behind the records of it that are not wanted."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            segment = parsed(path, handle)
        except TornHeaderError:  # it is being made
            os.close(handle)
            return False
        except BaseException:
            os.close(handle)
            raise
        self.close()
        self._segment, self._handle = segment, handle
        self._offset, self._seq, self._final, self._last = SEGMENT_HEADER_BYTES, segment.first_seq, False, (0, b"")
        if self._seq < self._from_seq:
            passed = scanned(segment, handle, os.fstat(handle).st_size, self._from_seq)
            self._offset, self._seq = passed.used, passed.seq
        return True

    def _read(self, most_bytes: int) -> list[Record]:
        """The next whole groups in this file."""
        assert self._segment is not None
        size = os.fstat(self._handle).st_size
        self._valid_seq, self._left = self._seq, size > self._offset
        if size == self._offset:
            return []
        self._check_history(size)
        chunk, position = max(most_bytes, HEADER_BYTES), self._segment.position(self._offset)
        while True:
            buffer = os.pread(self._handle, min(chunk, size - self._offset), self._offset)
            try:
                records = decode(buffer, self._seq, position)
            except UnknownRecordError as error:
                byte = self._offset + error.args[0]
                raise unknown(self._segment.path, byte, "the kind of the record") from None
            if records:
                self._valid_seq = records[-1].seq + records[-1].rows
            while records and not self._final and buffer[records[-1].position - position + FORM_AT] & MORE:
                records.pop()
            if records:
                self._give(records[-1], buffer, position)
                return records
            if len(buffer) < chunk or (self._valid_seq == self._seq and claimed(buffer) <= len(buffer)):
                return []
            chunk = max(2 * chunk, claimed(buffer))

    def _give(self, last: Record, buffer: bytes, position: int) -> None:
        """Go on behind a record of a buffer that begins at a position."""
        start = last.position - position
        self._last = self._offset + start, buffer[start : start + HEADER_BYTES]
        self._offset += last.end - position
        self._seq = last.seq + last.rows

    def _check_history(self, size: int) -> None:
        """Check that the file still has what was read."""
        at, header = self._last
        if size < self._offset or os.pread(self._handle, len(header), at) != header:
            raise LogError(
                f"records before {self._seq:,} that were already read have been cut off",
                file=str(self.folder),
                advice="start again from a snapshot: the writer has lost its last records, as in a power cut",
            )

    def _next_file(self) -> bool:
        """Continue with the next file, if it exists and this one is read completely; False to wait."""
        assert self._segment is not None
        gone = os.fstat(self._handle).st_nlink == 0  # the next file is made before this one is removed
        path = named(self.folder, self._valid_seq)
        if path == self._segment.path:  # nothing is in it yet; another version puts its own in its place
            if gone and not self._open(path):
                raise dropped(self.folder, self._seq)
            return gone
        if not self._final:
            self._final = path.exists() or (self._left and not gone and listed(self.folder)[-1:] > [path])
            if gone and not self._final:
                raise dropped(self.folder, self._seq)
            return self._final  # what was written before that file was made must be read first
        if self._left:
            raise damaged(self._segment.path, self._offset)
        if self._open(path):
            return True
        if gone:
            raise dropped(self.folder, self._seq)
        self._final = False
        return False
