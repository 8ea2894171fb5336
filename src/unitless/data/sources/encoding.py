"""Infers the encoding of a text file: UTF-8, or Windows-1252, which older Windows programs write."""

from __future__ import annotations

import codecs
from contextlib import closing

from .byte_stream import Bytes
from .decoded_parts import cached_part
from .files import STDIN, File

LOOKED_AT = 256 << 10  # bytes at the beginning of a file
WINDOWS = "windows-1252"
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def encoding_of(file: File) -> str | None:
    """Return "windows-1252" if the beginning of a file is not UTF-8 but can be Windows-1252; otherwise None.

    None means UTF-8, or the encoding of a byte-order mark. A stream is not examined, because only a few bytes of it may
    have arrived.
    """
    if file.path == STDIN or file.size is None:
        return None
    return cached_part((file.path, file.stamp, "encoding"), lambda: (_found(file),), lambda _: 64)[0]


def _found(file: File) -> str | None:
    with closing(Bytes(file)) as stored:
        head = stored.read(LOOKED_AT)
    if head.isascii() or head.startswith(_MARKS) or b"\0" in head or _can_be(head, "utf-8"):
        return None
    return WINDOWS if _can_be(head, WINDOWS) else None


def _can_be(head: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)  # the last letter may be incomplete
    except UnicodeDecodeError:
        return False
    return True
