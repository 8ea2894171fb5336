"""Training that is interrupted at any moment resumes where it stopped and gives the same model to the last bit."""

from __future__ import annotations

import array
import bz2
import contextlib
import fcntl
import gzip
import json
import math
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sources import content, facts, json_lines, mappings, set_chunk, table, write
from waiting import LIMIT, until, until_idle

import unitless as ul
from unitless.data.sources import file_identity
from unitless.training.training import Training

ROWS = 360


class Killed(BaseException):
    """Raised to end a run at any point."""


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are saved thousands of times here without waiting for the disk; other tests cover durability."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def after(parts: int) -> Callable[[Training], None]:
    """End a run after this many parts."""
    calls = iter(range(parts))

    def watch(run: Training) -> None:
        if next(calls, None) is None:
            raise Killed

    return watch


def parts_of(source: Any, model: Path, **options: Any) -> tuple[int, ul.TrainResult]:
    """The number of parts of an uninterrupted run, and its result."""
    calls: list[int] = []
    result = ul.train(source, output=model, progress=lambda run: calls.append(1), **options)
    return len(calls), result


AGAIN = ("target", "weight", "reading")  # with PLAN, the arguments that must be given again when training resumes
PLAN = ("passes", "holdout", "random_state", "checkpoint", "shuffle", "learn_holdout", "memory")
WAYS: dict[str, dict[str, Any]] = {"follow": {"shuffle": False}, "fit": {"passes": 2}}


def goes_on(source: Any, folder: Path, moments: int = 3, **options: Any) -> None:
    """A run that is killed at several moments, and again after it resumed, gives the result of an uninterrupted run."""
    if "shuffle" in options:
        return one_goes_on(source, folder, moments, **options)
    for way, choice in WAYS.items():
        one_goes_on(source, folder, moments if way == "follow" else 2, **{**choice, **options})
    return None


def one_goes_on(source: Any, folder: Path, moments: int, **options: Any) -> None:
    options = {"checkpoint": 40, "model_type": "linear", "ensemble": False, **options}
    parts, expected = parts_of(source, folder / "whole", **options)
    again = {name: value for name, value in options.items() if name in (*AGAIN, *PLAN)}
    expected_file = ul.load(folder / "whole")
    assert parts > 4
    for moment in sorted({round(k) for k in np.linspace(1, parts - 1, moments)}):
        model = folder / "killed"
        model.unlink(missing_ok=True)
        with pytest.raises(Killed):
            ul.train(source, output=model, progress=after(moment), **options)
        if not model.exists():
            continue  # before the first checkpoint
        try:
            result = ul.train(source, output=model, resume=model, progress=after(2), **again)
        except Killed:
            result = ul.train(source, output=model, resume=model, **again)
        assert facts(result) == facts(expected), f"after {moment} of {parts} parts"
        assert content(result.model) == content(expected.model)
        assert ul.load(model)._training == expected_file._training


@pytest.fixture(params=[2500, 4 << 20], ids=["many pieces", "one piece"])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    set_chunk(monkeypatch, request.param)
    return int(request.param)


FRAME = table(ROWS).assign(flag=lambda frame: frame["flag"].map({True: "up", False: "down"}))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "csv.bz2", "jsonl", "jsonl.gz", "parquet", "feather"])
def test_files_of_every_format_go_on(kind: str, chunk: int, tmp_path: Path) -> None:
    path = tmp_path / f"a.{kind}"
    text = {"csv": FRAME.to_csv(index=False), "jsonl": json_lines(FRAME)}.get(kind.partition(".")[0], "").encode()
    if kind == "parquet":
        FRAME.to_parquet(path, row_group_size=150)
    elif kind == "feather":
        FRAME.to_feather(path, chunksize=130)
    else:
        write(path, {"gz": gzip.compress, "bz2": bz2.compress}.get(kind.rpartition(".")[2], bytes)(text))
    goes_on(str(path), tmp_path, target="y")


