"""unitless compare: what people type, and what they see."""

from __future__ import annotations

import json
import pathlib

import pytest

import unitless as ul
from unitless.cli import main

SHUTTLE = str(pathlib.Path(ul.__file__).parent / "paper" / "datasets" / "shuttle.parquet")


@pytest.fixture
def prices(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "prices.csv"
    rows = (f"{20 + k % 40},{'villa' if k % 3 else 'hut'},{1000 * (k % 40) + 500 * (k % 3)}" for k in range(3000))
    path.write_text("\n".join(["area,kind,price", *rows]) + "\n")
    return str(path)


def test_a_table_and_a_remark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", SHUTTLE, "--target", "label", "--rules", "nag,gd"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    header = next(k for k, line in enumerate(lines) if line.startswith("rule"))
    expected = "rule loss since 32,768 error more error 90% interval rate seconds"
    assert lines[header].split() == expected.split()
    assert lines[header + 1].startswith("nag   best")
    assert lines[header + 2].startswith("gd    worse")
    assert "nag is clearly better than gd." in printed.out
    assert "32,768" in printed.err
    assert f"{ul.train(SHUTTLE, 'label', holdout=0, ensemble=False).progressive['error_rate']:.2%}" in lines[header + 1]


def test_numbers_have_an_rmse_and_a_hold_out(prices: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", prices, "--target", "price", "--holdout", "0.2", "--learning-rate", "0.5", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "RMSE" in printed.out
    assert "held out" in printed.out


def test_no_difference_is_said_in_words(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "coins.csv"
    path.write_text("\n".join(["side,won", *(f"{k % 2},{'yes' if k * k % 1009 < 500 else 'no'}" for k in range(900))]))
    assert main(["compare", str(path), "--target", "won", "--rules", "nag,ng", "--judged-by", "loss", "-q"]) == 0
    printed = capsys.readouterr().out
    assert "No difference found between" in printed
    assert "more loss" in printed
    assert main(["compare", str(path), "--target", "won", "--judged-by", "auc", "-q"]) == 2
    assert "--judged-by is 'auc'" in capsys.readouterr().err


def test_json_and_picture(prices: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "learners.png"
    command = ["compare", prices, "--target", "price", "--rules", "nag", "--rules", "ag", "--json"]
    assert main([*command, "--plot", str(picture)]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert [one["rule"] for one in found["learners"]] == ["nag", "ag"]
    assert found["learners"][0]["metrics"] == ul.train(prices, "price", holdout=0, passes=1, ensemble=False).progressive
    assert printed.err == ""
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_those_that_diverge_are_named_and_the_others_go_on(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wild.csv"
    path.write_text("\n".join(["x,y", *(f"{k % 9}{'e250' if k > 100 else ''},{k % 9 + 0.5}" for k in range(200))]))
    assert main(["compare", str(path), "--target", "y", "--no-shuffle"]) == 0
    printed = capsys.readouterr()
    assert f"gd diverged at {path}, row 102." in printed.out
    assert "ag diverged" in printed.out
    assert main(["compare", str(path), "--target", "y", "--rules", "gd,ag", "-q"]) == 1
    assert "every learner diverged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--rules", "sgd"], 2, "rules has 'sgd'"),
        (["--learning-rate", "fast"], 2, "--learning-rate is 'fast'"),
        (["--plot", "x.gif"], 2, "its name must end in .png"),
        (["--task", "binary"], 1, "more than two values"),
        (["--ignore", "size"], 2, "there is no column 'size'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    prices: str, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", prices, "--target", "price", *arguments]) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
