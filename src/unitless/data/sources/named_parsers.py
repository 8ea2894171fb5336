"""Parsers for the text formats of named features, for several threads.

Any thread parses chunks, in any order (`read`). Then the results are checked in the order of the file (`settled`),
where a chunk may have to be parsed again because of the chunks before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ... import _core
from ..threads import OneEach


class NamedParser(Protocol):
    """Parses chunks of whole lines."""

    def read(self, data: memoryview) -> Any:
        """Parse a chunk, in any thread."""

    def settled(self, data: memoryview, found: Any) -> _core.TextRows:
        """Return the rows of a chunk; `found` is the result of `read`. Called in the order of the file."""

    @property
    def idle(self) -> list[str]:
        """Return the names in `ignore` or `only` that do not exist in the data."""


class VwParser:
    """Parses VW text, whose lines are independent of each other.

    Args:
        ignore: patterns of features that are not used.
        only: patterns of features that are used.
    """

    def __init__(self, ignore: Sequence[str], only: Sequence[str]) -> None:
        self._readers = OneEach(lambda: _core.VwReader(list(ignore), list(only)))
        self._patterns = list(ignore) + list(only)

    def read(self, data: memoryview) -> _core.TextRows:
        """Parse a chunk, in any thread."""
        return self._readers.use(lambda reader: reader.read(np.frombuffer(data, np.uint8), True))

    def settled(self, data: memoryview, found: _core.TextRows) -> _core.TextRows:
        """Return the rows unchanged."""
        return found

    @property
    def idle(self) -> list[str]:
        """Return the patterns that matched no feature in any thread."""
        by_reader = [set(reader.idle) for reader in self._readers.all]
        return [pattern for pattern in self._patterns if all(pattern in idle for idle in by_reader)]


class LibsvmParser:
    """Parses libsvm.

    The first row with an index beyond the highest one so far also declares the indices between them, so that rows
    depend on the highest index before them. A chunk is parsed with the highest index that is known then. It is parsed
    again if it has a higher index and chunks before it had one too, which is rare.

    Args:
        zero_based: whether indices count from 0.
    """

    def __init__(self, zero_based: bool) -> None:
        self._readers = OneEach(lambda: _core.LibsvmReader(zero_based))
        self._highest = _core.LibsvmReader(zero_based).highest  # in all chunks that `settled` has returned

    def read(self, data: memoryview) -> tuple[_core.TextRows, Any, Any]:
        """Parse a chunk, in any thread; also return the highest index that was assumed before it, and that after it."""
        before = self._highest

        def read(reader: _core.LibsvmReader) -> tuple[_core.TextRows, Any, Any]:
            reader.highest = before
            rows = reader.read(np.frombuffer(data, np.uint8), True)
            return rows, before, reader.highest

        return self._readers.use(read)

    def settled(self, data: memoryview, found: tuple[_core.TextRows, Any, Any]) -> _core.TextRows:
        """Return the rows of a chunk; it is parsed again if the assumed highest index was wrong."""
        rows, before, after = found
        if before not in (self._highest, after):
            rows, before, after = self.read(data)
        if after != before:
            self._highest = after
        else:
            following, dense = self._highest
            rows.next_index = following if dense else rows.first_index
        return rows

    @property
    def idle(self) -> list[str]:
        """Return an empty list: this parser has no patterns."""
        return []
