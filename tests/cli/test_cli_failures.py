"""What becomes of errors at the command line: one message, an exit code, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from unitless.cli import failures


@pytest.mark.parametrize(("code", "said"), [(None, 0), (0, 0), (1, 1), (3, 3), (True, 1)])
def test_an_exit_keeps_its_code(code: int | None, said: int) -> None:
    def stop() -> int:
        raise SystemExit(code)

    assert failures.answered(stop) == said


def test_an_exit_with_a_text_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    def stop() -> int:
        raise SystemExit("the disk is on fire")

    assert failures.answered(stop) == 1
    assert capsys.readouterr().err == "unitless: the disk is on fire\n"


@pytest.mark.parametrize("how", ["raise BrokenPipeError(errno.EPIPE, 'gone')", "sys.exit(1)"])
def test_output_that_nobody_reads_any_more_is_no_failure(how: str) -> None:
    script = f"""
import errno, sys
from unitless.cli import failures
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
    command = f"{sys.executable} -m unitless train --help | head -1 > {os.devnull}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("column 'model=golf' has no value (missing='absent' allows that)", None),
        ('the value of feature "loss=3" is not finite', 'the value of feature "loss=3" is not finite'),
        ("correct it, or skip such rows (on_error='skip')", "correct it, or skip such rows (--on-error skip)"),
        (
            "the model's columns are 'bits=2'; use inputs='matrix'",
            "the model's columns are 'bits=2'; use --inputs matrix",
        ),
    ],
)
def test_what_users_call_their_features_is_not_taken_for_an_option(message: str, shown: str | None) -> None:
    expected = shown or "column 'model=golf' has no value (--missing absent allows that)"
    assert failures.as_options(message) == expected
