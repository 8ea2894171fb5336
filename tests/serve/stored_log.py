"""Write the data folder of a small server, which is stored for each version: later versions must read it.

    python tests/serve/stored_log.py    write tests/serve/stored/VERSION, once for each release

The file expected.json next to the data describes the final state in the version that wrote it.
"""

from __future__ import annotations

import asyncio
import json
import math
import shutil
from pathlib import Path
from typing import Any

from unitless.serve.events import Form, Kind, from_broker
from unitless.serve.live import LiveStream
from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore
from unitless.serve.streams import snapshots
from unitless.version import __version__

STORED = Path(__file__).parent / "stored"
ASKED = [{"x": 1.5, "town": "Bonn"}, {"x": -2.0, "town": "Rome", "old": True}, {}]  # rows that are predicted at the end
PLAIN = {"model_type": "linear", "ensemble": False}


def row(k: int, label: Any) -> dict[str, Any]:
    features = {"x": math.sin(k), "town": ["Bonn", "Rome", "Oslo"][k % 3], "old": k % 2 == 0, "y": None if k % 5 else k}
    return {"features": features, "label": label, **({"weight": 0.5} if k % 7 == 0 else {})}


async def send(live: LiveStream, kind: Kind, form: Form, *rows: dict[str, Any]) -> None:
    payload = b"\n".join(json.dumps(one).encode() for one in rows)
    if form is Form.broker:
        payload = from_broker("redis:orders", "1700000-0", payload.split(b"\n"))
    for outcome in await live.submitted(kind, form, len(rows), payload):
        assert outcome.problem is None, outcome


async def numbers(store: ModelStore) -> None:
    """One stream of numbers with a challenger, labels that come later, and rows in every form."""
    await store.create("prices", {})
    live = store.streams["prices"]
    for k in range(20):
        await send(live, Kind.learn, Form.json, row(k, 3 * math.sin(k) + k % 3) | {"id": f"learned-{k}"})
    await store.create("plain", {**PLAIN, "learning_rate": 0.5, "stream": "prices"})
    for k in range(6):
        asked = {"features": row(k, 0)["features"], "id": f"asked-{k}", "model": "prices"}
        await send(live, Kind.prediction, Form.json, asked)
    await send(live, Kind.learn, Form.lines, *(row(k, float(k % 4)) for k in range(10)))
    await send(live, Kind.label, Form.json, {"id": "asked-0", "label": 1.25})
    live.tick()
    write_snapshot(store, "prices")
    await send(live, Kind.label, Form.lines, {"id": "asked-1", "label": 2.5}, {"id": "asked-2", "label": 0.5})
    await send(live, Kind.learn, Form.broker, *(row(k, float(k % 4)) for k in range(5)))
    await live.submitted(Kind.learn, Form.vw, 2, b"1.5 | x:2 Bonn\n2.5 0.5 | x:3 Rome\n")
    await store.promote("plain")
    live.tick()


async def classes(store: ModelStore) -> None:
    """One stream of classes, whose labels are all kinds of text."""
    await store.create("mail", PLAIN)
    live = store.streams["mail"]
    for k in range(12):
        await send(live, Kind.learn, Form.json, row(k, ["spam\0", "ham"][k % 2]))
    write_snapshot(store, "mail")
    for k in range(12):
        await send(live, Kind.learn, Form.json, row(k, ["spam\0", "ham", "", "caf\u00e9"][k % 4]))
    live.tick()


def write_snapshot(store: ModelStore, name: str) -> None:
    stream = store.streams[name].stream
    waits = stream.join.oldest_position()
    needs = None if waits is None else stream.read(waits).seq
    snapshots.write(store.folders[name], stream, seq=stream.seq, position=stream.end, needs=needs)


def known(store: ModelStore) -> dict[str, Any]:
    """The server's state that later versions must find again, and the predictions of its models."""
    return {name: _known(live) for name, live in sorted(store.streams.items())}


def _known(live: LiveStream) -> dict[str, Any]:
    stream = live.stream
    return {
        "seq": stream.seq,
        "champion": stream.champion,
        "counts": dict(sorted(stream.counts.items())),
        "sources": stream.sources,
        "waiting": sorted(stream.join._waiting),
        "done": sorted(stream.join._done),
        "models": {
            name: {
                "role": model.role,
                "task": model.task,
                "classes": model.classes,
                "options": model.options,
                "learned": model.learned,
                "rejected": model.rejected,
                "scores": [model.predict(features).known_score for features in ASKED],
            }
            for name, model in sorted(stream.models.items())
        },
    }


def write(folder: Path) -> None:
    async def make() -> None:
        data = folder / "data"
        store = ModelStore.open(data, Settings.of(environment={}, data=data, segment="4kB"))
        await numbers(store)
        await classes(store)
        await store.drain()
        (folder / "expected.json").write_text(json.dumps(known(store), indent=1) + "\n")
        store.close()
        (data / "LOCK").unlink()

    asyncio.run(make())


if __name__ == "__main__":
    shutil.rmtree(STORED / __version__, ignore_errors=True)
    write(STORED / __version__)
