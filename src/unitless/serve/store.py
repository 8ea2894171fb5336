"""The model store, which is the data folder of a server: its lock, its streams, and what is left after a crash.

    LOCK                              held by the server that writes here
    streams/<id>/manifest.json        the stream's name
    streams/<id>/log/<first seq>.seg  what happened
    streams/<id>/snapshots/<seq>/     the state after a record
    streams/<id>/backtests.json       models that learn from history and have not joined yet

Names of models are checked and never become paths. A stream that cannot be recovered is quarantined: the others are
served, and nothing in its folder is changed. All files can be read by their owner alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import json
import logging
import os
import re
import shutil
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from .. import whole_file
from ..errors import Error, OptionError
from ..presentation.shown import short
from ..version import __version__, is_newer
from . import limiting
from .backtests import Backtests
from .events import Form, Kind
from .live import LiveStream
from .log import Log
from .log.segments import sync_folder
from .moments import until_next_tick
from .origin import NEW, Origin, Source, digest, like, without
from .problems import Problem
from .served import ServedModel
from .settings import NAME, Settings
from .skipping import look_up, read_named
from .streams import Created, Named, Outcome, Stream, encoded, snapshots
from .streams.recovery import name_in, newest_state
from .tallies import Tallies
from .wire import ReplayRequest, SkippedRows

_ID = re.compile(r"[0-9a-f]{32}")  # the name of a stream's folder
_NEW, _GONE = ".new-", ".gone-"  # folders that are being made or removed
# A restart does not help against these errors.
_UNUSABLE = {errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.EROFS, errno.EEXIST}
_MOST_FREE = 1 << 20  # bytes: with fewer the disk is full

_log = logging.getLogger("unitless.serve")


class StoreError(Error):
    """The data folder, or a stream in it, cannot be used."""


class StoppedError(StoreError):
    """The server was stopped while it read its logs."""


class Quarantined(NamedTuple):
    """A stream that could not be recovered."""

    name: str  # the stream's name; that of its folder if it is not known
    folder: Path
    problem: str

    def refusal(self) -> Problem:
        """The answer to requests for the stream."""
        detail = f"the stream {self.name!r} could not be recovered: {self.problem}; its data is kept in {self.folder}"
        return Problem(503, "the model is quarantined", detail)


class ModelStore:
    """All streams of a server, by name."""

    ready = True

    def __init__(self, folder: Path, settings: Settings, lock: IO[bytes]) -> None:
        self.folder, self.settings, self._lock = folder, settings, lock
        self.started = time.time()
        self.tallies = Tallies()
        self.streams: dict[str, LiveStream] = {}
        self.folders: dict[str, Path] = {}  # the folders of the streams, by name
        self.notes: list[str] = []
        self.changing: set[str] = set()  # names of models that are being made or removed
        self.quarantined: list[Quarantined] = []
        # Called with a stream's folder before it is removed: returns when no other process writes there.
        self.release: Callable[[str], Awaitable[None]] = _nothing_to_release
        self.backtests = Backtests()
        self._disk = ThreadPoolExecutor(1, "unitless-sync")  # waits for the disk, for all logs

    @classmethod
    def open(cls, folder: Path, settings: Settings, stopping: Callable[[], bool] = bool) -> ModelStore:
        """Lock the folder and restore every stream to the end of its log.

        A stream that cannot be recovered is quarantined.

        Args:
            folder: the data folder.
            settings: of the server.
            stopping: returns whether the server has been stopped meanwhile.

        Raises:
            OptionError: the folder cannot be used.
            StoreError: another server uses the folder.
            StoppedError: the server was stopped.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (folder / "streams").mkdir(mode=0o700, exist_ok=True)
            store = cls(folder, settings, _locked(folder / "LOCK"))
        except OSError as error:
            if error.errno in _UNUSABLE:
                reason = "is a file" if folder.is_file() else f"cannot be used: {error.strerror}"
                problem = f"is {str(folder)!r}, but {error.filename or folder} {reason}"
                raise OptionError(problem, option="data", advice="name a folder that can be written to") from None
            raise
        try:
            for path in sorted((folder / "streams").iterdir()):
                if path.name.startswith((_NEW, _GONE)):  # left by a server that was interrupted
                    shutil.rmtree(path, ignore_errors=True)
                elif _is_unfinished(path):
                    if _ID.fullmatch(path.name):
                        shutil.rmtree(path, ignore_errors=True)
                elif path.is_dir():
                    store._open(path, stopping)
        except BaseException:
            store.close()
            raise
        return store

    def _open(self, path: Path, stopping: Callable[[], bool]) -> None:
        try:
            stream, log, notes = recover(path, self.settings, stopping)
        except StoppedError:
            raise
        except Exception as error:  # a damaged stream must not prevent the others from being served
            self._quarantine(path, error)
            return
        if stream.name in self.streams:
            log.close()
            self._quarantine(path, StoreError(f"another stream is called {stream.name!r}: {self.folders[stream.name]}"))
            return
        live = self._live(stream, log)
        live.notes += notes
        live.snapshot_seq = max(snapshots.seqs(path), default=0)
        self.folders[stream.name] = path

    def _quarantine(self, path: Path, error: Exception) -> None:
        known = isinstance(error, Error | OSError)
        problem = str(error) if known else f"{type(error).__name__}: {error}"
        try:
            name = name_in(path)
        except Error:
            name = path.name
        self.quarantined.append(Quarantined(name, path, problem))
        _log.error("the stream %r is quarantined, the others are served: %s", name, problem, exc_info=not known)

    def _live(self, stream: Stream, log: Log) -> LiveStream:
        live = LiveStream(stream, log, self.settings, self._disk, self.tallies)
        self.streams[stream.name] = live
        return live

    # ------------------------------------------------------------------------------------------------ finding

    @property
    def models(self) -> list[tuple[LiveStream, ServedModel]]:
        """All models, stream by stream, the champion first."""
        found = [(live, model) for live in self.streams.values() for model in live.stream.models.values()]
        return sorted(found, key=lambda one: (one[0].name, one[1].role != "champion", one[1].name))

    def find(self, name: str) -> tuple[LiveStream, str]:
        """The stream and the model of a name; the name of a stream means its champion."""
        live = self.streams.get(name)
        if live is not None:
            return live, live.stream.champion
        for live in self.streams.values():
            if name in live.stream.models:
                return live, name
        if (missing := self.missing(name)) is not None:
            raise missing.refusal()
        if name in self.backtests:
            detail = f"{name!r} learns from history, {self.backtests.progress(name):.0%} of it by now; ask again later"
            raise Problem(503, "the model is not ready", detail, retry_after=5)
        detail = f"there is no model {short(name)!r}; GET /v1/models lists them, PUT /v1/models/NAME makes one"
        raise Problem(404, "no such model", detail)

    def missing(self, name: str) -> Quarantined | None:
        """The stream of this name, if it is quarantined."""
        return next((one for one in self.quarantined if one.name == name and name not in self.streams), None)

    def troubles(self) -> dict[str, str]:
        """Why rows cannot be learned now, by stream; the key "" concerns all streams."""
        found = {name: why for name, live in self.streams.items() if (why := live.failure or live.trouble) is not None}
        with contextlib.suppress(OSError):
            disk = os.statvfs(self.folder)
            if disk.f_bavail * disk.f_frsize < _MOST_FREE:
                found[""] = f"the disk of {self.folder} is full"
        return found

    def _taken(self, name: str) -> bool:
        return name in self.streams or any(name in live.stream.models for live in self.streams.values())

    # ------------------------------------------------------------------------------------------------ changing

    async def create(self, name: str, body: dict[str, Any], model: bytes | None = None) -> bool:
        """Create a model; returns whether it is new. A repeated request changes nothing.

        Args:
            name: of the model.
            body: "stream", "role" and "replay", and options of the model. "replay" is true, or an object of "skip" and
                "until", see `replay`.
            model: a model file that continues to learn.
        """
        options = dict(body)
        stream, replay = options.pop("stream", None), options.pop("replay", False)
        role = options.pop("role", "champion" if stream in (None, name) else "challenger")
        _check_place(stream, role, replay, name)
        skipped = replay if isinstance(replay, dict) else {}
        named = read_named(skipped)
        self._check_name(name)
        request = digest(skipped)
        if self._taken(name):
            return self._same(name, stream, options, model, request if skipped else None)
        if name in self.backtests:
            there = self.backtests.created(name)
            if there.options == options and model is None and (there.origin is None or there.origin.request == request):
                return False
            raise Problem(409, "the name is taken", f"{name!r} learns from history with other options; delete it first")
        self._check_count()
        if stream is not None:
            self.find(stream)[0].stream.check_shared(options)
        created = Created(
            name, role, options, model, limits=limiting.initial(self.settings) if stream is None else None
        )
        self.changing.add(name)
        try:
            if model is None:
                prepared, payload = _try(created, self.settings)
            else:  # in a thread, because reading a large file takes long
                prepared, payload = await asyncio.to_thread(_try, created, self.settings)
            if stream is None:
                await self._begin(created)
            elif replay is not False:
                live, _ = self.find(stream)
                await self._replay(live, created, named, request, [Source(NEW, 0, [])])
            else:
                live, _ = self.find(stream)
                live.stream.prepared[name] = prepared
                try:
                    await self._carry_out(live, Kind.create, payload)
                finally:
                    live.stream.prepared.pop(name, None)
        finally:
            self.changing.discard(name)
        return True

    def _check_name(self, name: str) -> None:
        if NAME.fullmatch(name) is None:
            detail = "a name has up to 64 lowercase letters, digits, - and _, and begins with a letter or digit"
            raise Problem(422, "not a name", detail)
        if name in self.changing:
            raise Problem(409, "the model is changing", f"{name!r} is being made or removed; ask again", retry_after=1)
        if (missing := self.missing(name)) is not None:
            detail = f"it is that of a quarantined stream, whose data is kept in {missing.folder}: {missing.problem}"
            raise Problem(409, "the name is taken", detail)

    def _check_count(self) -> None:
        coming = {*self.changing, *self.backtests}
        count = sum(len(live.stream.models) for live in self.streams.values()) + len(coming)
        if count >= self.settings.max_models:
            detail = f"there are {count:,} models, which is the most that this server holds (max_models)"
            raise Problem(429, "too many models", detail)

    async def replay(self, name: str, body: dict[str, Any]) -> tuple[str, bool]:
        """Create a copy of a model without some rows; returns its name, and whether it is new.

        A repeated request changes nothing.

        Args:
            name: of the other model.
            body: "name" and "role" of the new one; "skip", "until": the rows that it does not learn. "skip" lists
                sequence numbers, ids, and pairs [first, last] of places. A place is a sequence number or a time.
        """
        named, new = read_named(body), _read_replay(body)
        live, model = self._one(name)
        source = live.stream.models[model]
        request = digest([model, named.skip, named.until])
        if new.name in self.changing:  # such as by an identical request whose client has given up
            raise Problem(503, "the model is changing", f"{new.name!r} is being made or removed", retry_after=2)
        live.stream.check_shared({})
        self._check_name(new.name)
        if self._taken(new.name) or new.name in self.backtests:
            return new.name, self._same_replay(new.name, request)
        self._check_count()
        created = Created(new.name, new.role, dict(source.options))
        self.changing.add(new.name)
        try:
            await self._replay(live, created, named, request, like(model, source.created_seq, source.origin))
        finally:
            self.changing.discard(new.name)
        return new.name, True

    def _same_replay(self, name: str, request: str) -> bool:
        if name in self.backtests:
            origin = self.backtests.created(name).origin
        else:
            live, model = self._one(name)
            origin = live.stream.models[model].origin
        if origin is None or origin.request != request:
            detail = f"there is a model {name!r} already; delete it first, or choose another name"
            raise Problem(409, "the name is taken", detail)
        return False

    def _same(
        self, name: str, stream: str | None, options: dict[str, Any], model: bytes | None, request: str | None
    ) -> bool:
        live, answering = self.find(name)
        there = live.stream.models.get(name) or live.stream.models[answering]
        same = there.options == options and stream in (None, live.name)
        same &= request is None or (there.origin is not None and there.origin.request == request)
        if not same or model is not None:
            detail = f"there is a model {name!r} with other options; delete it first, or choose another name"
            raise Problem(409, "the name is taken", detail)
        return False

    async def _begin(self, created: Created) -> None:
        """Create a stream; it is on disk before it can be used."""

        def make() -> tuple[Stream, Log, Path]:
            home = self.folder / "streams"
            made, path = home / f"{_NEW}{uuid.uuid4().hex}", home / uuid.uuid4().hex
            made.mkdir(mode=0o700)
            try:
                with Log.open(made / "log", segment_bytes=self.settings.segment) as log:
                    log.append([(Kind.create, Form.json, 1, encoded(created))], time.time_ns() // 1000)
                    log.sync()
                whole_file.write(made / "manifest.json", _manifest(created.name), private=True)
                os.rename(made, path)
                sync_folder(home)
                stream, log, _ = recover(path, self.settings)
            except BaseException:  # the next start must not find a second stream of this name
                gone = path.with_name(_GONE + path.name)
                with contextlib.suppress(OSError, MemoryError):
                    os.rename(path, gone)
                    sync_folder(home)
                shutil.rmtree(gone, ignore_errors=True)
                shutil.rmtree(made, ignore_errors=True)
                raise
            return stream, log, path

        try:
            stream, log, path = await asyncio.to_thread(make)
        except OSError as error:
            raise Problem(503, "the model cannot be kept", f"{error}", retry_after=5) from None
        self._live(stream, log)
        self.folders[stream.name] = path

    async def _replay(
        self,
        live: LiveStream,
        created: Created,
        named: SkippedRows,
        request: str,
        sources: list[Source],
    ) -> None:
        """Let a model learn the history of a stream, without the rows that were named, and then join it."""
        folder, seq = self.folders[live.name], live.stream.seq
        spans = await look_up(folder, named, seq, sources) if named.skip or named.until is not None else []
        origin = Origin(seq, without(sources, spans), request)
        if self.streams.get(live.name) is not live:
            raise Problem(404, "no such model", f"the stream {live.name!r} was deleted meanwhile")
        await self.backtests.begin(live, folder, msgspec.structs.replace(created, origin=origin))

    async def promote(self, name: str) -> None:
        """Make a model the champion of its stream."""
        live, model = self._one(name)
        if live.stream.champion != model:
            await self._carry_out(live, Kind.promote, encoded(Named(model)))

    async def delete(self, name: str) -> None:
        """Remove a model; with the last one its stream and its log."""
        if name in self.backtests:
            await self.backtests.cancel(name)
            return
        live, model = self._one(name)
        if model != live.stream.champion:
            await self._carry_out(live, Kind.delete, encoded(Named(model)))
            return
        self._check_alone(live)
        await self._end(live, {live.name, model})

    @staticmethod
    def _check_alone(live: LiveStream) -> None:
        if len(live.stream.models) > 1 or live.replaying:
            champion = live.stream.champion
            detail = f"{champion!r} is the champion of its stream; promote another model first, or delete the others"
            raise Problem(409, "the champion stays", detail)

    async def _end(self, live: LiveStream, names: set[str]) -> None:
        """Remove a stream. Its name stays taken until the disk is done: two of a name would stop the next start."""
        path = self.folders[live.name]
        gone = path.with_name(_GONE + path.name)

        def remove() -> None:
            live.close()
            sync_folder(path.parent)
            shutil.rmtree(gone, ignore_errors=True)

        del self.streams[live.name]
        live.is_being_deleted = True
        self.changing |= names
        try:
            try:
                await live.drain()
                await self.release(path.name)
                self._check_alone(live)  # a model may have joined meanwhile
                os.rename(path, gone)
            except (OSError, Problem) as error:
                self.streams[live.name] = live
                live.is_being_deleted = False
                if isinstance(error, Problem):
                    raise
                raise Problem(503, "the model cannot be removed", f"{error}", retry_after=5) from None
            del self.folders[live.name]
            await asyncio.to_thread(remove)
        finally:
            self.changing -= names

    def _one(self, name: str) -> tuple[LiveStream, str]:
        """The model of a name; the name of a model has precedence over that of a stream."""
        live, model = self.find(name)
        return live, name if name in live.stream.models else model

    async def _carry_out(self, live: LiveStream, kind: Kind, payload: bytes) -> Outcome:
        (outcome,) = await live.submitted(kind, Form.json, 1, payload)
        if outcome.problem is not None:
            raise outcome.problem
        live.moments.models_changed([{"name": m.name, "role": m.role} for m in live.stream.models.values()])
        return outcome

    # ------------------------------------------------------------------------------------------------ time

    async def keep_time(self) -> None:
        """Call `beat` of all streams each second, and write ticks, until the task is cancelled."""
        last_tick = time.monotonic()
        while True:
            await asyncio.sleep(until_next_tick(time.time()))
            ticks = time.monotonic() - last_tick >= self.settings.tick
            if ticks:
                last_tick = time.monotonic()
            for place, live in enumerate(list(self.streams.values())):
                live.beat(time.time())
                if ticks:
                    live.tick()
                if place % 16 == 15:
                    await asyncio.sleep(0)

    async def drain(self) -> None:
        """Wait until all accepted requests are answered and on disk."""
        for live in list(self.streams.values()):
            await live.drain()

    def close(self) -> None:
        """Close all logs and unlock the folder."""
        self._disk.shutdown()
        for live in self.streams.values():
            live.close()
        self._lock.close()


def recover(path: Path, settings: Settings, stopping: Callable[[], bool] = bool) -> tuple[Stream, Log, list[str]]:
    """Restore a stream: its newest valid snapshot and the records since."""
    notes: list[str] = []
    name_in(path)
    if _is_without_log(path):  # a missing log must not be replaced by an empty one
        raise StoreError(f"there is no log in {path}; restore the folder from a backup")
    log = Log.open(path / "log", segment_bytes=settings.segment)
    try:
        if log.cut is not None:
            notes.append(f"{log.cut.removed:,} bytes at the end of {log.cut.path} were not complete, and are gone")
        stream = newest_state(path, log.read, notes.append)
        if log.next_seq <= stream.seq:
            raise StoreError(
                f"the log in {path} ends at record {log.next_seq - 1:,}, before its snapshot of record {stream.seq:,}; "
                "restore the folder from a backup"
            )
        if log.first_seq > stream.seq + 1:
            raise StoreError(
                f"the log in {path} begins at record {log.first_seq:,}, but there is no snapshot of the records before;"
                " restore the folder from a backup"
            )
        notes += _other_versions(log, stream.seq + 1)
        for record in log.records(stream.seq + 1):
            if stopping():
                raise StoppedError("the server was stopped while it read its logs")
            stream.apply(record)
        if stream.mismatch is not None:
            notes.append(stream.mismatch)
        if not stream.models:
            raise StoreError(f"there is no model in {path}; restore the folder from a backup")
    except BaseException:
        log.close()
        raise
    return stream, log, notes


def _other_versions(log: Log, first_seq: int) -> list[str]:
    """A note on records of an older version; records of a newer one are refused."""
    others = sorted(log.versions_from(first_seq) - {__version__}) if log.next_seq > first_seq else []
    newer = [version for version in others if is_newer(version)]
    if newer:
        raise StoreError(
            f"the log in {log.folder} was written by unitless {newer[-1]}; this is {__version__}, which is older: use "
            "that version, or a copy of the folder from before the upgrade"
        )
    if not others:
        return []
    count, versions = log.next_seq - first_seq, ", ".join(others)
    return [f"{count:,} records of unitless {versions} were replayed by {__version__}; last bits of scores may differ"]


def _is_unfinished(path: Path) -> bool:
    """Whether a folder has neither a name nor a log, so that nothing can be recovered from it."""
    try:
        return "manifest.json" not in os.listdir(path) and _is_without_log(path)
    except OSError:
        return False


def _is_without_log(path: Path) -> bool:
    try:
        return not os.listdir(path / "log")
    except FileNotFoundError:
        return True


async def _nothing_to_release(_: str) -> None:
    """Return at once: no other process writes snapshots."""


def _locked(path: Path) -> IO[bytes]:
    handle = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "ab")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise StoreError(f"another server works in {path.parent}; stop it first, or use another folder") from None
    return handle


