"""One record of a log, as bytes.

    length  u32   of the payload
    kind    u8
    form    u8    its highest bit: the next record was written together with this one
    rows    u16   how many sequence numbers it takes
    crc     u32   CRC-32 of the 8 bytes before and of everything after, with a seed that is not zero
    seq     u64
    time    u64   microseconds since 1970
    payload

All numbers are little-endian. A record is valid if it is complete, its checksum is right and its sequence number is
the next one. Zeros are not a record: the seed sees to it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias
from zlib import crc32

from ..events import Form, Kind, Record
from .damage import LogError

Event: TypeAlias = tuple[Kind, Form, int, bytes]  # kind, form, rows, payload

HEADER_BYTES = 28
MOST_ROWS = 0xFFFF
MOST_BYTES = 0xFFFF_FFFF
SEED = 0x756C_6F67
FORM_AT = 5  # the byte of the header that names the form
MORE = 0x80  # in it: the record is not the last of its group

_HEADER = struct.Struct("<IBBHIQQ")
_CHECKED = struct.Struct("<IBBHQQ")  # the header without its checksum
_KINDS = {int(kind): kind for kind in Kind}
_FORMS = {int(form) | more: form for form in Form for more in (0, MORE)}


class UnknownRecordError(Exception):
    """A valid record of a kind or form that this version does not know; the argument is where it begins."""


def encode(events: Sequence[Event], seq: int, time: int, position: int) -> tuple[bytes, list[Record], int]:
    """The bytes of a group of records, the records, and the next sequence number."""
    parts: list[bytes] = []
    records: list[Record] = []
    checked, header, new, left = _CHECKED.pack, _HEADER.pack, tuple.__new__, len(events)
    for kind, form, rows, payload in events:
        left -= 1
        length = len(payload)
        if not 0 < rows <= MOST_ROWS or length > MOST_BYTES:
            raise LogError(
                f"a record of {rows:,} rows and {length:,} bytes",
                advice=f"1 to {MOST_ROWS:,} rows and less than 4 GB fit",
            )
        marked = form | MORE if left else form
        crc = crc32(payload, crc32(checked(length, kind, marked, rows, seq, time), SEED))
        parts += header(length, kind, marked, rows, crc, seq, time), payload
        end = position + HEADER_BYTES + length
        records.append(new(Record, (seq, time, kind, form, rows, payload, position, end)))
        position = end
        seq += rows
    return b"".join(parts), records, seq


def decode(buffer: bytes, seq: int, position: int) -> list[Record]:
    """The valid records at the beginning of a buffer; the first is to have these numbers."""
    records: list[Record] = []
    unpack, new, size, at = _HEADER.unpack_from, tuple.__new__, len(buffer), 0
    last_start = size - HEADER_BYTES
    view = memoryview(buffer)
    try:
        while at <= last_start:
            length, kind, form, rows, crc, number, time = unpack(buffer, at)
            start = at + HEADER_BYTES
            stop = start + length
            if number != seq or stop > size or crc32(view[at + 12 : stop], crc32(view[at : at + 8], SEED)) != crc:
                break
            fields = seq, time, _KINDS[kind], _FORMS[form], rows, buffer[start:stop], position + at, position + stop
            records.append(new(Record, fields))
            at = stop
            seq += rows
    except KeyError:
        if not records:  # those before it are given first
            raise UnknownRecordError(at) from None
    return records


class Scan(NamedTuple):
    """How far a scan over records has come."""

    used: int  # bytes
    seq: int  # that of the next record
    time: int  # that of the last record
    more: bool  # whether the last record is not the last of its group


def scan(buffer: bytes, seq: int, time: int, stop_seq: int) -> Scan:
    """Scan the valid records at the beginning of a buffer, up to the one with a sequence number."""
    records = decode(buffer, seq, 0)
    while records and records[-1].seq + records[-1].rows > stop_seq:
        records.pop()
    if not records:
        return Scan(0, seq, time, False)
    last = records[-1]
    return Scan(last.end, last.seq + last.rows, last.time, bool(buffer[last.position + FORM_AT] & MORE))


def claimed(buffer: bytes) -> int:
    """How many bytes the record at the beginning of a buffer takes, by its header."""
    return HEADER_BYTES + int.from_bytes(buffer[:4], "little") if len(buffer) >= HEADER_BYTES else HEADER_BYTES


def seq_of(buffer: bytes) -> int:
    """The sequence number of the record at the beginning of a buffer."""
    return int.from_bytes(buffer[12:20], "little")
