"""Infinite or too large numbers meet the same rule at every entry point (see limits.py)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sources import command

import unitless as ul
from unitless.river import UnitlessRegressor as RiverRegressor
from unitless.sklearn import UnitlessRegressor

ROWS, BAD = 300, 150
VALUES = ["inf", "-inf", "1e400", "1e305", "-1.5e308"]
WEIGHTS = ["inf", "1e400", "1e60", "1e16"]
LABELS = [*VALUES, "1e61"]
RULES = {
    "x": "values|features|below 1e300",
    "y": "labels must be finite, and not beyond 1e60",
    "w": "weights must be between 0 and 1e15",
}
BAD_NUMBERS = [
    *(("x", text) for text in VALUES),
    *(("y", text) for text in LABELS),
    *(("w", text) for text in WEIGHTS),
]
QUICK: dict[str, Any] = {"model_type": "linear", "ensemble": False, "passes": 1}


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=ROWS), "b": rng.normal(size=ROWS)})
    return frame.assign(y=2 * frame["x"] + frame["b"] + 0.1 * rng.normal(size=ROWS), w=1.0)


GOOD = table()


def with_value(column: str, text: str) -> pd.DataFrame:
    frame = GOOD.copy()
    frame.loc[BAD, column] = float(text)
    return frame


def train(source: Any, **options: Any) -> ul.TrainResult:
    return ul.train(source, "y", weight="w", **{**QUICK, **options})


# ------------------------------------------------------------------------------------------------ data by columns


def csv(folder: Path, column: str, text: str) -> Any:
    lines = GOOD.to_csv(index=False).split("\n")
    cells = lines[1 + BAD].split(",")
    cells[list(GOOD.columns).index(column)] = text
    lines[1 + BAD] = ",".join(cells)
    (folder / "a.csv").write_text("\n".join(lines))
    return str(folder / "a.csv")


def json_lines(folder: Path, column: str, text: str) -> Any:
    rows = [json.dumps(row) for row in GOOD.to_dict("records")]
    row = {name: json.dumps(value) for name, value in GOOD.loc[BAD].items()}
    row[column] = text.replace("inf", "1e400")  # JSON has no infinity
    rows[BAD] = "{" + ", ".join(f'"{name}": {value}' for name, value in row.items()) + "}"
    (folder / "a.jsonl").write_text("\n".join(rows))
    return str(folder / "a.jsonl")


def parquet(folder: Path, column: str, text: str) -> Any:
    with_value(column, text).to_parquet(folder / "a.parquet")
    return str(folder / "a.parquet")


BY_COLUMNS: dict[str, Callable[[Path, str, str], Any]] = {
    "csv": csv,
    "json lines": json_lines,
    "parquet": parquet,
    "frame": lambda folder, column, text: with_value(column, text),
}


@pytest.mark.parametrize(
    "way",
    [{}, {"shuffle": False}, {"cluster": ul.Cluster(partitions=2, sync_rounds=1)}],
    ids=["fit", "stream", "parts"],
)
@pytest.mark.parametrize("text", VALUES)
@pytest.mark.parametrize("door", BY_COLUMNS)
def test_a_value_in_a_column_counts_as_missing_and_is_reported(
    door: str, text: str, way: dict[str, Any], tmp_path: Path
) -> None:
    result = train(BY_COLUMNS[door](tmp_path, "x", text), **way)
    assert (result.details.learned, result.invalid_values, result.details.missing) == (ROWS, {"x": 1}, {"x": 1})
    assert any("'x'" in str(line) and "treated as missing" in str(line) for line in result.column_report)
    empty = GOOD.copy()
    empty.loc[BAD, "x"] = np.nan
    rows = GOOD[["x", "b"]]
    assert result.model.predict(rows).tolist() == train(empty, **way).model.predict(rows).tolist()
    scored = ul.evaluate(result, BY_COLUMNS[door](tmp_path, "x", text))
    assert (scored.scored, scored.invalid_values) == (ROWS, {"x": 1})
    with pytest.raises(ul.InputError, match=r"row 151|line 151"):
        train(BY_COLUMNS[door](tmp_path, "x", text), reading=ul.Reading(missing="error"), **way)


@pytest.mark.parametrize(("column", "text"), [*(("y", text) for text in LABELS), *(("w", text) for text in WEIGHTS)])
@pytest.mark.parametrize("door", BY_COLUMNS)
def test_a_label_or_a_weight_in_a_column_is_refused_or_its_row_skipped(
    door: str, column: str, text: str, tmp_path: Path
) -> None:
    if (door, column, text) != ("csv", "y", "1e400"):  # text that is not a number: a row without a label
        with pytest.raises(ul.InputError, match=rf"(row|line) 151.*{RULES[column]}"):
            train(BY_COLUMNS[door](tmp_path, column, text))
    result = train(BY_COLUMNS[door](tmp_path, column, text), reading=ul.Reading(on_error="skip"))
    assert result.details.learned == ROWS - 1


# ------------------------------------------------------------------------------------------------ the command line


def test_the_command_line_reports_it_too(tmp_path: Path) -> None:
    path, model = csv(tmp_path, "x", "-1.5e308"), str(tmp_path / "m.unitless")
    done = command("train", path, "--target", "y", "--weight", "w", "--output", model, "--model-type", "linear")
    assert done.returncode == 0, done.stderr
    assert "-1.5e+308" in done.stdout + done.stderr
    assert command("evaluate", model, path).returncode == 0
    assert command("train", csv(tmp_path, "w", "1e60"), "--target", "y", "--weight", "w").returncode == 1


def test_the_limits_themselves_are_allowed(tmp_path: Path) -> None:
    assert not train(with_value("x", "1e300")).invalid_values
    assert train(with_value("y", "-1e60")).details.learned == ROWS
    assert train(with_value("w", "1e15")).details.learned == ROWS


# ------------------------------------------------------------------------------------------------ models and estimators


def rows(column: str, text: str) -> tuple[pd.DataFrame, Any, Any]:
    frame = with_value(column, text)
    return frame[["x", "b"]], frame["y"].to_numpy(), frame["w"].to_numpy()


def learn_dense(column: str, text: str) -> None:
    X, y, w = rows(column, text)
    ul.Learner().learn(X.to_numpy(), y, w)


def learn_sparse(column: str, text: str) -> None:
    X, y, w = rows(column, text)
    ul.Learner().learn(sparse.csr_matrix(X.to_numpy()), y, w)


def learn_frame(column: str, text: str) -> None:
    ul.Learner().learn(*rows(column, text))


def learn_mappings(column: str, text: str) -> None:
    X, y, w = rows(column, text)
    ul.Learner().learn(X.to_dict("records"), y, w)


def learn_one(column: str, text: str) -> None:
    X, y, w = rows(column, text)
    ul.Learner().learn_one(X.to_dict("records")[BAD], float(y[BAD]), float(w[BAD]))


def train_on_an_array(column: str, text: str) -> None:
    X, y, w = rows(column, text)
    ul.train(X.to_numpy(), y, weight=w, **QUICK)


def train_on_mappings(column: str, text: str) -> None:
    train(with_value(column, text).to_dict("records"))


def estimator_of_scikit_learn(column: str, text: str) -> None:
    X, y, w = rows(column, text)
    UnitlessRegressor(model_type="linear", ensemble=False).fit(X, y, w)


def estimator_of_river(column: str, text: str) -> None:
    X, y, w = rows(column, text)
    RiverRegressor().learn_one(X.to_dict("records")[BAD], float(y[BAD]), float(w[BAD]))


DIRECT = [
    learn_dense,
    learn_sparse,
    learn_frame,
    learn_mappings,
    learn_one,
    train_on_an_array,
    train_on_mappings,
    estimator_of_scikit_learn,
    estimator_of_river,
]


@pytest.mark.parametrize(("column", "text"), BAD_NUMBERS)
@pytest.mark.parametrize("door", DIRECT)
def test_models_and_estimators_refuse_it(door: Callable[[str, str], None], column: str, text: str) -> None:
    with pytest.raises(ul.InputError, match=RULES[column]):
        door(column, text)


@pytest.mark.parametrize(("column", "text"), BAD_NUMBERS)
@pytest.mark.parametrize("format", ["vw", "svm"])
def test_lines_of_named_features_are_refused_or_skipped(format: str, column: str, text: str, tmp_path: Path) -> None:
    if format == "svm" and column == "w":
        return  # which has no weights
    lines = []
    for number, row in enumerate(GOOD.astype(str).to_dict("records")):
        x, b, y, w = (text if number == BAD and name == column else row[name] for name in ("x", "b", "y", "w"))
        lines.append(f"{y} {w} | x:{x} b:{b}" if format == "vw" else f"{y} 1:{x} 2:{b}")
    path = tmp_path / f"a.{format}"
    path.write_text("\n".join(lines))
    options: dict[str, Any] = {**QUICK, "task": "regression"}
    with pytest.raises(ul.InputError, match="line 151"):
        ul.train(path, **options)
    assert ul.train(path, reading=ul.Reading(on_error="skip"), **options).details.learned == ROWS - 1


@pytest.mark.parametrize("text", VALUES)
def test_predictions_refuse_it(text: str) -> None:
    X, y, _ = rows("b", "0")
    one = {"x": float(text), "b": 0.0}
    array, named = ul.Learner(), ul.Learner()
    array.learn(X.to_numpy(), y)
    named.learn(X.to_dict("records"), y)
    trained = ul.train(GOOD, "y", reading=ul.Reading(ignore="w"), **QUICK)
    fitted = UnitlessRegressor(model_type="linear", ensemble=False).fit(X, y)
    frame = pd.DataFrame([one])
    doors: list[Callable[[], Any]] = [
        lambda: array.predict(frame.to_numpy()),
        lambda: named.predict([one]),
        lambda: named.predict_one(one),
        lambda: trained.model.predict(frame),
        lambda: trained.predict(frame),
        lambda: trained.predictor.predict_one(one),
        lambda: trained.predictor.predict([one]),
        lambda: fitted.predict(frame),
    ]
    for door in doors:
        with pytest.raises(ul.InputError, match=RULES["x"]):
            door()


# ------------------------------------------------------------------------------------------------ the server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("limits") / "data"
    with (
        ul.serve.background(data=folder, port=0, durability="process", snapshot_every="1h") as running,
        httpx.Client(base_url=running.url, timeout=20) as client,
    ):
        assert client.put("/v1/models/m", json={"model_type": "linear", "ensemble": False}).status_code == 201
        for k in range(3):
            row = {"features": {"x": float(k), "b": 1.0}, "label": float(k)}
            assert client.post("/v1/models/m/learn", json=row).status_code == 200
        yield client


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
@pytest.mark.parametrize(("column", "text"), BAD_NUMBERS)
def test_the_server_refuses_it(server: httpx.Client, column: str, text: str, kind: str) -> None:
    number = {name: text.replace("inf", "1e400") if name == column else "1.0" for name in "xyw"}
    row = f'{{"features": {{"x": {number["x"]}, "b": 1.0}}, "label": {number["y"]}, "weight": {number["w"]}}}'
    good = '{"features": {"x": 1.0, "b": 1.0}, "label": 1.0}'
    before = server.get("/v1/models/m").json()["examples"]
    several = kind == "application/x-ndjson"
    text_sent = "\n".join([good, row, good]) if several else row
    answer = server.post("/v1/models/m/learn", content=text_sent, headers={"content-type": kind})
    learned = server.get("/v1/models/m").json()["examples"] - before
    if several:
        answers = [json.loads(line) for line in answer.text.splitlines()]
        assert [one["status"] for one in answers][1] == 422
        assert learned == 2
    else:
        assert (answer.status_code, learned) == (422, 0)


@pytest.mark.parametrize("text", VALUES)
def test_a_prediction_of_the_server_refuses_it(server: httpx.Client, text: str) -> None:
    row = f'{{"features": {{"x": {text.replace("inf", "1e400")}, "b": 1.0}}}}'
    answer = server.post("/v1/models/m/predict", content=row, headers={"content-type": "application/json"})
    assert answer.status_code == 422
