"""`unitless serve` in a process of its own: started, killed and started again on one folder and one port.

The processes are forked from one that has already imported the library, so that they start quickly.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import power
import waiting

from unitless.cli import main

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["__main__", "unitless.cli.app", "unitless.cli.serve", "unitless.serve.server", "httpx"])


def free_port() -> int:
    """A port of this machine on which no process listens now."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def forked(
    words: tuple[str, ...], output: Path, synced: Path | None = None, environment: dict[str, str] | None = None
) -> ForkServerProcess:
    """Start `unitless serve` with these arguments; its output is appended to a file."""
    process = _FORKS.Process(target=_serve, args=(words, output, synced, environment or {}))
    process.start()
    return process


def _serve(words: tuple[str, ...], output: Path, synced: Path | None, environment: dict[str, str]) -> None:
    os.setsid()
    os.environ.update(environment)
    with output.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if synced is not None:
        power.observe_all_logs(synced)
    raise SystemExit(main(["serve", *words]))


class Server:
    """The server of one folder.

    Args:
        folder: of its data.
        options: arguments of the command line.
        synced: a file where each sync of a log is written down.
    """

    def __init__(self, folder: Path, *options: str, synced: Path | None = None) -> None:
        self.data, self.synced, self.port = folder, synced, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._words = "--data", str(folder), "--port", str(self.port), "--quiet", *options
        self._output = folder.with_name(folder.name + ".output")
        self.process: ForkServerProcess | None = None

    def start(self) -> None:
        """Start the process; the server is ready later."""
        self.process = forked(self._words, self._output, self.synced)

    @property
    def pid(self) -> int:
        """The id of the process that was started last."""
        assert self.process is not None
        assert self.process.pid is not None
        return self.process.pid

    def output(self) -> str:
        """The end of the server's output."""
        return self._output.read_text()[-3000:] if self._output.exists() else ""

    def children(self) -> list[int]:
        """The processes that the server has started."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/children")
        return [int(child) for task in tasks for child in task.read_text().split()]

    def kill(self, everything: bool = False) -> None:
        """Kill the server with signal 9, optionally with the processes that it has started."""
        assert self.process is not None
        if not self.process.is_alive():
            return
        children = self.children() if everything else []
        for pid in (self.pid, *children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.join(waiting.LIMIT)
        waiting.until(lambda: not any(map(_runs, children)))

    def stop(self, seconds: float = waiting.LIMIT) -> int:
        """Send SIGTERM; return the exit code. A server that takes too long is killed, and the test fails."""
        assert self.process is not None
        self.process.terminate()
        self.process.join(seconds)
        code = self.process.exitcode
        self.abandon()
        assert code is not None, f"the server did not end within {seconds:g} s:\n{self.output()}"
        return code

    def abandon(self) -> None:
        """Kill all processes that still run."""
        if self.process is not None:
            self.kill(everything=True)


def _runs(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
