"""Syncer: the one thread that waits for the disk, for all logs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeAlias

from .log import Log

Done: TypeAlias = Callable[[OSError | None], None]
_logger = logging.getLogger("unitless.serve")
_Request: TypeAlias = tuple[Log, int, Done]


class Syncer:
    """Brings logs to the disk in its own thread. All that is asked for during one sync is answered by the next one.

    Args:
        loop_callback: how to call a function elsewhere, such as an event loop's `call_soon_threadsafe`: it gets one
            function for each group of answers. Without it the answers are given in the thread.
    """

    def __init__(self, loop_callback: Callable[[Callable[[], None]], object] | None = None) -> None:
        self._call = loop_callback
        self._requests: SimpleQueue[_Request | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="unitless-sync", daemon=True)
        self._thread.start()

    def sync(self, log: Log, upto_end: int, done: Done) -> None:
        """Call `done` when all records up to a position are on the disk, or with the error if they cannot be."""
        self._requests.put((log, upto_end, done))

    def close(self) -> None:
        """Answer all that was asked for, then end the thread."""
        self._requests.put(None)
        self._thread.join()

    def _run(self) -> None:
        going_on = True
        while going_on:
            waiting = [self._requests.get()]
            try:
                while True:
                    waiting.append(self._requests.get_nowait())
            except Empty:
                pass
            going_on = None not in waiting
            self._answer([request for request in waiting if request is not None])

    def _answer(self, requests: list[_Request]) -> None:
        answers: list[tuple[Done, OSError | None]] = []
        failures: dict[int, OSError | None] = {}
        for log, upto, done in requests:
            if log.synced_end < upto and id(log) not in failures:
                try:
                    log.sync()
                    failures[id(log)] = None
                except OSError as error:
                    failures[id(log)] = error
            answers.append((done, failures.get(id(log)) if log.synced_end < upto else None))

        def answer() -> None:
            for done, error in answers:
                try:
                    done(error)
                except Exception:  # the others must still be answered
                    _logger.exception("an answer after a sync failed")

        if self._call is None:
            answer()
        else:
            self._call(answer)
