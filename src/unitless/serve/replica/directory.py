"""A replica of another server's folder: the newest snapshot of each stream, and its log as it grows.

Nothing in the folder is changed or locked. After the same record a stream has the same bits here and there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from pathlib import Path
from typing import NamedTuple

from ...errors import Error, OptionError
from ..log import LogError, Tail
from ..log.reader import Reader
from ..log.segments import listed
from ..settings import Settings
from ..streams import Stream
from ..streams.recovery import newest_state
from .store import ReplicaStore, ReplicaStream

_SOONEST, _LATEST = 0.005, 0.05  # seconds between looks at a log: after news, and after a long time without
_BYTES = 64 << 10  # how much of a log is read at once, so that requests are answered in between
_LOOK = 0.5  # seconds between looks for new and deleted streams

_log = logging.getLogger("unitless.serve")


class _Files:
    """The state of a log that another process writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tail, self.reader = Tail(folder, 1), Reader(folder)

    @property
    def segments(self) -> list[tuple[int, Path, int]]:
        """First sequence number, path and bytes of each file, oldest first."""
        with contextlib.suppress(OSError):
            return [(int(path.stem), path, path.stat().st_size) for path in listed(self._folder)]
        return []

    @property
    def bytes(self) -> int:
        """The bytes of all files."""
        return sum(size for _, _, size in self.segments)

    def close(self) -> None:
        """Close all files."""
        self.tail.close()
        self.reader.close()


class _Begun(NamedTuple):
    stream: Stream
    files: _Files


class DirectoryReplica(ReplicaStore):
    """The streams of another server's folder."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        if not (folder / "streams").is_dir():
            problem = (
                f"is {str(folder)!r}, which is not the data folder of a server: there is no folder `streams` in it"
            )
            raise OptionError(problem, option="replica_of")
        super().__init__(folder, settings)
        self._looked = 0.0
        self._pauses: dict[str, float] = {}  # by stream: seconds between looks at its log
        self._next: dict[str, float] = {}  # when it is looked at again

    async def begin(self) -> None:
        """Catch up with the folder."""
        await self._look()

    async def keep_up(self) -> None:
        """Apply new records, until it is cancelled."""
        while True:
            moved, now = False, time.monotonic()
            for name, live in list(self.streams.items()):
                assert isinstance(live, ReplicaStream)
                if now >= self._next.get(name, 0.0):
                    found = await self._read_log(name, live)
                    pause = _SOONEST if found else min(1.1 * self._pauses.get(name, _SOONEST), _LATEST)
                    self._pauses[name], self._next[name] = pause, 0.0 if found else now + pause
                    moved |= found
            if now - self._looked > _LOOK:
                await self._look()
            await asyncio.sleep(0 if moved else _SOONEST)

    async def _read_log(self, name: str, live: ReplicaStream) -> bool:
        """Apply some of what is new; whether there was anything."""
        try:
            records = live.log.tail.read(_BYTES)
        except (OSError, LogError) as error:
            await self._begin_again(name, live, error)
            return False
        live.apply(records)
        if live.stream.mismatch is not None and live.stream.mismatch not in live.notes:
            live.notes.append(live.stream.mismatch)
        return bool(records)

    async def _begin_again(self, name: str, live: ReplicaStream, error: Exception) -> None:
        """The log was cut or has moved on: take the newest snapshot."""
        path = self.folders[name]
        if not path.exists():
            self._forget(name)
            return
        _log.warning("the log of %r cannot be read further, the newest snapshot is read: %s", name, error)
        try:
            stream, files = await asyncio.to_thread(_begun, path)
        except (OSError, Error) as again:
            live.notes[:] = [f"the log cannot be read: {again}"]
            await asyncio.sleep(_LOOK)
            return
        live.begin_again(stream, files)

    async def _look(self) -> None:
        """Add new streams, and remove deleted ones."""
        self._looked = time.monotonic()
        for name, path in list(self.folders.items()):
            if not path.exists():
                self._forget(name)
        known = set(self.folders.values())
        try:
            paths = sorted((self.folder / "streams").iterdir())
        except OSError as error:
            _log.warning("%s cannot be read: %s", self.folder, error)
            return
        for path in paths:
            if path.name.startswith(".") or path in known:
                continue
            try:
                stream, files = await asyncio.to_thread(_begun, path)
            except (OSError, Error, ValueError, LookupError) as error:
                _log.warning("the stream in %s cannot be read yet: %s", path, error)
                continue
            if stream.champion:
                self.streams[stream.name] = ReplicaStream(stream, files, self.settings, self.tallies)
                self.folders[stream.name] = path

    def _forget(self, name: str) -> None:
        self.streams.pop(name).close()
        for kept in (self.folders, self._pauses, self._next):
            kept.pop(name, None)


def _begun(path: Path) -> _Begun:
    """A stream as it is at this moment."""
    files = _Files(path / "log")
    try:
        stream = newest_state(path, files.reader.read, lambda text: _log.warning("%s", text))
        files.tail = Tail(path / "log", stream.seq + 1)
        while records := files.tail.read():
            for record in records:
                stream.apply(record)
    except BaseException:
        files.close()
        raise
    return _Begun(stream, files)
