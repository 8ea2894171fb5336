"""Send random requests from several clients to a server, to find errors.

    python tests/fuzz/serve.py SECONDS [SEED] [REQUESTS]

It fails on an answer of 500 or more that is not an intended 503, on a request without an answer, on an error in the
server's reports, and if the server does not start again on the same folder with the same models. With REQUESTS, each
client ends after this number of requests or when the seconds are over.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import random_requests
from random_requests import Request

CLIENTS = 4
PATIENCE = 60.0  # seconds in which a request is answered, and a server starts or stops
MOST_FAILURES = 5  # seconds after which a client ends early
INTENDED = {  # titles of a 503
    "recovering",
    "the model is not ready",
    "the model is changing",
    "not there yet",
    "too many connections",
}


class Failed(Exception):
    """The server did something that it must not do."""


class Server:
    """`unitless serve` in a process of its own.

    Args:
        folder: of its data.
        reports: a file for what it prints.
    """

    def __init__(self, folder: Path, reports: Path) -> None:
        self._folder, self.reports = folder, reports
        self._process: subprocess.Popen[str] | None = None
        self.port = self.vw_port = 0

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        options = {
            "data": self._folder,
            "port": 0,
            "vw-port": 0,
            "vw-model": "vw",
            "personalizer": "wares",
            "max-models": 30,
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(self._folder.parent), "PYTHONUNBUFFERED": "1"}
        with self.reports.open("a") as reports:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "unitless", "serve", *words, "--snapshot-every=1s", "--tick=1s"],
                stdout=subprocess.PIPE,
                stderr=reports,
                env=environment,
                text=True,
            )
        assert self._process.stdout is not None
        timer = threading.Timer(PATIENCE, self._process.kill)
        timer.start()
        line = self._process.stdout.readline()
        timer.cancel()
        if "page http" not in line:
            raise Failed(f"the server did not start: {line!r}")
        self.port = int(line.split("page http://")[1].split("/")[0].rpartition(":")[2])
        self.vw_port = int(line.rpartition(":")[2])

    def end(self, number: signal.Signals) -> int:
        """Send a signal, and give the exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        try:
            return self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise Failed(f"the server did not end within {PATIENCE:g} seconds") from None

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def models(self) -> dict[str, Any]:
        """Every model, with all that must be the same after a restart."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", "/v1/models")
            found = json.loads(connection.getresponse().read())["models"]
            digests = {}
            for model in found:
                if model["status"] == "ready":
                    connection.request("GET", f"/v1/models/{model['stream']}?model={model['name']}")
                    digests[model["name"]] = json.loads(connection.getresponse().read())["digest"]
        return digests


class Client:
    """One client, which sends random requests.

    Args:
        server: to send to.
        seed: of the generator.
        statuses: counts the answers.
    """

    def __init__(self, server: Server, seed: str, statuses: Counter[str]) -> None:
        self._server, self._rng, self._statuses = server, random.Random(seed), statuses
        self._connection: http.client.HTTPConnection | None = None

    def send_one(self) -> None:
        """Send something, and judge the answer."""
        kind = self._rng.random()
        if kind < 0.05:
            self._send_raw(self._server.port, random_requests.raw(self._rng))
        elif kind < 0.08:
            self._send_lines(random_requests.vw_lines(self._rng))
        else:
            self.send(random_requests.one(self._rng))

    def send(self, request: Request) -> None:
        """Send a request, and judge the answer."""
        try:
            status, kind, body = self._answer(request)
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"no answer ({error!r}) to {_shown(request)}") from None
        self._statuses[f"{request.method} {status}"] += 1
        for line in body.splitlines() if kind.startswith("application/x-ndjson") else [body]:
            self._judge(status, line, request)

    def _answer(self, request: Request) -> tuple[int, str, bytes]:
        for first_try in (True, False):
            fresh = self._connection is None
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=PATIENCE)
            try:
                return self._read(self._connection, request)
            except (ConnectionError, http.client.RemoteDisconnected):
                self._connection.close()
                self._connection = None
                if fresh or not first_try:  # a kept connection may have been closed after the last answer
                    raise
        raise AssertionError

    def _read(self, connection: http.client.HTTPConnection, request: Request) -> tuple[int, str, bytes]:
        body: Any = request.body
        if request.chunked and body:
            cut = self._rng.randrange(len(body))
            body = iter([part for part in (body[:cut], body[cut:]) if part])
        connection.putrequest(request.method, request.path, skip_host="Host" in request.headers)
        for name, value in request.headers.items():
            connection.putheader(name, value)
        if body is None:
            connection.endheaders()
        elif isinstance(body, bytes):
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
        else:
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders(body, encode_chunked=True)
        answer = connection.getresponse()
        kind = answer.headers.get("Content-Type", "")
        if kind.startswith("text/event-stream"):
            connection.close()
            self._connection = None
            return answer.status, kind, b""
        return answer.status, kind, answer.read()

    def _judge(self, status: int, body: bytes, request: Request) -> None:
        try:
            fields = json.loads(body)
        except ValueError:
            fields = {}
        fields = fields if isinstance(fields, dict) else {}
        told = fields.get("status") if isinstance(fields.get("status"), int) else status
        untold = request.method == "HEAD" or request.path.startswith("/v2")  # the answer has no title
        error = fields.get("error")
        title = error.get("code") if isinstance(error, dict) else fields.get("title")  # Personalizer's form, or ours
        intended = told == 503 and (untold or title in INTENDED)
        if int(told or 0) >= 500 and not intended:
            raise Failed(f"{told} {body[:500]!r} to {_shown(request)}")

    def _send_raw(self, port: int, data: bytes) -> None:
        """Send bytes, and read until the server closes the connection, waits for more, or begins an endless answer."""
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
            found = b""
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while b"text/event-stream" not in found and (part := connection.recv(1 << 16)):
                    found += part
        self._statuses["raw bytes"] += 1
        if found.startswith(b"HTTP/1.1 5") and not found.startswith(b"HTTP/1.1 503"):
            raise Failed(f"{found[:500]!r} to {data[:1000]!r}")

    def _send_lines(self, data: bytes) -> None:
        with socket.create_connection(("127.0.0.1", self._server.vw_port), PATIENCE) as connection:
            found = b""
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(1 << 16):
                    found += part
        self._statuses["VW lines"] += 1
        if b"could not be used" in found or b"error of the server" in found or b"log has failed" in found:
            raise Failed(f"{found[:500]!r} to {data[:1000]!r}")


def _shown(request: Request) -> str:
    body = b"" if request.body is None else request.body
    more = f" and {len(body) - 1500:,} bytes more" if len(body) > 1500 else ""
    return f"{request.method} {request.path} {request.headers} {body[:1500]!r}{more}"


def fuzz(seconds: float, seed: int, most: int | None) -> Counter[str]:
    """Send requests; returns the number of answers of each status.

    Raises:
        Failed: the server did something that it must not do.
    """
    statuses: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="unitless-fuzz-") as name:
        server = Server(Path(name) / "data", Path(name) / "reports")
        try:
            server.start()
            _send_all(server, seconds, seed, most, statuses)
            _start_again(server)
        except Failed as failure:
            reports = server.reports.read_text()[-6000:]
            raise Failed(f"{failure}\n----- the server's reports end with:\n{reports}") from None
        finally:
            if server.is_alive:
                server.end(signal.SIGKILL)
    return statuses


def _send_all(server: Server, seconds: float, seed: int, most: int | None, statuses: Counter[str]) -> None:
    failures: list[str] = []
    until = time.monotonic() + seconds

    def work(client: Client) -> None:
        count = 0
        while time.monotonic() < until and len(failures) < MOST_FAILURES and (most is None or count < most):
            count += 1
            try:
                client.send_one()
            except Exception as error:
                failures.append(f"{error}" if isinstance(error, Failed) else f"{type(error).__name__}: {error}")

    clients = [Client(server, f"{seed}-{place}", statuses) for place in range(CLIENTS)]
    for request in random_requests.first():
        clients[0].send(request)
    threads = [threading.Thread(target=work, args=(client,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reports = server.reports.read_text()
    if not failures and not server.is_alive:
        failures.append("the server has ended")
    if not failures and ("Traceback" in reports or " ERROR " in reports):
        failures.append("the server reported an error")
    if failures:
        raise Failed("\n".join(failures))


def _start_again(server: Server) -> None:
    """Kill the server and start it, then stop it and start it: its models are the same each time."""
    before = server.models()
    for number, expected in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 0)):
        code = server.end(number)
        if code != expected:
            raise Failed(f"the server ended with {code} after {number.name}")
        server.start()
        after = server.models()
        if any(after.get(name) != digest for name, digest in before.items()):
            raise Failed(f"after {number.name} the models are {after}, before they were {before}")
    if server.end(signal.SIGTERM) != 0:
        raise Failed("the server did not end with 0")


def main() -> int:
    """Run, and print the result."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2**32)
    most = int(sys.argv[3]) if len(sys.argv) > 3 else None
    print(f"requests for {seconds:g} seconds, seed {seed}", flush=True)
    try:
        statuses = fuzz(seconds, seed, most)
    except Failed as failure:
        print(f"FAILED with seed {seed}: {failure}")
        return 1
    print(f"{sum(statuses.values()):,} requests; " + ", ".join(f"{n:,} {what}" for what, n in sorted(statuses.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
