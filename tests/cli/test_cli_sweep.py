"""unitless sweep: what people type, and what they see."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

import unitless as ul
from unitless.cli import main
from unitless.rates import rate_grid

SHUTTLE = str(pathlib.Path(ul.__file__).parent / "paper" / "datasets" / "shuttle.parquet")


@pytest.fixture
def prices(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "prices.csv"
    rows = (f"{20 + k % 40},{'villa' if k % 3 else 'hut'},{1000 * (k % 40) + 500 * (k % 3)}" for k in range(3000))
    path.write_text("\n".join(["area,kind,price", *rows]) + "\n")
    return str(path)


def test_a_line_for_each_rule_and_a_hint_at_the_edge(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", SHUTTLE, "--target", "label", "--rules", "nag,ag", "--rates", "0.01,0.1,1"]) == 0
    printed = capsys.readouterr()
    assert "rates  3 from 0.01 to 1" in printed.out
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
    assert len(lines[header + 1 : lines.index("", header)]) == len(rate_grid())
    assert sum(line.count("*") for line in lines) == 2


def test_json_and_picture(prices: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_a_pipe_of_classes_says_what_it_needs() -> None:
    data = "x,y\n" + "".join(f"{k % 5},{'abc'[k % 3]}\n" for k in range(300))
    command = [sys.executable, "-m", "unitless", "sweep", "-", "--format", "csv", "--target", "y", "--rates", "0.1,1"]
    refused = subprocess.run(command, input=data, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "can be read only once" in refused.stderr
    taken = subprocess.run([*command, "--classes", "a,b,c"], input=data, capture_output=True, text=True, check=False)
    assert taken.returncode == 0
    assert "nag" in taken.stdout


def test_all_rates_of_all_rules_may_diverge(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wild.csv"
    path.write_text("\n".join(["x,y", *(f"{k % 9}{'e250' if k > 100 else ''},{k % 9 + 0.5}" for k in range(200))]))
    assert main(["sweep", str(path), "--target", "y", "--rules", "gd"]) == 1
    printed = capsys.readouterr()
    assert "gd diverged at" in printed.out
    assert "every rate diverged" in printed.err
    assert main(["sweep", str(path), "--target", "y", "--rules", "gd,nag"]) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--rules", "sgd"], 2, "rules has 'sgd'"),
        (
            ["--rules", "nag,newton"],
            2,
            "--rules has 'newton', which has no learning rate; a sweep is for 'nag', 'snag'",
        ),
        (["--rates", "fast"], 2, "--rates has 'fast'; it must be numbers"),
        (["--rates", "0,1"], 2, "must be positive"),
        (["--plot", "x.gif"], 2, "its name must end in .png"),
        (["--task", "binary"], 1, "more than two values"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    prices: str, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", prices, "--target", "price", *arguments]) == code
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
