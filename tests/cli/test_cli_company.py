"""What commands and pages say of models with company."""

from __future__ import annotations

import json
import pathlib

import company
import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.cli import main
from unitless.models.company import shares_shown

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def table(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    X, y = company.problem(200)
    pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y).to_csv(tmp_path / "wide.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return "wide.csv"


def test_commands_and_pages_show_the_experts(table: str, capsys: Capture) -> None:
    asked = ["train", table, "-t", "y", "--passes", "1", "--shape", "linear", "-m", "m.unitless"]
    assert main([*asked, "-q", "--report", "page.html"]) == 0
    shown = capsys.readouterr().out
    model = ul.load("m.unitless")
    assert model.company == "newton"
    line = shares_shown(model.experts)
    assert f"experts      {line}\n" in shown
    assert line in pathlib.Path("page.html").read_text("utf-8")
    assert line in ul.Predictor(model)._repr_html_()
    assert main(["inspect", "m.unitless", "-n", "3"]) == 0
    shown = capsys.readouterr().out
    assert f"experts   {line}\n" in shown
    assert "shape " not in shown
    assert "importance counts the other experts too" in shown
    assert main(["inspect", "m.unitless", "-n", "3", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert {name: of["share"] for name, of in about["experts"].items()} == pytest.approx(model.experts)
    by_name = {str(name): value for name, value in model.importance.items()}
    assert [row["importance"] for row in about["features"]] == [by_name[row["feature"]] for row in about["features"]]


def test_an_explanation_adds_up_and_has_no_weights(table: str, capsys: Capture) -> None:
    assert main(["train", table, "-t", "y", "--passes", "1", "--shape", "linear", "-m", "m.unitless", "-q"]) == 0
    capsys.readouterr()
    assert main(["inspect", "m.unitless", "--data", table, "--row", "3", "--json"]) == 0
    why = json.loads(capsys.readouterr().out)
    assert why["bias"] + sum(part["contribution"] for part in why["contributions"]) == pytest.approx(why["prediction"])
    assert main(["inspect", "m.unitless", "--data", table, "--row", "3"]) == 0
    assert "weight" not in capsys.readouterr().out


def test_results_have_the_shares_of_experts() -> None:
    X, y = company.problem(200)
    result = ul.train(X, y, shape="linear", passes=1)
    assert result.experts == result.model.experts == result.asdict()["experts"]
    assert ul.train(X[:, :3], y, shape="linear", experts="none", passes=1).experts == {"linear": 1.0}


def test_a_page_says_where_the_experts_together_move_the_prediction(tmp_path: pathlib.Path) -> None:
    X, y = company.problem(200)
    result = ul.train(X, y, shape="linear", passes=1)
    directions, importance = result.model._shape_reading().directions(), result.model.importance
    assert directions.keys() == importance.keys()
    assert all(abs(directions[name]) <= value + 1e-12 for name, value in importance.items())
    assert np.sign([directions[0], directions[1]]).tolist() == [1, -1]
    result.report(tmp_path / "page.html")
    assert "large values move the prediction up" in (tmp_path / "page.html").read_text("utf-8")
