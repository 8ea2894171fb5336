"""The importance of a column is the rise of the metric without knowing it, with an interval, whatever the units."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless import inputs
from unitless.cli import main
from unitless.data.columns import batch_columns
from unitless.data.columns.feature_columns import FeatureColumns
from unitless.inference.importance import ColumnImportance, Importance

ROWS = 3000


def table(seed: int = 0, rows: int = ROWS) -> pd.DataFrame:
    """Areas decide, a date and a text matter, an outlier column and rare levels do not."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "area": rng.uniform(20, 200, rows),
            "city": rng.choice(["Oslo", "Bergen", "Molde"], rows),
            "outliers": rng.normal(size=rows) ** 9,
            "sold": [
                datetime.date(2020, 1, 1) + datetime.timedelta(days=int(day)) for day in rng.integers(0, 900, rows)
            ],
            "street": [f"street {number}" for number in rng.integers(0, 300, rows)],
        }
    )
    weekday = np.array([day.weekday() for day in frame["sold"]])
    frame["rent"] = 10 * frame["area"] + 300 * (frame["city"] == "Oslo") + 100 * weekday + rng.normal(0, 150, rows)
    return frame


def columns(found: Any) -> list[str]:
    return [one.column for one in found]


@pytest.fixture(scope="module")
def result() -> ul.TrainResult:
    return ul.train(table(), "rent", progress=False)


def test_columns_that_the_metric_needs_come_before_rare_ones(result: Any) -> None:
    found = result.importance
    assert found.metric == "rmse"
    assert not found.in_sample
    assert columns(found)[:3] == ["area", "sold", "city"]
    assert set(columns(found)[3:]) == {"outliers", "street"}
    assert all(found[name].low > 0 for name in ("area", "sold", "city"))
    assert all(found[name].high < found["city"].low for name in ("outliers", "street"))


def test_the_rise_is_that_of_the_metric_in_its_unit(result: Any) -> None:
    """Without the area nothing is known about a term with the standard deviation 10 · 180 / √12."""
    metric, area = result.metrics["rmse"], result.importance["area"]
    expected = math.hypot(metric, math.sqrt(2) * 1800 / math.sqrt(12)) - metric
    assert area.low < expected < area.high


def test_a_column_that_only_trees_use_is_found() -> None:
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(6000, 4)) * rng.uniform(0.5, 2, size=(6000, 4))
    label = X[:, 1] * X[:, 2] > 0
    found = ul.train(X, label, model_type="trees", passes=4, progress=False).importance
    assert found is not None
    assert set(columns(found)[:2]) == {"1", "2"}
    assert min(found["1"].low, found["2"].low) > 0.2
    assert max(found["0"].value, found["3"].value) < 0.05


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_nine_in_ten_intervals_contain_the_exact_rise(task: str) -> None:
    """In a linear model of independent columns the expected rise of the squared error is 2 w² var(x)."""
    rng = np.random.default_rng(1)
    w = np.array([3.0, 1.0, 0.3, 0.0])

    def data(rows: int) -> tuple[Any, Any]:
        X = rng.normal(size=(rows, 4))
        score = X @ w + rng.normal(size=rows)
        return X, score if task == "regression" else score > 0

    model = ul.Learner(loss="squared" if task == "regression" else "logistic", bias=False)
    model.learn(*data(20_000))
    v = np.array([model.weights.get(k, 0.0) for k in range(4)])
    if task == "regression":
        before = 1 + ((v - w) ** 2).sum()
        exact = np.sqrt(before + 2 * v * w) - math.sqrt(before)
    else:  # the angle between the true scores and those of the model, divided by π, is the error rate
        length = math.sqrt((w @ w + 1) * (v @ v))
        exact = (np.arccos((w @ v - v * w) / length) - np.arccos(w @ v / length)) / math.pi
    hits = []
    for _ in range(40):
        X, y = data(600)
        found = ul.evaluate(model, X, target=y, importance=True, progress=False).importance
        assert found is not None
        hits += [found[str(k)].low <= exact[k] <= found[str(k)].high for k in range(4)]
    assert 0.83 <= np.mean(hits) <= 0.97


