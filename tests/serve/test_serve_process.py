"""The server as a process: how it starts, its message when it cannot start, and how it stops."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from raw_http import Connection, request
from server_process import forked
from waiting import join, until

from unitless.cli import main
from unitless.serve import server as server_module
from unitless.serve.http.access import new_token

COMMAND = [sys.executable, "-m", "unitless", "serve"]
EXAMPLE = {"features": {"a": 1.0, "b": "x"}, "label": 1.0}
SMALL = 'm={"model_type": "linear", "ensemble": false}'


def first_line(output: Path, is_alive: Callable[[], bool]) -> str:
    """The first line that a process writes to a file."""
    until(lambda: "\n" in written(output) or not is_alive())
    line, end, _ = written(output).partition("\n")
    assert end, f"the process ended without a line: {line!r}"
    return line + end


def written(output: Path) -> str:
    return output.read_text() if output.exists() else ""


class Running:
    """A server that has printed its address. Its output goes to a file."""

    def __init__(self, output: Path, *arguments: str, **environment: str) -> None:
        self.process = forked(arguments, output, environment=environment)
        self.said = first_line(output, self.process.is_alive)
        self.port = int(self.said.partition("http://127.0.0.1:")[2].partition("/")[0])

    def send(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int | None, float]:
        """Stop the server; return the exit code and the seconds that this took."""
        begin = time.monotonic()
        self.send(number)
        self.process.join(20)
        return self.process.exitcode, time.monotonic() - begin


@contextmanager
def running(*arguments: str, **environment: str) -> Iterator[Running]:
    with tempfile.TemporaryDirectory() as folder:
        server = Running(Path(folder) / "output", *arguments, **environment)
        try:
            yield server
        finally:
            server.process.kill()
            server.process.join(10)


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """The exit code of a command, and the one line that it prints."""

    def fail(*arguments: Any, **environment: str) -> tuple[int, str]:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        code = main(["serve", *map(str, arguments)])
        out, said = capsys.readouterr()
        assert out == ""
        assert said.startswith("unitless: ")
        assert said.count("\n") == 1, said
        return code, said

    return fail


def test_it_says_where_it_is_and_remembers_what_it_learned(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with running("--data", data, "--port", "0", "--create", SMALL, "--create", "n") as server:
        assert server.said == f"unitless serves 2 models: page http://127.0.0.1:{server.port}/\n"
        with Connection(server.port) as connection:
            for k in range(10):
                connection.request("POST", "/v1/models/m/learn", {"features": {"a": k}, "label": k})
            said = connection.request("POST", "/v1/models/m/predict", {"features": {"a": 3}}).json()
        assert server.stop() == (0, pytest.approx(0, abs=10))
    file = tmp_path / "serve.toml"
    file.write_text(f"data = {json.dumps(data)}\nport = 1\n")
    with running("--config", str(file), UNITLESS_SERVE_PORT="0") as server, Connection(server.port) as connection:
        assert connection.request("POST", "/v1/models/m/predict", {"features": {"a": 3}}).json() == said
        assert server.stop(signal.SIGINT)[0] == 0


def test_it_prints_its_address_at_once_into_a_file(tmp_path: Path) -> None:
    """A service manager or a log file shows the line although Python buffers what is not a terminal."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [*COMMAND, "--data", str(tmp_path / "data"), "--port", "0"]
    output = tmp_path / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
    try:
        line = first_line(output, lambda: process.poll() is None)
    finally:
        process.kill()
        process.wait(10)
    assert re.fullmatch(r"unitless serves no model yet: page http://127\.0\.0\.1:\d+/\n", line)


