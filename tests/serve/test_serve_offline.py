"""After any crash, the models and their scores equal those of one offline pass over the log, to the last bit."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec")
from offline import offline

from unitless.serve.events import Form, Kind
from unitless.serve.log import Log
from unitless.serve.log.segments import SEGMENT_HEADER_BYTES
from unitless.serve.streams import Created, Stream, encoded, recovery, snapshots

LINEAR = {"model_type": "linear", "ensemble": False}
LABELS: dict[str, Any] = {
    "regression": lambda rng, x: 3 * x + rng.random(),
    "binary": lambda rng, x: x + rng.random() > 1,
    "classes": lambda rng, x: "abc"[int(x * 2 + rng.random())],
}


def payload(rng: random.Random, task: str, **more: Any) -> dict[str, Any]:
    x = rng.random()
    features = {"x": x, "y": rng.gauss(0, 1e4), "flag": rng.random() < 0.5, "city": rng.choice(["Ulm", "Bonn"])}
    return {"features": features, "label": LABELS[task](rng, x), **more}


def events(rng: random.Random, task: str, known: list[str]) -> list[tuple[Kind, Form, int, bytes]]:
    """Make some event: rows with and without ids, alone or many, again, refused, with labels that come later."""
    what = rng.randrange(8)
    if what == 0:
        rows = [payload(rng, task, weight=rng.choice([0.5, 1.0, 2.0])) for _ in range(rng.randrange(1, 30))]
        return [(Kind.learn, Form.lines, len(rows), b"\n".join(json.dumps(row).encode() for row in rows))]
    row = payload(rng, task)
    kind = Kind.learn
    if what == 1:
        row["label"] = [1, 2]
    elif what == 2:
        row["features"]["x"] = {"nested": 1}
    elif what in (3, 4):
        kind, row["id"] = Kind.prediction, str(rng.randrange(10**6))
        known.append(row["id"])
        del row["label"]
    elif what == 5 and known:
        kind, row = Kind.label, {"id": rng.choice(known[-40:]), "label": row["label"]}
    elif what == 6:
        row["id"] = rng.choice([*known[-5:], str(rng.randrange(10**6))])
    one = (kind, Form.json, 1, json.dumps(row).encode())
    return [one, one] if what in (5, 6) else [one]


@pytest.mark.parametrize("task", LABELS)
@pytest.mark.parametrize("options", [{}, LINEAR], ids=["usual", "linear"])
def test_a_crash_leaves_what_one_pass_gives(task: str, options: dict[str, Any], tmp_path: Path) -> None:
    rng = random.Random(f"{task}{len(options)}")
    folder = tmp_path / "stream"
    folder.mkdir()
    (folder / "manifest.json").write_text('{"name": "a"}')
    known: list[str] = []
    time = 10**9
    for life in range(5):
        with Log.open(folder / "log", segment_bytes=20_000) as log:
            stream = recovery.newest_state(folder, log.read, pytest.fail)
            if not life and log.next_seq == 1:
                log.append([(Kind.create, Form.json, 1, encoded(Created("a", "champion", options)))], time)
            for record in log.records(stream.seq + 1):
                stream.apply(record)
            check(stream, folder, task, options)
            if life == 4:
                break
            for step in range(40):
                time += rng.randrange(10**6)
                group = events(rng, task, known)
                if step % 15 == 14:
                    group = [(Kind.tick, Form.json, 1, stream.ticked(time - 40 * 10**6, time - 20 * 10**6))]
                for record in log.append(group, time):
                    stream.apply(record)
                if step == 25:
                    log.sync()
                    snapshots.write(folder, stream, seq=stream.seq, position=stream.end)
                    least = log.end
            _, last, size = log.segments[-1]
            start = least - (log.end - (size - SEGMENT_HEADER_BYTES)) + SEGMENT_HEADER_BYTES
        with last.open("r+b") as file:  # data that was not yet on the disk is lost, or partly there
            file.truncate(rng.randrange(max(start, SEGMENT_HEADER_BYTES), size + 1))
    assert stream.join.expired > 0
    assert stream.mismatch is None


def check(stream: Stream, folder: Path, task: str, options: dict[str, Any]) -> None:
    if stream.seq < 2:
        return
    passed = offline(folder / "log", {"a": {"task": task, **options}})
    passed.models["a"].compare(stream.models["a"].parts())
    assert list(stream.join._waiting) == passed.waiting
    assert stream.seq == passed.last_seq