@pytest.mark.parametrize("way", WAYS)
def test_curves_and_trees_go_on(way: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", FRAME.to_csv(index=False))
    one_goes_on(path, tmp_path, 3, target="y", model_type="trees", ensemble=True, **WAYS[way])


@pytest.mark.parametrize("words", [("true", "false"), ("True", "False")], ids=str)
@pytest.mark.parametrize("where", ["feature", "label"])
def test_booleans_of_csv_go_on(words: tuple[str, str], where: str, chunk: int, tmp_path: Path) -> None:
    rows = [
        f"{words[k % 3 > 0]},{k % 7}.25,{words[k % 5 > 2] if where == 'label' else f'{k % 11}.5'}\n"
        for k in range(ROWS)
    ]
    goes_on(write(tmp_path / "a.csv", "f,x,y\n" + "".join(rows)), tmp_path, target="y", moments=3)


@pytest.mark.parametrize("kind", ["dates", "dates later", "text of dates", "text later left out", "codes"])
@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_columns_are_still_what_they_were(kind: str, format: str, chunk: int, tmp_path: Path) -> None:
    day = [f"2020-01-{k % 28 + 1:02d}" for k in range(ROWS)]
    values: dict[str, Callable[[int], Any]] = {
        "dates": lambda k: day[k],
        "dates later": lambda k: day[k] + " 10:00:00" if k < 150 else day[k],
        "text of dates": lambda k: "never" if k < 200 else day[k],
        "text later left out": lambda k: f"w{k % 3}" if k < 200 else None,
        "codes": lambda k: f"{k % 13:03d}",
    }
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"c": [values[kind](k) for k in range(ROWS)], "x": rng.normal(size=ROWS), "y": rng.normal(size=ROWS)}
    )
    rows = [
        {k: v for k, v in row.items() if not (isinstance(v, float) and math.isnan(v))}
        for row in frame.to_dict("records")
    ]
    text = frame.to_csv(index=False) if format == "csv" else "".join(json.dumps(row) + "\n" for row in rows)
    options: dict[str, Any] = {"reading": ul.Reading(dates="parts")} if kind.startswith("dates") else {}
    if kind == "codes":
        options = {"reading": ul.Reading(text="c")}
    goes_on(write(tmp_path / f"a.{format}", text), tmp_path, target="y", moments=4, **options)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_text_of_every_encoding_goes_on(encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "c": [("é" * 40, "ab", "ü")[k % 3] for k in range(ROWS)],
            "x": rng.normal(size=ROWS),
            "y": rng.normal(size=ROWS),
        }
    )
    path = write(tmp_path / "a.csv", frame.to_csv(index=False).encode(encoding))
    set_chunk(monkeypatch, 1500)
    goes_on(
        path,
        tmp_path,
        target="y",
        checkpoint=7,
        reading=ul.Reading(encoding="latin-1" if encoding == "latin-1" else None),
        moments=4,
    )


def test_lines_longer_than_a_piece_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{k % 7}.25,{'long' * (600 if k in (200, 201, 320) else 1)}{k % 3},{k % 11}.5\n" for k in range(ROWS)]
    path = write(tmp_path / "a.csv", "x,c,y\n" + "".join(rows))
    set_chunk(monkeypatch, 700)
    goes_on(path, tmp_path, target="y", checkpoint=7, moments=5)


@pytest.mark.parametrize("kind", ["vw", "vw.gz", "svm"])
def test_text_of_named_features_goes_on(kind: str, chunk: int, tmp_path: Path) -> None:
    if kind == "svm":
        lines = [f"{k % 2} {1 + k % 5}:0.{k + 1} 7:{k}" for k in range(ROWS)]
    else:
        lines = [f"{k % 2 * 2 - 1} {1 + k % 3} t{k}|a x{k // 50}:0.{k + 1} y |b z:{k}" for k in range(ROWS)]
        lines[100:103] = ["| x:1"] * 3
    data = ("\n".join(lines) + "\n").encode()
    path = write(tmp_path / f"a.{kind}", gzip.compress(data) if kind.endswith("gz") else data)
    goes_on(path, tmp_path)


def test_several_files_passes_and_a_hold_out_go_on(chunk: int, tmp_path: Path) -> None:
    names = [write(tmp_path / f"{k}.csv", table(130, k).drop(columns="flag").to_csv(index=False)) for k in range(3)]
    goes_on(names, tmp_path, target="y", passes=2, holdout=0.2, random_state=3, moments=5)


