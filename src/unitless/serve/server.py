"""The server: it opens the data folder, listens, answers until it is told to stop, and leaves nothing unanswered."""

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
from .house import House
from .http.access import Access
from .http.app import make
from .http.limits import Limits
from .http.protocol import Protocol, Service
from .problems import Problem
from .settings import Settings
from .tallies import Tallies
from .upkeep import Upkeep

if sys.platform != "win32":
    import uvloop

SWEEP = 0.5  # seconds between looks at connections
ANSWERED_WITHIN = 5.0  # seconds in which requests are brought to an end when the server stops
GIVEN_UP_WITHIN = 0.5  # seconds more for those whose requests did not come whole, to hear of it
STOPPED_WITHIN = 9.0  # seconds in which all is

_log = logging.getLogger("unitless.serve")


def say(line: str) -> None:
    """Print a line at once: a log file, a pipe or a service manager must not wait for the next ones."""
    print(line, flush=True)


class ServeError(Error):
    """The server cannot start."""


class Recovering:
    """Stands for the models while their logs are read.

    Args:
        settings: of the server.
    """

    ready = False

    def __init__(self, settings: Settings) -> None:
        self.settings, self.tallies, self.started = settings, Tallies(), time.time()
        self.streams: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        raise Problem(503, "recovering", "The server reads its logs. Try again soon.", retry_after=1)


