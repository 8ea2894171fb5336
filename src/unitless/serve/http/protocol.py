"""The protocol class of the server: predict, learn and label of one row are answered here, all else by the application.

It is uvicorn's class with another way through: a request of one row needs no task, no scope and no queue of messages.
What it also adds are limits of size and time, and a stop that answers every request that was taken.

Most requests of a client have the same head, byte for byte. What a head means is worked out by the parser once and
kept; while a head is known, its bytes are looked up instead of parsed. A head is kept only if it was complete, plain
and allowed, so that the same bytes always mean the same.
"""

from __future__ import annotations

import asyncio
import re
import urllib.parse
from collections import deque
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from ..events import AnyRow, Form
from ..problems import Problem
from . import rows
from .access import Access, Role, require
from .limits import KEEP_ALIVE, LAST_REQUEST, LINGER, MOST_OUTSTANDING, PROGRESS, Limits

if TYPE_CHECKING:
    from pathlib import Path

    from uvicorn.config import Config
    from uvicorn.server import ServerState

    from ..live import LiveStream
    from ..streams.stream import Outcome

MOST_HEADS = 4096
LONGEST_HEAD = 2048

_TARGET = re.compile(
    rb"/v1/models/([a-z0-9][a-z0-9_-]{0,63})/(predict|learn|label|rank|reward|activate)(?:\?model=([a-z0-9_-]{1,64}))?"
)
_JSON = re.compile(rb"application/json(?:\s*;\s*charset=utf-8)?", re.IGNORECASE)
_ELSEWHERE = {
    b"expect",
    b"transfer-encoding",
    b"content-encoding",
    b"unitless-min-seq",
    b"upgrade",
}  # the application's

_GOOD = {action: (action, 200) for action in rows.KINDS}
_BETWEEN, _HEAD, _BODY = range(3)  # what is being received


class Head(NamedTuple):
    """What the head of a request of one row means."""

    length: int
    name: str
    action: str
    model: str | None
    role: Role
    keep_alive: bool


class Service:
    """What all connections share.

    Args:
        store: the models.
        access: checks tokens and roles.
        limits: of requests.
    """

    def __init__(self, store: Any, access: Access, limits: Limits) -> None:
        self.store, self.access, self.limits = store, access, limits
        self.snapshot: Callable[[LiveStream], Awaitable[int]] = _no_snapshot
        self.heads: dict[bytes, Head] = {}
        self.now = 0.0  # the event loop's clock at the last sweep
        self.closing = False
        self._default: list[tuple[bytes, bytes]] = []
        self._good = b""

    def check_ready(self) -> None:
        """Check that requests can be answered.

        Raises:
            Problem: 503 if they cannot.
        """
        if self.closing:
            raise Problem(503, "stopping", "The server is about to stop.", retry_after=5)
        if not self.store.ready:
            raise Problem(503, "recovering", "The server reads its logs. Try again soon.", retry_after=1)

    def reload_tokens(self, file: Path) -> None:
        """Take the tokens that a file has now, for the next request of every connection.

        Raises:
            OptionError: the file cannot be read; the tokens of before stay.
        """
        self.access.reload(file)
        self.heads.clear()  # they include the role of their token

    def count(self, verb: str, status: int) -> None:
        """Count an answer."""
        self.store.tallies.requests[verb if verb in rows.KINDS else "other", status] += 1

    def head(self, default: list[tuple[bytes, bytes]], status: int, kind: bytes, more: dict[str, str]) -> bytes:
        """The head of an answer, up to its length."""
        lines = [*default, (b"content-type", kind), (b"cache-control", b"no-store")]
        lines += [(b"x-content-type-options", b"nosniff"), *((k.encode(), v.encode()) for k, v in more.items())]
        return STATUS_LINE[status] + b"".join(b"%b: %b\r\n" % line for line in lines) + b"content-length: "

    def good(self, default: list[tuple[bytes, bytes]], action: str, body: bytes) -> bytes:
        """An answer of status 200."""
        self.store.tallies.requests[_GOOD[action]] += 1
        if default is not self._default:  # they contain the time, and are new each second
            self._good, self._default = self.head(default, 200, b"application/json", {}), default
        return b"%b%d\r\n\r\n%b\n" % (self._good, len(body) + 1, body)

    def bad(self, default: list[tuple[bytes, bytes]], action: str, problem: Problem) -> bytes:
        """An answer with a problem."""
        self.count(action, problem.status)
        body = problem.body()
        head = self.head(default, problem.status, b"application/problem+json", problem.headers)
        return b"%b%d\r\n\r\n%b\n" % (head, len(body) + 1, body)


async def _no_snapshot(live: LiveStream) -> int:
    raise Problem(403, "no snapshots", "This server writes none.")


