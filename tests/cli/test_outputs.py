"""No command overwrites its input, whatever path is used for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sources import cli, refused, train, write

from unitless.cli import main

CSV = "a,b,y\n" + "".join(f"{k % 13},{k % 7},{k * k % 17}.25\n" for k in range(100))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder d with a.csv and b.csv, and models of them; further names of the first file of each kind."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "d" / "a.csv", CSV)
    write(tmp_path / "d" / "b.csv", CSV)
    for name in ("m", "n"):
        train("d/a.csv", "y", output=f"{name}.unitless")
    os.symlink("d/a.csv", "link.csv")
    os.link("d/a.csv", "hard.csv")
    os.link("m.unitless", "hard.unitless")
    os.symlink("d/a.csv", "link.svg")
    os.symlink("d/a.csv", "link.html")
    os.link("m.unitless", "model.html")
    os.link("m.unitless", "model.csv")
    os.link("m.unitless", "model.svg")
    return tmp_path


TARGET = ("--target", "y")


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "m.unitless", "d/*.csv", "--output", "d/a.csv"),
        ("predict", "m.unitless", "d", "--output", "d/b.csv"),
        ("predict", "m.unitless", "d/b.csv", "d/a.csv", "--output", "hard.csv"),
        ("predict", "m.unitless", "d", "--output", "link.csv"),
        ("predict", "m.unitless", "link.csv", "--output", "d/a.csv"),
        ("predict", "m.unitless", "d", "--output", "model.csv"),
        ("evaluate", "m.unitless", "d", "--plot", "link.svg"),
        ("evaluate", "m.unitless", "d/a.csv", "--plot", "model.svg"),
        ("convert", "d/*.csv", "d/a.csv"),
        ("convert", "d", "link.csv"),
        ("convert", "d", "d/b.csv", "--to", "jsonl"),
        ("convert", "d/a.csv", "hard.csv"),
        ("convert", "m.unitless", "hard.unitless", "--to", "json"),
        ("train", "d", *TARGET, "--output", "hard.csv"),
        ("train", "d/*.csv", *TARGET, "--output", "link.csv"),
        ("train", "d", *TARGET, "--plot", "link.svg"),
        ("train", "d", *TARGET, "--report", "link.html"),
        ("train", "d", "--resume", "m.unitless", "--report", "model.html"),
        ("compare", "d", *TARGET, "--plot", "link.svg"),
        ("sweep", "d", *TARGET, "--rates", "0.1", "--plot", "link.svg"),
        ("merge", "m.unitless", "n.unitless", "--output", "hard.unitless"),
        ("merge", "n.unitless", "--base", "m.unitless", "--output", "m.unitless"),
    ],
    ids=" ".join,
)
def test_no_input_file_is_overwritten(
    folder: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(list(arguments)) == 2
    message = capsys.readouterr().err
    assert "would be written over" in message
    assert message.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "command", [("predict", "m.unitless", "-", "-o"), ("convert", "-"), ("train", "-", "--output")]
)
def test_nothing_is_written_over_the_file_that_is_the_standard_input(folder: Path, command: tuple[str, ...]) -> None:
    more = ["--target", "y"] if command[0] == "train" else []
    with open("d/a.csv", "rb") as file:
        run = subprocess.run(
            [sys.executable, "-m", "unitless", *command, "hard.csv", "--format", "csv", *more],
            stdin=file,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert "would be written over the data" in refused(run, 2)
    assert (folder / "d" / "a.csv").read_text() == CSV


def test_a_pipe_that_is_converted_is_read_from_its_beginning(folder: Path) -> None:
    run = cli("convert", "/dev/stdin", "out.jsonl", "--format", "csv", stdin=CSV.encode())
    assert run.returncode == 0, run.stderr
    assert (folder / "out.jsonl").read_text().count("\n") == 100


def test_a_picture_is_not_written_over_the_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.symlink(folder / "d", folder / "same")
    for plot in ("d/one.svg", "same/one.svg"):
        assert main(["train", "d/a.csv", "--target", "y", "--output", "d/one.svg", "--plot", plot]) == 2
        assert "the picture would be written over the model" in capsys.readouterr().err
        assert not (folder / "d" / "one.svg").exists()
