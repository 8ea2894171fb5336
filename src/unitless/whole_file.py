"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from typing import IO


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Into a temporary file beside the target, flushed to the disk, then renamed over it."""
    with opened(path) as file:
        file.write(data)


@contextlib.contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its name only when all is written; after an error nothing is left of it."""
    target = os.path.realpath(os.fspath(path))  # through a link, not over it
    folder = os.path.dirname(target)
    if os.path.isdir(target) or str(os.fspath(path)).endswith(os.sep):
        raise IsADirectoryError(errno.EISDIR, "it is a directory")
    if os.path.exists(target) and not os.path.isfile(target):  # a device or a pipe, which nothing may take the place of
        handle = os.open(target, os.O_WRONLY | os.O_NONBLOCK)  # a pipe that nobody reads is an error, not a wait
        os.set_blocking(handle, True)
        with os.fdopen(handle, "wb") as device:
            yield device
        return
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    handle, temporary = tempfile.mkstemp(prefix=".unitless-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.chmod(temporary, _mode(target))
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _flush_folder(folder)


def _mode(target: str) -> int:
    """The permissions of the file that is replaced, or those of any new file."""
    if os.path.exists(target):
        return os.stat(target).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _flush_folder(folder: str) -> None:
    """So that the rename itself survives a power cut; not every system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
