"""One file of a log: `<sequence number of its first record, 20 digits>.seg`, a header and records.

magic           8 bytes
format          u32        of this file
library         44 bytes   the version of unitless that wrote it, filled with zeros
first seq       u64        of its first record
base            u64        bytes of all records before this file: the place of its first record in the log
time            u64        of the last record before this file
previous crc    u32        CRC-32 of the whole file before this one; 0 if there is none
crc             u32        CRC-32 of the bytes before
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from ..events import Record
from .damage import damaged, unknown
from .records import Scan, UnknownRecordError, claimed, decode, scan, seq_of

FORMAT = 1
LIBRARY_BYTES = 44
CHUNK = 1 << 20
_GUESS = 1024  # bytes to read for one record, before its size is known
NEVER = 1 << 64  # a sequence number that no record has

_MAGIC = b"unitlog\n"
_HEADER = struct.Struct(f"<8sI{LIBRARY_BYTES}sQQQI")
_CRC = struct.Struct("<I")
SEGMENT_HEADER_BYTES = _HEADER.size + _CRC.size
_NAME = re.compile(r"[0-9]{20}\.seg")


class TornHeaderError(Exception):
    """A file with an incomplete header and nothing else: a power cut while it was made."""


@dataclass(frozen=True)
class Segment:
    """The header of a file."""

    path: Path
    library: str
    first_seq: int
    base: int
    time: int
    previous_crc: int

    def offset(self, position: int) -> int:
        """Where in the file the record at a position of the log begins."""
        return position - self.base + SEGMENT_HEADER_BYTES

    def position(self, offset: int) -> int:
        """The place in the log of a byte of the file."""
        return offset - SEGMENT_HEADER_BYTES + self.base

    def header(self) -> bytes:
        """The header as bytes."""
        library = self.library.encode()
        front = _HEADER.pack(_MAGIC, FORMAT, library, self.first_seq, self.base, self.time, self.previous_crc)
        return front + _CRC.pack(crc32(front))


def named(folder: Path, first_seq: int) -> Path:
    """Where the file lies that begins with a sequence number."""
    return folder / f"{first_seq:020}.seg"


def listed(folder: Path) -> list[Path]:
    """The files of a log, oldest first."""
    return sorted(folder / name for name in os.listdir(folder) if _NAME.fullmatch(name))


def parsed(path: Path, handle: int) -> Segment:
    """The header of an open file; TornHeaderError if the file was never complete."""
    header = os.pread(handle, SEGMENT_HEADER_BYTES, 0)
    whole = len(header) == SEGMENT_HEADER_BYTES
    if not whole or _CRC.unpack_from(header, _HEADER.size)[0] != crc32(header[: _HEADER.size]):
        if os.fstat(handle).st_size <= SEGMENT_HEADER_BYTES:
            raise TornHeaderError
        raise damaged(path, 0, "the header of the file is damaged")
    magic, form, library, first_seq, base, time, previous_crc = _HEADER.unpack_from(header)
    if magic != _MAGIC or form != FORMAT:
        raise unknown(path, 0, f"the format {form:,}")
    if first_seq != int(path.stem):
        raise damaged(path, 0, f"the file has another name than it was given: its first record is {first_seq:,}")
    return Segment(path, library.rstrip(b"\0").decode(), first_seq, base, time, previous_crc)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """A file to read from."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


class OpenFiles:
    """Files that stay open for single reads; of too many, the one that was not used for the longest time is closed."""

    _MOST = 8

    def __init__(self) -> None:
        self._handles: dict[Path, int] = {}

    def handle(self, path: Path) -> int:
        """The descriptor of a file, which is opened if it is not open."""
        handle = self._handles.pop(path, -1)
        if handle < 0:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._handles[path] = handle
        if len(self._handles) > self._MOST:
            self.close(next(iter(self._handles)))
        return handle

    def close(self, path: Path) -> None:
        """Close a file, if it is open."""
        if (handle := self._handles.pop(path, -1)) >= 0:
            os.close(handle)

    def close_all(self) -> None:
        """Close all files."""
        for path in list(self._handles):
            self.close(path)


def create(segment: Segment) -> int:
    """A new file with its header, on the disk; gives its descriptor. After an error, parts of it may be there."""
    handle = os.open(segment.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        write_whole(handle, segment.header())
        os.fsync(handle)
        sync_folder(segment.path.parent)
    except BaseException:
        os.close(handle)
        raise
    return handle


def write_whole(handle: int, data: bytes) -> None:
    """Write all bytes, most often at once; after an error some of them may be written."""
    written = os.write(handle, data)
    while written < len(data):
        written += os.write(handle, data[written:])


def sync_folder(folder: Path) -> None:
    """Sync the names of new and removed files to disk."""
    with opened(folder) as handle:
        os.fsync(handle)


def checksum(handle: int, size: int) -> int:
    """CRC-32 of the first bytes of a file."""
    crc, offset = 0, 0
    while offset < size and (buffer := os.pread(handle, min(CHUNK, size - offset), offset)):
        crc = crc32(buffer, crc)
        offset += len(buffer)
    return crc


def scanned(segment: Segment, handle: int, size: int, stop_seq: int = NEVER) -> Scan:
    """Scan the valid records of a file, up to the one with a sequence number; `used` is a byte of the file."""
    place, chunk = Scan(SEGMENT_HEADER_BYTES, segment.first_seq, segment.time, False), CHUNK
    while place.used < size:
        buffer = os.pread(handle, min(chunk, size - place.used), place.used)
        try:
            step = scan(buffer, place.seq, place.time, stop_seq)
        except UnknownRecordError as error:
            raise unknown(segment.path, place.used + error.args[0], "the kind of the record") from None
        if step.used:
            place, chunk = step._replace(used=place.used + step.used), CHUNK
        elif (chunk := _larger(buffer, chunk, size - place.used)) == 0:
            break
    return place


def records_of(segment: Segment, handle: int, offset: int, seq: int, size: int) -> Iterator[list[Record]]:
    """The records from a byte of the file to its end, a list for each piece; all of them must be valid."""
    chunk = CHUNK
    while offset < size:
        buffer = os.pread(handle, min(chunk, size - offset), offset)
        try:
            records = decode(buffer, seq, segment.position(offset))
        except UnknownRecordError as error:
            raise unknown(segment.path, offset + error.args[0], "the kind of the record") from None
        if records:
            yield records
            offset, seq, chunk = segment.offset(records[-1].end), records[-1].seq + records[-1].rows, CHUNK
        elif (chunk := _larger(buffer, chunk, size - offset)) == 0:
            raise damaged(segment.path, offset)


def record_at(segment: Segment, handle: int, position: int) -> Record:
    """The record that begins at a position of the log."""
    offset = segment.offset(position)
    buffer = os.pread(handle, _GUESS, offset)
    size = claimed(buffer)
    if _GUESS == len(buffer) < size <= os.fstat(handle).st_size - offset:
        buffer = os.pread(handle, size, offset)
    try:
        records = decode(buffer[:size], seq_of(buffer), position)
    except UnknownRecordError:
        raise unknown(segment.path, offset, "the kind of the record") from None
    if not records:
        raise damaged(segment.path, offset, "there is no valid record")
    return records[0]


def _larger(buffer: bytes, chunk: int, left: int) -> int:
    """How much to read for the record at the beginning of a buffer, which ends before it; 0 if that will not help."""
    size = claimed(buffer)
    return size if chunk == len(buffer) < size <= left else 0
