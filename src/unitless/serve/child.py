"""A process that works for the server; they exchange lines of JSON, over its standard input and output.

It ends when its input closes, so that none outlives a server that was killed; signals that are meant for the server
(Ctrl-C in a terminal, a service manager that stops the whole group) do not end it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import msgspec

_LONGEST = 1 << 20  # bytes of a line
_NICE = 5  # the server has priority


class Child:
    """A child process, seen from the server. Made by `start`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, module: str, *arguments: str) -> Child:
        """Run a Python module in a new process."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST,
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, **message: Any) -> None:
        """Send a message; it is lost if the process has ended."""
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(msgspec.json.encode(message) + b"\n")

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """The messages of the process, until it ends."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            yield msgspec.json.decode(line)

    async def ended(self, timeout: float | None = None) -> int | None:
        """Wait for the end of the process: its exit code; None if it takes longer."""
        try:
            return await asyncio.wait_for(self._process.wait(), timeout)
        except asyncio.TimeoutError:
            return None

    async def end(self, timeout: float = 1.0) -> None:
        """Close its input; if it does not end soon, kill it."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):
            self._process.stdin.close()
        if await self.ended(timeout) is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


class Parent:
    """The server, seen from the child process."""

    def __init__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        with contextlib.suppress(OSError):
            os.nice(_NICE)
        self._received: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        rest = b""
        while data := os.read(0, _LONGEST):  # not through sys.stdin, whose lock would be held when the process ends
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._received.put(msgspec.json.decode(line))
        os._exit(0)  # the server has ended: unfinished work is worthless

    def receive(self, timeout: float = 0.0) -> list[dict[str, Any]]:
        """The new messages of the server; waits up to `timeout` seconds for the first."""
        messages = []
        with contextlib.suppress(queue.Empty):
            messages.append(self._received.get(timeout=timeout) if timeout > 0 else self._received.get_nowait())
            while True:
                messages.append(self._received.get_nowait())
        return messages

    def send(self, **message: Any) -> None:
        """Send a message to the server."""
        sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
        sys.stdout.buffer.flush()