class Server:
    """A server, in the event loop that starts it.

    Args:
        settings: how it is to run.
        say: is told where the page is.
    """

    def __init__(self, settings: Settings, say: Callable[[str], object] = say) -> None:
        self.settings, self._say = settings, say
        self.access = Access.of(settings.token_file)
        self._sockets = _listening(settings.host, settings.port)
        limits = Limits.of(settings, _most_connections(settings.max_connections))
        self.service = Service(Recovering(settings), self.access, limits)
        self.house: Any = None
        self.stopped = asyncio.Event()
        self._state = ServerState()
        self._listeners: list[asyncio.Server] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._upkeep: Upkeep | None = None
        self._beside: list[Any] = []  # the port of lines, brokers

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return int(self._sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """Where the page is."""
        host = self.settings.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    # ------------------------------------------------------------------------------------------------ the start

    async def start(self) -> None:
        """Listen, read the logs, make the models that were asked for; then all requests are answered.

        Raises:
            Error: the folder cannot be used, or a model cannot be made.
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
            self.house = await self._open()
            await self._make_models()
            await self._begin_beside()
        except BaseException:
            await self.stop()
            raise
        self.service.house = self.house
        if not self.settings.quiet:
            self._say(self._where())

    async def _open(self) -> Any:
        if self.settings.replica_of is not None:
            from .follow import open_replica  # noqa: PLC0415  (few servers follow)

            house = open_replica(self.settings)
            await house.begin()
            return house
        assert self.settings.data is not None
        try:
            return await asyncio.to_thread(House.open, self.settings.data, self.settings, lambda: self.service.closing)
        except OSError as error:
            raise ServeError(f"{error.filename or self.settings.data}: {error.strerror or error}") from None

    async def _make_models(self) -> None:
        if self.settings.replica_of is not None:
            return
        for name, path in self.settings.model:
            if not any(name in (live.name, *live.stream.models) for live in self.house.streams.values()):
                try:
                    content = path.read_bytes()
                except OSError as error:
                    problem = f"is {str(path)!r}, which cannot be read: {error.strerror}"
                    raise OptionError(problem, option="model", advice="name a model file") from None
                await self._make(name, {}, content, "model")
        for name, options in self.settings.create:
            await self._make(name, options, None, "create")

    async def _make(self, name: str, options: dict[str, Any], content: bytes | None, option: str) -> None:
        if self.house.missing(name) is not None:  # the others are served
            return
        try:
            await self.house.create(name, options, content)
        except Problem as problem:
            detail = f"{name}: {problem.detail or problem.title}"
            if problem.status >= 500:  # such as a full disk: another start may help
                raise ServeError(detail) from None
            raise OptionError(f"cannot be used for {detail}", option=option) from None

    async def _begin_beside(self) -> None:
        loop = asyncio.get_running_loop()
        if self.settings.replica_of is not None:
            self._tasks.append(loop.create_task(self.house.run()))
            return
        self._upkeep = Upkeep(self.house)
        self._upkeep.start()
        self.service.snapshot = self._upkeep.snapshot
        if self.settings.vw_port is not None:
            from . import vw_lines  # noqa: PLC0415  (few servers speak them)

            try:
                self._beside.append(await vw_lines.start(self.house, self.settings))
            except OSError as error:
                raise _in_use(self.settings.vw_port, "--vw-port", error) from None
        if self.settings.ingest:
            from .follow import ingestion  # noqa: PLC0415

            self._beside.append(await ingestion.start(self.house, self.settings))

    def _where(self) -> str:
        count = len(self.house.models)
        models = "no model yet" if not count else "1 model" if count == 1 else f"{count:,} models"
        lines = next((one.sockets[0].getsockname() for one in self._beside if hasattr(one, "sockets")), None)
        vw = "" if lines is None else f", lines of Vowpal Wabbit at {lines[0]}:{lines[1]}"
        following = "" if self.settings.replica_of is None else " as a replica"
        missing = f" ({len(self.house.quarantined):,} quarantined)" if self.house.quarantined else ""
        return f"unitless serves {models}{missing}{following}: page {self.url}{vw}"

    # ------------------------------------------------------------------------------------------------ meanwhile

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        self.service.now = now
        self._state.default_headers = [(b"date", formatdate(usegmt=True).encode())]
        for connection in list(self._state.connections):
            connection.sweep(now)  # type: ignore[union-attr]
        self.service.house.tallies.connections = len(self._state.connections)

    async def _keep_sweeping(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            self.service.now = asyncio.get_running_loop().time()
            await asyncio.sleep(0.01)  # if the loop was held, what has arrived is read before a client is called slow
            self._sweep()

    def reload_tokens(self) -> None:
        """Read the token file again. If it cannot be used, the tokens of before stay."""
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
        """Take no more requests, answer those that were taken, write snapshots, and let go of the folder."""
        began = time.monotonic()
        self.service.closing = True
        for listener in self._listeners:
            listener.close()
        if self.house is not None:
            for live in self.house.streams.values():
                live.moments.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        for one in self._beside:
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
        for one in self._beside:
            if hasattr(one, "wait_closed"):
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(one.wait_closed(), 1.0)
        if self.house is not None:
            await self.house.drain()
            if self._upkeep is not None:
                await self._upkeep.stop(max(1.0, STOPPED_WITHIN - (time.monotonic() - began)))
            self.house.close()
        for listening in self._sockets:
            listening.close()
        self.stopped.set()


def run(settings: Settings, say: Callable[[str], object] = say) -> None:
    """Serve until a signal says to stop.

    Raises:
        Error: the server cannot start.
    """
    _report(settings.log_level)
    main = _until_signalled(settings, say)
    if sys.platform == "win32":
        asyncio.run(main)
    else:
        uvloop.run(main)


async def _until_signalled(settings: Settings, say: Callable[[str], object]) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if asked.is_set():
            os._exit(130)  # the logs have all that was promised
        asked.set()

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
    server = Server(settings, say)
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, server.reload_tokens)
    starting = loop.create_task(server.start())
    waiting = loop.create_task(asked.wait())
    await asyncio.wait([starting, waiting], return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starting
        waiting.cancel()
        return
    starting.result()
    gc.collect()
    gc.freeze()  # what is here stays; a collection need not look at it
    gc.set_threshold(20_000, 20, 100)
    await waiting
    await server.stop()


def _report(level: str) -> None:
    """Reports go to the standard error, unless the program has its own way."""
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


# A name can have an address of IPv6 that this machine cannot use: then the next one is tried.
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
    """How many connections the system allows; asks it for more if that is needed."""
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
