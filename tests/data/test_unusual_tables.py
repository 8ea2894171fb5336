"""A table with the oddities of real files gives the same column report and the same model in every container."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sources import content
from unusual_tables import WAYS, Texts, odd_texts

import unitless as ul

TEXTS = odd_texts()


def learned(way: str, folder: Path, texts: Texts = TEXTS) -> tuple[ul.TrainResult, Any]:
    source = WAYS[way](texts, folder)
    return ul.train(source, "label", model_type="linear", passes=1), source


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[ul.TrainResult, Any]:
    return learned("csv", tmp_path_factory.mktemp("odd"))


def test_unusual_columns_get_the_types_that_a_person_expects(expected: tuple[ul.TrainResult, Any]) -> None:
    schema = expected[0].details.schema
    assert dict(schema.columns) == {
        **dict.fromkeys(("size", "price", "share", "income", "temperature", "people", "weight", "level"), "number"),
        **{"joined": "date", "seen": "date", "paid": "moment", "comment": "words"},
        **dict.fromkeys(("smoker", "city", "code"), "text"),
        **{"active": "boolean", "constant": "number"},
    }
    assert [name for name, *_ in schema.left_out] == ["No", "customer"]
    assert schema.written["price"].thousands == ","
    assert (schema.written["income"].decimal, schema.written["income"].thousands) == (",", ".")
    assert schema.written["temperature"].decimal == ","
    assert schema.written["people"].thousands == ","
    assert schema.written["weight"].unit == "kg"


@pytest.mark.parametrize("way", list(WAYS)[1:])
def test_the_decisions_and_the_model_are_the_same_in_every_format(
    way: str, expected: tuple[ul.TrainResult, Any], tmp_path: Path
) -> None:
    result, source = learned(way, tmp_path)
    assert result.details.schema == expected[0].details.schema
    assert content(result.model) == content(expected[0].model)
    assert np.array_equal(result.predict(source), expected[0].predict(expected[1]))
    assert np.array_equal(result.predict(expected[1]), expected[0].predict(source))


def test_numbers_with_a_unit_are_numbers_and_reported(tmp_path: Path) -> None:
    weights = [f"{900 + 7 * k} kg" for k in range(200)]
    texts = {"weight": weights, "label": [str(2.5 * (900 + 7 * k)) for k in range(200)]}
    result, _ = learned("csv", tmp_path, texts)
    assert "'weight': numbers in 'kg' (text='weight' takes them as categories)" in map(str, result.column_report)
    assert set(result.model.weights) == {"weight", "(bias)"}
    model = ul.Predictor(result.model)
    assert model.predict_one({"weight": "1000 kg"}) == model.predict_one({"weight": 1000.0})
    few, _ = learned("csv", tmp_path, {**texts, "weight": [f"{36 + 24 * (k % 2)} months" for k in range(200)]})
    assert few.details.schema.kinds["weight"] == "text"


@pytest.mark.parametrize("way", ["csv", "parquet", "json values", "pandas mixed"])
def test_a_text_among_numbers_is_missing_and_counted_wherever_it_stands(way: str, tmp_path: Path) -> None:
    rows = 4300
    texts = {"x": [f"{k % 97 / 4:.2f}" for k in range(rows)], "label": [f"{k % 97 + 0.5}" for k in range(rows)]}
    texts["x"][700] = "oops"
    texts["x"][4200] = "broken"  # after the rows that decide the column types
    result, _ = learned(way, tmp_path, texts)
    assert result.details.schema.columns == (("x", "number"),)
    said = [str(phrase) for phrase in result.column_report]
    where = "line 701" if way.startswith("json") else "row 701"
    assert any(
        one.startswith("column 'x': 99.95% numbers; first other value 'oops' in " + where) and "and 1 more" in one
        for one in said
    ), said


def test_the_model_finds_what_the_oddities_hide(expected: tuple[ul.TrainResult, Any]) -> None:
    result = expected[0]
    assert result.task == "binary: is it 'good' (positive) or 'bad' (negative)?"
    assert result.metrics["error_rate"] < 0.05
