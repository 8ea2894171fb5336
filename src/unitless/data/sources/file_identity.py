"""By what a file is recognized wherever it lies: its name without the folders, its size and a digest.

A model file keeps these of the files that were learned. They depend on the data alone: a stranger does not learn where
the files lay, and two trainings give the same bytes. The digest is of pieces of the content, because large files are
not to be read a second time, and of tables in columns only some columns are read. Another table or another version of
it has another size or other pieces; an edit between the pieces that keeps the size is not noticed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from .files import File, TailedFile
from .zip_files import ZipMember

PIECES, PIECE = 4, 64 << 10  # of a large file: how many, evenly spread, and the bytes of each; small files are whole


def identity_of(file: File) -> list[Any]:
    """The name, size and digest of a file, as a model file stores them; a stream has no size and no digest."""
    size = file.size
    return [label_of(file.path), size, None if size is None else _digest(file, size)]


def label_of(path: str) -> str:
    """The name of a file without the folders that say where it lies; those that give columns (year=2020) are kept."""
    *folders, name = re.split(r"[/\\]", path)
    return "/".join([*(folder for folder in folders if folder.find("=") > 0), name])


def labels_of(files: Iterable[File]) -> dict[str, str]:
    """By what messages call each file, its name without folders."""
    return {file.name: label_of(file.path) for file in files}


def content_before(file: TailedFile, place: int) -> list[Any] | None:
    """What identifies a growing file: the place reached, digests of its first bytes and of those before the place."""
    try:
        with open(file.path, "rb") as stored:
            first = stored.read(min(place, PIECE))
            stored.seek(max(0, place - PIECE))
            last = stored.read(min(place, PIECE))
    except OSError:  # training that reads it already goes on
        return None
    return [place, *(hashlib.blake2b(part, digest_size=16).hexdigest() for part in (first, last))]


def _digest(file: File, size: int) -> str | None:
    if isinstance(file, ZipMember):  # which can only be read from its beginning; the archive knows a checksum
        return f"{file.checksum:08x}"
    found = hashlib.blake2b(digest_size=16)
    try:
        with file.open() as stored:
            if size <= PIECES * PIECE:
                found.update(stored.read(PIECES * PIECE))
            else:
                for piece in range(PIECES):
                    stored.seek(piece * (size - PIECE) // (PIECES - 1))
                    found.update(stored.read(PIECE))
    except OSError:  # reading the data reports it
        return None
    return found.hexdigest()
