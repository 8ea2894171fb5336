"""Finds the files that a user's name stands for: a file, a glob, a folder, the standard input."""

from __future__ import annotations

import glob
import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any, ClassVar

from ...errors import InputError, OptionError
from .. import formats

STDIN = "-"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # identifies the filesystem


@dataclass(frozen=True)
class File:
    """A file to read: its path, or "-" for the standard input."""

    path: str
    distant: ClassVar[bool] = False  # whether each access takes long
    in_parts: ClassVar[bool] = True  # whether reading can begin at any place of what `open` returns

    def open(self) -> IO[bytes]:
        """Open the stored bytes; reading starts at the beginning."""
        if self.size is not None:
            return open(self.path, "rb")
        if stat.S_ISSOCK(os.stat(self.path).st_mode):
            import socket  # noqa: PLC0415  (most files are not sockets)

            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(self.path)
                return connection.makefile("rb", buffering=0)  # type: ignore[return-value]
        return open(self.path, "rb", buffering=0)  # a buffer would wait until it is full

    def open_in_arrow(self) -> Any:
        """Open the file for pyarrow, which reads at any place."""
        from ..arrow import pyarrow  # noqa: PLC0415  (an optional dependency)

        return pyarrow().memory_map(self.path)

    @property
    def stored_path(self) -> str:
        """The path of the file on the disk; for a member of an archive, the path of the archive."""
        return self.path

    @property
    def stamp(self) -> tuple[int, int]:
        """The size and time of the last change; a file that is written again has another stamp."""
        found = os.stat(self.path)
        return found.st_size, found.st_mtime_ns

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return "standard input" if self.path == STDIN else self.path

    @property
    def size(self) -> int | None:
        """The size in bytes as stored; None for a stream."""
        try:
            return os.path.getsize(self.path) if os.path.isfile(self.path) else None
        except OSError:
            return None


@dataclass(frozen=True)
class TailedFile(File):
    """A file that is read while it grows: a stream, which another file with the same name can replace."""

    @property
    def size(self) -> int | None:
        """None, because the file grows."""
        return None

    def open(self) -> IO[bytes]:
        """Open the stored bytes; reading starts at the beginning and waits at the end for more."""
        from .growing_file import GrowingFile  # noqa: PLC0415

        return GrowingFile(self.path)  # type: ignore[return-value]


@dataclass(frozen=True)
class MemoryFile(File):
    """A file whose content, decompressed and as UTF-8, is in memory."""

    content: bytes = b""

    def open(self) -> IO[bytes]:
        """Open the content; reading starts at the beginning."""
        return io.BytesIO(self.content)


def find(named: str | os.PathLike[str], filesystem: Any = None) -> list[File]:
    """Return the files of a path, a glob, a folder, an address ("s3://...") or "-", in the order of their names.

    Args:
        named: what the user has given.
        filesystem: the pyarrow filesystem with the files. Default: None, that of the machine or the address.
    """
    path = os.fspath(named)
    if filesystem is not None or _ADDRESS.match(path):
        from .remote_files import find_remote  # noqa: PLC0415

        return find_remote(path, filesystem)
    if path == STDIN:
        return [File(STDIN)]
    if os.path.isdir(path):
        inside = (os.path.join(folder, name) for folder, names in _folders(path) for name in names)
        return [File(name) for name in of_folder(path, inside)]
    if not os.path.lexists(path) and glob.has_magic(path):
        hits = [hit for hit in sorted(glob.glob(path, recursive=True)) if os.path.isfile(hit)]
        if not hits:
            raise InputError(f"no file matches {path!r}")
        return [File(hit) for hit in hits]
    if not os.path.exists(path):
        raise InputError(f"there is no file {path!r}")
    return [File(path)]


def check_output(
    output: str | os.PathLike[str] | None, files: Iterable[File], what: str, over: str = "the data"
) -> None:
    """Raise an error if the output is one of the input files, under any name: a pattern, a folder, a link, or stdin."""
    if output is None or not os.path.isfile(output):  # a device or pipe is not overwritten
        return
    written = os.stat(output)
    for file in files:
        try:
            read = os.fstat(sys.stdin.fileno()) if file.path == STDIN else os.stat(file.stored_path)
        except (OSError, ValueError, AttributeError):  # the file does not exist; opening it reports that
            continue
        if os.path.samestat(written, read):
            alias = "" if os.fspath(output) == file.stored_path else f" (it is the same file as {file.name})"
            raise OptionError(f"{what} would be written over {over}, {os.fspath(output)!r}{alias}; name another file")


def _folders(path: str) -> Iterator[tuple[str, list[str]]]:
    """Return a folder and its subfolders, without hidden ones, each with the names of its files."""
    for folder, inside, names in os.walk(path):
        inside[:] = [name for name in inside if not name.startswith((".", "_"))]
        yield folder, names


def _is_data(path: str) -> bool:
    return formats.of_name(path) is not None or path.lower().endswith(".zip")


def of_folder(folder: str, inside: Iterable[str]) -> list[str]:
    """Return the data files in a folder and its subfolders, without hidden ones, in the order of their names."""
    hidden = re.compile(r"(^|[/\\])[._]")
    data = sorted(path for path in inside if _is_data(path) and not hidden.search(path[len(folder) :]))
    if not data:
        known = ", ".join(formats.suffixes())
        raise InputError(f"the folder {folder!r} has no data files in it (names that end in {known})")
    kinds = sorted({format.name for name in data if (format := formats.of_name(name))})
    if len(kinds) > 1:
        raise InputError(
            f"the folder {folder!r} has files of several formats, {' and '.join(kinds)}; name the files themselves"
        )
    return data
