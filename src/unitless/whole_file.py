"""Files that are written completely or not at all.

The data is first written to `.unitless-<process id>-<token>` in the folder of the target. This temporary file is locked
while it is written, and is renamed to the target when it is complete. A killed process leaves its temporary file; the
next process that writes to the folder removes it.
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
_LOOK_AGAIN = 60.0  # seconds; so frequent saves do not list the folder each time
_looked: dict[str, float] = {}  # by folder: when it was last searched for files of dead processes


def write(path: str | os.PathLike[str], data: bytes, *, private: bool = False) -> None:
    """Write data to a temporary file in the target's folder, flush it to the disk, and rename it to the target.

    Args:
        path: the path of the target.
        data: the content.
        private: whether only the owner may read a new file, whatever the umask. Default: False.
    """
    with opened(path, private=private) as file:
        file.write(data)


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a file to write to; it gets its name when everything is written, and is removed after an error.

    Args:
        path: the path of the target.
        private: whether only the owner may read a new file, whatever the umask. Default: False.
    """
    target = os.path.realpath(os.fspath(path))  # a symbolic link stays; its target is replaced
    folder = os.path.dirname(target)
    if os.path.isdir(target) or str(os.fspath(path)).endswith(os.sep):
        raise IsADirectoryError(errno.EISDIR, "it is a directory")
    if os.path.exists(target) and not os.path.isfile(target):  # a device or pipe must not be replaced
        handle = os.open(target, os.O_WRONLY | os.O_NONBLOCK)  # error, not a wait, for a pipe without a reader
        os.set_blocking(handle, True)
        with os.fdopen(handle, "wb") as device:
            yield device
        return
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    _remove_abandoned(folder)
    replaced = os.stat(target).st_mode & 0o777 if os.path.exists(target) else None
    # The system applies the umask to a new file. A file that replaces another one is private until it gets the
    # permissions of that one.
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
    """Make a new file in the folder; return its open, locked handle and its path."""
    while True:
        path = os.path.join(folder, f".unitless-{os.getpid()}-{secrets.token_hex(8)}")
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        _locked(handle)
        # Before the lock is taken, a process in another container, which does not see this one, may remove the file.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(handle)):
                return handle, path
        os.close(handle)


def _locked(handle: int) -> bool:
    """Lock an open file and return True; False if another process has locked it, or the file system has no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_abandoned(folder: str) -> None:
    """Remove the temporary files of processes that have ended; those of running processes stay."""
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
    """Remove a regular file unless it is locked. The lock counts because process ids differ between containers."""
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode) and _locked(handle):
            os.unlink(path)
    finally:
        os.close(handle)


def _alive(process: int) -> bool:
    """Return whether a process with this number exists."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's process, or a number that no process can have
        return True
    return True


def _flush_folder(folder: str) -> None:
    """Flush the folder so that the rename survives a power failure; some systems cannot do this."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
