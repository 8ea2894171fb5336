"""Files that are written whole or not at all.

What is being written lies in `.unitless-<process id>-<token>` beside the target until it is complete, and is locked as
long as its writer lives. A process that is killed leaves that file behind; the next one that writes to the directory
removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from typing import IO

try:
    import fcntl
except ImportError:  # pragma: no cover  (not on Windows, where nothing is cleaned up)
    fcntl = None  # type: ignore[assignment]

_TEMPORARY = re.compile(r"\.unitless-([1-9][0-9]*)-[0-9a-f]{16}")
_LOOK_AGAIN = 60.0  # seconds; a model that is saved often does not list its directory each time
_looked: dict[str, float] = {}  # directories, and when they were last searched for files of dead processes


def write(path: str | os.PathLike[str], data: bytes, *, private: bool = False) -> None:
    """Into a temporary file beside the target, flushed to the disk, then renamed over it."""
    with opened(path, private=private) as file:
        file.write(data)


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its name only when all is written; after an error nothing is left of it.

    Args:
        path: of the file.
        private: only its owner can read a new file, whatever the umask.
    """
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
    _remove_abandoned(folder)
    replaced = os.stat(target).st_mode & 0o777 if os.path.exists(target) else None
    # The system applies the umask to a new file by itself. One that takes the place of another is private until it has
    # the permissions of that one.
    handle, temporary = _temporary(folder, 0o666 if replaced is None and not private else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if replaced is not None:
                os.chmod(temporary, replaced)
            os.fsync(file.fileno())
            if fcntl is None:  # pragma: no cover  (Windows does not rename a file that is open)
                file.close()
            os.replace(temporary, target)  # while it is still locked
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _flush_folder(folder)


def _temporary(folder: str, mode: int) -> tuple[int, str]:
    """A new file in the folder, open and locked."""
    while True:
        path = os.path.join(folder, f".unitless-{os.getpid()}-{secrets.token_hex(8)}")
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        _locked(handle)
        # Before the lock is taken, a process that does not see this one (in another container) may remove the file.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(handle)):
                return handle, path
        os.close(handle)


def _locked(handle: int) -> bool:
    """Lock an open file, unless another process has; not every file system can."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_abandoned(folder: str) -> None:
    """Remove the temporary files of processes that have ended. Those of running ones are not touched."""
    now = time.monotonic()
    if fcntl is None or now - _looked.get(folder, -_LOOK_AGAIN) < _LOOK_AGAIN:
        return
    _looked[folder] = now
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            writer = _TEMPORARY.fullmatch(name)
            if writer is not None and not _alive(int(writer[1])):
                with contextlib.suppress(OSError):
                    _remove_unlocked(os.path.join(folder, name))


def _remove_unlocked(path: str) -> None:
    """Remove a regular file unless it is locked: process ids say nothing about other machines and containers."""
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode) and _locked(handle):
            os.unlink(path)
    finally:
        os.close(handle)


def _alive(process: int) -> bool:
    """Is there a process of this number?"""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is somebody else's, or the number is none that a process can have
        return True
    return True


def _flush_folder(folder: str) -> None:
    """So that the rename itself survives a power cut; not every system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