class Load:
    """Clients that send rows until the server closes their connections, and count unanswered rows."""

    def __init__(self, port: int) -> None:
        self.port, self.answered, self.failures = port, 0, list[str]()
        self.many_begun = threading.Event()
        self._lock = threading.Lock()

    def rows(self, depth: int) -> None:
        """Send some rows at a time, without waiting for answers in between."""
        sent = request("POST", "/v1/models/m/learn", EXAMPLE) * depth
        with Connection(self.port) as connection:
            while self._some(connection, sent, depth):
                pass

    def _some(self, connection: Connection, sent: bytes, depth: int) -> bool:
        closing = False
        for k in range(depth):
            try:
                if k == 0:
                    connection.send(sent)
                answer = connection.answer()
            except OSError as error:  # before the first one: closed between two requests
                if k and not closing:
                    self.failures.append(f"{k} of {depth} answered: {error!r}")
                return False
            closing = answer.headers.get("connection") == "close"
            with self._lock:
                self.answered += 1
            if answer.status != 200:
                self.failures.append(str(answer))
        return not closing

    def lines(self, count: int) -> None:
        """Send many rows in one request."""
        rows = (json.dumps(EXAMPLE).encode() + b"\n") * count
        with Connection(self.port) as connection:
            connection.send(request("POST", "/v1/models/m/learn", rows, {"Content-Type": "application/x-ndjson"}))
            connection.socket.recv(1, socket.MSG_PEEK)
            self.many_begun.set()
            found = connection.answer().body.count(b'"learned"')
        with self._lock:
            self.answered += found
        if found != count:
            self.failures.append(f"{found} rows of {count} answered")


def test_every_request_that_was_taken_is_answered_before_the_end(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with running("--data", data, "--port", "0", "--create", SMALL) as server:
        load = Load(server.port)
        threads = [threading.Thread(target=load.rows, args=(depth,)) for depth in (1, 1, 1, 1, 8, 8, 50)]
        threads.append(threading.Thread(target=load.lines, args=(5_000,)))
        for thread in threads:
            thread.start()
        assert load.many_begun.wait(20)
        until(lambda: load.answered >= 50 or load.failures)
        code, took = server.stop()
        for thread in threads:
            join(thread)
        assert (code, load.failures) == (0, [])
        assert took < 10
    with running("--data", data, "--port", "0") as server, Connection(server.port) as connection:
        assert connection.request("GET", "/v1/models/m").json()["examples"] >= load.answered > 5_000


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 10).close()
    except OSError:
        return False
    return True


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with running("--data", str(tmp_path / "data"), "--port", "0", "--create", SMALL) as server:
        with Connection(server.port) as connection:
            head = {"Content-Type": "application/x-ndjson", "Content-Length": "1000000"}
            row = json.dumps(EXAMPLE).encode() + b"\n"
            connection.send(request("POST", "/v1/models/m/learn", None, head) + row)
            assert connection.line().startswith(b"HTTP/1.1 200")
            server.send(signal.SIGTERM)
            until(lambda: not listens(server.port))
            assert server.process.is_alive()
            code, took = server.stop()
        assert code == 130
        assert took < 3


def test_why_it_cannot_start(tmp_path: Path, fails: Callable[..., tuple[int, str]]) -> None:
    """Code 2 means that a new start cannot help: deploy/unitless.service does not restart the server then."""
    data = tmp_path / "data"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = fails("--data", data, "--port", port)
        assert (code, f"port {port} cannot be used" in said, "--port" in said) == (1, True, True)
        code, said = fails("--data", data, "--port", "0", "--vw-port", port)
        assert (code, "--vw-port" in said) == (1, True)
    with running("--data", str(data), "--port", "0"):
        code, said = fails("--data", data, "--port", "0")
        assert (code, "another server works in" in said) == (1, True)
    missing = tmp_path / "tokens"
    code, said = fails("--data", data, "--token-file", missing)
    assert (code, str(missing) in said, "--new-token" in said) == (2, True, True)
    for arguments, code, part in (
        ([], 2, "--data is not given"),
        (["--data", data, "--host", "0.0.0.0"], 2, "--token-file"),
        (["--data", data, "--port", "0", "--model", tmp_path / "none.unitless"], 2, "none.unitless"),
        (["--data", data, "--port", "0", "--model", f"m={__file__}"], 2, "--model cannot be used for m: this is not"),
        (["--data", data, "--port", "0", "--create", 'm={"loss": "none"}'], 2, "--create cannot be used for m: loss"),
        (["--data", data, "--durability", "none"], 2, "disk or process"),
        (["--data", "/dev/null/x", "--port", "0"], 2, "cannot be used: Not a directory"),
        (["--data", "/proc/none", "--port", "0"], 2, "cannot be used: No such file or directory"),
        (["--data", __file__, "--port", "0"], 2, "is a file; name a folder that can be written to"),
        (["--data", "", "--port", "0"], 2, "not empty"),
        (["--new-token", "king", "--token-file", missing], 2, "read, write, admin"),
        (["--new-token", "admin"], 2, "--token-file"),
        (["--replica-of", tmp_path, "--port", "0"], 2, "streams"),
    ):
        found, said = fails(*arguments)
        assert (found, part in said) == (code, True), said
    code, said = fails("--data", data, UNITLESS_SERVE_PROT="1")
    assert (code, "did you mean port" in said) == (2, True)


