"""Reads the data files in zip archives without unpacking the archive to the disk."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from ...errors import InputError
from .. import formats
from .files import File

if TYPE_CHECKING:
    import zipfile

SUFFIX = ".zip"
_HIDDEN = re.compile(r"(^|/)[._]")  # also __MACOSX/, which macOS adds
_SHOWN = 8  # names in a message


def _no_file() -> File:
    return File("")


@dataclass(frozen=True)
class ZipMember(File):
    """A file in a zip archive; its path is that of the archive and the name in it."""

    archive: File = field(default_factory=_no_file)
    member: str = ""
    length: int = 0  # bytes of the content
    checksum: int = 0  # CRC-32 of the content

    in_parts = False

    def open(self) -> IO[bytes]:
        """Open the content; reading starts at the beginning."""
        with _opened(self.archive) as archive:
            try:
                return archive.open(self.member)  # it keeps the file of the archive open as long as needed
            except (RuntimeError, NotImplementedError, KeyError) as error:
                raise OSError(f"the zip archive's {self.member!r} cannot be unpacked: {error}") from None

    @property
    def stored_path(self) -> str:
        """The path of the archive."""
        return self.archive.stored_path

    @property
    def stamp(self) -> tuple[int, int]:
        """The size and time of the archive."""
        return self.archive.stamp

    @property
    def size(self) -> int | None:
        """The size of the content in bytes."""
        return self.length


def _opened(archive: File) -> zipfile.ZipFile:
    import zipfile  # noqa: PLC0415  (most data is not in an archive)

    try:
        source: Any = archive.open() if archive.distant else archive.path
        return zipfile.ZipFile(source)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        reason = str(error)[:1].lower() + str(error)[1:]
        raise InputError(f"cannot read {archive.name}: the zip archive is damaged or cut off ({reason})") from None
    except OSError as error:
        raise InputError(f"cannot read {archive.name}: {error.strerror or error}") from None


def unpacked(file: File) -> list[File]:
    """Return the data files in a zip archive, in the order of their names; any other file is returned unchanged."""
    if not file.path.lower().endswith(SUFFIX) or file.size is None or isinstance(file, ZipMember):
        return [file]
    with _opened(file) as archive:
        every = [info for info in archive.infolist() if not info.is_dir()]
    names = {info.filename for info in every}
    if "[Content_Types].xml" in names:
        raise InputError(f"{file.name} is a document of Microsoft Office; save its table as CSV")
    visible = sorted((i for i in every if not _HIDDEN.search(i.filename)), key=lambda info: info.filename)
    # Archives often also have a text about the data.
    data = [info for info in visible if formats.of_name(info.filename) is not None]
    chosen = data or (visible if len(visible) == 1 else [])
    listed = _listed([info.filename for info in visible])
    if not chosen:
        what = f"several files, none of which has the name of a data file: {listed}" if visible else "no file"
        raise InputError(f"the zip archive {file.name} holds {what}; unpack it, and give the files themselves")
    kinds = sorted({known.name for info in data if (known := formats.of_name(info.filename))})
    if len(kinds) > 1:
        raise InputError(
            f"the zip archive {file.name} holds files of several formats, {' and '.join(kinds)}: {listed}; unpack it, "
            "and give the files of one format"
        )
    if locked := next((info for info in chosen if info.flag_bits & 1), None):
        raise InputError(
            f"{locked.filename!r} in the zip archive {file.name} is encrypted; unpack it with its password"
        )
    return [ZipMember(f"{file.path}/{info.filename}", file, info.filename, info.file_size, info.CRC) for info in chosen]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