def test_passes_that_end_by_themselves_go_on(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=700), "b": rng.normal(size=700), "c": ["u", "v"] * 350})
    frame["y"] = frame["a"] + 2 * frame["b"] * (frame["c"] == "u") + rng.normal(size=700)
    path = write(tmp_path / "a.csv", frame.to_csv(index=False))
    goes_on(path, tmp_path, target="y", shuffle=True, checkpoint=200, moments=12)
    goes_on(path, tmp_path, target="y", shuffle=True, checkpoint=200, memory=1 << 20, passes=1, moments=3)


def test_the_last_rows_held_back_go_on(chunk: int, tmp_path: Path) -> None:
    names = [write(tmp_path / f"{k}.csv", table(130, k).drop(columns="flag").to_csv(index=False)) for k in range(3)]
    goes_on(names, tmp_path, target="y", shuffle=False, holdout="last", moments=8)
    goes_on(names, tmp_path, target="y", shuffle=False, holdout="last", passes=2, learn_holdout=False, moments=6)


def test_classes_that_join_late_go_on(chunk: int, tmp_path: Path) -> None:
    labels = [f"c{min(k // 70, 5) if k % 4 else 0}" for k in range(ROWS)]
    path = write(tmp_path / "a.csv", FRAME.assign(y=labels).to_csv(index=False))
    goes_on(path, tmp_path, target="y", holdout=0.1, task="classes")


@pytest.mark.parametrize("format", ["csv", "jsonl", "vw"])
def test_skipped_rows_are_counted_once(format: str, chunk: int, tmp_path: Path) -> None:
    if format == "vw":
        lines = [f"{k % 2} | x:{k} b{k % 7}" + ("\n1 | x:1oops" if k % 53 == 5 else "") for k in range(ROWS)]
        goes_on(write(tmp_path / "a.vw", "\n".join(lines)), tmp_path, reading=ul.Reading(on_error="skip"))
        return
    text = FRAME.to_csv(index=False) if format == "csv" else json_lines(FRAME.drop(columns="word"))
    lines = text.split("\n") if format == "jsonl" else FRAME.drop(columns="word").to_csv(index=False).split("\n")
    bad = [line for k, line in enumerate(lines) for line in ((line, "oops") if k % 53 == 5 else (line,))]
    goes_on(
        write(tmp_path / f"a.{format}", "\n".join([*bad, "oops", ""])),
        tmp_path,
        target="y",
        reading=ul.Reading(on_error="skip"),
    )


def test_frames_and_mappings_go_on(tmp_path: Path) -> None:
    goes_on(FRAME, tmp_path, target="y", moments=3)
    goes_on(mappings(FRAME), tmp_path, target="y", moments=3)


def test_a_run_without_checkpoints_ends_as_one_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = FRAME.assign(x=np.r_[np.zeros(50), np.ones(50), FRAME["x"][100:]])
    path = write(tmp_path / "a.csv", frame.to_csv(index=False))
    plain = ul.train(path, "y", model_type="linear", passes=2)
    for every in (1, 40, 333):
        result = ul.train(path, "y", output=tmp_path / "m", checkpoint=every, model_type="linear", passes=2)
        assert content(result.model) == content(plain.model)
        told, expected = facts(result), facts(plain)
        assert told == expected


