"""Second-order learners are merged by adding up the information of their rows."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import numpy as np
import pytest
from oracles.rates import WALKS

import unitless as ul
from unitless import _core
from unitless.merging.information import Frame, Known, covariances
from unitless.merging.layout import Lanes, Layout
from unitless.models.extra_members import extra_state

WIDTH = 6
STEADY = [rate for rate, (_, walk, _) in enumerate(WALKS) if walk == 0]


def problem(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, WIDTH)) * np.logspace(-4, 4, WIDTH) * (1 + np.arange(rows)[:, None] / rows)
    X[:, 1] = 30 * X[:, 0] * (1 + 0.01 * rng.normal(size=rows))
    return X, X @ np.logspace(4, -4, WIDTH) + 2 + 0.5 * rng.normal(size=rows)


def learner(**options: Any) -> ul.Learner:
    m = ul.Learner(ensemble=True, **options)
    m._keep_rates(True)
    return m


def newton(model: ul.Learner) -> Any:
    return extra_state(model._snapshot(), "newton")


def steady(state: Any) -> tuple[np.ndarray, np.ndarray]:
    """v and P of the lanes that do not forget."""
    lanes = [state["lane_rates"].tolist().index(rate) for rate in STEADY]
    return state["v"].reshape(-1, len(state["lane_rates"]))[:, lanes], np.array(covariances(state))[lanes]


def close(a: Any, b: Any, relative: float = 1e-9) -> None:
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose(one, other, rtol=relative, atol=relative * np.abs(other).max())


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"interactions": 2}])
def test_merged_models_equal_one_that_has_learned_all_rows(options: Any) -> None:
    X, y = problem(900)
    one = learner(**options)
    one.learn(X, y)
    parts = []
    for rows in (slice(0, 50), slice(50, 500), slice(500, 900)):
        parts.append(learner(**options))
        parts[-1].learn(X[rows], y[rows])
    relative = 1e-8 if "interactions" in options else 1e-9  # products make P so ill-conditioned
    for order in itertools.permutations(parts):
        close(steady(newton(ul.merge(order))), steady(newton(one)), relative)
    nested = ul.merge([parts[0], ul.merge([parts[2], parts[1]])])
    close(steady(newton(nested)), steady(newton(one)), relative)


def test_features_that_one_model_knows_alone_are_those_of_its_rows() -> None:
    X, y = problem(400)
    names = [f"x{j}" for j in range(WIDTH)]
    frame = pytest.importorskip("pandas").DataFrame
    left, right = X[:200, :4], X[200:, 1:]
    one, a, b = learner(), learner(), learner()
    a.learn(frame(left, columns=names[:4]), y[:200])
    b.learn(frame(right, columns=names[1:]), y[200:])
    one.learn(frame(left, columns=names[:4]), y[:200])
    one.learn(frame(right, columns=names[1:]), y[200:])
    close(steady(newton(ul.merge([a, b]))), steady(newton(one)))


def test_labels_with_another_center_are_merged_correctly() -> None:
    """With target="auto", a model subtracts the first label that it has met from all labels."""
    X, y = problem(600)
    parts = [learner(target="auto"), learner(target="auto")]
    parts[0].learn(X[:300], y[:300])
    parts[1].learn(X[300:], y[300:])
    merged = ul.merge(parts)
    center = float(merged._snapshot()["target"][1])
    moved = learner()
    moved.learn(X, y - center)
    close(steady(newton(merged)), steady(newton(moved)))


@pytest.mark.parametrize("interactions", [None, 2])
def test_other_means_are_another_basis_of_the_same_rows(interactions: Any) -> None:
    """Rows x at means that are larger by d give the same information as rows x - d."""
    X, y = problem(300)
    d = 0.3 * np.logspace(-4, 4, WIDTH) * np.cos(np.arange(WIDTH))
    states = []
    for means in (np.zeros(WIDTH), d):
        model = learner(interactions=interactions)
        model.learn(X - means, y)
        centered = {
            "center_features": np.arange(1, 1 + WIDTH, dtype=np.uint32),
            "center_kinds": np.ones(WIDTH, np.uint32),
        }
        states.append(newton(model) | centered)
    layout = Layout.of(states, ordered=False)
    frame = Frame.of(states, layout, 100)
    lanes = Lanes([0] * len(STEADY), STEADY)
    plain, less = (Known.of(state, frame, layout, lanes, STEADY) for state in states)
    moved = frame.moved(plain, np.concatenate([[0.0], d]), 0.0)
    close((moved.A, moved.b), (less.A, less.b))
    assert np.abs(plain.A - less.A).max() > 0.01 * np.abs(plain.A).max()


def test_models_with_walks_stay_sound_however_often_they_are_merged() -> None:
    X, y = problem(1200)
    models = []
    for rows in np.array_split(np.arange(1200), 40):
        models.append(learner())
        models[-1].learn(X[rows], y[rows])
    P = np.array(covariances(newton(ul.merge(models))))
    assert (np.linalg.eigvalsh(P) > 0).all()
    base = models[0]
    for _ in range(5):
        parts = [base.copy() for _ in range(8)]
        for k, part in enumerate(parts):
            part.learn(X[k::8], y[k::8])
        base = ul.merge(parts, base=base)
        assert (np.linalg.eigvalsh(np.array(covariances(newton(base)))) > 0).all()


def test_a_model_of_second_order_alone_is_merged_too(tmp_path: pathlib.Path) -> None:
    X, y = problem(900)
    one, *parts = (ul.Learner(rule="newton") for _ in range(4))
    for model in (one, *parts):
        model._keep_rates(True)
    one.learn(X, y)
    for part, rows in zip(parts, np.array_split(np.arange(900), 3), strict=True):
        part.learn(X[rows], y[rows])
    merged = ul.merge(parts)
    close(steady(merged._snapshot()), steady(one._snapshot()))
    merged.save(tmp_path / "m.unitless")
    loaded = ul.load(tmp_path / "m.unitless")
    np.testing.assert_array_equal(loaded.predict(X), merged.predict(X))
    np.testing.assert_array_equal(loaded.learn(X, y), merged.learn(X, y))
    fresh = ul.Learner(rule="newton")
    assert ul.merge([fresh, fresh.copy()]).examples == 0
    np.testing.assert_allclose(ul.merge([fresh, parts[0]]).predict(X), parts[0].predict(X), rtol=1e-9, atol=1e-9)


def test_too_many_features_are_refused_for_second_order_only() -> None:
    a, b = ul.Learner(rule="newton"), ul.Learner(rule="newton")
    for model, first in ((a, 0), (b, 50)):
        model.learn([{f"x{first + j}": 1.0 + j for j in range(70)}], [1.0])
    with pytest.raises(ul.MergeError, match='120 features together, and rule="newton" takes at most 100'):
        ul.merge([a, b])


@pytest.mark.parametrize("classes", [None, [0, 1, 2]])
def test_classes_share_the_information_about_features(classes: Any) -> None:
    X, y = problem(900)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    parts = []
    for k, rows in enumerate(np.array_split(np.arange(900), 3)):
        own = rows if classes or k != 1 else rows[labels[rows] != 2]  # one model has not met a class
        parts.append(ul.Softmax(classes, rule="newton"))
        parts[-1].learn(X[own], labels[own])
    merged, nested = ul.merge(parts), ul.merge([parts[0], ul.merge([parts[2], parts[1]])])
    order = [nested.classes.index(label) for label in merged.classes]
    np.testing.assert_allclose(merged.predict(X), nested.predict(X)[:, order], rtol=1e-8, atol=1e-8)
    assert np.mean(np.array(merged.classes)[merged.predict(X).argmax(1)] != labels) < 0.15
    merged.copy().learn(X, labels)


def test_the_first_hundred_features_of_all_models_have_a_place() -> None:
    rng = np.random.default_rng(0)
    frame = pytest.importorskip("pandas").DataFrame
    a, b = learner(), learner()
    for model, first in ((a, 0), (b, 50)):
        X = rng.normal(size=(300, 70))
        model.learn(frame(X, columns=[f"x{first + j}" for j in range(70)]), X.sum(1))
    merged = ul.merge([a, b])
    assert len(newton(merged)["slots"]) == 1 + _core.most_second_order
    merged.copy().learn(frame(X, columns=[f"x{50 + j}" for j in range(70)]), X.sum(1))


def test_an_inverse_is_that_of_the_matrix() -> None:
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 17, 101):
        Z = rng.normal(size=(n + 5, n))
        matrix = Z.T @ Z + 0.1 * np.eye(n)
        inverse, sound = _core.inverted(matrix)
        assert sound
        np.testing.assert_allclose(inverse @ matrix, np.eye(n), atol=1e-10)
        np.testing.assert_array_equal(inverse, inverse.T)
        vectors = rng.normal(size=(3, n))
        np.testing.assert_allclose(_core.multiplied(matrix, vectors), vectors @ matrix, atol=1e-9)
    assert not _core.inverted(np.diag([1.0, -1.0]))[1]
    assert not _core.inverted(np.ones((2, 2)))[1]
    with pytest.raises(ul.InputError, match="square"):
        _core.inverted(np.zeros((2, 3)))
