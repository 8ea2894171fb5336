"""unitless compare and unitless sweep: typical commands and their output."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest
from oracles.rates import PAPER_RATES

import unitless as ul
from unitless.cli import main

SHUTTLE = str(pathlib.Path(ul.__file__).parent / "paper" / "datasets" / "shuttle.parquet")


def test_a_table_and_a_remark(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", SHUTTLE, "--target", "label", "--rules", "nag,gd"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    header = next(k for k, line in enumerate(lines) if line.startswith("rule"))
    expected = "rule logistic loss since 32,768 error more error 90% interval rate seconds"
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


def test_no_difference_is_stated_in_words(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_those_that_diverge_are_named_and_the_others_go_on(wild: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", wild, "--target", "y", "--no-shuffle"]) == 0
    printed = capsys.readouterr()
    assert f"gd diverged at {wild}, row 102." in printed.out
    assert "ag diverged" in printed.out
    assert main(["compare", wild, "--target", "y", "--rules", "gd,ag", "-q"]) == 1
    assert "every learner diverged" in capsys.readouterr().err


def test_a_line_for_each_rule_and_a_hint_at_the_edge(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", SHUTTLE, "--target", "label", "--rules", "nag,ag", "--rates", "0.01,0.1,1"]) == 0
    printed = capsys.readouterr()
    assert "rates   3 from 0.01 to 1" in printed.out
    lines = {line.split()[0]: line.split() for line in printed.out.splitlines() if line}
    assert lines["nag"][:3] == ["nag", "best", "1"]
    assert lines["ag"][1] == "0.1"
    assert "nag: the best rate is the largest that was tried; a better one may lie above 1." in printed.out
    assert "\nag: the best" not in printed.out
    assert printed.err == ""


def test_every_rate_on_request(prices: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["sweep", prices, "--target", "price", "--rules", "nag,gd"]
    assert main([*command, "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    header = next(k for k, line in enumerate(lines) if "nag loss" in line)
    assert len(lines[header + 1 : lines.index("", header)]) == len(PAPER_RATES)
    assert sum(line.count("*") for line in lines) == 2


def test_json_and_picture_of_rates(prices: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "rates.png"
    command = ["sweep", prices, "--target", "price", "--rates", "0.1,1", "--json", "--plot", str(picture)]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["rules"]) == ["nag", "snag", "ag"]
    assert [row["rate"] for row in found["rules"]["nag"]] == [0.1, 1.0]
    alone = ul.train(
        prices, "price", learning_rate=1.0, model_type="linear", ensemble=False, holdout=0, passes=1
    ).progressive
    assert found["rules"]["nag"][1]["loss"] == pytest.approx(alone["mse"], rel=1e-12)
    assert found["rules"]["nag"][1]["rmse"] == pytest.approx(alone["rmse"], rel=1e-12)
    assert found["best"]["nag"]["rate"] in (0.1, 1.0)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_pipe_of_classes_asks_for_the_classes() -> None:
    data = "x,y\n" + "".join(f"{k % 5},{'abc'[k % 3]}\n" for k in range(300))
    command = [sys.executable, "-m", "unitless", "sweep", "-", "--format", "csv", "--target", "y", "--rates", "0.1,1"]
    refused = subprocess.run(command, input=data, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "can be read only once" in refused.stderr
    taken = subprocess.run([*command, "--classes", "a,b,c"], input=data, capture_output=True, text=True, check=False)
    assert taken.returncode == 0
    assert "nag" in taken.stdout


def test_all_rates_of_all_rules_may_diverge(wild: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", wild, "--target", "y", "--rules", "gd"]) == 1
    printed = capsys.readouterr()
    assert "gd diverged at" in printed.out
    assert "every rate diverged" in printed.err
    assert main(["sweep", wild, "--target", "y", "--rules", "gd,nag"]) == 0


@pytest.mark.parametrize(
    ("command", "arguments", "code", "message"),
    [
        ("compare", ["--learning-rate", "fast"], 2, "--learning-rate is 'fast'"),
        ("compare", ["--ignore", "size"], 2, "there is no column 'size'"),
        (
            "sweep",
            ["--rules", "nag,newton"],
            2,
            "--rules has 'newton', which has no learning rate; a sweep is for 'nag', 'snag'",
        ),
        ("sweep", ["--rates", "fast"], 2, "--rates has 'fast'; it must be numbers"),
        ("sweep", ["--rates", "0,1"], 2, "must be positive"),
        *((command, ["--rules", "sgd"], 2, "rules has 'sgd'") for command in ("compare", "sweep")),
        *((command, ["--plot", "x.gif"], 2, "its name must end in .png") for command in ("compare", "sweep")),
        *((command, ["--task", "binary"], 1, "more than two values") for command in ("compare", "sweep")),
    ],
)
def test_errors_take_one_line(
    prices: str, command: str, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, prices, "--target", "price", *arguments]) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
