"""The output of commands and pages for models with ensemble."""

from __future__ import annotations

import json
import pathlib

import ensembles
import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.cli import main
from unitless.models.extra_members import shares_shown

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def table(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    X, y = ensembles.problem(200)
    pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y).to_csv(tmp_path / "wide.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return "wide.csv"


def test_commands_and_pages_show_the_members(table: str, capsys: Capture) -> None:
    asked = ["train", table, "-t", "y", "--passes", "1", "--model-type", "linear", "-o", "m.unitless"]
    assert main([*asked, "-q", "--report", "page.html"]) == 0
    shown = capsys.readouterr().out
    model = ul.load("m.unitless")
    assert model.ensemble == "newton"
    line = shares_shown(model.members)
    assert f"ensemble    {line}\n" in shown
    assert line in pathlib.Path("page.html").read_text("utf-8")
    assert line in ul.Predictor(model)._repr_html_()
    assert main(["inspect", "m.unitless", "-n", "3"]) == 0
    shown = capsys.readouterr().out
    assert f"ensemble       {line}\n" in shown
    assert "model type     linear\n" in shown
    assert "effects count the other members too" in shown
    assert main(["inspect", "m.unitless", "-n", "3", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert {name: of["share"] for name, of in about["members"].items()} == pytest.approx(model.members)
    by_name = {str(name): value for name, value in model.importance.items()}
    assert [row["effect"] for row in about["features"]] == [by_name[row["feature"]] for row in about["features"]]


def test_an_explanation_adds_up_and_has_no_weights(table: str, capsys: Capture) -> None:
    assert main(["train", table, "-t", "y", "--passes", "1", "--model-type", "linear", "-o", "m.unitless", "-q"]) == 0
    capsys.readouterr()
    assert main(["inspect", "m.unitless", "--data", table, "--row", "3", "--json"]) == 0
    why = json.loads(capsys.readouterr().out)
    assert why["base_value"] + sum(part["contribution"] for part in why["contributions"]) == pytest.approx(
        why["prediction"]
    )
    assert main(["inspect", "m.unitless", "--data", table, "--row", "3"]) == 0
    assert "weight" not in capsys.readouterr().out


def test_results_have_the_shares_of_members() -> None:
    X, y = ensembles.problem(200)
    result = ul.train(X, y, model_type="linear", passes=1)
    assert result.model.members == result.model.members == result.asdict()["members"]
    assert ul.train(X[:, :3], y, model_type="linear", ensemble=False, passes=1).model.members == {"linear": 1.0}


def test_a_page_shows_the_effect_of_all_members_together(tmp_path: pathlib.Path) -> None:
    X, y = ensembles.problem(200)
    result = ul.train(X, y, model_type="linear", passes=1)
    directions, importance = result.model._form_reading().directions(), result.model.importance
    assert directions.keys() == importance.keys()
    assert all(abs(directions[name]) <= value + 1e-12 for name, value in importance.items())
    assert np.sign([directions[0], directions[1]]).tolist() == [1, -1]
    result.report(tmp_path / "page.html")
    assert "large values move the prediction up" in (tmp_path / "page.html").read_text("utf-8")
