"""A server in a background thread, for notebooks and tests."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from .server import Server
from .settings import Settings


class Background:
    """A server that runs in a background thread until the end of its `with` block; see `unitless.serve.background`.

    Args:
        settings: the settings of the server.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._thread = threading.Thread(target=self._run, name="unitless-serve", daemon=True)
        self._started: Future[None] = Future()
        self._ended: Future[None] = Future()
        self.server: Server

    @property
    def url(self) -> str:
        """The address of the live page."""
        return self.server.url

    @property
    def port(self) -> int:
        """The port of the server."""
        return self.server.port

    @property
    def store(self) -> Any:
        """The model store; use it only in the thread of the server."""
        return self.server.store

    def __enter__(self) -> Background:
        self._thread.start()
        self._started.result()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if error is None:
            self._ended.result()

    def _run(self) -> None:
        try:
            import uvloop  # noqa: PLC0415

            run: Any = uvloop.run
        except ModuleNotFoundError:
            run = asyncio.run
        try:
            run(self._serve())
            self._ended.set_result(None)
        except BaseException as error:
            (self._ended if self._started.done() else self._started).set_exception(error)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self.server = Server(self._settings, announce=lambda _: None)
        await self.server.start()
        self._started.set_result(None)
        await self._stop.wait()
        await self.server.stop()
