"""Background work of a server: it requests snapshots, removes the part of the log that is no longer needed, and
continues models that were learning from history when the server stopped.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from .snapshotter import Snapshotter
from .streams import retention

if TYPE_CHECKING:
    from .live import LiveStream
    from .snapshot_process import Report
    from .store import ModelStore

_log = logging.getLogger("unitless.serve")


class Upkeep:
    """Snapshots and retention of all streams of a model store."""

    def __init__(self, store: ModelStore) -> None:
        self._store = store
        self._tasks: set[asyncio.Task[None]] = set()
        self._snapshotter = Snapshotter(
            store.folder,
            store.settings.snapshot_every,
            store.settings.log_retention,
            self._counted,
            on_report=self._on_report,
            warn=_log.warning,
        )

    @property
    def pid(self) -> int | None:
        """The id of the process that writes snapshots, if it runs."""
        return self._snapshotter.pid

    def start(self) -> None:
        """Begin."""
        self._keep(self._store.keep_time())
        self._snapshotter.start()
        self._store.release = self._snapshotter.release
        for name, live in self._store.streams.items():
            self._store.backtests.resume(live, self._store.folders[name])

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("background work failed", exc_info=error)

    async def snapshot(self, live: LiveStream) -> int:
        """Write a snapshot of a stream now; gives the last record that it has."""
        report = await self._snapshotter.request(self._store.folders[live.name].name)
        return report.snapshot_seq

    async def stop(self, timeout: float) -> None:
        """Write last snapshots, as far as there is time, and end."""
        for task in list(self._tasks):
            task.cancel()
        await self._store.backtests.stop()
        began = time.monotonic()
        if not await self._snapshotter.stop(timeout) and time.monotonic() - began >= timeout:
            _log.warning("there was no time for the last snapshots; the next start reads more of the logs")

    def _counted(self) -> Mapping[str, int]:
        streams = self._store.streams
        return {path.name: streams[name].stream.seq for name, path in self._store.folders.items() if name in streams}

    def _on_report(self, report: Report) -> None:
        for name, path in self._store.folders.items():
            if path.name == report.stream and name in self._store.streams:
                live = self._store.streams[name]
                if report.snapshot_seq > live.snapshot_seq:
                    live.snapshot_seq = report.snapshot_seq
                    self._keep(self._let_go(live))
                live.stream.mismatch = live.stream.mismatch or report.mismatch
                for text in (report.mismatch, report.error):
                    if text is not None and text not in live.notes:
                        live.notes.append(text)
                        _log.error("%s: %s", name, text)

    async def _let_go(self, live: LiveStream) -> None:
        """If the log exceeds its limit, remove records that neither snapshots nor waiting ids need."""
        path = self._store.folders.get(live.name)
        if path is None or live.log.bytes <= self._store.settings.log_retention:
            return
        needed = [await asyncio.to_thread(retention.needed_by_snapshots, path)]
        if live.replaying or self._store.streams.get(live.name) is not live:  # others read its log, or it was deleted
            return
        most = self._store.settings.log_retention
        live.log.drop_before(retention.first_kept(live.log.segments, needed=needed, retain=most))
