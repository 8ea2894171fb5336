"""Vowpal Wabbit's line protocol on a port of its own: a client of its daemon needs only a new address.

An example is a line, and each line has an answer line, in the same order. Examples with a label are learned, and the
answer is the prediction made before; those without one are predicted. A line that cannot be read is answered by a line
that begins with `error:`, and the connection lives on. Nothing that a client sends writes a file.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import OptionError
from .events import Form, Kind, Row
from .live import LiveStream
from .problems import Problem
from .row_limits import RowLimits
from .served import vw
from .settings import Settings, is_loopback
from .store import ModelStore
from .streams import Outcome

MOST_ROWS = 4096  # in one record
MOST_LINE = 1 << 20  # bytes
MOST_OUTSTANDING = 4 << 20  # bytes of lines without an answer; beyond it a connection is not read
RETRY = 0.01  # seconds after which a full queue is tried again
_HTTP = re.compile(rb"[A-Za-z]+ [^ \r\n]+ HTTP/\d")
NAME, OPTIONS = "vw", {"model_type": "linear", "ensemble": False}  # the model that is made if it does not exist


class _Lines(NamedTuple):
    """Consecutive lines: all of them examples, or all answered already."""

    size: int
    answer: bytes | None  # known at once for blank lines and lines without an example
    text: vw.VwText | None
    rows: int
    labeled: bool  # whether they are a record


class _Answer:
    """What will be written when all answers before it have been."""

    __slots__ = ("size", "text")

    def __init__(self, size: int, text: bytes | None = None) -> None:
        self.size, self.text = size, text


class VwLines(asyncio.Protocol):
    """One connection.

    Args:
        store: where the model is.
        name: of the model.
        connections: all open connections of the port; this one is added while it is open.
        max_connections: how many there may be.
    """

    def __init__(self, store: ModelStore, name: str, connections: set[VwLines], max_connections: int) -> None:
        self._store, self._name, self._connections = store, name, connections
        self._most_connections, self._row_limits = max_connections, RowLimits(store.settings)
        self._reader = _core.VwReader()
        self._rest = b""  # the beginning of a line whose end has not arrived yet
        self._todo: deque[_Lines] = deque()
        self._answers: deque[_Answer] = deque()
        self._learning = 0  # records that are not learned yet
        self._outstanding = 0  # bytes
        self._begun = False  # whether a line has come
        self._slow = False  # the client does not read its answers
        self._ended = False  # the client sends no more
        self._waiting: asyncio.TimerHandle | None = None
        self._transport: Any = None

    # -------------------------------------------------------------------------------------------- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register a new connection."""
        self._transport = transport
        self._connections.add(self)
        if len(self._connections) > self._most_connections:
            self._add(_ready(0, "error: there are too many connections\n"))
            self._end()
            self._go()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected. Lines that were read are still learned."""
        self._connections.discard(self)
        self._transport = None
        self._todo.clear()
        if self._waiting:
            self._waiting.cancel()

    def data_received(self, data: bytes) -> None:
        """Text, which ends anywhere."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._rest += data
        else:
            whole = self._rest + data[:end] if self._rest else data[:end] if end < len(data) else data
            self._rest = data[end:]
            self._take(whole)
        if len(self._rest) > MOST_LINE:
            self._rest = b""
            self._add(_ready(0, f"error: a line is longer than {MOST_LINE:,} bytes; the connection is closed\n"))
            self._end()
        self._go()

    def eof_received(self) -> bool:
        """The client sends no more, but may wait for answers."""
        if self._rest:
            self._take(self._rest + b"\n")
            self._rest = b""
        self._end()
        self._go()
        return True

    def pause_writing(self) -> None:
        """The client does not read its answers."""
        self._slow = True
        self._balance()

    def resume_writing(self) -> None:
        """Write answers again: the client reads them."""
        self._slow = False
        self._balance()

    # ----------------------------------------------------------------------------------------------- from text to work

    def _end(self) -> None:
        self._ended = True
        if self._transport:
            self._transport.pause_reading()

    def _add(self, lines: _Lines) -> None:
        self._outstanding += lines.size
        self._todo.append(lines)

    def _take(self, text: bytes) -> None:
        """Whole lines."""
        if self._ended:
            return
        if not self._begun and _HTTP.match(text):  # a page can make a browser send one, with examples in its body
            self._add(_ready(0, "error: this port takes lines of Vowpal Wabbit, not HTTP; the connection is closed\n"))
            self._end()
            return
        self._begun = True
        read = self._reader.read(text, True)
        most_rows = self._most_rows()
        if read.rows == read.lines <= most_rows and not self._has_too_large(text, read):
            self._add(_examples(text, read))
            return
        problems, good = dict(read.bad), set(read.line.tolist())
        lines, first = text.split(b"\n")[: read.lines], 0
        while first < len(lines):
            last = first + 1
            problem = self._too_large(lines[first])
            if problem is not None:
                self._add(_ready(len(lines[first]) + 1, f"error: {problem}\n"))
            elif first in good:
                most = min(first + most_rows, len(lines))
                while last < most and last in good and not self._too_large(lines[last]):
                    last += 1
                part = b"\n".join(lines[first:last]) + b"\n"
                self._add(_examples(part, self._reader.read(part, True)))
            else:
                self._add(_ready(len(lines[first]) + 1, _refused(lines[first], problems.get(first))))
            first = last

    def _most_rows(self) -> int:
        """How many rows one record can have now."""
        try:
            return self._store.find(self._name)[0].rows_at_once(MOST_ROWS)
        except Problem:  # answered later
            return MOST_ROWS

    def _has_too_large(self, text: bytes, read: _core.TextRows) -> bool:
        """Whether there is an example that is too large to be learned."""
        limits = self._row_limits
        most = int(np.diff(read.row_ends, prepend=0).max()) if read.rows else 0
        return most > limits.features or (
            len(text) > limits.name_length and max(map(len, read.names), default=0) > limits.name_length
        )

    def _too_large(self, line: bytes) -> str | None:
        """Why an example is too large to be learned, if it is."""
        limits = self._row_limits
        if len(line) <= min(limits.name_length, limits.features):
            return None
        read = self._reader.read(line + b"\n", True)
        if read.rows != 1 or np.isnan(read.label[0]):
            return None
        try:
            limits.check(Row(dict.fromkeys(read.names)), len(line))
        except Problem as problem:
            return " ".join(problem.detail.split())
        return None

    # -------------------------------------------------------------------------------------------- from work to answers

    def _go(self) -> None:
        """Do what can be done now, in order: a prediction waits until what came before it has been learned."""
        self._waiting = None
        while self._todo and (self._learning == 0 or self._todo[0].labeled):
            lines = self._todo[0]
            answer = _Answer(lines.size, lines.answer)
            if answer.text is None:
                try:
                    live, model = self._store.find(self._name)
                    self._work(live, model, lines, answer)
                except Problem as problem:
                    if problem.status == 429 and self._transport:
                        self._waiting = asyncio.get_running_loop().call_later(RETRY, self._go)
                        break
                    answer.text = _problem_lines(problem, lines)
            self._todo.popleft()
            self._answers.append(answer)
        self._write()

    def _work(self, live: LiveStream, model: str, lines: _Lines, answer: _Answer) -> None:
        assert lines.text is not None
        if not lines.labeled:
            live.tallies.predicted += lines.rows
            answer.text = _text(vw.predict(live.model(model), lines.text), lines.text)
            return
        done = partial(self._learned, model, lines, answer)
        live.submit(Kind.learn, Form.vw, lines.rows, lines.text.text, done, lines.text)
        self._learning += 1

    def _learned(self, model: str, lines: _Lines, answer: _Answer, found: list[Outcome] | Problem) -> None:
        """A record has been written, and learned."""
        self._learning -= 1
        problem = found if isinstance(found, Problem) else found[0].problem
        if problem is not None:
            answer.text = _problem_lines(problem, lines)
        else:
            predicted = found[0].lines or {}  # type: ignore[index]
            answer.text = _text(predicted.get(model) or next(iter(predicted.values())), lines.text)
        self._go()

    def _write(self) -> None:
        ready = []
        while self._answers and self._answers[0].text is not None:
            answer = self._answers.popleft()
            self._outstanding -= answer.size
            ready.append(answer.text)
        if not self._transport:
            return
        if ready:
            self._transport.write(b"".join(ready))  # type: ignore[arg-type]
        if self._ended and not self._todo and not self._answers:
            self._transport.close()
        self._balance()

    def _balance(self) -> None:
        """Read on, or wait until there are fewer answers outstanding."""
        if not self._transport or self._ended:
            return
        if self._slow or self._outstanding > MOST_OUTSTANDING:
            self._transport.pause_reading()
        elif not self._transport.is_reading():
            self._transport.resume_reading()

    def finish(self) -> None:
        """Answer what has been read, and close."""
        self._end()
        self._write()


