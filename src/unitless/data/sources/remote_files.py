"""Remote files on pyarrow filesystems: S3 ("s3://..."), Google Cloud Storage ("gs://..."), HDFS and others."""

from __future__ import annotations

import glob
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import IO, Any

from ...errors import InputError
from ..arrow import pyarrow
from .files import File, of_folder


@dataclass(frozen=True)
class RemoteFile(File):
    """A file on a pyarrow filesystem, with the size and time that it had when it was found."""

    filesystem: Any = field(default=None, compare=False)
    place: str = ""  # the path on the filesystem
    stored: int = 0  # bytes
    changed: int = 0  # nanoseconds

    def open(self) -> IO[bytes]:
        """Open the stored bytes; reading starts at the beginning."""
        opened: IO[bytes] = self.filesystem.open_input_file(self.place)
        return opened

    def open_in_arrow(self) -> Any:
        """Open the file for pyarrow, which reads at any place."""
        return self.filesystem.open_input_file(self.place)

    distant = True

    @property
    def size(self) -> int | None:
        """The size in bytes as stored."""
        return self.stored

    @property
    def stamp(self) -> tuple[int, int]:
        """The size and time of the last change; a file that is written again has another stamp."""
        return self.stored, self.changed


def find_remote(named: str, filesystem: Any) -> list[File]:
    """Return the files of an address, or of a path on a filesystem: a file, a folder, or a pattern."""
    try:
        scheme = ""
        if filesystem is None:
            filesystem, path = _opened(named)
            scheme = named.partition("://")[0] + "://"
        else:
            path = filesystem.normalize_path(named)
        kinds = pyarrow("fs").FileType
        (found,) = filesystem.get_file_info([path])
        if found.type == kinds.File:
            return [_file(found, filesystem, scheme)]
        if found.type == kinds.Directory:
            inside = {info.path: info for info in _below(filesystem, path)}
            return [_file(inside[one], filesystem, scheme) for one in of_folder(path, inside)]
        if glob.has_magic(path):
            parts = path.split("/")
            plain = next(k for k, part in enumerate(parts) if glob.has_magic(part))
            hits = [i for i in _below(filesystem, "/".join(parts[:plain])) if _matches(i.path.split("/"), parts)]
            if not hits:
                raise InputError(f"no file matches {named!r}")
            return [_file(info, filesystem, scheme) for info in sorted(hits, key=lambda info: info.path)]
    except (pyarrow().ArrowException, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        if named.startswith(("http://", "https://")):
            raise InputError(f"cannot read {named}: data are not read over HTTP; download the file first") from None
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"cannot read {named}: {reason}") from None
    raise InputError(f"there is no file {named!r}")


def _opened(address: str) -> tuple[Any, str]:
    """Return the filesystem of an address and the path on it. The path may be a pattern; "?" begins options."""
    parts = address.split("/")
    plain = next((k for k, part in enumerate(parts) if "*" in part or "[" in part), len(parts))
    filesystem, path = pyarrow("fs").FileSystem.from_uri("/".join(parts[:plain]))
    return filesystem, posixpath.join(path, *parts[plain:])


def _below(filesystem: Any, folder: str) -> Iterable[Any]:
    """Return all files in a folder and its subfolders."""
    fs = pyarrow("fs")
    selector = fs.FileSelector(folder, allow_not_found=True, recursive=True)
    return [info for info in filesystem.get_file_info(selector) if info.type == fs.FileType.File]


def _file(info: Any, filesystem: Any, scheme: str) -> File:
    name = f"{scheme}{posixpath.join('/', info.path) if scheme == 'file://' else info.path}"
    return RemoteFile(name, filesystem, info.path, info.size or 0, info.mtime_ns or 0)


def _matches(path: list[str], pattern: list[str]) -> bool:
    """Return whether a path matches a pattern as in `glob`: * stands for letters of a name, ** for any folders."""
    if not path or not pattern:
        return path == pattern
    hidden = path[0].startswith(".") and not pattern[0].startswith(".")
    if pattern[0] == "**":
        return _matches(path, pattern[1:]) or (not hidden and _matches(path[1:], pattern))
    return fnmatchcase(path[0], pattern[0]) and not hidden and _matches(path[1:], pattern[1:])
