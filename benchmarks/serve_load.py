"""Put load on a server: several connections, each of which sends its next request when the last one is answered.

    python benchmarks/serve_load.py '{"port": 8000, "pid": 4711, "protocol": "http", "path": "/v1/models/m/predict"}'

This is a separate program, so that nothing else shares its processor time. Requests are encoded before the clock
starts, and answers are only checked for completeness and success. It prints one line of JSON: rows per second,
latencies, and the processor time of the server and of its children during the measured seconds.
"""

from __future__ import annotations

import json
import os
import pathlib
import select
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from serve_rows import as_json, as_vw, rows

TICK = os.sysconf("SC_CLK_TCK")
MOST = 1 << 18  # bytes of one read


@dataclass(frozen=True)
class Load:
    """The requests, their target, and the duration."""

    port: int
    pid: int  # of the server
    protocol: str  # "http" or "lines"
    path: str = ""
    learn: bool = False
    batch: int = 1  # rows of a request
    connections: int = 1
    token: str | None = None
    ids: bool = False  # every row has an id of its own
    labels: str = ""  # where every second request sends the label, or the reward, of an earlier id instead
    delay: int = 2000  # requests between a prediction and its label
    actions: int = 0  # that a bandit chooses from
    rate: float = 0.0  # largest number of requests per second; 0: as many as are answered
    seconds: float = 2.0
    warm: float = 0.5
    different: int = 5000  # rows


class Answer(Protocol):
    """Reads the answer to one request."""

    def take(self, received: bytes) -> bool:
        """Add received bytes; return whether the answer is complete."""


class HttpAnswer:
    """An HTTP answer, with its length or in chunks; JSON lines have one line for each row."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.parts: list[bytes] = []
        self.missing: int | None = None  # number of bytes, if the answer gives its length

    def take(self, received: bytes) -> bool:
        parts = self.parts
        parts.append(received)
        if self.missing is None:
            if len(parts) > 1:  # in chunks: only the end matters
                return received.endswith(b"0\r\n\r\n") and self._done(b"".join(parts))
            head, _, _ = received.partition(b"\r\n\r\n")
            at = head.lower().find(b"content-length:")
            if at < 0:
                return received.endswith(b"0\r\n\r\n") and self._done(received)
            self.missing = len(head) + 4 + int(head[at + 15 :].split(b"\r\n", 1)[0])
        self.missing -= len(received)
        return self.missing <= 0 and self._done(b"".join(parts))

    def _done(self, answer: bytes) -> bool:
        lines = self.batch == 1 or (answer.count(b"{") == self.batch and b'"title"' not in answer)
        if not answer.startswith(b"HTTP/1.1 200") or not lines:
            raise SystemExit(f"the server does not answer well: {answer[:1000]!r}")
        self.parts, self.missing = [], None
        return True


class LinesAnswer:
    """One line for each row."""

    def __init__(self, batch: int) -> None:
        self.batch = self.missing = batch

    def take(self, received: bytes) -> bool:
        self.missing -= received.count(b"\n")
        if self.missing > 0:
            return False
        if self.missing < 0 or received[:1].isalpha():
            raise SystemExit(f"the server does not answer well: {received[:1000]!r}")
        self.missing = self.batch
        return True


def processor_time(pids: Sequence[int]) -> float:
    """The seconds of processor time that processes have used, with all their threads. Ended processes count 0."""
    ticks = 0
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICK


def descendants(pid: int) -> list[int]:
    """The processes that this one has started, and their descendants."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def requests(load: Load) -> list[bytes]:
    """All different requests, encoded."""
    made = rows(load.different)
    write = as_json if load.protocol == "http" else as_vw
    lines = [write(features, label if load.learn else None) for features, label in made]
    if load.actions:
        names = [f"action {k}" for k in range(load.actions)]
        lines = [json.dumps({"context": features, "actions": names}).encode() for features, _ in made]
    if load.batch > 1:
        lines = [line.rstrip(b"\n") + b"\n" for line in lines]
        lines = [b"".join(lines[at : at + load.batch]) for at in range(0, len(lines), load.batch)]
    if load.protocol != "http":
        return lines
    return [http_request(load, load.path, body) for body in lines]


