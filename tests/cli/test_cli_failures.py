"""Errors at the command line: one message, an exit code, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import unitless as ul
from unitless.cli import failures, main
from unitless.errors import Option, Phrase


@pytest.mark.parametrize(("code", "said"), [(None, 0), (0, 0), (1, 1), (3, 3), (True, 1)])
def test_an_exit_keeps_its_code(code: int | None, said: int) -> None:
    def stop() -> int:
        raise SystemExit(code)

    assert failures.answered(stop) == said


def test_an_exit_with_a_text_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    def stop() -> int:
        raise SystemExit("the disk is on fire")

    assert failures.answered(stop) == 1
    assert capsys.readouterr().err == "unitless: the disk is on fire\n"


@pytest.mark.parametrize("how", ["raise BrokenPipeError(errno.EPIPE, 'gone')", "sys.exit(1)"])
def test_a_closed_output_pipe_is_not_a_failure(how: str) -> None:
    script = f"""
import errno, sys
from unitless.cli import failures, main
from unitless.errors import Option, Phrase
def work():
    try:
        raise BrokenPipeError(errno.EPIPE, "gone")
    except OSError:
        {how}
sys.exit(failures.answered(work))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reader_that_stops_early_is_no_failure() -> None:
    command = f"'{sys.executable}' -m unitless train --help | head -1 > {os.devnull}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        (Option("on_error", "skip"), "--on-error skip"),
        (Option("learning_rate"), "--learning-rate"),
        (Option("learning_rate", "auto"), "--learning-rate auto"),
        (Option("header", False), "--no-header"),
        (Option("center", False), "--no-center"),
        (Option("zero_based", True), "--zero-based"),
        (Option("inputs", "matrix"), "--inputs matrix"),
        (Option("infer_columns", True), "infer_columns=True"),  # the command line has no such option
        (Option("importance_aware", False), "--no-importance-aware"),
        (Option("clip", "labels"), "--clip labels"),
        (Option("center", True), "--center"),
    ],
)
def test_options_are_written_as_the_command_line_has_them(option: Option, shown: str) -> None:
    assert failures.flag(option) == shown


def test_feature_names_are_not_mistaken_for_options(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise ul.InputError(
            "column 'model=golf' is on_error='skip'", advice=Phrase("use ", Option("on_error", "skip")), file="a.csv"
        )

    assert failures.answered(fail) == 1
    assert capsys.readouterr().err == ("unitless: a.csv: column 'model=golf' is on_error='skip'; use --on-error skip\n")


@pytest.mark.parametrize("words", [["train", "a.vw", "--loss_function", "logistic"], ["train", "-d", "a.vw"]])
def test_options_of_vowpal_wabbit_are_answered_with_their_page(words: list[str], capsys: Any) -> None:
    assert main(words) == 2
    assert "docs/reference/vowpal-wabbit-options.md" in capsys.readouterr().err


def test_a_command_that_people_look_for_is_answered_with_where_it_is(capsys: Any) -> None:
    assert main(["explain", "m.unitless"]) == 2
    assert "Try: unitless inspect MODEL --explain" in capsys.readouterr().err
    assert main(["score", "m.unitless", "a.csv"]) == 2
    assert "compare" not in (answer := capsys.readouterr().err)
    assert "Try: unitless evaluate MODEL DATA" in answer