def _ready(size: int, answer: str) -> _Lines:
    return _Lines(size, answer.encode(), None, 1, True)


def _examples(text: bytes, read: _core.TextRows) -> _Lines:
    """Examples: they are a record as soon as one of them has a label."""
    lines = vw.VwText(text, read)
    return _Lines(len(text), None, lines, read.rows, lines.labeled > 0)


def _refused(line: bytes, problem: str | None) -> str:
    """The answer to a line that is no example."""
    if not line.strip(b" \t\r"):
        return "\n"  # as Vowpal Wabbit has it
    if line.strip(b" \t\r'").startswith(b"save"):
        return "error: models are not saved by clients; the server keeps all that it learns by itself\n"
    return f"error: {problem or 'this line cannot be read, nor could many before it'}\n"


def _problem_lines(problem: Problem, lines: _Lines) -> bytes:
    return f"error: {' '.join(str(problem).split())}\n".encode() * lines.rows


def _text(predicted: vw.VwPredictions, lines: vw.VwText | None) -> bytes:
    """A line for each prediction, written as Vowpal Wabbit does: whole numbers without decimals, others with six."""
    values, tags = predicted.predictions, lines.read.tags if lines else None
    if isinstance(values, np.ndarray):
        if not predicted.problems and tags is None and not (values == np.floor(values)).any():
            return (b"%f\n" * len(values)) % tuple(values.tolist())
        values = values.tolist()
    words = [_word(value) for value in values]
    if tags is not None:
        words = [f"{word} {tag}" if tag else word for word, tag in zip(words, tags, strict=True)]
    for row, problem in predicted.problems.items():
        words[row] = f"error: {' '.join(problem.split())}"
    return ("\n".join(words) + "\n").encode()


