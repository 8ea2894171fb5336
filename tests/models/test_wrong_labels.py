"""One wrong label does not ruin a regressor, and correct labels are learned unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import RULES

import unitless as ul

AT = 1000
FAR, EARLY, FEWEST, CONFIRMING = 16.0, 1024.0, 3, 100  # as in core/encoding/label_unit.hpp
MODELS: dict[str, dict[str, Any]] = {
    "one rate": {"learning_rate": 0.5},
    "linear": {"learning_rate": "auto", "center": True},
    "second order": {"rule": "newton", "center": True},
    "default": {"learning_rate": "auto", "center": True, "model_type": "trees", "ensemble": True},
}


def sensors(rows: int = 6000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6)) * np.array([1, 100, 0.01, 5, 1e4, 1])
    y = 10 + X @ np.array([1, 0.02, -50, 0.3, 1e-4, 0]) + 2 * np.sin(X[:, 0]) + 0.3 * rng.normal(size=rows)
    return X, y


def limited(labels: np.ndarray) -> np.ndarray:
    """The labels that are learned, in plain Python: the oracle."""
    learned: list[float] = []
    far_rows = 0
    for y in labels.tolist():
        confirmed, far_rows = far_rows > 0, max(far_rows - 1, 0)
        low, high = min(learned, default=y), max(learned, default=y)
        margin = (high - low) * (FAR + EARLY / max(len(learned), 1))
        is_far = len(learned) >= FEWEST and high > low and not low - margin <= y <= high + margin
        if is_far:
            far_rows = CONFIRMING
        learned.append(min(max(y, low), high) if is_far and not confirmed else y)
    return np.array(learned)


def plain(**options: Any) -> ul.Learner:
    return ul.Learner(loss="squared", target="auto", **options)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("factor", [1e4, -1e9, 1e50])
def test_one_wrong_label_does_not_ruin_a_regressor(name: str, factor: float) -> None:
    X, y = sensors()
    wrong = y.copy()
    wrong[AT] *= factor
    after = slice(AT + 1000, None)
    right = np.mean((plain(**MODELS[name]).learn(X, y) - y)[after] ** 2)
    model = plain(**MODELS[name])
    ruined = np.mean((model.learn(X, wrong) - y)[after] ** 2)
    assert np.sqrt(ruined / right) < 1.05
    assert model.limited_labels == 1


@pytest.mark.parametrize("rule", RULES)
@given(st.lists(st.one_of(st.integers(-3, 3), st.sampled_from([1e3, -1e4, 1e6])), min_size=1, max_size=130))
def test_distant_labels_agree_with_the_oracle(rule: str, labels: list[float]) -> None:
    y = np.array(labels, dtype=float)
    model = plain(rule=rule, learning_rate=0.1)
    model.learn(np.linspace(1, 2, len(y))[:, None], y)
    learned = limited(y)
    u = learned - y[0]  # integers, so that sums are exact
    state = model._snapshot()
    assert state["target"][2:5].tolist() == [len(u), u.sum(), np.square(u).sum()]
    assert (state["label_min"], state["label_max"]) == (u.min(), u.max())
    assert model.limited_labels == np.count_nonzero(learned != y)


@pytest.mark.parametrize("k", [-40, 3, 60])
def test_far_labels_have_no_unit(k: int) -> None:
    X, y = sensors(300)
    y[[50, 120, 130]] = 1e7
    one, other = (plain(**MODELS["linear"]).learn(X, labels) for labels in (y, np.ldexp(y, k)))
    assert np.ldexp(one, k).tobytes() == other.tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_far_labels_do_not_depend_on_how_rows_are_given(name: str) -> None:
    X, y = sensors(400)
    y[[60, 130, 131, 300]] *= 1e6
    whole, parts = plain(**MODELS[name]), plain(**MODELS[name])
    at_once = whole.learn(X, y)
    pieces = []
    for first in range(0, len(y), 7):
        pieces.append(parts.learn(X[first : first + 7], y[first : first + 7]))
        parts = parts.copy()
    assert at_once.tobytes() == np.concatenate(pieces).tobytes()
    assert whole.limited_labels == parts.limited_labels > 0


def test_saving_in_between_changes_nothing(tmp_path: Any) -> None:
    X, y = sensors(400)
    y[[60, 130, 131, 300]] *= 1e6
    whole = plain(**MODELS["default"])
    at_once = whole.learn(X, y)
    for cut in (60, 61, 131, 132):
        model = plain(**MODELS["default"])
        first = model.learn(X[:cut], y[:cut])
        model.save(tmp_path / "model")
        model = ul.load(tmp_path / "model")
        assert at_once.tobytes() == np.concatenate([first, model.learn(X[cut:], y[cut:])]).tobytes()
        assert model.limited_labels == whole.limited_labels


@pytest.mark.parametrize("draw", ["lognormal", "pareto", "t2", "claims"])
def test_heavy_tails_are_learned_as_they_are(draw: str) -> None:
    rng = np.random.default_rng(1)
    rows = 5000
    X = rng.normal(size=(rows, 4))
    noise = {
        "lognormal": rng.lognormal(0, 1.5, rows),
        "pareto": rng.pareto(1.5, rows),
        "t2": rng.standard_t(2, rows),
        "claims": np.where(rng.random(rows) < 0.05, rng.lognormal(0, 1.5, rows), 0.0),
    }[draw]
    y = X @ np.array([1, 0.5, -0.5, 0.3]) + noise
    model = plain(**MODELS["linear"])
    model.learn(X, y)
    assert model.limited_labels <= 1


def test_labels_that_really_go_far_are_learned_from_the_second_on() -> None:
    X, y = sensors(4000)
    y[2000:] *= 1000
    model = plain(**MODELS["linear"])
    model.learn(X, y)
    assert model.limited_labels == 1
    assert abs(model.predict(X[3500:]) - y[3500:]).mean() < 0.5 * abs(y[3500:] - y[3500:].mean()).mean()


def test_merging_adds_the_counts() -> None:
    X, y = sensors(600)
    y[[100, 500]] = 1e8
    models = [plain(**MODELS["linear"]) for _ in range(2)]
    models[0].learn(X[:300], y[:300])
    models[1].learn(X[300:], y[300:])
    assert ul.merge(models).limited_labels == 2


def test_training_notes_a_far_label() -> None:
    X, y = sensors(3000)
    y[1500] = 1e9
    result = ul.train(X, target=y, model_type="linear", shuffle=False)
    assert any("far outside the range" in str(note) for note in result.notes)


@pytest.mark.parametrize("rows", [60, 90])
def test_a_wrong_label_does_not_confirm_itself_in_the_next_pass(rows: int) -> None:
    X, y = sensors(rows + 500)
    wrong = y.copy()
    wrong[30] *= 1e4
    errors = []
    for labels in (y, wrong):
        options: dict[str, Any] = {"model_type": "linear", "ensemble": False, "passes": 10, "random_state": 1}
        result = ul.train(X[:rows], target=labels[:rows], **options)
        errors.append(np.sqrt(np.mean((result.model.predict(X[rows:]) - y[rows:]) ** 2)))
    assert errors[1] < 2 * errors[0]
