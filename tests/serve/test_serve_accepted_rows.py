"""Accepted rows survive a restart: the state after it equals the state before it, to the last bit.

Rows of any content are sent through the whole application (JSON, JSON lines, CSV, Arrow), with labels, names, numbers,
ids, weights and random options of models. Some rows are refused; every such answer gives a reason.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("msgspec")
pytest.importorskip("starlette")
from unitless.serve.http.access import Access
from unitless.serve.http.app import make
from unitless.serve.http.limits import Limits
from unitless.serve.http.protocol import Service
from unitless.serve.problems import Problem
from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore
from unitless.serve.streams import snapshots

JSON, LINES, CSV = "application/json", "application/x-ndjson", "text/csv"
ARROW = "application/vnd.apache.arrow.stream"
CAFE = "caf\u00e9"
ODD_TEXT = ["", "\0", "spam\0", "spam\0\0", "a\0b", "\x1f", "\x7f", "\x85", "\u2028", "\ufeff", CAFE]
ODD_TEXT += [unicodedata.normalize("NFD", CAFE), "\U0001f600", "x" * 70_000, "=", "a=b", "a^b", " ", "nan", "1", "true"]
ODD_NUMBERS = [0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e300, -1e300, 1.7e308, 10**18, 2**53 + 1, -(2**63), 2**64, 10**30]
ODD_NUMBERS += [10**400, 0.1, 1 / 3, 1, -1, 2, 3]

texts = st.sampled_from(ODD_TEXT) | st.text(max_size=6) | st.sampled_from(["a", "b", "c"])
numbers = st.sampled_from(ODD_NUMBERS) | st.integers() | st.floats() | st.integers(-3, 3)
plain = st.none() | st.booleans() | numbers | texts
nested = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
values = st.one_of(numbers, numbers, plain, nested)
labels = st.one_of(texts, texts, numbers, st.booleans(), st.booleans(), values)
features = st.one_of(*[st.dictionaries(texts, values, max_size=4)] * 4, st.lists(numbers, max_size=3))
weights = st.sampled_from([None, 1, 0, 0.5, 1e15, 1e16, 1e-100, 1e-300, -1, 5e-324])
ids = st.none() | st.sampled_from(["i", "j", "k\0", "\x01", "\U0001f600", "x" * 256, "x" * 257])
options = st.sampled_from(
    [
        {},
        {"task": "classes"},
        {"task": "classes", "classes": ["a", "b", "spam\0"]},
        {"task": "classes", "loss": "softmax"},
        {"task": "binary"},
        {"task": "binary", "classes": ["spam", "spam\0"]},
        {"task": "regression"},
        {"task": "regression", "missing": "absent", "model_type": "linear", "ensemble": False},
        {"task": "regression", "loss": "poisson"},
        {"bits": 10},
        {"task": "binary", "rule": "newton"},
        {"model_type": "trees"},
        {"rule": "gd", "learning_rate": 1e10, "importance_aware": False, "model_type": "linear", "ensemble": False},
    ]
)


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """A row, most often with everything that it needs."""
    row = {"features": draw(features), "label": draw(labels), "weight": draw(weights), "id": draw(ids)}
    missing = draw(st.sampled_from(["none", "none", "none", "label", "features", "weight", "id"]))
    return {name: value for name, value in row.items() if value is not None and name != missing}


requests = st.tuples(
    st.sampled_from(["learn", "learn", "learn", "predict", "label"]),
    st.sampled_from([JSON, LINES, CSV, ARROW]),
    st.lists(rows(), min_size=1, max_size=4),
)


def body_of(kind: str, sent: list[dict[str, Any]]) -> bytes:
    """The rows as a client writes them."""
    if kind == JSON:
        return json.dumps(sent[0]).encode()
    if kind == LINES:
        return b"\n".join(json.dumps(row).encode() for row in sent)
    flat = [_flat(row) for row in sent]
    names = sorted({name for row in flat for name in row})
    if kind == CSV:
        file = io.StringIO()
        table = csv.DictWriter(file, names)
        table.writeheader()
        table.writerows(flat)
        return file.getvalue().encode(errors="replace")
    columns = {name: _column([row.get(name) for row in flat]) for name in names}
    batch = pa.record_batch(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    found = row.get("features", {})
    named = found if isinstance(found, dict) else {f"f{place}": value for place, value in enumerate(found)}
    return {**named, **{name: row[name] for name in ("label", "weight", "id") if name in row}}


def _column(cells: list[Any]) -> pa.Array:
    """Use Arrow's own type if there is one, else text."""
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError):
        return pa.array([None if cell is None else str(cell).encode(errors="replace").decode() for cell in cells])


@contextmanager
def opened(folder: Path) -> Iterator[ModelStore]:
    store = ModelStore.open(folder, Settings.of(environment={}, data=folder, durability="process"))
    try:
        yield store
    finally:
        store.close()


async def post(store: ModelStore, path: str, kind: str, body: bytes) -> list[dict[str, Any]]:
    """The answers to a request, one for each row."""
    service = Service(store, Access.of(None), Limits.of(store.settings, 10))
    sent: list[dict[str, Any]] = []
    pieces = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return pieces.pop() if pieces else await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", kind.encode())]
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
    await make(service)({**scope, "headers": headers, "http_version": "1.1", "scheme": "http"}, receive, send)
    text = b"".join(message.get("body", b"") for message in sent)
    return [json.loads(line) for line in text.splitlines()]


