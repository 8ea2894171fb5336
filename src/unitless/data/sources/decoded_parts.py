"""Decoded parts of files, cached by the process that decoded them: another block of the same part is often wanted."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from ...locks import forkable_lock

T = TypeVar("T")
MOST_CACHED = 256 << 20  # bytes of all parts together


class PartCache:
    """Parts by key, the last used ones of a bounded size. A thread that asks for a part that is being decoded waits.

    Args:
        most: the size of all parts together.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = forkable_lock()
        self._decoding: dict[Hashable, Any] = {}
        self._parts: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, decode: Callable[[], T], size: Callable[[Any], int]) -> T:
        """The part, decoded if it is not there."""
        part: T
        with self._lock:
            if (found := self._found(key)) is not None:
                part = found[0]
                return part
            # A forked child does not know the locks that other threads hold: it decodes for itself.
            own = self._decoding.setdefault((os.getpid(), key), threading.Lock())
        with own:
            with self._lock:
                if (found := self._found(key)) is not None:
                    part = found[0]
                    return part
            part = decode()
            with self._lock:
                self._store(key, part, 0 if part is None else size(part))
                self._decoding.pop((os.getpid(), key), None)
        return part

    def drop(self, key: Hashable) -> None:
        """The part is needed no more."""
        with self._lock:
            _, size = self._parts.pop(key, (None, 0))
            self._bytes -= size

    def _found(self, key: Hashable) -> tuple[Any, int] | None:
        found = self._parts.get(key)
        if found is not None:
            self._parts.move_to_end(key)
        return found

    def _store(self, key: Hashable, part: Any, size: int) -> None:
        if size > self._most or key in self._parts:
            return
        self._parts[key] = part, size
        self._bytes += size
        while self._bytes > self._most:
            _, (_, dropped) = self._parts.popitem(last=False)
            self._bytes -= dropped


_PARTS = PartCache(MOST_CACHED)


def cached_part(key: Hashable, decode: Callable[[], T], size: Callable[[Any], int]) -> T:
    """A part of a file, from the cache or decoded now. None, for a part that does not exist, is cached too.

    Args:
        key: says which part of which file; and of which state of the file, which may be written again.
        decode: makes the part.
        size: says how many bytes it takes.
    """
    return _PARTS.get(key, decode, size)
