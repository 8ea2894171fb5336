"""Locks that are free in a forked child: before a fork, the parent takes all of them, and then those of the core."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

_known: weakref.WeakSet[Any] = weakref.WeakSet()
_held: list[Any] = []


def forkable_lock() -> Any:
    """Return a reentrant lock that is free in a forked child."""
    lock = threading.RLock()
    _known.add(lock)
    return lock


def _before() -> None:
    while missing := [lock for lock in list(_known) if not any(lock is held for held in _held)]:
        for lock in missing:  # other threads may make locks while this one waits
            lock.acquire()
            _held.append(lock)


def _after() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
