"""Opens the output for results: the standard output, or a file that is written completely or not at all.

A file is compressed if its name has the ending of a compression.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import IO, Any

from ... import whole_file
from ..sources import compression
from ..sources.files import STDIN

STDOUT = STDIN  # both are called "-"


@contextlib.contextmanager
def opened(path: str | os.PathLike[str] | None) -> Iterator[IO[bytes]]:
    """Open the output to write: a file, compressed if its name ends so, or the standard output (None or "-")."""
    if path is None or path == STDOUT:
        out = sys.stdout.buffer
        yield out
        out.flush()
        return
    name = os.fspath(path)
    try:
        with whole_file.opened(name) as file, _compressed(file, name) as compressed:
            yield compressed
    except OSError as error:
        temporary = os.path.basename(str(error.filename)).startswith(".unitless-")
        ours = error.filename in (None, name) or temporary
        if not ours or isinstance(error, BrokenPipeError):
            raise
        raise OSError(error.errno, f"cannot write it: {error.strerror or error}", name) from None


@contextlib.contextmanager
def _compressed(file: IO[bytes], name: str) -> Iterator[Any]:
    held = _Held(file)
    chosen = compression.of_name(name)
    if chosen is None:
        yield held
        return
    stream = chosen.writing(held)
    yield stream
    stream.close()


class _Held(io.RawIOBase):
    """A file whose `close` does nothing, for writers that close their file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        pass
