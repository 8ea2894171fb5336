"""Clients that survive crashes of their server: they repeat unanswered requests and remember all answers.

Rows with an id are sent until they are answered, however often the server dies: they must be learned once. An
unanswered row without an id is not sent again, because it is unknown whether it was learned.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

TIMEOUT = 20.0
PAUSE = 0.05  # seconds before a request is sent again
BANDIT = "shop"


@dataclass
class Sent:
    """One row, and the server's answers about it."""

    serial: int  # part of the features, which identifies the row in the log
    id: str | None
    features: dict[str, Any]
    label: bool
    predicted: dict[str, Any] | None = None  # the answer to its prediction
    learned: dict[str, Any] | None = None  # an answer which reports that it is learned, now or earlier
    unknown: bool = False  # without an id: sent, but the answer did not come

    def row(self, *names: str) -> dict[str, Any]:
        """A row with some of these fields."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass
class Event:
    """A decision of a bandit, and its reward."""

    id: str
    action: str
    propensities: dict[str, float]
    reward: float
    answer: dict[str, Any] | None = None  # to its reward


@dataclass
class Ledger:
    """The rows that all clients have sent, and the answers."""

    rows: list[Sent] = field(default_factory=list)
    waiting: list[Sent] = field(default_factory=list)  # predicted, the label is still to come
    events: list[Event] = field(default_factory=list)
    retries: int = 0
    duplicates: int = 0
    lost_predictions: int = 0  # labels whose prediction was lost: its record was not on the disk
    wrong: list[str] = field(default_factory=list)  # answers that must not occur

    @property
    def acknowledged(self) -> int:
        """Rows that the server reported as learned."""
        return sum(1 for row in self.rows if row.learned is not None)


class Gone(Exception):
    """The connection broke before the whole answer came."""


class Connection:
    """One keep-alive connection, opened again when it broke."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes, kind: str = "application/json") -> tuple[int, bytes]:
        """Send a POST request; return the status and body of the answer."""
        return await self.ask("POST", path, body, kind)

    async def ask(self, method: str, path: str, body: bytes, kind: str = "application/json") -> tuple[int, bytes]:
        """Send a request of any method; return the status and body of the answer."""
        try:
            return await asyncio.wait_for(self._ask(method, path, body, kind), TIMEOUT)
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            self.close()
            raise Gone from error

    async def _ask(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        lines = f"{method} {path} HTTP/1.1", "host: localhost", f"content-type: {kind}", f"content-length: {len(body)}"
        writer.write("\r\n".join((*lines, "\r\n")).encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        status, length = int(answer[9:12]), answer.partition(b"content-length:")[2]
        if status == 204:
            found = b""
        elif length:
            found = await reader.readexactly(int(length.split(b"\r\n")[0]))
        else:
            found = b""
            while size := int(await reader.readuntil(b"\r\n"), 16):
                found += (await reader.readexactly(size + 2))[:-2]
            await reader.readexactly(2)
        if b"connection: close" in answer:
            self.close()
        return status, found

    @property
    def closed(self) -> bool:
        """Whether the next request has to open it."""
        return self._streams is None

    def close(self) -> None:
        """Close it; the next request opens another."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Client:
    """One client: it learns rows, predicts rows, and sends labels that any client waits for, in any order.

    Args:
        ledger: shared by all clients.
        port: of the server.
        model: its name.
        serials: gives numbers to rows.
        chance: what it does next.
        over: returns whether it should stop.
    """

    def __init__(
        self,
        ledger: Ledger,
        port: int,
        model: str,
        serials: itertools.count[int],
        chance: random.Random,
        over: Callable[[], bool],
    ) -> None:
        self.ledger, self.model, self.serials, self.chance, self.over = ledger, model, serials, chance, over
        self.connection, self.second = Connection(port), Connection(port)

    async def run(self) -> None:
        """Work until it is over."""
        acts = {
            self.learn: 28,
            self.learn_nameless: 8,
            self.learn_lines: 4,
            self.learn_impatiently: 4,
            self.predict: 29,
            self.label: 25,
            self.rank: 14,
            self.reward: 14,
            self.repeat: 2,
        }
        while not self.over():
            (act,) = self.chance.choices(list(acts), list(acts.values()))
            await act()
        self.close()

    async def run_nameless(self) -> None:
        """Learn rows without ids until it is over or the server is gone."""
        while not self.over():
            await self.learn_nameless()
            if self.ledger.rows[-1].unknown and self.connection.closed:
                break
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self.connection.close()
        self.second.close()

    def new_row(self, named: bool = True) -> Sent:
        """Make a new row."""
        serial, chance = next(self.serials), self.chance
        a, b, c = (chance.gauss(0, 1) for _ in range(3))
        features = {"serial": serial, "a": a, "b": 1000 * b, "town": chance.choice(["Bonn", "Rome", "Oslo"]), "c": c}
        if chance.random() < 0.2:
            del features["c"]
        row = Sent(serial, f"row-{serial}" if named else None, features, a + b + chance.gauss(0, 1) > 0)
        self.ledger.rows.append(row)
        return row

    async def learn(self) -> None:
        """Features and label together, with an id."""
        row = self.new_row()
        self.note(row, await self.send("learn", row.row("id", "features", "label")))

    async def learn_impatiently(self) -> None:
        """Send the same request on two connections at once.

        Either answer counts, including one that reports a duplicate.
        """
        row = self.new_row()
        asked = row.row("id", "features", "label")
        for answer in asyncio.as_completed([self.send("learn", asked), self.send("learn", asked, second=True)]):
            self.note(row, await answer)

    async def learn_nameless(self) -> None:
        """Learn a row without an id; send it once."""
        row = self.new_row(named=False)
        row.unknown = True
        try:
            status, body = await self.post("learn", json.dumps(row.row("features", "label")).encode())
        except Gone:
            return
        if status == 200:
            row.unknown = False
            self.note(row, json.loads(body))

    async def learn_lines(self) -> None:
        """Learn some rows in one request; send all of them again if an answer is missing."""
        rows = [self.new_row() for _ in range(self.chance.randrange(2, 30))]
        body = "".join(json.dumps(row.row("id", "features", "label")) + "\n" for row in rows).encode()
        while True:
            try:
                status, found = await self.post("learn", body, "application/x-ndjson")
            except Gone:
                self.ledger.retries += 1
                await asyncio.sleep(PAUSE)
                continue
            answers = [json.loads(line) for line in found.splitlines()]
            if status == 200:
                for row, answer in zip(rows, answers, strict=False):
                    if answer.get("status") in ("learned", "duplicate"):
                        self.note(row, answer)
                if all(row.learned for row in rows):
                    return
            await asyncio.sleep(PAUSE)

    async def predict(self) -> None:
        """Make a prediction whose label a client sends later."""
        row = self.new_row()
        row.predicted = await self.send("predict", row.row("id", "features"))
        if row.predicted is not None:
            self.ledger.waiting.append(row)

    async def label(self) -> None:
        """Send the label of any waiting prediction; if the server lost it, send features and label together."""
        waiting = self.ledger.waiting
        if not waiting:
            return
        place = self.chance.randrange(len(waiting))
        waiting[place], waiting[-1] = waiting[-1], waiting[place]
        row = waiting.pop()
        answer = await self.send("label", row.row("id", "label"), missing=True)
        if answer is None:
            self.ledger.lost_predictions += 1
            answer = await self.send("learn", row.row("id", "features", "label"))
        self.note(row, answer)

    async def rank(self) -> None:
        """Let the bandit decide, twice now and then; a client sends the reward later."""
        id, context = (
            f"event-{next(self.serials)}",
            {"age": self.chance.gauss(40, 10), "new": self.chance.random() < 0.5},
        )
        asked = {"id": id, "context": context, "actions": ["left", "right", "none"]}
        for _ in range(self.chance.choice((1, 1, 1, 2))):
            answer = await self.send("rank", asked)
            if answer is None:
                return
            event = Event(id, answer["action"], answer["propensities"], float(len(id) + (answer["action"] == "left")))
            self.ledger.events.append(event)

    async def reward(self) -> None:
        """Send the reward of any event that waits, twice now and then."""
        waiting = [event for event in self.ledger.events[-100:] if event.answer is None]
        if not waiting:
            return
        event = self.chance.choice(waiting)
        event.answer = {}  # no other client sends it
        for _ in range(self.chance.choice((1, 1, 1, 2))):
            event.answer = await self.send("reward", {"id": event.id, "reward": event.reward})

    async def repeat(self) -> None:
        """Send again a row that was learned before."""
        done = [row for row in self.ledger.rows[-200:] if row.id and row.learned and row.predicted is None]
        if done:
            row = self.chance.choice(done)
            answer = await self.send("learn", row.row("id", "features", "label"))
            if answer is not None and answer.get("status") != "duplicate":
                self.ledger.wrong.append(f"{row.id} was sent again after its answer and came to {answer}")

    def note(self, row: Sent, answer: dict[str, Any] | None) -> None:
        """Record that the server reported the row as learned."""
        if answer is None:
            return
        again = answer["status"] == "duplicate"
        self.ledger.duplicates += again
        if row.learned is None or row.learned["status"] == "duplicate":
            row.learned = answer
        elif not again:
            self.ledger.wrong.append(f"{row.id} was learned twice: {row.learned}, then {answer}")

    async def send(
        self, verb: str, row: dict[str, Any], missing: bool = False, second: bool = False
    ) -> dict[str, Any] | None:
        """Send until there is an answer. None: the server refused it, which is allowed only with `missing` (404)."""
        body = json.dumps(row).encode()
        while True:
            try:
                status, found = await self.post(verb, body, second=second)
            except Gone:
                self.ledger.retries += 1
                await asyncio.sleep(PAUSE)
                continue
            if status in (429, 503):
                await asyncio.sleep(PAUSE)
                continue
            if status == 200:
                answer: dict[str, Any] = json.loads(found)
                return answer
            if not (missing and status == 404):
                self.ledger.wrong.append(f"{verb} {row.get('id')}: {status} {found[:300]!r}")
            return None

    async def post(
        self, verb: str, body: bytes, kind: str = "application/json", second: bool = False
    ) -> tuple[int, bytes]:
        """One request."""
        connection = self.second if second else self.connection
        model = BANDIT if verb in ("rank", "reward") else self.model
        return await connection.post(f"/v1/models/{model}/{verb}", body, kind)


class Administrator:
    """Makes small models, learns a row, asks for snapshots and deletes the models again, several at once.

    Args:
        ledger: shared by all clients.
        port: of the server.
        chance: what it does next.
        over: returns whether it should stop.
    """

    NAMES = ("small-1", "small-2", "small-3")
    OPTIONS: ClassVar = {"task": "regression", "model_type": "linear", "ensemble": False}
    POSSIBLE: ClassVar = {"PUT": {200, 201, 409}, "POST": {200, 404}, "DELETE": {204, 404, 409}}
    ALWAYS: ClassVar = {429, 503}

    def __init__(self, ledger: Ledger, port: int, chance: random.Random, over: Callable[[], bool]) -> None:
        self.ledger, self.chance, self.over = ledger, chance, over
        self.connections = [Connection(port) for _ in range(4)]

    async def run(self) -> None:
        """Work until it is over, then delete all that it has made."""
        while not self.over():
            await asyncio.gather(*(self._act(connection) for connection in self.connections))
        for name in self.NAMES:
            while await self._ask(self.connections[0], "DELETE", f"/v1/models/{name}") not in (204, 404):
                await asyncio.sleep(PAUSE)
        for connection in self.connections:
            connection.close()

    async def _act(self, connection: Connection) -> None:
        path = f"/v1/models/{self.chance.choice(self.NAMES)}"
        acts = {
            "make": ("PUT", path, self.OPTIONS),
            "learn": ("POST", path + "/learn", {"features": {"x": 1.0}, "label": 2.0}),
            "snapshot": ("POST", path + "/snapshot", {}),
            "delete": ("DELETE", path, None),
        }
        (act,) = self.chance.choices(list(acts), (3, 3, 2, 2))
        await self._ask(connection, *acts[act])

    async def _ask(self, connection: Connection, method: str, path: str, body: Any = None) -> int | None:
        try:
            status, found = await connection.ask(method, path, b"" if body is None else json.dumps(body).encode())
        except Gone:
            await asyncio.sleep(PAUSE)
            return None
        if status not in self.POSSIBLE[method] | self.ALWAYS:
            self.ledger.wrong.append(f"{method} {path}: {status} {found[:300]!r}")
        if status == 503:
            await asyncio.sleep(PAUSE)
        return status
