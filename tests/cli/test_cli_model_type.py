"""The command line and `--model-type`."""

from __future__ import annotations

import json
import pathlib

import pytest

import unitless as ul
from unitless.cli import main

Capture = pytest.CaptureFixture[str]
SHAPES = ("linear", "curves", "trees", "auto", "curves only")


@pytest.fixture
def table(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    rows = [f"{k % 13},{1000 * (k % 7)},{(k % 13 - 6) ** 2 + k % 7}" for k in range(120)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,y", *rows]))
    monkeypatch.chdir(tmp_path)
    return "table.csv"


@pytest.mark.parametrize("model_type", SHAPES)
def test_train_takes_a_model_type_and_prints_it(table: str, model_type: str, capsys: Capture) -> None:
    asked = ["train", table, "-t", "y", "--passes", "2", "-q"]
    assert main([*asked, "--model-type", model_type, "-o", "m.unitless"]) == 0
    shown = capsys.readouterr().out
    model = ul.load("m.unitless")
    assert model.options.model_type == model_type
    assert f"model type  {model.model_type}\n" in shown
    assert main(["inspect", "m.unitless", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model_type"] == model.model_type
    assert main(["inspect", "m.unitless"]) == 0
    assert (f"model type     {model.model_type}: " in (shown := capsys.readouterr().out)) == (model_type != "linear")
    assert ("effects count curves and trees too" in shown) == (model_type != "linear")
    assert main(["train", table, "--resume", "m.unitless", "--passes", "2", "-q", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model_type"] == model.model_type


def test_evaluate_takes_a_shape(table: str, capsys: Capture) -> None:
    assert main(["compare", table, "-t", "y", "--rules", "nag", "--model-type", "curves", "-q"]) == 0
    assert "model type  curves\n" in capsys.readouterr().out


def test_a_report_shows_the_shape(table: str) -> None:
    assert main(["train", table, "-t", "y", "--passes", "1", "--model-type", "trees", "--report", "r.html", "-q"]) == 0
    assert ">trees<" in pathlib.Path("r.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model-type", "round"], "--model-type is 'round'; it must be one of 'linear', 'curves', 'trees', 'auto'"),
        (["--model-type", "trees", "--bits", "8"], "--model-type trees needs: leave out either --bits or --model-type"),
        (
            ["--model-type", "curves only", "--interactions", "2"],
            "--model-type 'curves only' sees only the order of a column's numbers, which products do not keep: leave "
            "out --interactions, or take --model-type curves",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    table: str, options: list[str], message: str, capsys: Capture
) -> None:
    assert main(["train", table, "-t", "y", *options]) == 2
    assert message in capsys.readouterr().err


def test_sweep_has_no_shape(table: str, capsys: Capture) -> None:
    assert main(["sweep", table, "-t", "y", "--model-type", "trees"]) == 2
    assert "--model-type" in capsys.readouterr().err


@pytest.mark.parametrize("model_type", ["curves", "trees", "curves only"])
def test_inspect_shows_the_parts_of_a_model_and_draws_its_curves(table: str, model_type: str, capsys: Capture) -> None:
    assert main(["train", table, "-t", "y", "--model-type", model_type, "-o", "m.unitless", "-q"]) == 0
    capsys.readouterr()
    assert main(["inspect", "m.unitless", "--plot", "curves.png", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert pathlib.Path("curves.png").stat().st_size > 5_000
    assert sum(of["share"] for of in about["members"].values()) == pytest.approx(1)
    assert about["members"]["curves"]["intervals"] > 2
    assert {row["feature"] for row in about["features"]} >= {"a", "b"}
    assert main(["inspect", "m.unitless", "--explain", '{"a": 3}', "--json"]) == 0
    why = json.loads(capsys.readouterr().out)
    total = why["base_value"] + sum(part["contribution"] for part in why["contributions"])
    assert total == pytest.approx(why["prediction"])
    assert main(["inspect", "m.unitless", "--explain", '{"a": 3}']) == 0
    assert "weight" not in capsys.readouterr().out


def test_a_linear_model_has_no_curves_to_draw(table: str, capsys: Capture) -> None:
    assert main(["train", table, "-t", "y", "--model-type", "linear", "-o", "m.unitless", "-q"]) == 0
    assert main(["inspect", "m.unitless", "--plot", "curves.png"]) == 2
    assert "a linear model has no curves" in capsys.readouterr().err
    assert main(["inspect", "m.unitless", "--plot", "m.unitless"]) == 2
    assert not pathlib.Path("curves.png").exists()
