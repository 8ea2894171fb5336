"""A growing file is read like `tail -F`: by its name, row by row, until it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sources import command, content, refused, write
from waiting import running

import unitless as ul
from unitless.data import Reader, ReadOptions, open_source

HEADER = "a,b,y\n"


def rows(first: int, last: int) -> str:
    return "".join(f"{k % 13},{k % 7},{k % 13}.25\n" for k in range(first, last))


def append(path: str, text: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> ul.Predictor:
    path = write(tmp_path_factory.mktemp("model") / "t.csv", HEADER + rows(0, 300))
    return ul.Predictor(ul.train(path, "y", model_type="linear"))


def until(count: int) -> Callable[[Any], None]:
    """Press Ctrl-C after this many rows were learned."""
    return lambda run: signal.raise_signal(signal.SIGINT) if run.progress.rows >= count else None


def test_rows_are_predicted_as_they_are_appended(tmp_path: Path, predictor: ul.Predictor) -> None:
    path = write(tmp_path / "log.csv", "a,b\n1,2\n")
    batches = predictor.batches(path, reading=ul.Reading(tail=True))
    found = next(batches).values
    append(path, "3,")
    append(path, "4\n5,6\n7")  # the last row is incomplete
    found += next(batches).values
    append(path, ",6\n")
    found += next(batches).values
    batches.close()
    expected = predictor.predict([{"a": 1, "b": 2}, {"a": 3, "b": 4}, {"a": 5, "b": 6}, {"a": 7, "b": 6}])
    assert found == expected


def test_an_empty_file_is_waited_for(tmp_path: Path, predictor: ul.Predictor) -> None:
    path = write(tmp_path / "log.csv", "")
    asked = []

    def stopped() -> bool:
        asked.append(1)
        if len(asked) == 3:
            append(path, "a,b\n1,2\n")
        return len(asked) > 12

    found = [part.values for part in predictor.batches(path, reading=ul.Reading(tail=True), stopped=stopped)]
    assert found == [predictor.predict([{"a": 1, "b": 2}])]


def test_an_unfinished_last_line_is_not_a_row_when_reading_is_stopped(tmp_path: Path, predictor: ul.Predictor) -> None:
    path = write(tmp_path / "log.csv", "a,b\n1,2\n3,1")
    seen = threading.Event()
    for part in predictor.batches(path, reading=ul.Reading(tail=True), stopped=seen.is_set):
        assert len(part.values) == 1
        seen.set()
    assert seen.is_set()


def test_a_malformed_row_is_reported_when_reading_is_stopped(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", "a,y\n1,2\n3,4\n1,2,3\n")
    options, stop = ReadOptions(target="y", tail=True), threading.Event()
    threading.Timer(0.5, stop.set).start()
    with pytest.raises(ul.InputError, match=r"row 3: it has 3 columns, the header 2"):
        list(Reader(open_source(path, options), options).batches(None, stop.is_set))


def test_a_file_that_was_written_anew_and_is_longer_now_is_another_one(tmp_path: Path, predictor: ul.Predictor) -> None:
    path = write(tmp_path / "log.csv", "a,b\n1,2\n")
    batches = predictor.batches(path, reading=ul.Reading(tail=True))
    next(batches)
    with open(path, "r+b") as file:  # at once: a file that is emptied first may be found empty
        file.write(b"a,b\n3,4\n5,6\n")
    second = next(batches)
    batches.close()
    assert second.batch.note == f"{path} was replaced; it is read again from its beginning"
    assert len(second.values) == 2


@pytest.mark.parametrize("how", ["was replaced", "became shorter"])
def test_a_file_that_is_replaced_or_cut_is_read_again_from_its_beginning(
    how: str, tmp_path: Path, predictor: ul.Predictor
) -> None:
    path = write(tmp_path / "log.csv", "a,b\n1,2\n3,4\n")
    batches = predictor.batches(path, reading=ul.Reading(tail=True))
    first = next(batches)
    if how == "was replaced":  # as `logrotate` does it
        os.rename(path, tmp_path / "log.csv.1")
    write(tmp_path / "log.csv", "b,a\n6,5\n")
    second = next(batches)
    batches.close()
    assert first.batch.note == ""
    assert second.batch.note == f"{path} {how}; it is read again from its beginning"
    assert second.values == predictor.predict([{"a": 5, "b": 6}])
    assert second.batch.place.at(0) == {"file": path, "row": 1}


def test_training_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path, model = write(tmp_path / "log.csv", HEADER + rows(0, 5000)), str(tmp_path / "m.unitless")
    first = ul.train(path, "y", reading=ul.Reading(tail=True), output=model, model_type="linear", progress=until(5000))
    assert (first.rows, first.details.interrupted) == (5000, True)
    append(path, rows(5000, 5200))
    second = ul.train(path, reading=ul.Reading(tail=True), resume=model, output=model, progress=until(5001))
    assert second.rows == 5200
    whole = ul.train(write(tmp_path / "whole.csv", HEADER + rows(0, 5200)), "y", shuffle=False, model_type="linear")
    assert content(ul.load(model)) == content(whole.model)


def test_resuming_with_a_replaced_file_starts_at_its_first_row(tmp_path: Path) -> None:
    path, model = write(tmp_path / "log.csv", HEADER + rows(0, 5000)), str(tmp_path / "m.unitless")
    ul.train(path, "y", reading=ul.Reading(tail=True), output=model, model_type="linear", progress=until(5000))
    write(tmp_path / "log.csv", HEADER + rows(7, 400))
    result = ul.train(path, reading=ul.Reading(tail=True), resume=model, progress=until(5001))
    assert result.rows == 5000 + 393
    said = f"{path} has changed since training stopped; it is read from its beginning"
    assert said in map(str, result.notes)


def test_a_replaced_file_is_reported_after_training(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", HEADER + rows(0, 5000))

    def watch(run: Any) -> None:
        if run.progress.rows == 5000:
            os.remove(path)
            write(tmp_path / "log.csv", HEADER + rows(0, 10))
        until(5001)(run)

    result = ul.train(path, "y", reading=ul.Reading(tail=True), model_type="linear", progress=watch)
    assert result.rows == 5010
    assert f"{path} was replaced; it is read again from its beginning" in map(str, result.notes)


def test_checkpoints_are_written_while_a_file_is_followed(tmp_path: Path) -> None:
    path, model = write(tmp_path / "log.csv", HEADER + rows(0, 5000)), tmp_path / "m.unitless"
    seen = []

    def watch(run: Any) -> None:
        seen.append((run.progress.rows, model.exists()))
        until(5000)(run)

    ul.train(
        path, "y", reading=ul.Reading(tail=True), output=model, checkpoint=2000, model_type="linear", progress=watch
    )
    assert (2000, False) in seen
    assert (4000, True) in seen


def test_the_command_line_follows_until_it_is_interrupted(tmp_path: Path, predictor: ul.Predictor) -> None:
    model, path = str(tmp_path / "m.unitless"), write(tmp_path / "log.csv", "a,b\n1,2\n")
    predictor.model.save(model)
    command = [sys.executable, "-m", "unitless", "predict", model, path, "--tail"]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline(), process.stdout.readline()]
        append(path, "3,4\n")
        lines.append(process.stdout.readline())
        write(tmp_path / "log.csv", "a,b\n5,6\n")
        lines.append(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.splitlines() == [
        f"unitless: {path} became shorter; it is read again from its beginning",
        "unitless: interrupted after 3 rows",
    ]
    expected = predictor.predict([{"a": a, "b": a + 1} for a in (1, 3, 5)])
    assert lines[0] == "prediction\n"
    assert [float(line) for line in lines[1:]] == expected


def test_sources_that_cannot_be_tailed_are_refused(tmp_path: Path) -> None:
    frame = pytest.importorskip("pandas").DataFrame({"a": [1.0, 2.0], "y": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv.gz", index=False)
    with pytest.raises(ul.OptionError, match=r"tail=True is for csv, tsv, jsonl, vw or libsvm; the data is parquet"):
        ul.train(tmp_path / "a.parquet", "y", reading=ul.Reading(tail=True))
    with pytest.raises(ul.OptionError, match="tail is for plain text files on this machine"):
        ul.train(tmp_path / "a.csv.gz", "y", reading=ul.Reading(tail=True))
    with pytest.raises(ul.OptionError, match="tail is for files, which grow while they are read"):
        ul.train(frame, "y", reading=ul.Reading(tail=True))
    with pytest.raises(
        ul.OptionError, match=r"learned in its order, which cannot be done in parts: leave out cluster, or .* tail"
    ):
        ul.train(
            write(tmp_path / "a.csv", HEADER + rows(0, 9)),
            "y",
            reading=ul.Reading(tail=True),
            cluster=ul.Cluster(workers=2),
        )
    message = refused(command("train", str(tmp_path / "a.parquet"), "--target", "y", "--tail"), 2)
    assert "--tail is for csv, tsv, jsonl, vw or libsvm; the data is parquet" in message
