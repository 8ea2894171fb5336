"""The command line's messages for common mistakes of new users."""

from __future__ import annotations

import contextlib
import io
import math
import pathlib
from types import SimpleNamespace
from typing import Any

import pytest

import unitless as ul
from unitless.cli import display, main
from unitless.training import summary

Capture = pytest.CaptureFixture[str]
FILES = {
    "plain.csv": "a,job,Price\n1,clerk,2.5\n2,cook,3.5\n3,cook,1.5\n",
    "spaces.csv": "a b y\n1 2 3\n2 3 4\n",
    "headless.csv": "5,0,0,High\n6,0,1,Low\n7,1,1,High\n",
    "dates.csv": "day,y\n2020-01-01,1\n2020-01-02,2\n",
}


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.csv").write_bytes(b"a,b,y\n1,caf\x81\xff,3\n4,5,6\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (["train", "plain.csv", "--target", "A"], 2, "--target: there is no column 'A'; did you mean 'a'?"),
        (
            ["train", "spaces.csv", "--target", "y"],
            2,
            "there is only 'a b y'; if these are several columns, name the character between them (--delimiter)",
        ),
        (
            ["train", "headless.csv", "--target", "4", "--header"],
            1,
            "two columns named '0'; rename one, or use --no-header if the first row is not a row of names",
        ),
        (
            ["train", "headless.csv", "--target", "y"],
            2,
            "--target: there is no column 'y': the file seems to have no header row, so that its columns are called 1 "
            "to 4; use --header if it has one",
        ),
        (["train", "latin.csv", "--target", "y"], 1, "unitless: latin.csv: this is not valid UTF-8; if it has another"),
        (["train", "latin.csv", "--target", "y"], 1, "(for example --encoding latin-1)"),
        (["train", "dates.csv", "--target", "y", "--dates", "error"], 1, "leave it out (--ignore day)"),
        (["train", "dates.csv", "--target", "y", "--dates", "error"], 1, "treat it as text (--text day)"),
        (["train", "plain.csv", "--target", "Price", "--weight", "job"], 1, "are not numbers but text"),
        (["train", "plain.csv", "--target", "Price", "--format", "cvs"], 2, "it must be one of 'csv', 'tsv'"),
        (
            ["train", "plain.csv", "--target", "Price", "--bits", "99"],
            2,
            "--bits is 99; it must be a whole number from 1",
        ),
        (["train", "plain.csv", "--target", "Price", "--seed", "x"], 2, "'--seed': it must be a whole number\n"),
        (
            ["train", "plain.csv", "--target", "Price", "--holdout", "x"],
            2,
            "--holdout is 'x'; it must be a fraction of the rows, or last\n",
        ),
        (["sweep", "plain.csv", "--target", "Price", "--rates", "1,fast"], 2, "--rates has 'fast'; it must be numbers"),
        (["sweep", "plain.csv", "--target", "Price", "--rates", "1,-1"], 2, "--rates has -1; a rate must be positive"),
        (["train", "plain.csv", "--shape", "linear"], 2, "No such option: --shape. Did you mean --model-type?\n"),
        (["train", "plain.csv", "--experts", "no"], 2, "No such option: --experts. Did you mean --ensemble/--no-"),
        (["train", "plain.csv", "--rate", "1"], 2, "No such option: --rate. Did you mean --learning-rate?\n"),
        (["train", "plain.csv", "--model", "m"], 2, "No such option: --model. Did you mean --output?\n"),
        (["train", "plain.csv", "--centre"], 2, "No such option: --centre. Did you mean --center/--no-center?\n"),
        (["serve", "--new", "prices"], 2, "No such option: --new. Did you mean --create?\n"),
        (["paper", "tabel"], 2, "Invalid value for 'what': 'tabel' is not one of 'all'"),
    ],
)
def test_a_mistake_is_answered_in_the_words_of_the_command_line(
    folder: pathlib.Path, capsys: Capture, given: list[str], code: int, message: str
) -> None:
    assert main(given) == code
    said = capsys.readouterr().err
    assert message in said
    assert "None" not in said


def test_the_program_alone_prints_its_help(capsys: Capture) -> None:
    assert main([]) == 0
    assert "Understand a model" in capsys.readouterr().out


def test_python_prints_a_result_as_the_command_does(folder: pathlib.Path, capsys: Capture) -> None:
    (folder / "line.csv").write_text("x,y\n" + "".join(f"{k % 50},{k % 50 + k % 3}\n" for k in range(300)))
    result = ul.train("line.csv", "y", model_type="linear")
    assert main(["train", "line.csv", "-t", "y", "--model-type", "linear", "--quiet", "-o", "m"]) == 0
    printed = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(("time ", "output "))]
    own = [line for line in str(result).splitlines() if not line.startswith("time ")]
    flags = {"header=False": "--no-header", "ignore='x'": "--ignore x"}
    for option, flag in flags.items():
        own = [line.replace(option, flag) for line in own]
    assert own == printed
    assert "\n" not in repr(result)


def test_explaining_needs_names_and_values(folder: pathlib.Path, capsys: Capture) -> None:
    ul.train("plain.csv", "Price", output="a.unitless")
    assert main(["inspect", "a.unitless", "--explain", "[1]"]) == 1
    assert 'the row is of type list; it must have names and values, such as {"age": 31}' in capsys.readouterr().err
    assert main(["inspect", "a.unitless", "--class", "cook"]) == 2
    assert "--class is for models of several classes; this model has one set" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("passes", "interrupted", "rows", "after"),
    [
        (1, False, "100 rows, in their own order", ""),
        (4, False, "100 rows, in their own order, 4 passes", ""),
        (0, True, "100 rows, in their own order", ""),
        (2, True, "90 rows, interrupted in pass 3, in their own order", " of pass 3"),
    ],
)
def test_an_interruption_in_a_later_pass_names_the_pass(passes: int, interrupted: bool, rows: str, after: str) -> None:
    counts = {"learned": 90, "held_out": 0, "unlabeled": 0, "skipped": 0}
    details = SimpleNamespace(**counts, shuffled="", fitted=False, interrupted=interrupted)
    outcome: Any = SimpleNamespace(rows=100, passes=passes, details=details)
    assert summary.rows(outcome) == rows
    assert not interrupted or display.of_pass(outcome) == after


def test_a_terminal_without_a_character_gets_its_number(folder: pathlib.Path) -> None:
    (folder / "names.csv").write_text("a,job,y\n" + "1,łó,2\n2,x,3\n" * 20, encoding="utf-8")
    out = io.TextIOWrapper(io.BytesIO(), "latin-1", write_through=True)
    with contextlib.redirect_stdout(out):
        assert main(["train", "names.csv", "--target", "y", "--output", "m", "--quiet"]) == 0
        assert main(["inspect", "m", "--all"]) == 0
    assert "job=\\u0142ó" in out.buffer.getvalue().decode("latin-1")  # type: ignore[attr-defined]


def test_progress_shows_the_root_of_the_squared_loss(tmp_path: pathlib.Path, capsys: Capture) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("x,y\n" + "".join(f"{k % 7},{100 * (k % 7) + 0.5}\n" for k in range(64)))
    assert main(["train", str(path), "--target", "y", "--no-shuffle"]) == 0
    printed = capsys.readouterr().err.splitlines()[1:]
    assert printed[0].split() == ["RMSE", "since", "last", "examples"]
    losses = [moment.loss for moment in ul.train(str(path), "y", shuffle=False).details.history]
    assert [line.split()[0] for line in printed[1:]] == [display.number(math.sqrt(loss)) for loss in losses]
