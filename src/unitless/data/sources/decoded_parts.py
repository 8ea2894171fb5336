"""A cache of decoded parts of files: often several blocks of the same part are read one after the other."""

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
    """The most recently used parts, by key, up to a total size. A thread waits for a part that another one decodes.

    Args:
        most: the largest total size in bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = forkable_lock()
        self._decoding: dict[Hashable, Any] = {}
        self._parts: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, decode: Callable[[], T], size: Callable[[Any], int]) -> T:
        """Return the part with this key; decode it if it is not in the cache."""
        part: T
        with self._lock:
            if (found := self._found(key)) is not None:
                part = found[0]
                return part
            # A forked child cannot use the locks of threads that do not exist in it, so it has its own.
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
        """Remove a part that is no longer needed."""
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
    """Return a part of a file, from the cache or decoded now. A part that does not exist is cached as None.

    Args:
        key: identifies the file, its state (a file may be replaced) and the part.
        decode: makes the part.
        size: returns the size of the part in bytes.
    """
    return _PARTS.get(key, decode, size)