def test_a_name_whose_first_address_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """`localhost` is ::1 and 127.0.0.1 on many machines, also where IPv6 is switched off."""
    elsewhere = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2001:db8::1", 0, 0, 0))
    here = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [elsewhere, here])
    (listening,) = server_module._listening("localhost", 0)
    with listening:
        assert listening.getsockname()[0] == "127.0.0.1"
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [elsewhere])
    with pytest.raises(
        server_module.ServeError, match="'localhost' is not an address of this machine; choose another with --host"
    ):
        server_module._listening("localhost", 0)


@pytest.mark.parametrize("package", ["uvicorn", "uvloop", "starlette", "msgspec", "httptools"])
def test_a_package_that_is_not_installed_is_named(tmp_path: Path, package: str) -> None:
    script = f"import sys; sys.modules[{package!r}] = None; from unitless.cli import main; sys.exit(main())"
    arguments = ["serve", "--data", str(tmp_path / "data"), "--port", "0"]
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"unitless: serving needs {package}; pip install 'unitless[serve]'\n"


def test_a_new_token_is_printed_once_and_works(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    made = [*COMMAND, "--new-token", "write", "--token-file", str(file)]
    token = subprocess.run(made, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    new_token("read", file)
    assert token not in file.read_text()
    arguments = ["--data", str(tmp_path / "data"), "--port", "0", "--create", SMALL, "--token-file", str(file)]
    with running(*arguments) as server, Connection(server.port) as connection:
        headers = {"Authorization": f"Bearer {token}"}
        assert connection.request("POST", "/v1/models/m/learn", EXAMPLE, headers).status == 200
        assert connection.request("POST", "/v1/models/m/learn", EXAMPLE).status == 401


def test_all_doors_of_one_server(tmp_path: Path) -> None:
    """A model file, the port for lines, and a replica give the same predictions."""
    data = str(tmp_path / "data")
    arguments = ["--data", data, "--port", "0", "--create", SMALL, "--vw-port", "0", "--vw-model", "m"]
    with running(*arguments) as server, Connection(server.port) as connection:
        port = int(server.said.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), 10) as lines:
            lines.sendall(b"1 | a:1\n2 | a:2\n")
            answers = lines.makefile()
            assert len([answers.readline(), answers.readline()]) == 2
        said = connection.request("POST", "/v1/models/m/predict", {"features": {"a": 1.5}}).json()
        with running("--replica-of", data, "--port", "0") as replica, Connection(replica.port) as other:
            assert "as a replica" in replica.said
            headers = {"Unitless-Min-Seq": str(said["seq"])}
            assert other.request("POST", "/v1/models/m/predict", {"features": {"a": 1.5}}, headers).json() == said
            assert other.request("POST", "/v1/models/m/learn", EXAMPLE).status == 403
            assert other.request("PUT", "/v1/models/n", {}).status == 403
            assert other.request("GET", "/v1/models").json()["server"]["replica"] is True
            assert replica.stop()[0] == 0
