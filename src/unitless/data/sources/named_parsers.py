"""Readers of the text formats of named features, for several threads.

Chunks are read by any thread, in any order (`read`), and what was read is then looked at in the order of the file
(`settled`), where it may turn out that it must be read again because of what stands before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ... import _core
from ..threads import OneEach


class NamedParser(Protocol):
    """What reads chunks of whole lines."""

    def read(self, data: memoryview) -> Any:
        """Read a chunk, in any thread."""

    def settled(self, data: memoryview, found: Any) -> _core.TextRows:
        """The rows of a chunk, of which `read` gave what was found; called in order."""

    @property
    def idle(self) -> list[str]:
        """What was to be ignored or used, and has not been met."""


class VwParser:
    """Reads VW text, whose lines do not depend on one another.

    Args:
        ignore: patterns of features that are not used.
        only: patterns of those that are.
    """

    def __init__(self, ignore: Sequence[str], only: Sequence[str]) -> None:
        self._readers = OneEach(lambda: _core.VwReader(list(ignore), list(only)))
        self._patterns = list(ignore) + list(only)

    def read(self, data: memoryview) -> _core.TextRows:
        """Read a chunk, in any thread."""
        return self._readers.use(lambda reader: reader.read(np.frombuffer(data, np.uint8), True))

    def settled(self, data: memoryview, found: _core.TextRows) -> _core.TextRows:
        """The rows as they were read."""
        return found

    @property
    def idle(self) -> list[str]:
        """The patterns that no reader has met."""
        by_reader = [set(reader.idle) for reader in self._readers.all]
        return [pattern for pattern in self._patterns if all(pattern in idle for idle in by_reader)]


class LibsvmParser:
    """Reads libsvm.

    The first row that has an index beyond the highest so far also mentions those that were left out between, so rows
    depend on what the highest index before them was. A chunk is read as if it were the highest that is known by then:
    that matters only if the chunk goes beyond it, which few chunks of a file do, and then it is read again.

    Args:
        zero_based: whether indices count from 0.
    """

    def __init__(self, zero_based: bool) -> None:
        self._readers = OneEach(lambda: _core.LibsvmReader(zero_based))
        self._highest = _core.LibsvmReader(zero_based).highest  # in all chunks that are settled

    def read(self, data: memoryview) -> tuple[_core.TextRows, Any, Any]:
        """Read a chunk, in any thread; with the highest index that was assumed before it, and that after it."""
        before = self._highest

        def read(reader: _core.LibsvmReader) -> tuple[_core.TextRows, Any, Any]:
            reader.highest = before
            rows = reader.read(np.frombuffer(data, np.uint8), True)
            return rows, before, reader.highest

        return self._readers.use(read)

    def settled(self, data: memoryview, found: tuple[_core.TextRows, Any, Any]) -> _core.TextRows:
        """The rows as they are after the chunks before them."""
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
        """Nothing: it has no patterns."""
        return []
