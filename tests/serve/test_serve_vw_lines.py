"""The port for Vowpal Wabbit's line protocol."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unitless as ul
from unitless import _core
from unitless.errors import OptionError

pytest.importorskip("msgspec")

from unitless.serve import vw_lines
from unitless.serve.events import Form, Kind
from unitless.serve.served import ServedModel
from unitless.serve.served.vw import VwText, work
from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore

Talk = Callable[[ModelStore, Any, Any], Awaitable[None]]


def served(folder: Path, talk: Talk, *, models: dict[str, Any] | None = None, **given: Any) -> None:
    """Run a function that talks with the port of a server."""

    async def run() -> None:
        settings = Settings.of(data=folder, vw_port=0, environment={}, **given)
        store = ModelStore.open(folder, settings)
        try:
            for name, body in (models or {}).items():
                await store.create(name, body)
            port = await vw_lines.start(store, settings)
            try:
                reader, writer = await asyncio.open_connection(*port.sockets[0].getsockname()[:2])
                try:
                    await asyncio.wait_for(talk(store, reader, writer), 20)
                finally:
                    writer.close()
            finally:
                port.close()
                await asyncio.wait_for(port.wait_closed(), 10)
            await store.drain()
        finally:
            store.close()

    asyncio.run(run())


async def answers(reader: Any, count: int) -> list[str]:
    return [(await reader.readline()).decode() for _ in range(count)]


def rows(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3))
    return [f"{a - 2 * b:.5f} | a:{a:.4f} b:{b:.4f} c:{c:.4f}" for a, b, c in x]


def test_answers_and_model_are_those_of_one_offline_pass(tmp_path: Path) -> None:
    lines = rows(3000)
    text = ("\n".join(lines) + "\n").encode()

    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        for at in range(0, len(text), 7001):  # lines end anywhere
            writer.write(text[at : at + 7001])
            await asyncio.sleep(0)
        got = await answers(reader, len(lines))
        model = store.streams["vw"].model().model
        assert model is not None
        offline = ul.Learner(**vars(model.options))
        read = _core.VwReader().read(text, True)
        scores = offline._learn_rows(read, read.label, None)
        assert got[1:] == [f"{score:f}\n" for score in scores[1:]]
        assert model.predict_one({"a": 1.0, "b": 2.0}) == offline.predict_one({"a": 1.0, "b": 2.0})

    served(tmp_path, talk)


def test_the_log_gives_the_same_state_again(tmp_path: Path) -> None:
    lines, prints = rows(500), []

    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        if not prints:
            mixed = "".join(line + "\n" + line[line.index("|") :] + "\n" for line in lines)
            writer.write(mixed.encode())
            await answers(reader, 2 * len(lines))
        prints.append(store.streams["vw"].stream.fingerprint())

    served(tmp_path, talk)
    served(tmp_path, talk)
    assert prints[0] == prints[1]


@pytest.mark.parametrize("task", ["regression", "classes"])
def test_lines_learned_in_one_call_leave_the_state_of_lines_learned_alone(task: str) -> None:
    """Among the lines are new classes, and lines with an initial prediction."""
    rng, lines, found = np.random.default_rng(0), [], []
    for number, (a, b) in enumerate(rng.normal(size=(100, 2)).round(3).tolist()):
        label = f"{a - b:.3f} 1 {a:.2f}" if task == "regression" else str(rng.integers(0, 3 + number // 20))
        lines.append(f"{label} | a:{a} b:{b}")
    for at_once in (1, 5, 40, len(lines)):
        model = ServedModel("m", "champion", {"task": task})
        for first in range(0, len(lines), at_once):
            work(model, VwText("\n".join(lines[first : first + at_once]).encode()))
        found.append(model.parts())
    assert all(parts == found[0] for parts in found)


def test_a_prediction_knows_the_lines_before_it_and_not_those_after_it(tmp_path: Path) -> None:
    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        writer.write(b"|a x:1\n5 |a x:1\n|a x:1\n7 |a x:1\n")
        before, first, between, _ = await answers(reader, 4)
        assert (before, first, between) == ("0\n", "0\n", "5\n")
        writer.write(b"|a x:1\n")
        assert float((await answers(reader, 1))[0]) > 5

    served(tmp_path, talk)


@pytest.mark.parametrize("durability", ["disk", "process"])
def test_unlabeled_lines_wait_for_the_lines_before_them(tmp_path: Path, durability: str) -> None:
    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        writer.write(b"3 | x:1\n")
        await asyncio.sleep(0)
        writer.write(b"| x:1\n")  # a prediction only, while the line before is being written to the disk
        assert await answers(reader, 2) == ["0\n", "3\n"]

    served(tmp_path, talk, durability=durability)


def test_tags_blank_lines_and_bad_lines_have_their_answers_in_order(tmp_path: Path) -> None:
    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        writer.write(b"1 1.0 'first| x:1\n\nnonsense\noops | x:1\n| x:1\n1 second| x:1\n")
        first, blank, bad, worse, plain, second = await answers(reader, 6)
        assert first == "0 first\n"
        assert blank == "\n"
        assert second == "1 second\n"
        assert plain == "1\n"
        assert bad == "error: there is no '|' in the line 'nonsense'; put one before the features: label | name:value\n"
        assert worse.startswith("error: ")

    served(tmp_path, talk)


@pytest.mark.parametrize("line", [b"save\n", b"save_/tmp/x\n", b"'save_model.bin\n", b"save_x |\n"])
def test_save_is_refused_and_no_file_is_written(tmp_path: Path, line: bytes) -> None:
    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        there = sorted(os.walk(tmp_path))
        writer.write(line + b"1 | x:1\n")
        refused, learned = await answers(reader, 2)
        assert refused.startswith("error: models are not saved by clients")
        assert learned == "0\n"
        assert sorted(os.walk(tmp_path)) == there

    served(tmp_path, talk)


def test_lines_that_the_model_refuses_change_nothing(tmp_path: Path) -> None:
    good, bad = [f"{(-1) ** k} | x:{k}" for k in range(200)], "3 | x:1"
    lines = [*good[:50], bad, *good[50:120], bad, bad, *good[120:]]

    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        writer.write(("\n".join(lines) + "\n").encode())
        got = await answers(reader, len(lines))
        refused = [k for k, line in enumerate(got) if line.startswith("error: the label is 3")]
        assert refused == [k for k, line in enumerate(lines) if line is bad]
        stream = store.streams["clicks"].stream
        assert stream.counts["learned"] == 200
        assert stream.counts["refused"] == 3
        twin = store.streams["twin"]
        payload = ("\n".join(good) + "\n").encode()
        await twin.submitted(Kind.learn, Form.vw, len(good), payload)
        assert twin.model().file() == store.streams["clicks"].model().file()

    options = {"task": "binary", "model_type": "linear"}
    served(tmp_path, talk, models={"clicks": options, "twin": options}, vw_model="clicks")


def test_classes_are_answered_by_their_labels(tmp_path: Path) -> None:
    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        writer.write(b"".join(b"%d | x:%d y:%d\n" % (k % 3, k % 3 == 1, k % 3 == 2) for k in range(300)))
        await answers(reader, 300)
        writer.write(b"| x:1\n| y:1\n|\n")
        assert await answers(reader, 3) == ["1\n", "2\n", "0\n"]

    served(tmp_path, talk, models={"kinds": {"task": "classes", "model_type": "linear"}})


def test_every_model_of_the_stream_learns_the_lines(tmp_path: Path) -> None:
    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        await store.create("b", {"stream": "a", "model_type": "linear"})
        writer.write(("\n".join(rows(100)) + "\n").encode())
        await answers(reader, 100)
        live = store.streams["a"]
        assert [model.examples for model in live.stream.models.values()] == [100, 100]
        assert live.model("a").file() == live.model("b").file()

    served(tmp_path, talk, models={"a": {"model_type": "linear"}})


def test_a_model_of_a_table_refuses_lines(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" + "".join(f"{k},{2 * k}\n" for k in range(50)))
    ul.train(table, target="b", model_type="linear").model.save(tmp_path / "table.unitless")

    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        await store.create("t", {}, (tmp_path / "table.unitless").read_bytes())
        writer.write(b"1 | a:1\n| a:1\n2 | a:1\n")
        assert all(line.startswith("error: the model was trained on a table") for line in await answers(reader, 3))
        assert store.streams["t"].stream.counts["refused"] == 2
        assert store.streams["t"].stream.counts["learned"] == 0

    served(tmp_path / "data", talk, vw_model="t")


def test_those_who_look_see_a_line(tmp_path: Path) -> None:
    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        writer.write(b"3 | a:1 b:2\n")
        await answers(reader, 1)
        await asyncio.sleep(0.3)
        writer.write(b"5 |n a:1 c\n")
        await answers(reader, 1)
        example = store.streams["vw"].moments.recent()[0]
        assert example.features == {"n^a": 1.0, "n^c": 1.0}
        assert (example.label, example.prediction, example.loss) == (5.0, 3.0, 4.0)

    served(tmp_path, talk)


def test_a_line_without_an_end_closes_the_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vw_lines, "MOST_LINE", 1000)

    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        writer.write(b"1 | x:1\n" + b"y" * 2000)
        assert await answers(reader, 3) == [
            "0\n",
            "error: a line is longer than 1,000 bytes; the connection is closed\n",
            "",
        ]

    served(tmp_path, talk)


def test_a_client_that_does_not_read_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vw_lines, "MOST_OUTSTANDING", 10_000)
    lines = rows(20_000)

    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        writer.write(("\n".join(lines) + "\n").encode())
        got = 0
        while got < len(lines):
            await answers(reader, 1)
            got += 1
            live = store.streams["vw"]
            assert live.queue <= live.settings.queue
        assert store.streams["vw"].stream.counts["learned"] == len(lines)

    served(tmp_path, talk, queue=5000)


def test_what_was_sent_before_the_end_is_answered(tmp_path: Path) -> None:
    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        writer.write(b"1 | x:1\n2 | x:1")
        writer.write_eof()
        assert await answers(reader, 3) == ["0\n", "1\n", ""]

    served(tmp_path, talk)


def test_several_models_need_a_choice(tmp_path: Path) -> None:
    async def talk(store: ModelStore, reader: Any, writer: Any) -> None:
        raise AssertionError

    with pytest.raises(OptionError, match="name the one that the lines are for"):
        served(tmp_path, talk, models={"a": {}, "b": {}})