@pytest.mark.parametrize("classes", [2, 3])
def test_of_rare_classes_the_log_loss_rises(classes: int) -> None:
    """The error rate is that of the baseline, so that no column raises it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    rare = rng.random(20_000) < 1 / (1 + np.exp(6 - 1.5 * X[:, 0] - 0.7 * X[:, 1]))
    labels = np.where(rare, np.where(np.arange(20_000) % 2, "fraud", "theft" if classes == 3 else "fraud"), "fine")
    result = ul.train(X, labels, progress=False)
    found = result.importance
    assert found is not None
    assert found.metric == "log_loss"
    assert columns(found)[0] == "0"
    assert found["0"].low > 0
    assert "log loss rises by" in str(result)


def test_rounding_errors_are_shown_as_zero() -> None:
    many = (ColumnImportance("area", 1.25, 1.0, 1.5), ColumnImportance("noise", 0.0, -9.75e-14, 2e-17))
    shown = str(Importance("rmse", "400 held-out rows", False, 2, many))
    assert "0.000000 to 0.000000" in shown
    assert "e-14" not in shown


def test_a_useless_column_has_an_interval_that_contains_zero() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1500, 12)), columns=[f"x{k}" for k in range(12)])
    frame["y"] = frame["x0"] + rng.normal(size=1500)
    found = ul.train(frame, "y", progress=False).importance
    assert found is not None
    useless = [one for one in found if one.column != "x0"]
    assert sum(one.low <= 0 <= one.high for one in useless) >= 9
    assert all(one.low <= one.value <= one.high for one in found)
    assert min(one.value for one in found) == 0


def test_powers_of_two_change_no_bit(result: Any) -> None:
    scaled = table().assign(area=lambda frame: frame["area"] * 2.0**-20, outliers=lambda frame: frame["outliers"] * 64)
    assert ul.train(scaled, "rent", progress=False).importance == result.importance


def test_monotone_changes_matter_little_to_trees() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, size=(4000, 3))
    y = np.sin(3 * X[:, 0]) + 0.3 * X[:, 1]
    plain, bent = (ul.train(one, y, passes=3, progress=False).importance for one in (X, np.exp(3 * X)))
    assert plain is not None
    assert bent is not None
    assert columns(plain)[:2] == columns(bent)[:2] == ["0", "1"]
    assert plain["0"].value == pytest.approx(bent["0"].value, rel=0.1)


def test_importance_depends_on_the_seed_alone(result: Any) -> None:
    assert ul.train(table(), "rent", progress=False).importance == result.importance
    other = ul.train(table(), "rent", random_state=5, progress=False).importance
    assert other != result.importance
    assert other is not None
    assert columns(other)[:3] == columns(result.importance)[:3]


def test_parts_of_dates_words_and_products_belong_to_their_columns() -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"w{k:03}word" for k in range(60)])
    frame = table(rows=2000).drop(columns="street")
    chosen = rng.integers(0, 60, (2000, 6))
    frame["comment"] = [" ".join(words[row]) for row in chosen]
    frame["rent"] += 400 * (chosen == 7).any(axis=1)
    reading = ul.Reading(words="comment")
    found = ul.train(frame, "rent", model_type="linear", interactions=2, reading=reading, progress=False).importance
    assert found is not None
    assert set(columns(found)) == {"area", "city", "outliers", "sold", "comment"}
    assert found.among == 5
    assert found["comment"].low > 0


def test_a_stream_is_measured_in_sample_and_says_so() -> None:
    result = ul.train(table(), "rent", shuffle=False, progress=False)
    assert result.importance is not None
    assert result.importance.in_sample
    assert "learned rows (in-sample)" in result.importance.on
    assert result.importance.on in str(result)
    future = ul.train(table(), "rent", shuffle=False, holdout="last", progress=False).importance
    assert future is not None
    assert not future.in_sample


def test_few_rows_have_no_importance() -> None:
    assert ul.train(table(rows=15), "rent", progress=False).importance is None
    small = ul.train(table(rows=60), "rent", holdout=0.1, progress=False).importance
    assert small is not None
    assert small.in_sample


def test_of_many_columns_those_are_measured_that_the_model_uses() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 300))
    result = ul.train(X, X[:, 7] - X[:, 200] + 0.1 * rng.normal(size=2000), model_type="linear", progress=False)
    found = result.importance
    assert found is not None
    assert len(found) <= 100
    assert found.among == 300
    assert set(columns(found)[:2]) == {"7", "200"}
    assert f"measured for the {len(found)} of 300 that the model uses most" in str(result)


@pytest.mark.parametrize("kind", ["array", "sparse", "mappings", "text"])
def test_every_kind_of_data_has_columns(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, city = rng.normal(size=(1000, 3)), rng.choice(["Oslo", "Bergen"], 1000)
    y = 3 * X[:, 1] + (city == "Oslo" if kind in ("mappings", "text") else 0) + 0.1 * rng.normal(size=1000)
    source: Any = X
    if kind == "sparse":
        source = pytest.importorskip("scipy.sparse").csr_matrix(X * (rng.random(X.shape) < 0.9))
    if kind == "mappings":
        source = [{"a": row[0], "b": row[1], "city": town} for row, town in zip(X.tolist(), city, strict=True)]
    if kind == "text":
        path = tmp_path / "rows.vw"
        lines = [
            f"{t!r} | a:{r[0]!r} b:{r[1]!r} city={c}" for t, r, c in zip(y.tolist(), X.tolist(), city, strict=True)
        ]
        path.write_text("\n".join(lines) + "\n")
        found = ul.train(path, progress=False).importance
    else:
        found = ul.train(source, y, progress=False).importance
    assert found is not None
    assert columns(found)[0] == ("1" if kind in ("array", "sparse") else "b")
    if kind in ("mappings", "text"):
        assert columns(found)[1] == "city"
        assert found["city"].low > 0


@pytest.mark.parametrize("seed", range(5))
def test_a_permuted_column_moves_alone_and_keeps_its_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sparse = pytest.importorskip("scipy.sparse")
    X = rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.6)
    donors = rng.permutation(30)
    expected = X.copy()
    expected[:, 2] = X[donors, 2]
    csr = sparse.csr_matrix(X)
    data = inputs.read(csr)
    moved = batch_columns.parts(data, FeatureColumns())[2]
    found = batch_columns.permuted(data, moved, donors)
    assert isinstance(found, inputs.Compressed)
    dense = sparse.csr_matrix((found.values, found.indices, found.row_starts), shape=X.shape).toarray()
    assert (dense == expected).all()
    plain = batch_columns.permuted(inputs.Dense(X), [2], donors)
    assert isinstance(plain, inputs.Dense)
    assert (plain.array == expected).all()
    named = inputs.NamedRows([{f"f{k}": x for k, x in enumerate(row) if x} for row in X.tolist()])
    again = batch_columns.permuted(named, ["f2"], donors)
    assert isinstance(again, inputs.NamedRows)
    assert again.mappings == [{f"f{k}": x for k, x in enumerate(row) if x} for row in expected.tolist()]


def test_importance_is_the_same_on_screen_in_json_and_in_the_model(tmp_path: Path, capsys: Any) -> None:
    table().to_csv(tmp_path / "rents.csv", index=False)
    path, model = str(tmp_path / "rents.csv"), str(tmp_path / "m.unitless")
    assert main(["train", path, "-t", "rent", "-o", model, "-q", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["importance"]
    assert [one["column"] for one in found["columns"]][:3] == ["area", "sold", "city"]
    assert main(["inspect", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["importance"] == found
    assert main(["inspect", model]) == 0
    shown = capsys.readouterr().out
    assert f"Importance of columns, on {found['on']}" in shown
    assert main(["evaluate", model, path, "--importance", "--json", "-q"]) == 0
    again = json.loads(capsys.readouterr().out)["importance"]
    assert [one["column"] for one in again["columns"]][:3] == ["area", "sold", "city"]
    assert main(["evaluate", model, path, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["importance"] is None


def test_a_report_has_a_bar_for_each_column(result: Any, tmp_path: Path) -> None:
    result.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert all(f">{name}<" in page for name in ("area", "sold", "city"))
    assert "RMSE rises by" in page


def test_pictures_show_columns_with_intervals_and_features_on_request(result: Any) -> None:
    pytest.importorskip("matplotlib")
    drawn = ul.plot.importance(result)
    assert [text.get_text() for text in drawn.get_yticklabels()][:3] == ["area", "sold", "city"]
    assert len(drawn.get_lines()) >= 3
    assert "RMSE rises by" in drawn.get_xlabel()
    features = ul.plot.importance(result, by="feature", most=50)
    assert any("=" in text.get_text() for text in features.get_yticklabels())
    assert "effect" in features.get_xlabel()
    with pytest.raises(ul.OptionError, match="was not measured"):
        ul.plot.importance(ul.Learner(), by="column")


def test_a_forged_importance_is_refused(result: Any, tmp_path: Path) -> None:
    model = result.model
    before = model._training
    for wrong in ({}, {**before["importance"], "columns": [1]}, {**before["importance"], "in_sample": 1}):
        model._training = {**before, "importance": wrong}
        model.save(tmp_path / "forged.unitless")
        with pytest.raises(ul.ModelFileError, match="importance"):
            ul.load(tmp_path / "forged.unitless")
    model._training = before
