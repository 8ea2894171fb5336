"""Kill a server repeatedly under load, and check its state afterwards.

Kinds of crashes:
    kill        kill -9 of the server alone, or of the server and of its process that writes snapshots
    power       kill -9 of both, then each log is cut to its synced part and a random part of the rest
    starting    kill -9 while it starts
    snapshots   kill -9 of the process that writes snapshots; the server goes on
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import power
import server_process
from bandit_checks import LINEAR, replayed
from crash_clients import BANDIT, Administrator, Client, Ledger
from offline import offline
from waiting import until_async

from unitless.serve.events import Kind
from unitless.serve.log import Tail
from unitless.serve.settings import Settings
from unitless.serve.store import recover
from unitless.serve.streams.recovery import name_in

START_SECONDS = 60.0
MODELS: dict[str, dict[str, Any]] = {
    "usual": {"task": "binary"},
    "plain": {"task": "binary", "learning_rate": 0.5, "model_type": "linear", "ensemble": False, "center": False},
}
CHAMPION = "usual"  # the first of them


class Server(server_process.Server):
    """A server that can be killed in several ways.

    Args:
        folder: for its data, its output and a file that lists what was synced.
        settings: of the server.
    """

    def __init__(self, folder: Path, **settings: Any) -> None:
        words = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        super().__init__(folder / "data", *words, synced=folder / "synced")

    async def ready(self) -> float:
        """Wait until the server reports that it is ready; return the seconds that this took."""
        begun = time.monotonic()
        while time.monotonic() - begun < START_SECONDS:
            assert self.process is not None
            if not self.process.is_alive():
                raise AssertionError(f"the server ended with code {self.process.exitcode}:\n{self.output()}")
            with contextlib.suppress(OSError, EOFError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(b"GET /health/ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                answer = await reader.read()
                writer.close()
                if answer.startswith(b"HTTP/1.1 200"):
                    return time.monotonic() - begun
            await asyncio.sleep(0.02)
        raise AssertionError(f"the server was not ready after {START_SECONDS:g} s:\n{self.output()}")

    def call(self, method: str, path: str, body: Any = None) -> bytes:
        """Send one request; an HTTP error is raised."""
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            found: bytes = answer.read()
        return found

    def create_models(self) -> None:
        """One stream with all models, before the first row."""
        for name, options in MODELS.items():
            beside = {} if name == CHAMPION else {"stream": CHAMPION, "role": "challenger"}
            self.call("PUT", f"/v1/models/{name}", options | beside)
        self.call("PUT", f"/v1/models/{BANDIT}", LINEAR)

    def folder(self, stream: str) -> Path:
        """The folder of a stream."""
        (found,) = (path for path in self.data.glob("streams/*") if name_in(path) == stream)
        return found

    def kill_snapshots(self) -> None:
        """Kill the process that writes snapshots."""
        for child in self.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def cut_power(self, chance: random.Random) -> int:
        """Drop a random part of the unsynced data of killed processes; return the number of lost bytes."""
        assert self.synced is not None
        synced, lost = power.synced_bytes(self.synced), 0
        for stream in self.data.glob("streams/[!.]*"):
            if not any(path.is_relative_to(stream) for path in synced):  # on the disk before it got this name
                continue
            lost += power.cut_power(stream / "log", power.with_snapshots(stream, synced), chance)
        return lost


@dataclass
class Story:
    """The events of a run."""

    crashes: Counter[str] = field(default_factory=Counter)
    starts: list[float] = field(default_factory=list)  # seconds until ready
    lost_bytes: int = 0
    ledger: Ledger = field(default_factory=Ledger)


async def crash_again_and_again(
    server: Server,
    crashes: list[str],
    *,
    seed: int,
    clients: int = 6,
    longest: float = 0.5,
    rows: int = 0,
    say: Callable[[int, Story], None] | None = None,
) -> Story:
    """Crash a server at random times in the given ways, while clients work and models are created and deleted.

    Args:
        server: not started yet.
        crashes: their kinds.
        seed: of all that is random.
        clients: how many.
        longest: seconds from ready to the next crash.
        rows: the smallest number of rows that must be acknowledged.
        say: called after each crash.
    """
    chance, story, over = random.Random(seed), Story(), False
    server.start()
    story.starts.append(await server.ready())
    server.create_models()
    serials = itertools.count()
    port = server.port
    workers = [
        asyncio.create_task(
            Client(story.ledger, port, CHAMPION, serials, random.Random(seed * 100 + k), lambda: over).run()
        )
        for k in range(clients)
    ]
    administrator = Administrator(story.ledger, port, random.Random(seed), lambda: over)
    workers.append(asyncio.create_task(administrator.run()))
    try:
        for number, kind in enumerate(crashes):
            await asyncio.sleep(chance.uniform(0.02, longest))
            _failed(workers)
            story.crashes[kind] += 1
            if kind == "snapshots":
                server.kill_snapshots()
                continue
            if kind == "starting":
                server.kill(everything=chance.random() < 0.5)
                server.start()
                await asyncio.sleep(chance.uniform(0.0, 0.5))
            server.kill(everything=kind == "power" or chance.random() < 0.5)
            if kind == "power":
                story.lost_bytes += server.cut_power(chance)
            server.start()
            story.starts.append(await server.ready())
            if say is not None:
                say(number + 1, story)
        await asyncio.sleep(longest)
        while (before := story.ledger.acknowledged) < rows:
            await until_async(
                lambda then=before: story.ledger.acknowledged > then or any(one.done() for one in workers)
            )
            _failed(workers)
        over = True
        await asyncio.wait_for(asyncio.gather(*workers), 60)
    finally:
        for worker in workers:
            worker.cancel()
    return story


async def stop_under_load(server: Server, *, clients: int = 32, seconds: float = 1.0) -> tuple[Story, float]:
    """Stop the server while clients learn rows without ids at full speed; return the seconds that the stop took."""
    story = Story()
    server.start()
    story.starts.append(await server.ready())
    server.create_models()
    serials = itertools.count()
    workers = [
        asyncio.create_task(
            Client(story.ledger, server.port, CHAMPION, serials, random.Random(k), lambda: False).run_nameless()
        )
        for k in range(clients)
    ]
    await asyncio.sleep(seconds)
    begun = time.monotonic()
    code = await asyncio.to_thread(server.stop, 10.0)
    took = time.monotonic() - begun
    assert code == 0, server.output()
    await asyncio.wait_for(asyncio.gather(*workers), 30)
    return story, took


def _failed(workers: list[asyncio.Task[None]]) -> None:
    for worker in workers:
        if worker.done():
            worker.result()


def unanswered(server: Server, story: Story) -> list[int]:
    """Return logged rows whose client had no answer, and check that the log has all answered rows."""
    folder, rows = server.folder(CHAMPION), []
    with Tail(folder / "log", 1) as tail:
        while records := tail.read():
            rows += [json.loads(one.payload) for one in records if one.kind is Kind.learn]
    logged = {row["features"]["serial"] for row in rows}
    answered = {row.serial for row in story.ledger.rows if row.learned is not None}
    assert answered <= logged
    return sorted(logged - answered)


@dataclass
class Checked:
    """The numbers of compared things."""

    acknowledged: int
    learned: int
    unknown: int  # rows without an id whose answer did not come
    waiting: int
    seq: int
    decided: int  # events of the bandit


def check(server: Server, story: Story) -> Checked:
    """Stop the server, and compare its log, answers, models and evaluations with a pass of plain calls."""
    ledger = story.ledger
    assert not ledger.wrong, ledger.wrong[:5]
    assert json.loads(server.call("GET", "/v1/models"))["quarantined"] == []
    files = {name: server.call("GET", f"/v1/models/{name}/file") for name in MODELS}
    bandit = server.call("GET", f"/v1/models/{BANDIT}/file")
    assert server.stop(10.0) == 0, server.output()
    decided = _check_bandit(server, story, bandit)
    folder = server.folder(CHAMPION)
    plain = offline(folder / "log", MODELS)

    times_learned = Counter(row.features["serial"] for row in plain.learned)
    twice = [serial for serial, times in times_learned.items() if times > 1]
    assert not twice, f"{len(twice)} rows were learned twice: {twice[:5]}"
    lost = [row for row in ledger.rows if row.learned is not None and row.serial not in times_learned]
    assert not lost, f"{len(lost)} rows were acknowledged and are lost: {lost[:5]}"
    sent = {row.serial: row for row in ledger.rows}
    for row in plain.learned:
        known = sent[row.features["serial"]]
        assert (row.id, row.features, row.label) == (known.id, known.features, known.label)
        if known.learned is not None and known.learned["status"] == "learned":
            assert known.learned["seq"] == row.seq
            if row is not plain.learned[0]:
                assert known.learned["score"] == row.scores[CHAMPION]
    never = [row for row in plain.learned if sent[row.features["serial"]].learned is None]
    assert all(sent[row.features["serial"]].unknown for row in never), never[:5]

    stream, log, notes = recover(folder, Settings.of(data=server.data, environment={}))
    log.close()
    assert notes == []
    assert stream.mismatch is None
    assert stream.seq == plain.last_seq
    parts = stream.parts()
    for place, (name, file) in enumerate(files.items()):
        assert parts[f"models-{place}-model.unitless"] == file
        prefix = f"models-{place}-"
        own = {part.removeprefix(prefix): data for part, data in parts.items() if part.startswith(prefix)}
        plain.models[name].compare(own)
    assert list(stream.join._waiting) == plain.waiting
    return Checked(ledger.acknowledged, len(plain.learned), len(never), len(plain.waiting), plain.last_seq, decided)


def _check_bandit(server: Server, story: Story, file: bytes) -> int:
    """Compare the bandit, its answers and its rewards with plain calls of the library; returns how many decisions."""
    events = story.ledger.events
    plain, decided, rewarded = replayed(server.folder(BANDIT) / "log", LINEAR)
    assert plain.to_bytes() == file
    for event in events:
        assert decided[event.id] == {"action": event.action, "propensities": event.propensities}
    answered = {event.id: event.reward for event in events if event.answer}
    assert answered.items() <= rewarded.items()
    assert rewarded.keys() <= {event.id for event in events}
    return len(decided)
