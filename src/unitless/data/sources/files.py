"""From what a user names (a file, a glob, a folder, the standard input) to the files that are read."""

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
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # which says on which filesystem a file is


@dataclass(frozen=True)
class File:
    """A file to read: its path, or "-" for the standard input."""

    path: str
    distant: ClassVar[bool] = False  # each look at it takes long
    in_parts: ClassVar[bool] = True  # reading can begin anywhere in what `open` gives

    def open(self) -> IO[bytes]:
        """Open the stored bytes to be read from the beginning."""
        if self.size is not None:
            return open(self.path, "rb")
        if stat.S_ISSOCK(os.stat(self.path).st_mode):
            import socket  # noqa: PLC0415  (most files are not sockets)

            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(self.path)
                return connection.makefile("rb", buffering=0)  # type: ignore[return-value]
        return open(self.path, "rb", buffering=0)  # a buffer would wait until it is full

    def open_in_arrow(self) -> Any:
        """Open it for pyarrow, to be read anywhere."""
        from ..arrow import pyarrow  # noqa: PLC0415  (an optional dependency)

        return pyarrow().memory_map(self.path)

    @property
    def stored_path(self) -> str:
        """The path of the file on the disk that holds it."""
        return self.path

    @property
    def stamp(self) -> tuple[int, int]:
        """What changes when the file is written again: its size, and when that was."""
        found = os.stat(self.path)
        return found.st_size, found.st_mtime_ns

    @property
    def name(self) -> str:
        """What messages call the file."""
        return "standard input" if self.path == STDIN else self.path

    @property
    def size(self) -> int | None:
        """In bytes, as stored; None if it is a stream."""
        try:
            return os.path.getsize(self.path) if os.path.isfile(self.path) else None
        except OSError:
            return None


@dataclass(frozen=True)
class TailedFile(File):
    """A file that grows while it is read: a stream, which another file of the same name can replace."""

    @property
    def size(self) -> int | None:
        """Not known: it grows."""
        return None

    def open(self) -> IO[bytes]:
        """Open the stored bytes to be read from the beginning, with more to come at the end."""
        from .growing_file import GrowingFile  # noqa: PLC0415

        return GrowingFile(self.path)  # type: ignore[return-value]


@dataclass(frozen=True)
class MemoryFile(File):
    """A file whose content, decompressed and as UTF-8, is in memory."""

    content: bytes = b""

    def open(self) -> IO[bytes]:
        """Open the content to be read from the beginning."""
        return io.BytesIO(self.content)


def find(named: str | os.PathLike[str], filesystem: Any = None) -> list[File]:
    """The files that a path, a glob, a folder, an address ("s3://...") or "-" stands for, in order of their names.

    Args:
        named: what the user says.
        filesystem: of pyarrow, on which the files are; the machine's own if it is not given.
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
    """Nothing is written over what is read, whatever it is called: by a pattern, a folder, a link, or as stdin."""
    if output is None or not os.path.isfile(output):  # a device or a pipe keeps nothing
        return
    written = os.stat(output)
    for file in files:
        try:
            read = os.fstat(sys.stdin.fileno()) if file.path == STDIN else os.stat(file.stored_path)
        except (OSError, ValueError, AttributeError):  # no such file: opening it reports that
            continue
        if os.path.samestat(written, read):
            alias = "" if os.fspath(output) == file.stored_path else f" (it is the same file as {file.name})"
            raise OptionError(f"{what} would be written over {over}, {os.fspath(output)!r}{alias}; name another file")


def _folders(path: str) -> Iterator[tuple[str, list[str]]]:
    """A folder and those in it, but for hidden ones, with the names of their files."""
    for folder, inside, names in os.walk(path):
        inside[:] = [name for name in inside if not name.startswith((".", "_"))]
        yield folder, names


def _is_data(path: str) -> bool:
    return formats.of_name(path) is not None or path.lower().endswith(".zip")


def of_folder(folder: str, inside: Iterable[str]) -> list[str]:
    """The data files among all that are in a folder or in one in it, hidden ones left out; in order of their names."""
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
