"""The server: it opens the data folder, answers requests until it is stopped, and leaves no request unanswered."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from ..errors import Error, OptionError
from .http.access import Access
from .http.app import make
from .http.limits import Limits
from .http.protocol import Protocol, Service
from .problems import Problem
from .settings import Settings
from .store import ModelStore
from .tallies import Tallies
from .upkeep import Upkeep

if sys.platform != "win32":
    import uvloop

SWEEP = 0.5  # seconds between checks of connections
ANSWERED_WITHIN = 5.0  # seconds for open requests when the server stops
GIVEN_UP_WITHIN = 0.5  # further seconds to answer requests that were not complete
STOPPED_WITHIN = 9.0  # seconds for the whole stop

_log = logging.getLogger("unitless.serve")


def announce(line: str) -> None:
    """Print a line and flush it: log files, pipes and service managers must not wait for more output."""
    print(line, flush=True)


class ServeError(Error):
    """The server cannot start."""


class Recovering:
    """Takes the place of the model store while logs are read."""

    ready = False

    def __init__(self, settings: Settings) -> None:
        self.settings, self.tallies, self.started = settings, Tallies(), time.time()
        self.streams: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        raise Problem(503, "recovering", "The server reads its logs. Try again soon.", retry_after=1)


class Server:
    """A server, in the event loop that starts it.

    Args:
        settings: of the server.
        announce: called with the address of the page.
    """

    def __init__(self, settings: Settings, announce: Callable[[str], object] = announce) -> None:
        self.settings, self._announce = settings, announce
        self.access = Access.of(settings.token_file)
        self._sockets = _listening(settings.host, settings.port)
        limits = Limits.of(settings, _most_connections(settings.max_connections))
        self.service = Service(Recovering(settings), self.access, limits)
        self.store: Any = None
        self.stopped = asyncio.Event()
        self._state = ServerState()
        self._listeners: list[asyncio.Server] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._upkeep: Upkeep | None = None
        self._services: list[Any] = []  # the port for Vowpal Wabbit's lines, the readers of brokers

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self._sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """The address of the live page."""
        host = self.settings.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    # ------------------------------------------------------------------------------------------------ the start

    async def start(self) -> None:
        """Open the port, read the logs, and create the models of the settings.

        Raises:
            Error: the folder cannot be used, or a model cannot be created.
        """
        loop = asyncio.get_running_loop()
        config = Config(
            make(self.service),
            http=Protocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
        )
        config.load()
        self._sweep()
        for listening in self._sockets:
            listener = await loop.create_server(
                lambda: Protocol(config, self._state, self.service), sock=listening, backlog=2048
            )
            self._listeners.append(listener)
        self._tasks.append(loop.create_task(self._keep_sweeping()))
        try:
            self.store = await self._open()
            await self._make_models()
            await self._start_background()
        except BaseException:
            await self.stop()
            raise
        self.service.store = self.store
        if not self.settings.quiet:
            self._announce(self._where())

    async def _open(self) -> Any:
        if self.settings.replica_of is not None:
            from .replica import open_replica  # noqa: PLC0415  (few servers are replicas)

            store = open_replica(self.settings)
            await store.begin()
            return store
        assert self.settings.data is not None
        try:
            return await asyncio.to_thread(
                ModelStore.open, self.settings.data, self.settings, lambda: self.service.closing
            )
        except OSError as error:
            raise ServeError(f"{error.filename or self.settings.data}: {error.strerror or error}") from None

    async def _make_models(self) -> None:
        if self.settings.replica_of is not None:
            return
        for name, path in self.settings.model:
            if not any(name in (live.name, *live.stream.models) for live in self.store.streams.values()):
                try:
                    content = path.read_bytes()
                except OSError as error:
                    problem = f"is {str(path)!r}, which cannot be read: {error.strerror}"
                    raise OptionError(problem, option="model", advice="name a model file") from None
                await self._make(name, {}, content, "model")
        for name, options in self.settings.create:
            await self._make(name, options, None, "create")

    async def _make(self, name: str, options: dict[str, Any], content: bytes | None, option: str) -> None:
        if self.store.missing(name) is not None:  # quarantined; the other models are served
            return
        try:
            await self.store.create(name, options, content)
        except Problem as problem:
            detail = f"{name}: {problem.detail or problem.title}"
            if problem.status >= 500:  # such as a full disk: a restart may help
                raise ServeError(detail) from None
            raise OptionError(f"cannot be used for {detail}", option=option) from None

    async def _start_background(self) -> None:
        loop = asyncio.get_running_loop()
        if self.settings.replica_of is not None:
            self._tasks.append(loop.create_task(self.store.run()))
            return
        self._upkeep = Upkeep(self.store)
        self._upkeep.start()
        self.service.snapshot = self._upkeep.snapshot
        if self.settings.vw_port is not None:
            from . import vw_lines  # noqa: PLC0415  (few servers need them)

            try:
                self._services.append(await vw_lines.start(self.store, self.settings))
            except OSError as error:
                raise _in_use(self.settings.vw_port, "--vw-port", error) from None
        if self.settings.ingest:
            from .ingest import ingestion  # noqa: PLC0415

            self._services.append(await ingestion.start(self.store, self.settings))

    def _where(self) -> str:
        count = len(self.store.models)
        models = "no model yet" if not count else "1 model" if count == 1 else f"{count:,} models"
        lines = next((one.sockets[0].getsockname() for one in self._services if hasattr(one, "sockets")), None)
        vw = "" if lines is None else f", lines of Vowpal Wabbit at {lines[0]}:{lines[1]}"
        replica = "" if self.settings.replica_of is None else " as a replica"
        missing = f" ({len(self.store.quarantined):,} quarantined)" if self.store.quarantined else ""
        return f"unitless serves {models}{missing}{replica}: page {self.url}{vw}"

    # ------------------------------------------------------------------------------------------------ meanwhile

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        self.service.now = now
        self._state.default_headers = [(b"date", formatdate(usegmt=True).encode())]
        for connection in list(self._state.connections):
            connection.sweep(now)  # type: ignore[union-attr]
        self.service.store.tallies.connections = len(self._state.connections)

    async def _keep_sweeping(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            self.service.now = asyncio.get_running_loop().time()
            await asyncio.sleep(0.01)  # after a busy loop, read what has arrived before closing slow clients
            self._sweep()

    def reload_tokens(self) -> None:
        """Read the token file again. If it is not valid, the current tokens stay."""
        file = self.settings.token_file
        if file is None:
            _log.warning("there is no token file to be read again")
            return
        try:
            self.service.reload_tokens(file)
        except OptionError as error:
            _log.error("the tokens could not be read again, those of before stay: %s", error)
        else:
            _log.info("the tokens of %s were read again", file)

    # ------------------------------------------------------------------------------------------------ the end

    async def stop(self) -> None:
        """Accept no more requests, answer the accepted ones, write snapshots, and unlock the folder."""
        began = time.monotonic()
        self.service.closing = True
        for listener in self._listeners:
            listener.close()
        if self.store is not None:
            for live in self.store.streams.values():
                live.moments.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        for one in self._services:
            one.close() if not asyncio.iscoroutinefunction(one.close) else await one.close()
        while self._state.connections and time.monotonic() - began < ANSWERED_WITHIN:
            await asyncio.sleep(0.01)
        for connection in list(self._state.connections):
            connection.give_up()  # type: ignore[union-attr]
        while self._state.tasks and time.monotonic() - began < ANSWERED_WITHIN + GIVEN_UP_WITHIN:
            await asyncio.sleep(0.01)
        for task in [*self._state.tasks, *self._tasks]:
            task.cancel()
        for connection in list(self._state.connections):
            connection.transport.abort()
        for one in self._services:
            if hasattr(one, "wait_closed"):
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(one.wait_closed(), 1.0)
        if self.store is not None:
            await self.store.drain()
            if self._upkeep is not None:
                await self._upkeep.stop(max(1.0, STOPPED_WITHIN - (time.monotonic() - began)))
            self.store.close()
        for listening in self._sockets:
            listening.close()
        self.stopped.set()


def run(settings: Settings, announce: Callable[[str], object] = announce) -> None:
    """Serve until a signal stops the server.

    Raises:
        Error: the server cannot start.
    """
    _report(settings.log_level)
    main = _until_signalled(settings, announce)
    if sys.platform == "win32":
        asyncio.run(main)
    else:
        uvloop.run(main)


async def _until_signalled(settings: Settings, announce: Callable[[str], object]) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if stopping.is_set():
            os._exit(130)  # all acknowledged rows are in the logs
        stopping.set()

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
    server = Server(settings, announce)
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, server.reload_tokens)
    starting = loop.create_task(server.start())
    waiting = loop.create_task(stopping.wait())
    await asyncio.wait([starting, waiting], return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starting
        waiting.cancel()
        return
    starting.result()
    gc.collect()
    gc.freeze()  # these objects live as long as the process, so collections can skip them
    gc.set_threshold(20_000, 20, 100)
    await waiting
    await server.stop()


def _report(level: str) -> None:
    """Write log messages to the standard error, unless the program has configured logging."""
    for name in ("unitless.serve", "uvicorn.error"):
        logger = logging.getLogger(name)
        if not logger.hasHandlers():
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
            logger.addHandler(handler)
        logger.setLevel(level.upper())


def _listening(host: str, port: int) -> list[socket.socket]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ServeError(f"{host!r} is not an address of this machine: {error.strerror}") from None
    for *of_socket, _, address in found:
        try:
            return [_bound(socket.socket(*of_socket), address)]
        except OSError as error:
            if error.errno not in _NO_SUCH_ADDRESS:
                raise _in_use(port, "--port", error) from None
    raise ServeError(f"{host!r} is not an address of this machine", advice="choose another with --host")


# A host name may have an IPv6 address that this machine cannot use; then the next address is tried.
_NO_SUCH_ADDRESS = errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT


def _bound(listening: socket.socket, address: Any) -> socket.socket:
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening


def _in_use(port: int, option: str, error: OSError) -> ServeError:
    reason = os.strerror(error.errno) if error.errno else str(error)
    return ServeError(f"port {port} cannot be used: {reason}", advice=f"choose another with {option}")


def _most_connections(wanted: int) -> int:
    """The number of connections that the system allows, after raising its limit if necessary."""
    if sys.platform == "win32":
        return wanted
    import resource  # noqa: PLC0415

    spare = 256  # files of logs, pipes, ...
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted + spare:
        soft = wanted + spare if hard == resource.RLIM_INFINITY else min(hard, wanted + spare)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft - spare))
