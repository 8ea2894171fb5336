"""The environment of processes that are started: how many threads they may use."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

LINEAR_ALGEBRA = tuple(f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "BLIS"))


def of_threads(threads: int | None) -> dict[str, str]:
    """So many threads for everything; None: all cores for unitless, one for linear algebra."""
    changes = dict.fromkeys(LINEAR_ALGEBRA, str(threads or 1))
    return changes if threads is None else {**changes, "UNITLESS_THREADS": str(threads)}


@contextlib.contextmanager
def environment(changes: dict[str, str]) -> Iterator[None]:
    """Environment variables for processes that are started within; libraries read them once, when they are loaded."""
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
