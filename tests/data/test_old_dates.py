"""A model file from before dates had a year and a day of the year predicts what it predicted then."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import unitless as ul

OLD = Path(__file__).parent / "old"


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    frame = pd.read_csv(OLD / "dated.csv")
    frame["moment"] = pd.to_datetime(frame["moment"])
    frame["date"] = pd.to_datetime(frame["date"]).dt.date
    frame["time"] = pd.to_datetime(frame["time"], format="%H:%M:%S").dt.time
    return frame


EXPECTED = [float.fromhex(value) for value in json.loads((OLD / "dated.json").read_text())]


def test_from_a_file() -> None:
    assert list(ul.Predictor(OLD / "dated.unitless").predict(OLD / "dated.csv")) == EXPECTED


def test_from_a_frame(table: pd.DataFrame) -> None:
    assert list(ul.Predictor(OLD / "dated.unitless").predict(table)) == EXPECTED
    assert list(ul.load(OLD / "dated.unitless").predict(table)) == EXPECTED


def test_row_by_row(table: pd.DataFrame) -> None:
    predictor = ul.Predictor(OLD / "dated.unitless")
    written = pd.read_csv(OLD / "dated.csv").to_dict("records")
    for typed, text, expected in zip(table.to_dict("records"), written, EXPECTED, strict=True):
        assert predictor.predict_one(typed) == expected
        assert predictor.predict_one({**text, "moment": typed["moment"]}) == expected


def test_training_goes_on_with_the_old_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.unitless").write_bytes((OLD / "dated.unitless").read_bytes())
    (tmp_path / "more.csv").write_bytes((OLD / "dated.csv").read_bytes())
    more = ul.train("more.csv", "y", resume="m.unitless", shuffle=False)
    names = {str(name).split("=")[0] for name in more.model.weights}
    assert "moment.time" in names
    assert "moment.year" not in names
    assert np.isfinite(
        more.model.predict(pd.read_csv("more.csv", parse_dates=["moment", "date"]).assign(time=None))
    ).all()
