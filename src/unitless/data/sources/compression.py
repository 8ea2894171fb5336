"""Compressed files: recognized by their first bytes when they are read, and by their name when they are written."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# The errors for damaged files. A zip archive raises its own error when it is opened, or for a wrong checksum.
ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


@dataclass(frozen=True)
class Compression:
    """A kind of compression."""

    name: str
    magic: bytes  # the first bytes of all such files
    suffixes: tuple[str, ...]
    reading: Callable[[Any], Any]  # converts the stored bytes to a stream of the content
    writing: Callable[[Any], Any]


def _read_zstd(stored: Any) -> Any:
    from ..arrow import pyarrow  # noqa: PLC0415  (an optional dependency)

    return pyarrow().input_stream(stored, compression="zstd")


def _write_zstd(file: Any) -> Any:
    from ..arrow import pyarrow  # noqa: PLC0415

    return pyarrow().CompressedOutputStream(pyarrow().PythonFile(file, "w"), "zstd")


COMPRESSIONS = (
    Compression(
        "gzip",
        b"\x1f\x8b",
        (".gz",),
        lambda stored: gzip.GzipFile(fileobj=stored),
        lambda file: gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0),
    ),
    Compression("bz2", b"BZh", (".bz2",), bz2.BZ2File, lambda file: bz2.BZ2File(file, "wb")),
    Compression("xz", b"\xfd7zXZ\x00", (".xz",), lzma.LZMAFile, lambda file: lzma.LZMAFile(file, "wb")),  # noqa: SIM115
    Compression("zstd", b"\x28\xb5\x2f\xfd", (".zst", ".zstd"), _read_zstd, _write_zstd),
)
LONGEST_MAGIC = max(len(compression.magic) for compression in COMPRESSIONS)


def of_content(head: bytes) -> Compression | None:
    """Return the compression of a file, judged by its first bytes; None if it is not compressed."""
    return next((compression for compression in COMPRESSIONS if head.startswith(compression.magic)), None)


def may_begin(head: bytes) -> bool:
    """Return whether a file with these first bytes may be compressed; more bytes would tell."""
    return any(kind.magic.startswith(head) and len(head) < len(kind.magic) for kind in COMPRESSIONS)


def of_name(path: str) -> Compression | None:
    """Return the compression that a file's name suggests; None if it suggests none."""
    suffix = os.path.splitext(path.lower())[1]
    return next((compression for compression in COMPRESSIONS if suffix in compression.suffixes), None)


def suffix_inside(path: str) -> str:
    """Return the ending of a file's name, such as .csv, without the ending of its compression."""
    stem, suffix = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if of_name(path) is not None else suffix
