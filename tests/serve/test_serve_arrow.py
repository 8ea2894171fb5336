"""Arrow columns of every type: numbers, dates, and other types, which are refused with the column's name."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import unitless as ul
from unitless.serve.http.bodies import PAUSE, Batches
from unitless.serve.problems import Problem
from unitless.serve.served import ServedModel

DAY = datetime.date(2020, 2, 13)
MOMENT = datetime.datetime(2020, 2, 13, 10, 30, 0, 250000)


def rows(table: pa.Table, label: str = "label") -> list[dict[str, Any]]:
    """The rows of a request body with this table."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body = Batches(label)
    items = [*body.feed(sink.getvalue().to_pybytes()), *body.end()]
    found = [item for item in items if item is not PAUSE]
    assert all(isinstance(item, bytes) for item in found), found
    return [json.loads(item) for item in found]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (pa.array([Decimal("12.50"), None], pa.decimal128(10, 2)), 12.5),
        (pa.array([Decimal("-0.125"), None], pa.decimal256(50, 3)), -0.125),
        (pa.array([np.float16(1.5), None], pa.float16()), 1.5),
        (pa.array([1.5, None], pa.float32()), 1.5),
        (pa.array([7, None], pa.uint64()), 7),
        (pa.array([True, None]), True),
        (pa.array([datetime.timedelta(seconds=2), None], pa.duration("ms")), 2e9),
        (pa.array([None, None], pa.null()), None),
        (pa.array(["a", None], pa.large_string()), "a"),
        (pa.array(["a", None]).dictionary_encode(), "a"),
        (pa.array([3, None]).dictionary_encode(), "3"),
        (pa.array([DAY, None], pa.date32()), "2020-02-13"),
        (pa.array([DAY, None], pa.date64()), "2020-02-13"),
        (pa.array([MOMENT, None], pa.timestamp("us")), "2020-02-13T10:30:00.250000"),
        (pa.array([MOMENT.replace(microsecond=0), None], pa.timestamp("s")), "2020-02-13T10:30:00"),
        (pa.array([MOMENT, None], pa.timestamp("ns")), "2020-02-13T10:30:00.250000"),
        (pa.array([MOMENT, None], pa.timestamp("ms", "UTC")), "2020-02-13T10:30:00.250000+00:00"),
        (pa.array([MOMENT, None], pa.timestamp("us", "Asia/Kolkata")), "2020-02-13T16:00:00.250000+05:30"),
        (pa.array([MOMENT, None], pa.timestamp("us", "America/New_York")), "2020-02-13T05:30:00.250000-05:00"),
        (pa.array([MOMENT.time(), None], pa.time64("us")), "10:30:00.250000"),
        (pa.array([datetime.time(10, 30), None], pa.time32("s")), "10:30:00"),
    ],
    ids=lambda one: str(getattr(one, "type", "")),
)
def test_a_column_is_what_its_type_says(column: Any, value: Any) -> None:
    first, second = rows(pa.table({"a": column, "label": [1.0, 2.0]}))
    assert first["features"] == {"a": value}
    assert type(first["features"]["a"]) is type(value)
    assert second["features"] == {"a": None}


def test_decimal_labels_and_weights_are_numbers() -> None:
    decimals = pa.array([Decimal("1.5"), Decimal("2.5")], pa.decimal128(5, 1))
    found = rows(pa.table({"a": [1.0, 2.0], "price": decimals, "weight": decimals}), "price")
    assert [(row["label"], row["weight"]) for row in found] == [(1.5, 1.5), (2.5, 2.5)]
    model = ServedModel("m", "champion", {})
    model.learn(found[0]["features"], found[0]["label"])
    assert model.task == "regression"


def test_timestamps_become_the_features_of_training() -> None:
    moments = pa.array(
        [MOMENT + datetime.timedelta(hours=5 * i) for i in range(100)], pa.timestamp("us", "Asia/Kolkata")
    )
    table = pa.table({"when": moments, "label": [float(i % 7) for i in range(100)]})
    trained = ul.train(table, target="label", task="regression", model_type="linear", ensemble=False).model
    model = ServedModel("m", "champion", {"model_type": "linear", "ensemble": False})
    for row in rows(table):
        model.learn(row["features"], row["label"])
    assert model.model is not None
    assert set(model.model._snapshot(False)["names"]) == set(trained._snapshot(False)["names"])


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("a", pa.array([[1.0], [2.0]])),
        ("a", pa.array([{"b": 1}, {"b": 2}])),
        ("a", pa.array([b"1", b"2"])),
        ("a", pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64()))),
        ("id", pa.array([[1.0], [2.0]])),
        ("label", pa.array([DAY, DAY])),
        ("weight", pa.array([DAY, DAY])),
    ],
    ids=lambda one: str(getattr(one, "type", one)),
)
def test_what_cannot_be_used_is_named(name: str, column: Any) -> None:
    columns = {"x": [1.0, 2.0], "label": [1.0, 2.0], name: column}
    with pytest.raises(Problem, match=f"Column '{name}' holds") as told:
        rows(pa.table(columns))
    assert told.value.status == 422