# ------------------------------------------------------------------------------------------------ signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("shuffle", [False, True], ids=["follow", "fit"])
def test_an_interruption_saves_a_model_that_goes_on(
    number: int, shuffle: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, model = write(tmp_path / "a.csv", FRAME.to_csv(index=False)), tmp_path / "m"
    set_chunk(monkeypatch, 2500)
    expected = ul.train(path, "y", shuffle=shuffle)
    seen: list[int] = []

    def watch(run: Training) -> None:
        seen.extend([run.progress.rows] if run.progress.rows else [])  # not while it reads
        if len(seen) == (2 if shuffle else 3):
            signal.raise_signal(number)

    before = signal.getsignal(number)
    stopped = ul.train(path, "y", output=model, progress=watch, shuffle=shuffle)
    assert signal.getsignal(number) is before
    assert stopped.details.interrupted
    assert 0 < stopped.rows < ROWS
    assert stopped.metrics
    result = ul.train(path, resume=model, output=model, shuffle=shuffle)
    assert not result.details.interrupted
    assert facts(result) == facts(expected)
    assert content(result.model) == content(expected.model)


def test_other_files_or_settings_do_not_go_on(tmp_path: Path) -> None:
    path, model = write(tmp_path / "a.csv", FRAME.to_csv(index=False)), tmp_path / "m"
    other = write(tmp_path / "b.csv", FRAME[:300].to_csv(index=False))
    with pytest.raises(Killed):
        ul.train(path, "y", output=model, checkpoint=100, progress=after(3), holdout=0.1)
    with pytest.raises(ul.InputError, match="other files"):
        ul.train(other, resume=model, holdout=0.1)
    with pytest.raises(ul.OptionError, match="other settings"):
        ul.train(path, resume=model)
    with pytest.raises(ul.OptionError, match="determined by the model"):
        ul.train(path, resume=model, holdout=0.1, loss="squared")
    with pytest.raises(ul.OptionError, match="the model was trained with 'y'"):
        ul.train(path, "x", resume=model, holdout=0.1)


def test_the_message_names_the_file_that_differs_and_how(tmp_path: Path) -> None:
    text = FRAME.to_csv(index=False)
    path, model = write(tmp_path / "a.csv", text), tmp_path / "m"
    with pytest.raises(Killed):
        ul.train([path, path], "y", output=model, checkpoint=100, progress=after(4))
    with pytest.raises(ul.InputError, match="they were 2, not 1; give the same files"):
        ul.train(path, resume=model)
    with pytest.raises(ul.InputError, match=r"then there was '.*a\.csv' in place of '.*b\.csv'"):
        ul.train([path, write(tmp_path / "b.csv", text)], resume=model)
    write(tmp_path / "a.csv", text + "\n")
    with pytest.raises(ul.InputError, match=rf"a\.csv had {len(text.encode())} bytes then and has"):
        ul.train([path, path], resume=model)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.parquet"])
@pytest.mark.parametrize("at", [30, -30], ids=["beginning", "end"])
def test_a_file_of_the_same_size_with_other_content_does_not_go_on(
    tmp_path: Path, name: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_identity, "PIECE", 1000)
    set_chunk(monkeypatch, 4000)
    frame = pd.concat([FRAME] * 4)
    if name.endswith("parquet"):
        frame.to_parquet(tmp_path / name, row_group_size=100)
        data = (tmp_path / name).read_bytes()
    else:
        text = (json_lines(frame) if name.endswith("jsonl") else frame.to_csv(index=False)).encode()
        data = gzip.compress(text, 1) if name.endswith("gz") else text
    assert len(data) > 4000
    path, model = write(tmp_path / "data" / name, data), tmp_path / "m"
    with pytest.raises(Killed):
        ul.train(path, "y", output=model, checkpoint=100, progress=after(6), shuffle=False)
    changed = bytearray(data)
    changed[at] ^= 1
    write(Path(path), bytes(changed))
    with pytest.raises(ul.InputError, match=rf"rows of other files than .*{name} has the same size .*other content"):
        ul.train(path, resume=model, shuffle=False)
    write(Path(path), data)
    assert ul.train(path, resume=model, shuffle=False).details.learned == len(frame)


def test_data_that_was_moved_goes_on(tmp_path: Path) -> None:
    text = FRAME.to_csv(index=False).replace("\n", "\nbroken,row\n", 1)
    path, model = write(tmp_path / "a" / "data.csv", text), tmp_path / "m"
    options: dict[str, Any] = {"shuffle": False, "reading": ul.Reading(on_error="skip")}
    with pytest.raises(Killed):
        ul.train(path, "y", output=model, checkpoint=100, progress=after(3), **options)
    assert str(tmp_path).encode() not in model.read_bytes()
    moved = write(tmp_path / "b" / "data.csv", text)
    result = ul.train(moved, resume=model, **options)
    assert content(result.model) == content(ul.train(path, "y", **options).model)
    assert result.details.skipped_rows[0].startswith(f"{moved}, row 1: ")


def test_a_finished_model_learns_more(tmp_path: Path) -> None:
    first, second = FRAME[:250], FRAME[250:]
    model = tmp_path / "m"
    ul.train(first, "y", output=model, shuffle=False)
    path = write(tmp_path / "b.csv", second.to_csv(index=False))
    more = ul.train(path, resume=model, shuffle=False)
    assert content(more.model) == content(ul.train(FRAME, "y", shuffle=False).model)
    fitted = ul.train(first, "y", output=model)
    more = ul.train(path, resume=model)
    assert more.details.learned == len(second)
    assert more.model.examples > fitted.model.examples + len(second) / 2
    assert more.metrics["rmse"] < more.baseline["rmse"]


# ------------------------------------------------------------------------------------------------ processes


BIG = pd.concat([table(1000, seed) for seed in range(10)] * 3, ignore_index=True).drop(columns=["extreme", "flag"])


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("big") / "a.csv.gz", gzip.compress(BIG.to_csv(index=False).encode(), 1))


