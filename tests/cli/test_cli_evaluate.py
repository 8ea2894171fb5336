"""unitless evaluate: typical commands and their output."""

from __future__ import annotations

import json
import pathlib

import pytest
from sources import cli, command, refused

import unitless as ul
from unitless.cli import main


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Files of houses, some with another kind of column, and models of them."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:  # outputs show file names as they were given
        patch.chdir(folder)
        rows = [
            (20 + k % 40, "villa" if k % 3 else "hut", 1000 * (k % 40) + 700 * (k % 3) + k % 7) for k in range(3000)
        ]
        lines = [f"{area},{kind},{price},{'yes' if price > 20_000 else 'no'}" for area, kind, price in rows]
        pathlib.Path("houses.csv").write_text("\n".join(["area,kind,price,dear", *lines]) + "\n")
        ul.train("houses.csv", "price", reading=ul.Reading(ignore="dear"), output="price.unitless")
        ul.train("houses.csv", "dear", reading=ul.Reading(ignore="price"), output="dear.unitless")
    return folder


def test_two_classes(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "dear.unitless", "houses.csv", "--by", "kind"]) == 0
    printed = capsys.readouterr()
    found = ul.evaluate("dear.unitless", "houses.csv", by="kind")
    assert printed.err == ""
    assert f"{1 - found.metrics['error_rate']:.2%} (90% confidence interval" in printed.out
    assert (
        f" (always predict {found._baseline_answer!r}); the model's error is {found.skill:.2%} below the baseline's\n"
        in printed.out
    )
    assert "3,000 rows evaluated" in printed.out
    for name in ("precision", "recall", "F1", "AUC", "Brier score"):
        assert f"{name} " in printed.out
    lines = [line.split() for line in printed.out.splitlines()]
    assert ["class", "share", "precision", "recall"] in lines
    assert ["kind", "rows", "error", "rate", "90%", "confidence", "interval", "AUC", "log", "loss"] in lines
    assert any(line[:2] == ["villa", "2,000"] for line in lines)


def test_numbers(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "price.unitless", "houses.csv", "--by", "dear", "--plot", "score.png"]) == 0
    printed = capsys.readouterr().out
    assert "baseline  RMSE" in printed
    assert "R²" in printed
    assert "dear" in printed
    assert (folder / "score.png").read_bytes().startswith(b"\x89PNG")


def test_json(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "price.unitless", "houses.csv", "--json", "--by", "kind"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    expected = ul.evaluate("price.unitless", "houses.csv").metrics
    assert found["metrics"] == pytest.approx(expected)
    assert [one["group"] for one in found["groups"]] == ["villa", "hut"]
    assert printed.err == ""


def test_skipped_rows_and_unknown_classes_are_reported(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open("houses.csv", "a") as file:
        file.write("30,hut,5,\n30,hut,5,maybe\n")
        file.write("inf,hut,5,yes\n30,hut\n")
    assert main(["evaluate", "dear.unitless", "houses.csv"]) == 1
    assert "houses.csv, row 3004" in capsys.readouterr().err
    assert main(["evaluate", "dear.unitless", "houses.csv", "--on-error", "skip"]) == 0
    printed = capsys.readouterr()
    assert "3,002 rows evaluated, 1 without label, 1 skipped" in printed.out
    assert "- skipped: houses.csv, row 3004" in printed.out
    assert (
        "column 'area': 'inf' in row 3,003 of houses.csv is not a number that can be used, and is treated"
        in printed.out
    )
    assert "- 1 row of classes that the model does not know ('maybe') counts as wrong" in printed.out


def test_a_pipe_is_scored(folder: pathlib.Path) -> None:
    data = (folder / "houses.csv").read_bytes()
    run = cli("evaluate", "price.unitless", "-", "--format", "csv", "--json", stdin=data)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["metrics"] == pytest.approx(ul.evaluate("price.unitless", "houses.csv").metrics)
    assert "no column 'colour'" in refused(command("evaluate", "price.unitless", "houses.csv", "--by", "colour"), 2)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["houses.csv", "--plot", "x.gif"], 2, "its name must end in .png"),
        (["houses.csv", "--target", "cost"], 1, "no column 'cost'"),
        (["nothing.csv"], 1, "there is no file"),
        (["houses.csv", "--on-error", "ignore"], 2, "--on-error is 'ignore'"),
        (["houses.csv", "--weight", "area", "--no-weight"], 2, "exclude each other"),
        (["houses.csv", "--weight", "kind"], 1, "are not numbers but text, such as"),
    ],
)
def test_errors_take_one_line(
    folder: pathlib.Path, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "price.unitless", *arguments]) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