def _manifest(name: str) -> bytes:
    about = {"format": 1, "name": name, "version": __version__, "created": time.time()}
    return (json.dumps(about, indent=1) + "\n").encode()


def _check_place(stream: Any, role: Any, replay: Any, name: str) -> None:
    if stream is not None and not isinstance(stream, str):
        raise Problem(422, "not a stream", f"the stream is {stream!r}; it must be the name of a model")
    allowed = ("champion",) if stream is None else ("challenger", "shadow")
    if role not in allowed:
        raise Problem(422, "not a role", f"the role is {role!r}; here it must be {' or '.join(map(repr, allowed))}")
    if type(replay) not in (bool, dict) or (replay is not False and stream is None):
        raise Problem(422, "no history", '"replay": true is for a model of an existing stream, whose log it learns')
    if isinstance(replay, dict) and (unknown := replay.keys() - {"skip", "until"}):
        detail = f'"replay" has the field {min(unknown, key=str)[:80]!r}; it is true, or has "skip" and "until"'
        raise Problem(422, "no history", detail)


def _read_replay(body: dict[str, Any]) -> ReplayRequest:
    try:
        return msgspec.convert(body, ReplayRequest)
    except msgspec.ValidationError as error:
        detail = f'{error}; the fields are "name" (of the new model), "role", "skip" and "until"'
        raise Problem(422, "not a replay", detail) from None


def _try(created: Created, settings: Settings) -> tuple[ServedModel, bytes]:
    """Make the model and the payload of its record, so that an invalid request is refused before it is logged."""
    from .streams.stream import made  # noqa: PLC0415

    try:
        model = made(created, 0)
        limiting.check(model, settings)
        return model, encoded(created)
    except MemoryError:
        raise Problem(422, "the model cannot be made", "it takes more memory than there is; use fewer bits") from None
    except Error as error:
        raise Problem(422, "the model cannot be made", str(error)) from None
    except (TypeError, ValueError, OverflowError) as error:
        raise Problem(422, "the model cannot be made", f"{error}") from None
