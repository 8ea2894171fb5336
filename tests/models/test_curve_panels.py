"""The data from which curves are plotted."""

from __future__ import annotations

import numpy as np
import pytest

import unitless as ul
from unitless.models.curve_panels import panels


def learned(model_type: str = "curves") -> ul.Learner:
    rng = np.random.default_rng(0)
    model = ul.Learner(model_type=model_type, learning_rate="auto")  # type: ignore[arg-type]
    rows, labels = [], []
    for bent, step, city in zip(rng.normal(size=4000), rng.integers(0, 3, 4000), rng.integers(0, 3, 4000), strict=True):
        row = {"bent": bent, "step": float(step), f"city={'abc'[city]}": 1.0, "noise": rng.normal()}
        if bent > 1.5:
            del row["bent"]
        rows.append(row)
        labels.append(3 * abs(bent) + (step == 1) + 0.5 * (city == 0))
    model.learn(rows, labels)
    return model


@pytest.mark.parametrize("model_type", ["curves", "trees", "curves only"])
def test_the_most_important_column_comes_first(model_type: str) -> None:
    shown = panels(learned(model_type)._form_reading(), [0])
    assert shown[0].column == "bent"
    assert {panel.column for panel in shown} == {"bent", "step", "city", "noise"}
    assert [panel.importance for panel in shown] == sorted((panel.importance for panel in shown), reverse=True)
    assert len(panels(learned(model_type)._form_reading(), [0], 2)) == 2


def test_a_line_follows_the_data() -> None:
    bent = next(panel for panel in panels(learned()._form_reading(), [0]) if panel.column == "bent")
    assert bent.x.shape == bent.y[:, 0].shape
    assert (np.diff(bent.x) >= 0).all()
    middle, left = np.interp([0.0, -2.0], bent.x, bent.y[:, 0])
    assert left - middle == pytest.approx(6, abs=1.5)
    assert bent.rows.sum() == pytest.approx(1, abs=0.03)
    assert bent.missing is not None
    assert bent.missing[0] - middle == pytest.approx(5.8, abs=1.5)


def test_text_has_its_values() -> None:
    city = next(panel for panel in panels(learned()._form_reading(), [0]) if panel.column == "city")
    assert sorted(city.texts) == ["a", "b", "c"]
    heights = dict(zip(city.texts, city.y[:, 0], strict=True))
    assert heights["a"] - heights["b"] == pytest.approx(0.5, abs=0.25)
    assert city.rows.sum() == pytest.approx(1)


def test_importance_has_no_unit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = np.abs(X[:, 0]) + (X[:, 0] > 0) * (X[:, 1] > 0)
    for model_type in ("curves", "trees"):
        found = []
        for unit in (1.0, 2.0**20):
            model = ul.Learner(model_type=model_type)
            model.learn(X * [unit, 1 / unit], y)
            found.append(model.importance)
        assert found[0] == found[1]
        assert found[0][0] > found[0][1] > 0
