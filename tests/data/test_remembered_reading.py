"""Column types found in training apply to all later data: rows by name, resumed training, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul

MARKS = ["oops", "never", "void"]


def frame(rows: int = 200) -> pd.DataFrame:
    numbers = np.random.default_rng(0).normal(size=(rows, 2)).round(3)
    return pd.DataFrame(
        {
            "size": ["oops" if i % 9 == 0 else str(numbers[i, 0]) for i in range(rows)],
            "day": ["never" if i % 11 == 0 else f"2020-0{1 + i % 9}-1{i % 9}" for i in range(rows)],
            "colour": ["void" if i % 7 == 0 else "xyz"[i % 3] for i in range(rows)],
            "y": numbers[:, 1],
        }
    )


def test_marks_of_missing_values_apply_to_rows_by_name() -> None:
    data = frame()
    predictor = ul.train(data, "y", reading=ul.Reading(na=MARKS), model_type="linear", passes=1).predictor
    expected = list(predictor.predict(data))
    rows = data.to_dict("records")
    assert list(predictor.predict(rows)) == expected
    assert [predictor.predict_one(row) for row in rows] == expected


@pytest.mark.parametrize("missing", ["absent", "indicator"])
def test_a_resumed_model_reads_as_it_was_trained(missing: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    frame().to_csv(path, index=False, sep=";")
    said: dict[str, Any] = {"reading": ul.Reading(na=MARKS, missing=missing, delimiter=";")}
    first = ul.train(path, "y", **said, model_type="linear", passes=1, output=tmp_path / "model")
    before = first.model._training["reading"]
    without = ul.train(path, resume=tmp_path / "model", passes=1)
    again = ul.train(path, resume=tmp_path / "model", passes=1, **said)
    assert without.model._training["reading"] == before
    assert without.model.weights == again.model.weights
    assert any("(missing)" in name for name in without.model.weights) == (missing == "indicator")


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        *(("reading", name, 5) for name in ("na", "header", "as_written", "delimiter", "encoding", "decimal")),
        *(("reading", "na", value) for value in ("oops", [1], [[]], {"oops": 1}, None)),
        *(("schema", "target_kind", kind) for kind in ("date", "moment", "time", "words")),
    ],
)
def test_impossible_stored_reading_options_are_refused(part: str, name: str, value: Any, tmp_path: Path) -> None:
    model = ul.train(frame(), "y", reading=ul.Reading(na=MARKS), model_type="linear", passes=1).model
    model._training[part][name] = value
    model.save(tmp_path / "model")
    with pytest.raises(ul.ModelFileError, match="this is not a valid model file"):
        ul.Predictor(tmp_path / "model")
