"""Servers that are measured: each is a separate process on a free port of this machine, and is always stopped."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from serve_load import descendants

HERE = pathlib.Path(__file__).parent
ONE_RATE = {  # Vowpal Wabbit's options: its update equals ours without the server's defaults
    "task": "binary",
    "loss": "logistic",
    "learning_rate": 0.5,
    "model_type": "linear",
    "ensemble": False,
    "center": False,
    "falling_scales": False,
}
DEFAULTS = {"task": "binary"}


@dataclass
class Server:
    """A running server: the process that answers, its ports, and the data that a client needs."""

    process: subprocess.Popen[bytes]
    pid: int
    port: int
    vw_port: int = 0
    token: str | None = None
    folder: pathlib.Path = field(default_factory=pathlib.Path)
    start_seconds: float = 0.0  # from the start of the process until it was ready


def free_port() -> int:
    """A port of this machine that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def wait_until_it_listens(process: subprocess.Popen[bytes], port: int, seconds: float = 60.0) -> None:
    """Return when a connection is possible; fail if the process has ended or does not listen in time."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with code {process.returncode}: {' '.join(map(str, process.args))}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise SystemExit(f"the server does not listen after {seconds:g} s")


def wait_until_ready(process: subprocess.Popen[bytes], port: int, seconds: float = 600.0) -> None:
    """Return when our server reports that it has read its logs and is ready."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=5):
            return
        time.sleep(0.01)
    raise SystemExit(f"the server was not ready after {seconds:g} s, or ended (code {process.returncode})")


@contextlib.contextmanager
def running(command: list[str], port: int, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in a separate process group, which is ended afterwards: with SIGTERM, then by force."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that it ends however the benchmark ends
    process = subprocess.Popen(command, start_new_session=True, **options)
    try:
        wait_until_it_listens(process, port)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(15)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def vowpal_wabbit() -> Iterator[Server]:
    """Vowpal Wabbit's daemon with one child, which answers."""
    port = free_port()
    command = [sys.executable, str(HERE / "serve_vw_daemon.py"), str(port), "--loss_function", "logistic"]
    with running(command, port) as process:
        while not (children := descendants(process.pid)):  # it listens before it forks
            time.sleep(0.01)
        yield Server(process, children[0], port, vw_port=port)


@contextlib.contextmanager
def river() -> Iterator[Server]:
    """FastAPI and a model of River, with uvicorn's fast parts."""
    port = free_port()
    uvicorn = ["-m", "uvicorn", "--app-dir", str(HERE), "--no-access-log", "--log-level", "warning"]
    with running([sys.executable, *uvicorn, "--port", str(port), "serve_river_app:app"], port) as process:
        yield Server(process, process.pid, port)


def new_token(role: str, file: pathlib.Path, python: str = sys.executable) -> str:
    """Create a file of tokens, and return its token."""
    command = [python, "-m", "unitless", "serve", "--new-token", role, "--token-file", str(file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]


@contextlib.contextmanager
def unitless(
    folder: pathlib.Path,
    durability: str,
    models: dict[str, dict[str, Any]],
    *options: str,
    vw_model: str | None = None,
    python: str = sys.executable,
) -> Iterator[Server]:
    """Our server with tokens, evaluation and the writer of snapshots, as in production."""
    folder.mkdir(parents=True, exist_ok=True)
    token = new_token("admin", folder / "tokens", python)
    port, vw_port = free_port(), free_port() if vw_model else 0
    command = [python, "-m", "unitless", "serve", "--data", str(folder / "data"), "--port", str(port)]
    command += ["--token-file", str(folder / "tokens"), "--durability", durability, "--quiet", *options]
    for name, chosen in models.items():
        command += ["--create", f"{name}={json.dumps(chosen)}"]
    if vw_model:
        command += ["--vw-port", str(vw_port), "--vw-model", vw_model]
    begun = time.perf_counter()
    with running(command, port) as process:
        wait_until_ready(process, port)
        yield Server(process, process.pid, port, vw_port, token, folder, time.perf_counter() - begun)