class Slot:
    """The place of one answer among those that a connection waits for. Called when the row is learned."""

    __slots__ = ("action", "answer", "began", "close", "protocol")

    def __init__(self, protocol: Protocol, action: str, close: bool, began: float = 0.0) -> None:
        self.protocol, self.action, self.close, self.began = protocol, action, close, began
        self.answer: bytes | None = None

    def __call__(self, result: list[Outcome] | Problem) -> None:
        protocol = self.protocol
        problem = result if isinstance(result, Problem) else result[0].problem
        if problem is not None:
            self.answer = protocol.bad(self.action, problem)
        else:
            fields = rows.fields(self.action, result[0])  # type: ignore[index]
            self.answer = protocol.good(self.action, rows.encode(fields))
        protocol.service.store.tallies.latencies[self.action].observe(perf_counter() - self.began)
        protocol.advance()


class Protocol(HttpToolsProtocol):
    """One connection.

    Args:
        config: of uvicorn.
        server_state: what uvicorn's connections share.
        service: what ours share.
    """

    def __init__(self, config: Config, server_state: ServerState, service: Service) -> None:
        super().__init__(config, server_state, {})
        self.service = service
        self._order: deque[Slot | RequestResponseCycle] = deque()  # requests that wait for an answer, in order
        self._receiving = _BETWEEN
        self._fast: Head | None = None  # the head of the request that is being received, if it is answered here
        self._pieces: list[bytes] = []
        self._raw: bytes | None = None  # the bytes of its head, if it began with the last data
        self._length = 0  # bytes of its head, or of its body, so far
        self._framing = 0  # all bytes since its head
        self._progress = 0
        self._since = 0.0  # when it began, or when the connection was last used
        self._unread_since = 0.0  # when the client stopped to read its answers
        self._heard_once = False
        self._reading_ended = False  # further bytes are ignored
        self._closing = False  # after the answers that are due

    # ----- answers

    def good(self, action: str, body: bytes) -> bytes:
        """An answer of status 200."""
        return self.service.good(self.server_state.default_headers, action, body)

    def bad(self, action: str, problem: Problem) -> bytes:
        """An answer with a problem."""
        return self.service.bad(self.server_state.default_headers, action, problem)

    def advance(self) -> None:
        """Write the answers that are there, up to the first that is not; begin with the application's if it is next."""
        order = self._order
        while order:
            first = order[0]
            if not isinstance(first, Slot):
                self._begin(first)
                return
            if first.answer is None:
                return
            order.popleft()
            self._write(first.answer, first.close)
        if self.flow.read_paused and not self.flow.write_paused and not self._reading_ended:
            self.flow.resume_reading()

    def _write(self, answer: bytes, close: bool) -> None:
        if self.transport.is_closing():
            return
        if close or (self._closing and not self._order and self._receiving == _BETWEEN):
            self.transport.write(answer.replace(b"\r\n", b"\r\nconnection: close\r\n", 1))
            self._finish()
        else:
            self.transport.write(answer)

    def _finish(self) -> None:
        """End the answers, and close when the client has closed, or after a while."""
        self._reading_ended = True
        self._order.clear()
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self.flow.resume_reading()  # what still comes is thrown away: a close would cut off the answer
            self.loop.call_later(LINGER, self.transport.close)
        else:
            self.transport.close()

    def _refuse(self, problem: Problem) -> None:
        """Answer with a problem, after the answers that are due, and close."""
        if self._reading_ended:
            return
        self._reading_ended = True
        slot = Slot(self, "", True)
        slot.answer = self.bad("", problem)
        last = self._order[-1] if self._order else None
        if self._receiving == _BODY and isinstance(last, RequestResponseCycle) and last is self.cycle:
            last.disconnected = True
            last.message_event.set()
            if last.response_started:
                self.transport.close()
                return
            self._order.pop()
        self._receiving = _BETWEEN
        self._order.append(slot)
        self.advance()

    # ----- the way of a request of one row

    def _take(self, head: Head, body: bytes) -> None:
        action, began = head.action, perf_counter()
        try:
            row = rows.read(action, body)
            live, model = rows.find(self.service.store, head.name, head.model)
            if rows.is_answered_at_once(action, row):
                answer = self.good(action, rows.encode(rows.answered_at_once(live, model, row, len(body))))
            else:
                rows.check(action, row, live.row_limits, len(body))
                if head.role is Role.read:
                    require(head.role, Role.write)
                self._submit(live, action, row, rows.logged(action, row, body, model), not head.keep_alive, began)
                return
        except Problem as problem:
            answer = self.bad(action, problem)
        except Exception as error:
            answer = self.bad(action, rows.failed(error))
        self.service.store.tallies.latencies[action].observe(perf_counter() - began)
        if not self._order:
            self._write(answer, not head.keep_alive)
            return
        slot = Slot(self, action, not head.keep_alive)
        slot.answer = answer
        self._order.append(slot)

    def _submit(self, live: LiveStream, action: str, row: AnyRow, payload: bytes, close: bool, began: float) -> None:
        slot = Slot(self, action, close, began)
        self._order.append(slot)
        try:
            live.submit(rows.KINDS[action], Form.json, 1, payload, slot, [row])
        except Problem as problem:
            slot(problem)
        except Exception as error:
            slot(rows.failed(error))
        if len(self._order) > MOST_OUTSTANDING:
            self.flow.pause_reading()

    # ----- what the transport calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.service.now
        if len(self.connections) > self.service.limits.connections:
            self._refuse(self.service.limits.too_many())
        elif self.service.closing:
            self.shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        for waiting in self._order:
            if isinstance(waiting, RequestResponseCycle):
                waiting.disconnected = True
                waiting.message_event.set()
        self._reading_ended = True
        self._order.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._reading_ended:
            return
        if self._receiving == _BETWEEN:
            heads, at, size = self.service.heads, 0, len(data)
            while True:
                end = data.find(b"\r\n\r\n", at)
                head = heads.get(data[at:end]) if end > 0 else None
                if head is None or end + 4 + head.length > size:
                    break
                start, at = end + 4, end + 4 + head.length
                self._take(head, data[start:at])
                if at == size or self._reading_ended:
                    self._since = self.service.now
                    return
            data = data[at:] if at else data
            self._raw = data[: end - at] if at < end <= at + LONGEST_HEAD else None
            self._since = self.service.now
        self._parse(data)

    def _parse(self, data: bytes) -> None:
        began = self._receiving
        while data and not self._reading_ended:
            try:
                self.parser.feed_data(data)
                break
            except httptools.HttpParserUpgrade as stopped:
                data = self._stay(data[stopped.args[0] :])
                began = self._receiving
            except httptools.HttpParserError:
                self._refuse(Problem(400, "this is not HTTP", "The request could not be parsed."))
        self._raw = None
        if self._reading_ended:
            return
        if self._receiving == _HEAD:
            if began == _HEAD:  # else its bytes have been counted
                self._length += len(data)
            if self._length > self.service.limits.header:
                self._refuse(self.service.limits.header_too_large())
        elif self._receiving == _BODY and began == _BODY:
            self._framing += len(data)
            if self._framing > 2 * self.service.limits.body + self._length:  # chunks of almost nothing, or trailers
                self._refuse(self.service.limits.body_too_large())
            self._progress += len(data)
            if self._fast is None and self._progress >= PROGRESS:
                self._progress, self._since = 0, self.service.now

    def _stay(self, rest: bytes) -> bytes:
        """Treat a request for another protocol as an ordinary one: the parser reads no body after it.

        Args:
            rest: the bytes after its head.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        if method == b"CONNECT":
            self._refuse(Problem(400, "this is not a proxy", "CONNECT is not for this server."))
            return b""
        lines = [b"%b %b HTTP/%b" % (method, self.url, version)]
        for name, value in self.headers:
            if name == b"connection":
                wishes = [wish.strip() for wish in value.lower().split(b",")]
                value = b", ".join(wish for wish in wishes if wish not in (b"upgrade", b"http2-settings"))  # noqa: PLW2901
            if name not in (b"upgrade", b"http2-settings"):
                lines.append(b"%b: %b" % (name, value))
        self.parser = httptools.HttpRequestParser(self)
        self._receiving = _BETWEEN
        return b"\r\n".join([*lines, b"", b""]) + rest

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """The client sends no more; requests that were taken are still answered."""
        if self._receiving != _BETWEEN or not self._order:
            return None
        self.shutdown()
        return True

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read its answers."""
        super().pause_writing()
        self.flow.pause_reading()
        self._unread_since = self.service.now

    def resume_writing(self) -> None:
        """Read again."""
        super().resume_writing()
        if len(self._order) <= MOST_OUTSTANDING:
            self.flow.resume_reading()

    # ----- what the parser calls

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._receiving, self._fast, self._length = _HEAD, None, 0

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        super().on_url(url)
        self._length += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; headers after a body do not count."""
        if self._receiving == _HEAD:
            super().on_header(name, value)
            self._length += len(name) + len(value) + 4

    def on_headers_complete(self) -> None:
        """Decide whether the protocol or the application answers."""
        if self._reading_ended or self.parser.should_upgrade():  # then the parser stops behind the head
            return
        limits, found = self.service.limits, dict(reversed(self.headers))
        if self._length > limits.header:
            self._refuse(limits.header_too_large())
            return
        length = found.get(b"content-length", b"")
        if length and int(length) > limits.body:
            self._refuse(limits.body_too_large())
            return
        version = self.parser.get_http_version()
        keep_alive = version != "1.0" and self.parser.should_keep_alive()
        self._receiving, self._length, self._framing, self._progress = _BODY, 0, 0, 0
        self._heard_once = True
        self._fast = self._head(found, length, keep_alive)
        if self._fast is None:
            self._queue(version, keep_alive)
        else:
            self._pieces = []

    def _head(self, found: dict[bytes, bytes], length: bytes, keep_alive: bool) -> Head | None:
        if not length or self.parser.get_method() != b"POST" or not _ELSEWHERE.isdisjoint(found):
            return None
        target = _TARGET.fullmatch(self.url)
        if int(length) > self.service.limits.row:
            return None
        if target is None or not _JSON.fullmatch(found.get(b"content-type", b"")):
            return None
        try:
            host = found.get(b"host")
            role = self.service.access.role(found.get(b"authorization"), host)
            self.service.access.check_site(host, found.get(b"origin"), found.get(b"sec-fetch-site"))
        except Problem:
            return None
        name, action, model = (None if part is None else part.decode() for part in target.groups())
        return Head(int(length), str(name), str(action), model, role, keep_alive)

    def _queue(self, version: str, keep_alive: bool) -> None:
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        self.scope["method"] = self.parser.get_method().decode("ascii")
        self.scope["http_version"] = version
        self.scope["path"] = urllib.parse.unquote(path) if "%" in path else path
        self.scope["raw_path"] = url.path
        self.scope["query_string"] = url.query or b""
        self.cycle = RequestResponseCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=keep_alive and not self._closing,
            on_response=self.on_response_complete,
        )
        self._order.append(self.cycle)
        if len(self._order) == 1:
            self._begin(self.cycle)
        else:
            self.flow.pause_reading()

    def _begin(self, cycle: RequestResponseCycle) -> None:
        if getattr(cycle, "begun", False):
            return
        cycle.begun = True  # type: ignore[attr-defined]
        task = self.loop.create_task(cycle.run_asgi(self.app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if self._reading_ended:
            return
        self._length += len(body)
        if self._length > self.service.limits.body:
            self._refuse(self.service.limits.body_too_large())
        elif self._fast is not None:
            self._pieces.append(body)
        elif not self.cycle.response_complete:
            self.cycle.body += body
            if len(self.cycle.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        """A request is here as a whole."""
        if self._reading_ended or self._receiving == _HEAD:  # a request for another protocol
            return
        self._receiving = _BETWEEN
        raw, self._raw = self._raw, None  # it is the head of this request, and of none that comes in the same data
        head = self._fast
        if head is None:
            if not self.cycle.response_complete:
                self.cycle.more_body = False
                self.cycle.message_event.set()
            return
        if raw is not None and head.keep_alive and raw.count(b"\n") == raw.count(b"\r\n"):
            if len(self.service.heads) >= MOST_HEADS:
                self.service.heads.clear()
            self.service.heads[raw] = head
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._take(head, body)

    # ----- the end of answers and of connections

    def on_response_complete(self) -> None:
        """Go on with what waits behind an answer of the application."""
        self.server_state.total_requests += 1
        self._since = self.service.now
        if self._order:
            self._order.popleft()
        if self.transport.is_closing():
            return
        if self._closing and not self._order and self._receiving == _BETWEEN:
            self._finish()
            return
        if len(self._order) <= MOST_OUTSTANDING and not self.flow.write_paused:
            self.flow.resume_reading()
        self.advance()

    def shutdown(self) -> None:
        """Answer what was taken, and what is being received, then close."""
        self._closing = True
        last = self._order[-1] if self._order else None
        if isinstance(last, RequestResponseCycle):
            last.keep_alive = False
        if last is None and self._receiving == _BETWEEN:
            self.loop.call_later(LAST_REQUEST, self._close_unused)

    def _close_unused(self) -> None:
        if not self._order and self._receiving == _BETWEEN and not self._reading_ended:
            self.transport.close()

    def give_up(self) -> None:
        """Wait no more for the rest of a request: the server stops."""
        if self._receiving != _BETWEEN:
            self._refuse(Problem(503, "stopping", "The server has stopped before the request was here.", retry_after=5))

    def sweep(self, now: float) -> None:
        """Close the connection if its request does not arrive, its answers are not read, or it is not used."""
        if self.flow.write_paused and now - self._unread_since > KEEP_ALIVE:
            self.transport.abort()
        if self._reading_ended:
            return
        if self._receiving != _BETWEEN:
            if self.flow.read_paused:  # it is the server that is slow
                self._since = now
            elif now - self._since > self.service.limits.receive:
                self._refuse(self.service.limits.too_slow())
        elif not self._order and now - self._since > (KEEP_ALIVE if self._heard_once else self.service.limits.receive):
            self.transport.close()
