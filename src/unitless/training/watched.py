"""A run that is watched while it goes, and asked to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..data.progress import Progress


class Watched:
    """Who looks on: told after every batch, with the clock of the run moved on.

    Args:
        run: what is watched; it has `progress`.
        watch: called with the run, if anybody wants to be.
        stopped: whether the user has asked to stop.
    """

    def __init__(self, run: Any, watch: Callable[[Any], None] | None, stopped: Callable[[], bool]) -> None:
        self._run, self._watch, self.stopped = run, watch, stopped
        self._start, self._before = time.perf_counter(), self._progress.seconds

    @property
    def _progress(self) -> Progress:
        progress: Progress = self._run.progress
        return progress

    def tell(self) -> bool:
        """After a batch; gives whether to stop."""
        self._progress.seconds = self._before + time.perf_counter() - self._start
        if self._watch is not None:
            self._watch(self._run)
        return self.stopped()
