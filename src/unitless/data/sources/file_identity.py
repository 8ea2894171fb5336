"""Identifies a file wherever it is stored: by its name without the folders, its size and a digest.

A model file stores this for the files that were learned. Because the folders are not stored, the model file does not
tell where the files were, and two trainings give the same bytes. The digest is of pieces of the content, because large
files should not be read twice, and of columnar files only some columns are read. Other data or a new version has
another size or other pieces; a change between the pieces that keeps the size is not noticed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from .files import File, TailedFile
from .zip_files import ZipMember

# A large file is digested in so many evenly spaced pieces of so many bytes; a small file is digested whole.
PIECES, PIECE = 4, 64 << 10


def identity_of(file: File) -> list[Any]:
    """Return the name, size and digest of a file as a model file stores them; a stream has no size and no digest."""
    size = file.size
    return [label_of(file.path), size, None if size is None else _digest(file, size)]


def label_of(path: str) -> str:
    """Return the name of a file without its folders, except folders that give columns (year=2020)."""
    *folders, name = re.split(r"[/\\]", path)
    return "/".join([*(folder for folder in folders if folder.find("=") > 0), name])


def labels_of(files: Iterable[File]) -> dict[str, str]:
    """Map the name of each file in messages to its name without folders."""
    return {file.name: label_of(file.path) for file in files}


def content_before(file: TailedFile, place: int) -> list[Any] | None:
    """Return the identity of a growing file: the place reached, and digests of the first and last bytes."""
    try:
        with open(file.path, "rb") as stored:
            first = stored.read(min(place, PIECE))
            stored.seek(max(0, place - PIECE))
            last = stored.read(min(place, PIECE))
    except OSError:  # a training that has read the file can continue
        return None
    return [place, *(hashlib.blake2b(part, digest_size=16).hexdigest() for part in (first, last))]


def _digest(file: File, size: int) -> str | None:
    if isinstance(file, ZipMember):  # a member can only be read from its beginning; the archive has its checksum
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
    except OSError:  # reading the data will report the error
        return None
    return found.hexdigest()
