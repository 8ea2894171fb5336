"""Files read by several threads give the same rows, places and errors as with one thread."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import lzma
import os
import re
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from waiting import until

import unitless as ul
from unitless.data import Position, Reader, ReadOptions, open_source
from unitless.data.sources import read_ahead, scan, text_stream
from unitless.data.threads import OneEach, in_order

THREADS = (1, 2, 3, 4, 5)  # one of which learns
CHUNK = 200  # bytes: so small that rows, quotes and bad lines lie at all places of a chunk


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_stream, "TEXT_CHUNK", CHUNK)
    monkeypatch.setattr(text_stream, "CHUNK", CHUNK)
    monkeypatch.setattr(text_stream, "FIRST_LINES", 3)


def csv_rows(rng: np.random.Generator, bad: bool = False, end: str = "\n") -> str:
    """A table with quotes, newlines inside quotes, empty lines, missing and invalid values."""
    lines = ["x,colour,text,y"]
    for k in range(4000):  # the first 64 KiB are read together
        text = ['"two\nlines"', '"a ""quoted"" word"', "plain", '"com,ma"', '"\n\n"'][int(rng.integers(5))]
        x = "" if rng.random() < 0.05 else "odd" if k > 30 and rng.random() < 0.02 else f"{rng.normal():.6f}"
        lines.append(f"{x},{('red', 'blue', 'green')[int(rng.integers(3))]},{text},{int(rng.integers(2))}")
        if rng.random() < 0.03:
            lines.append("")
        if bad and k > 30 and rng.random() < 0.05:
            lines.append("1,2")
    return end.join(lines) + end


def vw_rows(rng: np.random.Generator, bad: bool = False, end: str = "\n") -> str:
    lines = []
    for k in range(400):
        names = rng.choice(30, 4, replace=False)
        features = " ".join(f"f{name}:{rng.normal():.3f}" for name in names)
        lines.append(f"{(-1, 1)[int(rng.integers(2))]} {'2.5 ' if k % 7 == 0 else ''}| {features}")
        if bad and rng.random() < 0.05:
            lines.append("1 | a:1:2")
        if rng.random() < 0.03:
            lines.append("")
    return end.join(lines) + end


def libsvm_rows(rng: np.random.Generator, bad: bool = False, end: str = "\n") -> str:
    """The indices grow along the file, with gaps, so that omitted features are mentioned again and again."""
    lines = []
    for k in range(400):
        indices = np.unique(rng.integers(1, 3 + k // 3 * int(rng.integers(1, 3)), 4))
        lines.append(f"{int(rng.integers(2))} " + " ".join(f"{i}:{rng.normal():.3f}" for i in indices))
        if bad and rng.random() < 0.05:
            lines.append("1 900:x")
        if rng.random() < 0.03:
            lines.append("# nothing")
    return end.join(lines) + end


def json_rows(rng: np.random.Generator, bad: bool = False, end: str = "\n") -> str:
    lines = []
    for k in range(400):
        colour: Any = ("red", "blue")[int(rng.integers(2))]
        row = {"x": float(rng.normal()), "colour": 7 if k > 100 and rng.random() < 0.05 else colour, "y": k % 2}
        lines.append(json.dumps(row))
        if bad and k > 30 and rng.random() < 0.05:
            lines.append('{"x": ')
    return end.join(lines) + end


FORMATS: dict[str, tuple[Callable[..., str], dict[str, Any]]] = {
    "csv": (csv_rows, {"target": "y"}),
    "vw": (vw_rows, {}),
    "libsvm": (libsvm_rows, {}),
    "jsonl": (json_rows, {"target": "y"}),
}


def written(tmp_path: Path, kind: str, compressed: bool = False, **how: Any) -> Path:
    text = FORMATS[kind][0](np.random.default_rng(0), **how).encode()
    path = tmp_path / f"data.{kind}{'.gz' if compressed else ''}"
    path.write_bytes(gzip.compress(text) if compressed else text)
    return path


def batches(path: Path, kind: str, start: Position | None = None, **options: Any) -> Iterator[list[Any]]:
    """Everything that a reader returns, as plain values."""
    reading = ReadOptions(**{**FORMATS[kind][1], **options})
    reader = Reader(open_source(str(path), reading), reading)
    for batch in reader.batches(start):
        content = getattr(batch.data, "read", None)
        features = (
            [content.names, content.ids.tolist(), content.values.tolist(), content.row_ends.tolist()]
            if content is not None
            else [list(batch.data.names), [repr(column) for column in batch.data.columns]]
        )
        if content is not None:
            features += [content.first_index, content.next_index]
        yield [
            features,
            batch.rows,
            repr(batch.labels),
            None if batch.weight is None else batch.weight.tolist(),
            [batch.place(row) for row in range(batch.rows)],
            batch.position,
            batch.consumed,
            batch.bad,
            batch.bad_count,
            list(batch.bad_numbers),
            dict(batch.missing),
            batch.invalid_values,
        ]


def with_threads(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setenv("UNITLESS_THREADS", str(threads))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("kind", FORMATS)
def test_batches_do_not_depend_on_the_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, end: str, compressed: bool
) -> None:
    monkeypatch.setattr(read_ahead, "BLOCK", 1000)
    path = written(tmp_path, kind, compressed, bad=True, end=end)
    found = []
    for threads in THREADS:
        with_threads(monkeypatch, threads)
        found.append(list(batches(path, kind, on_error="skip")))
    assert len(found[0]) > 10
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("kind", FORMATS)
def test_compressed_files_give_the_same_batches_as_plain_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with_threads(monkeypatch, 4)
    plain = [batch[:6] for batch in batches(written(tmp_path, kind), kind)]
    compressed = [batch[:6] for batch in batches(written(tmp_path, kind, compressed=True), kind)]
    for one in (*plain, *compressed):
        one[4] = [place.replace(".gz", "") for place in one[4]]
    assert plain == compressed


@pytest.mark.parametrize("kind", FORMATS)
def test_the_first_error_is_the_same_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    path = written(tmp_path, kind, bad=True)
    found = []
    for threads in THREADS:
        with_threads(monkeypatch, threads)
        rows, message = 0, ""
        try:
            for batch in batches(path, kind):
                rows += batch[1]
        except ul.InputError as error:
            message = str(error)
        found.append((rows, message))
    assert found[0][1]
    assert found == [found[0]] * len(THREADS)


@pytest.mark.parametrize("kind", ["csv", "vw", "libsvm", "jsonl"])
def test_a_line_that_is_too_long_is_an_error_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(text_stream, "LONGEST_LINE", 1000)
    path = written(tmp_path, kind)
    path.write_text(path.read_text() + "1" * 4000 + "\n")
    found = []
    for threads in THREADS:
        with_threads(monkeypatch, threads)
        with pytest.raises(ul.InputError, match="longer than 1,000 bytes") as raised:
            list(batches(path, kind, on_error="skip"))
        found.append(str(raised.value))
    assert found == [found[0]] * len(THREADS)


@pytest.mark.parametrize("kind", FORMATS)
def test_reading_goes_on_from_any_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    path = written(tmp_path, kind)
    with_threads(monkeypatch, 4)
    options = FORMATS[kind][1]
    whole = Reader(open_source(str(path), ReadOptions(**options)), ReadOptions(**options))
    all_batches = list(whole.batches())
    labels = [batch.labels.values for batch in all_batches]  # type: ignore[union-attr]
    for last in (2, len(all_batches) // 2):
        position = all_batches[last].position
        again = Reader(open_source(str(path), ReadOptions(**options)), ReadOptions(**options), whole.schema)
        rest = np.concatenate([batch.labels.values for batch in again.batches(position)])  # type: ignore[union-attr]
        np.testing.assert_array_equal(rest, np.concatenate(labels[last + 1 :]))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("shuffle", [False, True])
def test_training_gives_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, shuffle: bool
) -> None:
    path = written(tmp_path, kind)
    models = []
    for threads in (1, 4):
        with_threads(monkeypatch, threads)
        result = ul.train(path, FORMATS[kind][1].get("target"), shuffle=shuffle, task="binary", model_type="linear")
        errors, past, baselines = result.model._errors, result.details.in_sample, result.details.stream_baselines
        models.append(
            [
                *(dict(found) for found in (result.model.weights, result.progressive, result.metrics, result.baseline)),
                *(None if one is None else repr(one.metrics) for one in (past, baselines)),
                *(repr(found) for found in (result.details.history, errors and errors.reach(0.9))),
            ]
        )
    assert models[0] == models[1]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("unitless-counter")]


@pytest.mark.parametrize("shuffle", ["--shuffle", "--no-shuffle"])
def test_the_command_line_prints_the_same_for_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shuffle: str
) -> None:
    path = written(tmp_path, "csv")
    said = []
    for threads in (1, 4):
        command = [
            sys.executable,
            "-m",
            "unitless",
            "train",
            str(path),
            "--target",
            "y",
            "--model-type",
            "linear",
            shuffle,
        ]
        done = subprocess.run(
            command, env={**os.environ, "UNITLESS_THREADS": str(threads)}, capture_output=True, text=True, check=True
        )
        said.append(re.sub(r"[\d.,]+ (s|rows/s)\b", "", done.stderr + done.stdout))
    assert said[0] == said[1]
    assert re.search(r"^ +\S+ +\S+ +\S+%? +2,048$", said[0], re.MULTILINE)  # the last line of the table


def test_a_run_that_is_interrupted_has_counted_all_that_it_has_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, model = written(tmp_path, "csv"), tmp_path / "model"
    how: dict[str, Any] = {"shuffle": False, "model_type": "linear", "task": "binary"}
    found = []
    for threads in (1, 4):
        with_threads(monkeypatch, threads)

        def stop(run: Any) -> None:
            if run.progress.rows > 2000:
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            ul.train(path, "y", output=str(model), checkpoint=500, progress=stop, **how)
        kept = ul.load(model)
        assert kept._training is not None
        assert kept._training["evaluation"]["examples"] == kept.examples
        result = ul.train(path, "y", resume=str(model), shuffle=False)
        found.append([dict(result.progressive), repr(result.details.history), dict(result.model.weights)])
    assert found[0] == found[1]


def test_unmatched_patterns_are_reported_whichever_thread_met_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.vw"
    lines = [f"{(-1) ** k} |{'a' if k < 100 else 'b'} x:{k % 7} y:1" for k in range(400)]
    path.write_text("\n".join(lines) + "\n")
    for threads in THREADS:
        with_threads(monkeypatch, threads)
        options = ReadOptions(ignore=("a^y", "b^y", "c^z"))
        reader = Reader(open_source(str(path), options), options)
        list(reader.batches())
        assert reader.idle == ["c^z"]


def parsers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("unitless-")]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", FORMATS)
def test_no_thread_stays_behind_when_reading_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, compressed: bool
) -> None:
    with_threads(monkeypatch, 4)
    before = len(parsers())
    path = written(tmp_path, kind, compressed)
    some = batches(path, kind)
    next(some), next(some), next(some)
    some.close()  # type: ignore[attr-defined]
    until(lambda: len(parsers()) == before)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_a_truncated_file_is_an_error_after_its_complete_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(read_ahead, "BLOCK", 1000)
    whole = compress(vw_rows(np.random.default_rng(0)).encode() * 20)
    path = tmp_path / "data.vw.gz"
    path.write_bytes(whole[: len(whole) // 2])
    found = []
    for threads in THREADS:
        with_threads(monkeypatch, threads)
        rows, message = 0, ""
        try:
            for batch in batches(path, "vw"):
                rows += batch[1]
        except ul.InputError as error:
            message = str(error)
        found.append((rows, message))
    assert "damaged or cut off" in found[0][1]
    assert found == [found[0]] * len(THREADS)


# ------------------------------------------------------------------------------------------------ work in order


def test_results_come_in_order_whatever_takes_long() -> None:
    def slow(k: int) -> int:
        time.sleep(0.002 * (7 - k % 8))
        return k * k

    for threads in THREADS:
        assert list(in_order(iter(range(40)), slow, threads)) == [(k, k * k) for k in range(40)]


def test_an_error_comes_when_its_turn_has_come() -> None:
    def work(k: int) -> int:
        if k == 5:
            raise ValueError("five")
        time.sleep(0.001)
        return k

    for threads in THREADS:
        found = []
        with pytest.raises(ValueError, match="five"):
            found += [k for k, _ in in_order(iter(range(40)), work, threads)]
        taken = in_order(iter(range(40)), work, threads)
        assert [next(taken)[1] for _ in range(5)] == [0, 1, 2, 3, 4]
        taken.close()


def test_an_error_of_the_items_comes_after_all_that_were_drawn() -> None:
    def items() -> Iterator[int]:
        yield from range(6)
        raise OSError("gone")

    for threads in THREADS:
        taken = in_order(items(), lambda k: k, threads)
        assert [next(taken)[0] for _ in range(6)] == list(range(6))
        with pytest.raises(OSError, match="gone"):
            next(taken)


def test_few_items_are_drawn_ahead() -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for k in range(100):
            drawn.append(k)
            yield k

    for threads in THREADS:
        drawn.clear()
        for k, _ in in_order(items(), lambda k: k, threads):
            assert len(drawn) <= k + 1 + (threads if threads > 1 else 0)


def test_pieces_of_long_rows_are_not_all_held_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.vw"
    path.write_text("".join(f"1 | {' '.join(f'x{k}{j}:1' for j in range(200))}\n" for k in range(60)))
    with_threads(monkeypatch, 6)
    found = [list(batches(path, "vw"))]
    monkeypatch.setattr(scan, "MOST_AHEAD", 1)
    drawn: list[int] = []

    def counting(*given: Any) -> Iterator[Any]:
        for item in in_order(*given):
            drawn.append(item[0].position)
            yield item

    monkeypatch.setattr(scan, "in_order", counting)
    opened: Any = open_source(str(path), ReadOptions()).open()
    with contextlib.closing(opened.opened(opened.files[0])) as text:
        for piece, _ in opened.pieces(text, text.chunks(small=True), bytes):
            assert text.position == piece.position  # nothing was read after it
    assert len(drawn) > 10
    found.append(list(batches(path, "vw")))
    assert found[0] == found[1]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_row_groups_are_read_alike_by_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    rng = np.random.default_rng(0)
    table = pa.table(
        {"x": rng.normal(size=5000), "colour": rng.choice(["red", "blue"], 5000), "y": rng.integers(2, size=5000)}
    )
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=700)
    with_threads(monkeypatch, threads)
    reading = ReadOptions(target="y")
    reader = Reader(open_source(str(tmp_path / "data.parquet"), reading), reading)
    labels = np.concatenate([batch.labels.values for batch in reader.batches()])  # type: ignore[union-attr]
    np.testing.assert_array_equal(labels, table["y"].to_numpy())


def test_nothing_is_drawn_ahead_before_it_may_be() -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for k in range(20):
            drawn.append(k)
            yield k

    for k, _ in in_order(items(), lambda k: k, 4, lambda: False):
        assert drawn[-1] == k


def test_results_that_were_taken_are_released() -> None:
    class Result:
        pass

    made: list[weakref.ref[Result]] = []

    def work(_: int) -> Result:
        made.append(weakref.ref(result := Result()))
        return result

    for k, _ in in_order(iter(range(20)), work, 3):
        assert sum(one() is not None for one in made) <= 5, k  # the current one, and those that are read ahead


def test_threads_that_cannot_be_started_are_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert list(in_order(iter(range(20)), lambda k: k * k, 4)) == [(k, k * k) for k in range(20)]


def test_things_are_used_by_one_thread_at_a_time() -> None:
    class Thing:
        busy = False

    def use(thing: Thing) -> None:
        assert not thing.busy
        thing.busy = True
        time.sleep(0.001)
        thing.busy = False

    things = OneEach(Thing)
    list(in_order(iter(range(50)), lambda _: things.use(use), 4))
    assert len(things.all) <= 4