def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "unitless", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    until(lambda: path.exists() or process.poll() is not None)


def test_a_process_that_is_killed_goes_on_until_it_is_done(big: str, tmp_path: Path) -> None:
    model = tmp_path / "m"
    fixed = [big, "--output", str(model), "--checkpoint", "150", "-q"]
    process = start("train", *fixed, "--target", "y", "--model-type", "linear")
    killed = 0
    for pause in (0.03, 0.11):
        wait_for(model, process)
        time.sleep(pause)
        process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        ul.load(model)
        model_before = model.stat().st_mtime_ns
        process = start("train", *fixed, "--resume", str(model))
        until(lambda then=model_before, now=process: model.stat().st_mtime_ns != then or now.poll() is not None)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    assert killed
    expected = ul.train(big, "y", output=tmp_path / "whole", checkpoint=150, model_type="linear")
    assert content(ul.load(model)) == content(expected.model)
    assert ul.load(model)._training["progress"]["learned"] == len(BIG)


def test_an_interrupted_process_explains_how_to_resume(big: str, tmp_path: Path) -> None:
    model = tmp_path / "m"
    process = start(
        "train", big, "--target", "y", "--output", str(model), "--checkpoint", "100", "--model-type", "linear", "-q"
    )
    wait_for(model, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert f"--resume {model}" in err.decode()
    assert "Traceback" not in err.decode()
    result = ul.train(big, resume=model)
    assert content(result.model) == content(ul.train(big, "y", model_type="linear").model)


def unread(pipe: Any) -> int:
    """The number of bytes in a pipe that have not been read yet."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


@pytest.mark.parametrize("rows", [0, 300, 60_000], ids=["no row", "before the columns are decided", "after that"])
def test_an_interruption_saves_the_rows_of_a_silent_pipe(rows: int, tmp_path: Path) -> None:
    model = tmp_path / "m"
    arguments = ["train", "-", "--target", "y", "--output", str(model), "--checkpoint", "1000", "-q"]
    process = start(*arguments, "--model-type", "linear", stdin=subprocess.PIPE)
    assert process.stdin is not None
    data = b"x,text,y\n" + b"".join(b"%d.5,%s,%d.25\n" % (k % 97, b"w" * 100, k % 13) for k in range(rows))

    def feed(pipe: Any) -> None:
        with contextlib.suppress(BrokenPipeError):
            pipe.write(data)
            pipe.flush()

    feeder = threading.Thread(target=feed, args=(process.stdin,), daemon=True)
    feeder.start()
    if rows > 300:
        wait_for(model, process)
    else:
        feeder.join(LIMIT)
        until(lambda: not unread(process.stdin))
        until_idle(process.pid)  # it waits for more
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(LIMIT) == 130
        assert process.stderr is not None
        told = process.stderr.read().decode()
        assert "Traceback" not in told
        assert "Fatal" not in told
        assert model.exists() == (rows > 0)
        if rows:
            assert f"interrupted after {ul.load(model).examples:,} rows" in told
        if rows == 300:
            assert ul.load(model).examples == 300
    finally:
        process.kill()
        process.wait()
        feeder.join(5)
        for pipe in (process.stdout, process.stderr, process.stdin):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]
