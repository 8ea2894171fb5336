"""A table with the oddities of real files gives the same decisions and the same model, whatever holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from odd_tables import WAYS, Texts, odd_texts
from sources import content

import unitless as ul
from unitless.data.schema import Schema

TEXTS = odd_texts()


def learned(way: str, folder: Path, texts: Texts = TEXTS) -> tuple[ul.TrainResult, Any]:
    source = WAYS[way](texts, folder)
    return ul.train(source, "label", shape="linear", passes=1), source


def decisions(result: ul.TrainResult) -> Schema:
    return Schema.read(result.model._training["schema"])


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[ul.TrainResult, Any]:
    return learned("csv", tmp_path_factory.mktemp("odd"))


def test_the_columns_are_what_a_person_takes_them_for(expected: tuple[ul.TrainResult, Any]) -> None:
    schema = decisions(expected[0])
    assert dict(schema.columns) == {
        **dict.fromkeys(("size", "late", "price", "share", "income", "temperature", "people", "level"), "number"),
        **{"joined": "date", "seen": "date", "paid": "moment", "comment": "words"},
        **dict.fromkeys(("smoker", "city", "code"), "text"),
        **{"active": "boolean", "constant": "number"},
    }
    assert [name for name, _ in schema.left_out] == ["No", "customer"]
    assert schema.written["price"].thousands == ","
    assert (schema.written["income"].decimal, schema.written["income"].thousands) == (",", ".")
    assert schema.written["temperature"].decimal == ","
    assert schema.written["people"].thousands == ","


@pytest.mark.parametrize("way", list(WAYS)[1:])
def test_the_decisions_and_the_model_are_the_same_in_every_format(
    way: str, expected: tuple[ul.TrainResult, Any], tmp_path: Path
) -> None:
    result, source = learned(way, tmp_path)
    assert decisions(result) == decisions(expected[0])
    assert content(result.model) == content(expected[0].model)
    assert np.array_equal(result.predict(source), expected[0].predict(expected[1]))
    assert np.array_equal(result.predict(expected[1]), expected[0].predict(source))


def test_the_model_finds_what_the_oddities_hide(expected: tuple[ul.TrainResult, Any]) -> None:
    result = expected[0]
    assert result.task == "binary: is it 'good' (positive) or 'bad' (negative)?"
    assert result.score["zero_one"] < 0.05