def _word(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if value.is_integer() else f"{value:f}"


class VwPort:
    """The open port; it can be closed and waited for like an `asyncio.Server`."""

    def __init__(self, server: asyncio.Server, connections: set[VwLines]) -> None:
        self._server, self._connections = server, connections

    @property
    def sockets(self) -> tuple[Any, ...]:
        """The sockets of the port."""
        return tuple(self._server.sockets)

    def close(self) -> None:
        """Take no more lines."""
        self._server.close()
        for connection in list(self._connections):
            connection.finish()

    async def wait_closed(self) -> None:
        """Until all lines that were read have their answers."""
        while self._connections:
            await asyncio.sleep(0.01)
        await self._server.wait_closed()


async def start(store: ModelStore, settings: Settings) -> VwPort:
    """Open the port. The protocol knows no tokens, so that it listens on the loopback interface and nowhere else."""
    assert settings.vw_port is not None
    name = settings.vw_model or await _only_model(store)
    connections: set[VwLines] = set()
    host = settings.host if is_loopback(settings.host) else "127.0.0.1"
    server = await asyncio.get_running_loop().create_server(
        lambda: VwLines(store, name, connections, settings.max_connections), host, settings.vw_port
    )
    return VwPort(server, connections)


async def _only_model(store: ModelStore) -> str:
    """The model for lines when none is named: there must be exactly one, or none yet."""
    names = [*store.streams, *(one.name for one in store.quarantined)]
    if len(names) > 1:
        raise OptionError(
            f"there are {len(names)} models ({', '.join(sorted(names)[:5])}…); name the one that the lines are for",
            option="vw_model",
        )
    if not names:
        try:
            await store.create(NAME, OPTIONS)
        except Problem as problem:
            raise OptionError(f"needs a model, and none can be made: {problem.detail}", option="vw_port") from None
        return NAME
    return names[0]