def http_request(load: Load, path: str, body: bytes) -> bytes:
    """A POST with this body."""
    kind = "application/json" if load.batch == 1 else "application/x-ndjson"
    allowed = f"authorization: Bearer {load.token}\r\n" if load.token else ""
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{load.port}\r\n{allowed}content-type: {kind}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def with_id(request: bytes, name: bytes) -> bytes:
    """The request with an id in front of the other fields of its row."""
    head, _, body = request.partition(b"\r\n\r\n")
    body = b'{"id":"' + name + b'",' + body[1:]
    return head[: head.rindex(b" ") + 1] + b"%d\r\n\r\n" % len(body) + body


def connected(port: int) -> socket.socket:
    """A connection that sends without delay."""
    one = socket.create_connection(("127.0.0.1", port), timeout=10)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one


def run(load: Load) -> dict[str, Any]:
    """Send until the time is over; only answers within the measured seconds count."""
    sent = requests(load)
    poll, clock, mark = select.epoll(), time.perf_counter, b"%d-" % os.getpid()
    sockets = {one.fileno(): one for one in (connected(load.port) for _ in range(load.connections))}
    for descriptor in sockets:
        poll.register(descriptor, select.EPOLLIN)
    reader = HttpAnswer if load.protocol == "http" else LinesAnswer
    answers: dict[int, Answer] = {descriptor: reader(load.batch) for descriptor in sockets}
    begun: dict[int, float] = {}
    latencies: list[float] = []
    number = 0

    def send(descriptor: int) -> None:
        nonlocal number
        request = sent[number % len(sent)]
        number += 1
        if load.labels and number % 2 == 0 and number > load.delay:
            known = b"reward" if load.actions else b"label", (b"false", b"true")[number % 4 == 0]
            label = b'{"id":"%s%d","%s":%s}' % (mark, number - load.delay + 1, *known)
            request = http_request(load, load.labels, label)
        elif load.ids:
            request = with_id(request, mark + b"%d" % number)
        begun[descriptor] = clock()
        sockets[descriptor].sendall(request)

    idle = list(sockets)
    children = descendants(load.pid)
    before, starts = None, clock() + load.warm
    ends = starts + load.seconds
    first = clock()
    while (now := clock()) < ends:
        while idle and (not load.rate or number < (now - first) * load.rate):
            send(idle.pop())
        if before is None and now >= starts:
            starts = now
            before = processor_time([load.pid]), processor_time(children), time.process_time()
        for descriptor, _ in poll.poll(0.001 if load.rate else 1.0):
            received = sockets[descriptor].recv(MOST)
            if not received:
                raise SystemExit("the server closed a connection")
            if answers[descriptor].take(received):
                if before is not None:
                    latencies.append(clock() - begun[descriptor])
                if load.rate:
                    idle.append(descriptor)
                else:
                    send(descriptor)
    if before is None or not latencies:
        raise SystemExit(f"the server gave no answer within {load.warm + load.seconds:g} s")
    seconds = clock() - starts
    after = processor_time([load.pid]), processor_time(children), time.process_time()
    count = len(latencies) * load.batch
    cpu, children_cpu, load_cpu = (1e6 * (b - a) / count for a, b in zip(before, after, strict=True))
    latencies.sort()
    return {
        "rows": count,
        "rows_per_second": count / seconds,
        "cpu": cpu,
        "children_cpu": children_cpu,
        "load_cpu": load_cpu,
        "p50": latencies[len(latencies) // 2],
        "p99": latencies[len(latencies) * 99 // 100],
        "worst": latencies[-1],
    }


if __name__ == "__main__":
    print(json.dumps(run(Load(**json.loads(sys.argv[1])))))
