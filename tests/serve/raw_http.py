"""HTTP at the level of bytes, for tests of requests that client libraries would not send."""

from __future__ import annotations

import json
import socket
import time
from typing import Any, NamedTuple

from waiting import LIMIT


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """A connection on which anything can be sent."""

    def __init__(self, port: int, timeout: float = 10.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.port = port
        self._held = b""

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def request(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        self.send(request(method, path, body, headers))
        return self.answer()

    def answer(self) -> Answer:
        """The next answer; fails if the connection is closed before it is complete."""
        while b"\r\n\r\n" not in self._held:
            self._more()
        head, _, self._held = self._held.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        status = int(first.split()[1])
        if headers.get("transfer-encoding") == "chunked":
            return Answer(status, headers, self._chunks())
        size = int(headers.get("content-length", 0))
        while len(self._held) < size:
            self._more()
        body, self._held = self._held[:size], self._held[size:]
        return Answer(status, headers, body)

    def _chunks(self) -> bytes:
        found = b""
        while True:
            while b"\r\n" not in self._held:
                self._more()
            size, _, self._held = self._held.partition(b"\r\n")
            while len(self._held) < int(size, 16) + 2:
                self._more()
            found += self._held[: int(size, 16)]
            self._held = self._held[int(size, 16) + 2 :]
            if int(size, 16) == 0:
                return found

    def line(self) -> bytes:
        """The next line, as received."""
        while b"\n" not in self._held:
            self._more()
        line, _, self._held = self._held.partition(b"\n")
        return line

    def _more(self) -> None:
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError(f"closed after {self._held!r}")
        self._held += data

    def is_closed(self, within: float = LIMIT) -> bool:
        """Whether the other side closes the connection; data that it still sends is ignored."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            self.socket.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                if not self.socket.recv(1 << 16):
                    return True
            except TimeoutError:
                return False
            except OSError:
                return True
        return False


def request(method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> bytes:
    """A request; a body that is not bytes becomes JSON."""
    given = {"Host": "localhost"} | (headers or {})
    if body is not None:
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
            given.setdefault("Content-Type", "application/json")
        given.setdefault("Content-Length", str(len(body)))
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + (body or b"")
