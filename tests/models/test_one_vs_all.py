"""Many classes: separate learners over one pass, and classes that join during the stream."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from streams import LOSSES, UNIT_FREE, stream

import unitless as ul

LABELS = np.array(["red", "green", "blue", "grey"])


def data(rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    X, y = stream(rows=rows, features=9)
    return X, LABELS[np.digitize(y, np.quantile(y, [0.2, 0.5, 0.8]))]


def sign(y: np.ndarray, label: object, loss: str) -> np.ndarray:
    return np.where(y == label, 1.0, 0.0 if loss == "poisson" else -1.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", UNIT_FREE)
def test_every_class_is_a_learner_of_its_own(rule: str, loss: str) -> None:
    X, y = data()
    m = ul.OneVsAll(LABELS, rule, loss, 0.1, clip=None)
    scores = m.learn(X, y)
    assert scores.shape == (len(y), 4)
    for c, label in enumerate(LABELS):
        alone = ul.Learner(rule, loss, 0.1)
        p = alone.learn(X, sign(y, label, loss))
        size = max(1.0, float(np.abs(p).max()))
        np.testing.assert_allclose(scores[:, c], p, rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(m.predict(X)[:, c], alone.predict(X), rtol=0, atol=1e-12 * size)
        for name, w in alone.weights.items():
            np.testing.assert_allclose(m.weights[str(label)][name], w, rtol=1e-9, atol=1e-300)
    assert m.scales == alone.scales


def test_scores_of_squared_loss_stay_within_their_labels() -> None:
    X, y = data()
    scores = ul.OneVsAll(LABELS, "nag", "squared", 5.0).learn(X, y)
    assert np.abs(scores).max() == 1
    assert np.abs(ul.OneVsAll(LABELS, "nag", "squared", 5.0, clip=None).learn(X, y)).max() > 1


def test_with_automatic_rates_too() -> None:
    X, y = data(rows=6000)
    m = ul.OneVsAll(LABELS)
    scores = m.learn(X, y)
    for c, label in enumerate(LABELS):
        alone = ul.Learner(loss="logistic", learning_rate="auto")
        np.testing.assert_allclose(scores[:, c], alone.learn(X, y == label), rtol=1e-9, atol=1e-9)
        assert m.learning_rate[str(label)] == alone.learning_rate
        assert list(m.rates[str(label)]) == list(alone.rates)


@pytest.mark.parametrize("learning_rate", [0.5, "auto"])
@pytest.mark.parametrize("interactions", [None, 2])
def test_a_class_joins_in_the_state_that_it_would_have_had(learning_rate: object, interactions: object) -> None:
    X, y = data(rows=3000)
    late = np.where((y == "grey") & (np.arange(len(y)) < 1500), "red", y)
    options = {"learning_rate": learning_rate, "interactions": interactions}
    joined = ul.OneVsAll(**options)  # type: ignore[arg-type]
    joined.learn(X[:1400], late[:1400])
    assert "grey" not in joined.classes
    scores = joined.learn(X[1400:], late[1400:])
    declared = ul.OneVsAll(joined.classes, **options)  # type: ignore[arg-type]
    declared.learn(X[:1400], late[:1400])
    np.testing.assert_array_equal(scores, declared.learn(X[1400:], late[1400:]))
    np.testing.assert_array_equal(joined.predict(X), declared.predict(X))


def test_classes_stand_in_the_order_in_which_they_were_met() -> None:
    X, y = data()
    m = ul.OneVsAll()
    m.learn(X, y)
    assert m.classes == list(dict.fromkeys(y.tolist()))
    one = ul.OneVsAll()
    for row, label in zip(X[:40].tolist(), y[:40], strict=True):
        scores = one.learn_one({str(j): x for j, x in enumerate(row)}, label)
        assert scores.shape == (len(one.classes),)
    assert one.classes == list(dict.fromkeys(y[:40].tolist()))


@pytest.mark.parametrize(
    "labels",
    [["x", "y", "z"], [3, 1, 2], [-10_000_000, 0, 10_000_000], [True, False], [1.5, 2.5], ["a", 1, 2.5]],
)
def test_labels_of_any_kind(labels: list[object]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = [labels[i] for i in rng.integers(0, len(labels), 60)]
    m = ul.OneVsAll(labels)
    scores = m.learn(X, np.array(y, dtype=object))
    assert m.classes == labels
    again = pickle.loads(pickle.dumps(m))
    assert again.classes == labels
    assert [type(label) for label in again.classes] == [type(label) for label in labels]
    best = [labels[i] for i in m.predict(X).argmax(axis=1)]
    assert m.predict_label(X).tolist() == best
    if len({type(label) for label in labels}) == 1:
        for values in (np.array(y), pd.Series(y), pl.Series(y), y):
            np.testing.assert_array_equal(ul.OneVsAll(labels).learn(X, values), scores)


def test_categories_are_labels_too() -> None:
    X, y = data(60)
    expected = ul.OneVsAll(LABELS).learn(X, y)
    np.testing.assert_array_equal(ul.OneVsAll(LABELS).learn(X, pd.Series(y, dtype="category")), expected)


@pytest.mark.parametrize("bad", ["purple", None, float("nan"), 7])
def test_an_unknown_class_is_refused_and_nothing_changes(bad: object) -> None:
    X, y = data(60)
    m = ul.OneVsAll(LABELS)
    m.learn(X, y)
    before = pickle.dumps(m)
    labels = y.astype(object)
    labels[17] = bad
    with pytest.raises(ul.InputError, match="the class at row 17 is"):
        m.learn(X, labels)
    with pytest.raises(ul.InputError, match="the class at row 0 is"):
        m.learn_one({"f": 1.0}, bad)
    assert pickle.dumps(m) == before


def test_a_class_of_bad_rows_does_not_join() -> None:
    X, y = data(60)
    m = ul.OneVsAll()
    m.learn(X, y)
    before = pickle.dumps(m)
    worse = X.copy()
    worse[5, 5] = np.inf
    with pytest.raises(ul.InputError, match="inf at row 5"):
        m.learn(worse, np.where(np.arange(60) == 3, "new", y))
    with pytest.raises(ul.InputError):
        m.learn(X[:1], ["new"], [-1.0])
    assert pickle.dumps(m) == before
    assert len(m.learn(X[:1], y[:1])[0]) == 4


@pytest.mark.parametrize("bad", [["a"], ["a", "a"], "ab", 1, 0, -2, 2.5, True, [None, "a"], [float("nan"), 1.0]])
def test_impossible_classes_are_refused(bad: object) -> None:
    with pytest.raises(ul.OptionError, match="classes"):
        ul.OneVsAll(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"target": "auto", "loss": "squared"}, {"order": "vw"}])
def test_options_for_one_learner_alone_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ul.OptionError, match=r"one-vs-all|OneVsAll"):
        ul.OneVsAll(["a", "b"], learning_rate=0.5, **options)  # type: ignore[arg-type]


def test_a_number_of_classes_means_one_to_that_number() -> None:
    X, _ = data(60)
    y = np.arange(60) % 5 + 1
    m = ul.OneVsAll(5)
    assert m.classes == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(m.learn(X, y), ul.OneVsAll([1, 2, 3, 4, 5]).learn(X, y))
    with pytest.raises(ul.InputError, match="the class at row 0 is 0, which is not one of 1, 2, 3, 4, 5"):
        m.learn(X, y - 1)
    assert ul.Sweep([0.5], classes=5).classes == [1, 2, 3, 4, 5]


def test_nothing_met_yet() -> None:
    m = ul.OneVsAll()
    assert m.classes == []
    assert m.predict(np.zeros((3, 2))).shape == (3, 0)
    with pytest.raises(ul.InputError, match="has not learned any class yet"):
        m.predict_label(np.zeros((3, 2)))
    assert m.learn(np.zeros((0, 2)), []).shape == (0, 0)


def test_it_learns() -> None:
    X, y = data(rows=4000)
    m = ul.OneVsAll()
    scores = m.learn(X, y)
    assert np.mean(np.array(m.classes)[scores.argmax(axis=1)][2000:] == y[2000:]) > 0.6


def test_rows_without_weight_bring_no_class() -> None:
    X, y = data(60)
    m = ul.OneVsAll()
    m.learn(X[:1], y[:1], [0.0])
    assert m.classes == []
    m.learn(X, y)
    before = pickle.dumps(m)
    assert m.learn(X[:2], ["new", y[1]], [0.0, 0.0]).shape == (2, 4)
    assert pickle.dumps(m) == before


def test_odd_arrays_of_labels() -> None:
    X = np.random.default_rng(0).normal(size=(4, 2))
    large = np.array([2**63, 2**63 + 1] * 2, dtype=np.uint64)
    assert ul.OneVsAll().learn(X, large).shape == (4, 2)
    m = ul.OneVsAll([1, "a"])
    m.learn(X, [1, "a", "a", 1])
    with pytest.raises(ul.InputError, match="masked"):
        ul.OneVsAll().learn(X, np.ma.array(["a", "b", "a", "b"], mask=[0, 1, 0, 0]))


def test_text_labels_are_kept_exactly(tmp_path: Path) -> None:
    """NumPy's text arrays drop NUL characters at the end of a text."""
    labels = ["spam\0", "spam", "\0", "", "spam\0"]
    model = ul.OneVsAll()
    model.learn([[float(k)] for k in range(5)], labels)
    path = tmp_path / "labels.unitless"
    model.save(path)
    for found in (model, ul.load(path)):
        assert found.classes == ["spam\0", "spam", "\0", ""]
        assert set(found.predict_label([[0.0], [1.0]]).tolist()) <= set(labels)
