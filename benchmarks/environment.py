"""The environment of started processes: the number of threads that they may use."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

LINEAR_ALGEBRA = tuple(f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "BLIS"))


def of_threads(threads: int | None) -> dict[str, str | None]:
    """This many threads for everything; None: all cores for unitless, one for linear algebra."""
    return {**dict.fromkeys(LINEAR_ALGEBRA, str(threads or 1)), "UNITLESS_THREADS": str(threads) if threads else None}


@contextlib.contextmanager
def environment(changes: dict[str, str | None]) -> Iterator[None]:
    """Set environment variables for processes that are started inside; None removes a variable.

    Libraries read them once, when they are loaded.
    """
    before = dict(os.environ)
    os.environ.update({name: value for name, value in changes.items() if value is not None})
    for name in changes.keys() - {name for name, value in changes.items() if value is not None}:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
