"""unitless predict: one line per row, in order, with the numbers of the library."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from waiting import running

import unitless as ul
from unitless.cli import main
from unitless.data import ReadOptions, open_source
from unitless.data.columns.table_schema import infer_schema
from unitless.data.columns.tables import with_types

Capture = pytest.CaptureFixture[str]


def people(path: pathlib.Path, rows: int = 300, classes: int = 2) -> None:
    rng = np.random.default_rng(0)
    lines = ["id,age,job,answer"]
    for i in range(rows):
        age, job = int(rng.integers(20, 70)), ["clerk", "pilot", "cook, head"][int(rng.integers(3))]
        answer = "yes" if age > 45 and job == "pilot" else "no" if classes == 2 or age < 30 else "may be"
        lines.append(f'{i:04d},{age}.5,"{job}",{answer}')
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A file of people, and a model of it."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:  # outputs show file names as they were given
        patch.chdir(folder)
        people(pathlib.Path("people.csv"))
        ul.train("people.csv", "answer", reading=ul.Reading(ignore="id"), output="people.unitless")
    return folder


def said(capsys: Capture, *arguments: str, code: int = 0) -> tuple[list[str], str]:
    capsys.readouterr()
    assert main(["predict", *arguments]) == code
    out, err = capsys.readouterr()
    return out.splitlines(), err


def test_predict_prints_one_line_per_row_as_the_library_predicts(folder: pathlib.Path, capsys: Capture) -> None:
    lines, err = said(capsys, "people.unitless", "people.csv")
    parts = ul.Predictor(ul.load("people.unitless")).batches("people.csv")
    assert lines == ["prediction", *(value for part in parts for value in part.values)]
    assert err == ""


@pytest.mark.parametrize("task", ["binary", "classes", "regression"])
def test_numbers_read_back_the_same(folder: pathlib.Path, capsys: Capture, task: str) -> None:
    people(folder / "data.csv", classes=3 if task == "classes" else 2)
    target, ignored = ("age", "id") if task == "regression" else ("answer", "id")
    result = ul.train("data.csv", target, reading=ul.Reading(ignore=ignored), output="m.unitless")
    arguments = ["--scores"] if task == "regression" else ["--scores", "--probabilities"]
    lines, _ = said(capsys, "m.unitless", "data.csv", *arguments)
    read = pyarrow.csv.read_csv(pyarrow.BufferReader("\n".join(lines).encode()))
    part = next(ul.Predictor(result.model).batches("data.csv"))
    names = [name for name in read.column_names if name.startswith("score")]
    assert np.array_equal(np.column_stack([read[name] for name in names]).reshape(part.scores.shape), part.scores)
    assert read["prediction"].to_pylist() == part.values
    if part.probabilities is not None:
        assert [f"probability_{name}" for name in result.predictor.classes] == read.column_names[
            1 : 1 + len(result.predictor.classes)
        ]
        assert np.array_equal(
            np.column_stack([read[f"probability_{c}"] for c in result.predictor.classes]), part.probabilities
        )


def test_rows_that_cannot_be_read_have_no_prediction(folder: pathlib.Path, capsys: Capture) -> None:
    (folder / "bad.csv").write_text("id,age,job\n1,50,pilot\n2,old,pilot\n3,4\n4,inf,pilot\n5,50,pilot\n")
    lines, err = said(capsys, "people.unitless", "bad.csv", "--on-error", "skip")
    assert lines[:2] == ["prediction", "yes"]
    assert lines[3:] == ['""', '""', "yes"]
    assert "2 of 5 rows have no prediction" in err
    assert (
        "note: column 'age': 'old' in row 2 of bad.csv is not a number that can be used, and is treated as missing"
        in err
    )
    lines, _ = said(capsys, "people.unitless", "bad.csv", "--on-error", "skip", "--keep")
    assert [lines[1], *lines[3:]] == ["1,50,pilot,yes", ",,,", "4,inf,pilot,", "5,50,pilot,yes"]
    assert lines[2].startswith("2,old,pilot,")
    _, err = said(capsys, "people.unitless", "bad.csv", code=1)
    assert "bad.csv, row 3: it has 2 columns" in err
    assert "--on-error skip" in err


def test_many_bad_lines_of_text_keep_their_places(folder: pathlib.Path, capsys: Capture) -> None:
    (folder / "a.vw").write_text("".join(f"{1 if i % 2 else -1} | x:{i % 2}\n" for i in range(100)))
    ul.train("a.vw", output="vw.unitless")
    (folder / "b.vw").write_text("oops\n" * 1500 + "\n| x:1\n" + "oops\n" * 1500 + "| x:0\n")
    lines, err = said(capsys, "vw.unitless", "b.vw", "--on-error", "skip")
    assert lines == ["prediction", *['""'] * 1500, "1", *['""'] * 1500, "-1"]
    assert "3,000 of 3,002 rows" in err


def test_tags_are_a_column(folder: pathlib.Path, capsys: Capture) -> None:
    (folder / "a.vw").write_text("".join(f"{1 if i % 2 else -1} 't{i}| x:{i % 2}\n" for i in range(100)))
    ul.train("a.vw", output="vw.unitless")
    assert said(capsys, "vw.unitless", "a.vw")[0][:3] == ["tag,prediction", "t0,-1", "t1,1"]
    _, err = said(capsys, "vw.unitless", "a.vw", "--keep", code=2)
    assert "no columns to keep" in err


def test_the_target_is_neither_needed_nor_looked_at(folder: pathlib.Path, capsys: Capture) -> None:
    whole, _ = said(capsys, "people.unitless", "people.csv")
    text = (folder / "people.csv").read_text().splitlines()
    (folder / "without.csv").write_text("\n".join(line.rsplit(",", 1)[0] for line in text))
    (folder / "strange.csv").write_text("\n".join([text[0], *(line.rsplit(",", 1)[0] + ",?" for line in text[1:])]))
    assert said(capsys, "people.unitless", "without.csv")[0] == whole
    assert said(capsys, "people.unitless", "strange.csv")[0] == whole


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "jsonl", "jsonl.zst", "parquet", "arrow"])
def test_every_output_format_has_the_same_rows(folder: pathlib.Path, capsys: Capture, suffix: str) -> None:
    name = f"out.{suffix}"
    said(capsys, "people.unitless", "people.csv", "--keep", "-p", "--output", name)
    lines, _ = said(capsys, "people.unitless", "people.csv", "--keep", "-p")
    chunks = open_source(name, ReadOptions(text=("id",))).open().chunks()
    table = pyarrow.concat_tables([chunk.content for chunk in chunks])
    options = ReadOptions(text=("id",))
    table = with_types(table, infer_schema(table, options, name, False, leave_out=False))
    expected = pyarrow.csv.read_csv(
        pyarrow.BufferReader("\n".join(lines).encode()),
        convert_options=pyarrow.csv.ConvertOptions(column_types={"id": pyarrow.string()}),
    )
    assert table.to_pylist() == expected.to_pylist()
    assert [entry for entry in os.listdir() if entry.startswith(".unitless")] == []


def test_json_lines_are_json(folder: pathlib.Path, capsys: Capture) -> None:
    lines, _ = said(capsys, "people.unitless", "people.csv", "--keep", "--format-out", "jsonl")
    assert json.loads(lines[0]).keys() == {"id", "age", "job", "answer", "prediction"}


def test_after_an_error_no_file_is_left(folder: pathlib.Path, capsys: Capture) -> None:
    text = (folder / "people.csv").read_text()
    (folder / "late.csv").write_text(text + "9999,4,pilot,yes,5\n")
    before = sorted(os.listdir())
    said(capsys, "people.unitless", "late.csv", "-o", "out.csv", code=1)
    assert sorted(os.listdir()) == before
    _, err = said(capsys, "people.unitless", "people.csv", "-o", "nowhere/out.csv", code=1)
    assert "nowhere/out.csv: cannot write it" in err
    if os.path.exists("/dev/full"):
        _, err = said(capsys, "people.unitless", "people.csv", "-o", "/dev/full", code=1)
        assert "No space left" in err


def test_a_reader_that_stops_is_no_error(folder: pathlib.Path) -> None:
    with open("long.csv", "w") as file:
        file.write("age,job\n" + "30,pilot\n" * 300_000)
    command = [sys.executable, "-m", "unitless", "predict", "people.unitless", "long.csv"]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"prediction\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_options_that_cannot_be_are_refused(folder: pathlib.Path, capsys: Capture) -> None:
    ul.train("people.csv", "age", reading=ul.Reading(ignore="id"), output="ages.unitless")
    assert "--probabilities" in said(capsys, "ages.unitless", "people.csv", "-p", code=2)[1]
    assert "--format-out is 'xml'" in said(capsys, "people.unitless", "people.csv", "--format-out", "xml", code=2)[1]
    (folder / "own.csv").write_text("age,job,prediction\n30,pilot,1\n")
    assert "already has a column 'prediction'" in said(capsys, "people.unitless", "own.csv", "--keep", code=2)[1]
    library = ul.Learner()
    library.learn([[1.0]], [1.0])
    library.save("library.unitless")
    assert "not made by train" in said(capsys, "library.unitless", "people.csv", code=2)[1]
    assert "there is no file 'none'" in said(capsys, "none", "people.csv", code=1)[1]
    swapped = said(capsys, "people.csv", "people.unitless", code=1)[1]
    assert "or it is damaged; the model comes first: unitless predict MODEL DATA\n" in swapped


def test_extrapolation_continues_beyond_the_training_range(folder: pathlib.Path, capsys: Capture) -> None:
    (folder / "line.csv").write_text("x,y\n" + "".join(f"{i % 50},{2 * (i % 50)}\n" for i in range(2000)))
    ul.train("line.csv", "y", output="line.unitless", model_type="linear", ensemble=False)
    (folder / "far.csv").write_text("x\n1000\n")
    within = float(said(capsys, "line.unitless", "far.csv")[0][1])
    beyond = float(said(capsys, "line.unitless", "far.csv", "--extrapolate")[0][1])
    assert within <= 98
    assert beyond == pytest.approx(2000, rel=0.05)


def test_predictions_need_an_output_name_of_their_own_with_a_known_suffix(
    folder: pathlib.Path, capsys: Capture
) -> None:
    before = (folder / "people.csv").read_bytes()
    _, err = said(capsys, "people.unitless", "people.csv", "--output", "people.csv", code=2)
    assert "over the data" in err
    assert (folder / "people.csv").read_bytes() == before
    _, err = said(capsys, "people.unitless", "people.csv", "--output", "people.xlsx", code=2)
    assert "--format-out" in err
    assert not (folder / "people.xlsx").exists()


def test_rows_of_another_table_are_refused_in_every_format(folder: pathlib.Path, capsys: Capture) -> None:
    (folder / "other.jsonl").write_text('{"colour": "red"}\n{"colour": "blue"}\n')
    (folder / "other.csv").write_text("colour\nred\nblue\n")
    for name in ("other.jsonl", "other.csv"):
        lines, err = said(capsys, "people.unitless", name, code=1)
        assert lines == []
        assert name in err
        assert "that the model needs" in err or "which the model needs" in err


def test_a_terminal_shows_six_digits_and_a_pipe_all_of_them(
    folder: pathlib.Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = [float(line.split(",")[1]) for line in said(capsys, "people.unitless", "people.csv", "-p")[0][1:]]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    shown = [line.split(",")[1] for line in said(capsys, "people.unitless", "people.csv", "-p")[0][1:]]
    assert [float(cell) for cell in shown] == [float(f"{value:.6g}") for value in piped]
    assert any(float(cell) != value for cell, value in zip(shown, piped, strict=True))
