"""A server in a thread of its own: for notebooks, and for tests."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import Any

from .server import Server
from .settings import Settings


class Background:
    """Serves while the block lasts.

    Args:
        settings: how it is to run.

    Example:
        >>> with unitless.serve.background(data="folder", port=0) as server:  # doctest: +SKIP
        ...     print(server.url)
        http://127.0.0.1:40123/
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._thread = threading.Thread(target=self._run, name="unitless-serve", daemon=True)
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked: asyncio.Event | None = None
        self.server: Server

    @property
    def url(self) -> str:
        """Where the page is."""
        return self.server.url

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return self.server.port

    @property
    def house(self) -> Any:
        """Its models; to be used in its own thread only."""
        return self.server.house

    def __enter__(self) -> Background:
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._loop is not None and self._asked is not None:
            self._loop.call_soon_threadsafe(self._asked.set)
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def _run(self) -> None:
        try:
            import uvloop  # noqa: PLC0415

            run: Any = uvloop.run
        except ModuleNotFoundError:
            run = asyncio.run
        try:
            run(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._asked = asyncio.get_running_loop(), asyncio.Event()
        self.server = Server(self._settings, say=lambda _: None)
        await self.server.start()
        self._ready.set()
        await self._asked.wait()
        await self.server.stop()