async def send_all(store: ModelStore, asked: list[tuple[str, str, list[dict[str, Any]]]]) -> None:
    for action, kind, sent in asked:
        for part in [[row] for row in sent] if kind == JSON else [sent]:
            for answer in await post(store, f"/v1/models/a/{action}", kind, body_of(kind, part)):
                assert answer.get("status") not in range(500, 600), answer


def write_snapshot(store: ModelStore) -> None:
    stream = store.streams["a"].stream
    waits = stream.join.oldest_position()
    needs = None if waits is None else stream.read(waits).seq
    snapshots.write(store.folders["a"], stream, seq=stream.seq, position=stream.end, needs=needs)


def survives(
    folder: Path,
    made: list[dict[str, Any]],
    before: list[tuple[str, str, list[dict[str, Any]]]],
    after: list[tuple[str, str, list[dict[str, Any]]]],
) -> None:
    """Send some requests, write a snapshot, send the others; then start from the snapshot, and from the log only."""

    async def run(store: ModelStore) -> dict[str, bytes]:
        for place, one in enumerate(made):
            beside = {"stream": "a"} if place else {}
            await store.create("abcd"[place], {**one, **beside})
        await send_all(store, before)
        write_snapshot(store)
        await send_all(store, after)
        store.streams["a"].tick()
        await store.drain()
        assert store.streams["a"].failure is None
        return store.streams["a"].stream.parts()

    with opened(folder) as store:
        state = asyncio.run(asyncio.wait_for(run(store), 60))
    for place in ("snapshot", "log"):
        with opened(folder) as store:
            live = store.streams["a"]
            assert (live.notes, live.stream.mismatch) == ([], None), place
            assert live.stream.parts() == state, place
            shutil.rmtree(store.folders["a"] / "snapshots", ignore_errors=True)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    made=st.lists(options, min_size=1, max_size=3),
    before=st.lists(requests, max_size=4),
    after=st.lists(requests, max_size=4),
)
def test_what_is_accepted_survives_a_restart(made: Any, before: Any, after: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        survives(Path(folder), made, before, after)


@pytest.mark.parametrize("label", ["spam\0", "\0", "", "x" * 1000, CAFE, unicodedata.normalize("NFD", CAFE)])
@pytest.mark.parametrize("kind", [JSON, LINES, CSV, ARROW])
def test_a_label_is_kept_exactly(tmp_path: Path, kind: str, label: str) -> None:
    if kind == CSV and not label:
        pytest.skip("an empty cell is a missing value")
    rows = [{"features": {"x": k, "n\0": 1.5}, "label": one} for k, one in enumerate((label, "ham", label))]
    survives(tmp_path, [{"task": "classes"}, {}], [("learn", LINES, rows[:1])], [("learn", kind, rows)] * 2)
    with opened(tmp_path) as store:
        assert [model.classes for model in store.streams["a"].stream.models.values()] == [[label, "ham"]] * 2


@pytest.mark.parametrize("label", [2**63, -(2**63) - 1, 10**400])
def test_a_label_of_more_than_64_bits_is_refused_where_it_is_a_class(tmp_path: Path, label: int) -> None:
    """No model file could store it."""
    rows = [{"features": {"x": 1}, "label": one} for one in ("a", label, 2**63 - 1)]
    survives(tmp_path, [{"task": "classes"}], [("learn", JSON, rows)], [])
    with opened(tmp_path) as store:
        assert store.streams["a"].model().classes == ["a", 2**63 - 1]
        with pytest.raises(Problem, match="more than 64 bits"):
            asyncio.run(store.create("b", {"classes": ["a", label]}))


DIVERGES = {"task": "regression", "rule": "gd", "learning_rate": 1e10, "importance_aware": False, "target": None}
DIVERGES |= {"model_type": "linear", "ensemble": False}


@pytest.mark.parametrize("made", [[DIVERGES], [{"task": "regression"}, DIVERGES]])
@pytest.mark.parametrize("kind", [JSON, LINES])
def test_rows_at_which_a_model_diverges_are_refused(tmp_path: Path, made: list[dict[str, Any]], kind: str) -> None:
    rows = [{"features": {"x": 10.0 ** (k % 5)}, "label": (-10.0) ** (k % 9)} for k in range(60)]
    survives(tmp_path, made, [("learn", kind, rows[:20])], [("learn", kind, rows)])
    with opened(tmp_path) as store:
        stream = store.streams["a"].stream
        model = list(stream.models.values())[-1]
        assert stream.counts["learned"] + stream.counts["refused"] == 80
        assert model.rejected + stream.counts["refused"] > 0
        assert 0 < model.learned < 80


def test_half_of_a_character_is_refused(tmp_path: Path) -> None:
    async def run(store: ModelStore) -> list[dict[str, Any]]:
        await store.create("a", {})
        bodies = [
            b'{"features": {"x": 1}, "label": "\\ud800"}',
            b'{"features": {"\\ud800": 1}, "label": "a"}',
            b'{"features": {"x": "\\udfff"}, "label": "a"}',
            b'{"features": {"x": 1}, "label": "\xed\xa0\x80"}',
            b'{"features": {"x": 1}, "label": "a", "id": "\\ud800"}',
        ]
        answers = [answer for body in bodies for answer in await post(store, "/v1/models/a/learn", JSON, body)]
        answers += await post(store, "/v1/models/a/learn", LINES, b"\n".join(bodies))
        return answers

    with opened(tmp_path) as store:
        answers = asyncio.run(asyncio.wait_for(run(store), 60))
        assert [answer["status"] for answer in answers if "status" in answer] == [400] * 10
        assert store.streams["a"].stream.seq == 1
