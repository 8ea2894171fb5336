"""Extract a file from an archive that may contain further archives."""

from __future__ import annotations

import gzip
import pathlib
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

from ...errors import DatasetError

_DEEPEST = 4
MOST_UNPACKED = 8 << 30  # total bytes; the largest dataset's file has less than a tenth of it
_ENDINGS = (".zip", ".tar", ".tgz", ".gz")


def extract(archive: pathlib.Path, name: str, folder: pathlib.Path) -> pathlib.Path:
    """Copy the first file with this name, at any depth of zip, tar and gzip, into the folder.

    Only the last part of a member's path is used, so nothing is written outside the folder.
    """
    try:
        found = _search(archive, archive.name, name, folder, 1, _Room(MOST_UNPACKED))
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, NotImplementedError) as error:
        raise DatasetError(f"the archive is damaged or not complete ({error})") from None
    if found is None:
        raise DatasetError(f"the archive has no file {name}")
    return found


class _Room:
    """The remaining number of bytes that may be unpacked: a small archive can contain files of any size."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size

    def take(self, size: int) -> None:
        """Reserve bytes, or raise an error before they are written."""
        self._left -= size
        if self._left < 0:
            raise DatasetError(f"the archive contains more than {self._size:,} bytes, the most that is unpacked of one")


def _search(
    archive: pathlib.Path, known_as: str, name: str, folder: pathlib.Path, depth: int, room: _Room
) -> pathlib.Path | None:
    for member, stream in _members(archive, known_as):
        if member == name:
            return _copied(stream, folder / name, room)
        if depth < _DEEPEST and member.endswith(_ENDINGS):
            inner = _copied(stream, folder / f"{depth}.archive", room)
            found = _search(inner, member, name, folder, depth + 1, room)
            inner.unlink()
            if found is not None:
                return found
    return None


def _members(archive: pathlib.Path, known_as: str) -> Iterator[tuple[str, Any]]:
    """The last part of the name of each file in an archive, and its bytes."""
    if tarfile.is_tarfile(archive):
        with tarfile.open(archive) as tar:
            for entry in tar:
                stream = tar.extractfile(entry) if entry.isfile() else None
                if stream is not None:
                    yield pathlib.PurePosixPath(entry.name).name, stream
    elif _starts_with(archive, b"\x1f\x8b"):
        with gzip.open(archive) as unpacked:
            yield known_as.removesuffix(".gz"), unpacked
    else:
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                if not info.is_dir():
                    with packed.open(info) as stream:
                        yield pathlib.PurePosixPath(info.filename).name, stream


def _starts_with(path: pathlib.Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _copied(stream: IO[bytes], path: pathlib.Path, room: _Room) -> pathlib.Path:
    try:
        with path.open("wb") as file:
            while part := stream.read(1 << 20):
                room.take(len(part))
                file.write(part)
    except DatasetError:
        path.unlink()
        raise
    return path
