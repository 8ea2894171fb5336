"""Progress callbacks of a training, and its interruption."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..data.progress import Progress


class Watched:
    """Calls a callback after every batch, keeps the elapsed time, and tells whether the user has interrupted.

    Args:
        run: the training; it has `progress`.
        watch: the callback, called with the training. None: no callback.
        stopped: whether the user has interrupted the training.
    """

    def __init__(self, run: Any, watch: Callable[[Any], None] | None, stopped: Callable[[], bool]) -> None:
        self._run, self._watch, self.stopped = run, watch, stopped
        self._start, self._before = time.perf_counter(), self._progress.seconds

    @property
    def _progress(self) -> Progress:
        progress: Progress = self._run.progress
        return progress

    def tell(self) -> bool:
        """Update the time and call the callback; returns whether to stop."""
        self._progress.seconds = self._before + time.perf_counter() - self._start
        if self._watch is not None:
            self._watch(self._run)
        return self.stopped()
