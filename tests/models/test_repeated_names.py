"""Rows with the same names as the row before use a separate fast path, which gives the same bits as any other path."""

from __future__ import annotations

import functools
import pickle
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streams import LOSSES, RULES, same_bits, stream

import unitless as ul

NAMES = [f"name {j}" for j in range(13)]
MET = [*NAMES[5:], *NAMES[:5]]  # in this order the places differ from the positions in the row


def rows_of(X: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


def hard_stream(rule: str, loss: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return _hard_stream(rule in ("gd", "ag"), loss)


@functools.cache
def _hard_stream(baseline: bool, loss: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = stream(loss, rows=70, features=13, seed=3, spread=0.5 if baseline else 12, growth=not baseline)
    rng = np.random.default_rng(3)
    X[rng.random(X.shape) < 0.2] = 0
    X[10:15] = 0  # complete rows, and pieces of other rows
    X[30:40, :8] = -0.0
    return X, y, rng.choice([0.0, 0.5, 1.0, 3.0], len(y))


@functools.cache
def read_frames(baseline: bool, loss: str) -> tuple[pd.DataFrame, list[Any]]:
    """Read the stream as one frame, and each row as a separate frame."""
    frame = pd.DataFrame(_hard_stream(baseline, loss)[0], columns=NAMES)
    return frame, [ul.Learner()._data(frame[r : r + 1]) for r in range(len(frame))]


@pytest.mark.parametrize("bits", [None, 4])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", RULES)
def test_one_at_a_time_gives_the_same_bits_as_frames(rule: str, loss: str, bits: int | None, kernel: str) -> None:
    X, y, weight = hard_stream(rule, loss)
    options: dict[str, Any] = {"rule": rule, "loss": loss, "bits": bits, "learning_rate": 0.1}
    frame, frames_of_one = read_frames(rule in ("gd", "ag"), loss)
    framed, single = ul.Learner(**options), ul.Learner(**options)
    for model in (framed, single):
        model.learn(frame[:1][MET], y[:1])
    expected, given = [], []
    for r, (row, one) in enumerate(zip(rows_of(X), frames_of_one, strict=True)):
        expected += [framed.predict(one)[0], framed.predict(one, extrapolate=True)[0]]
        given += [single.predict_one(row), single.predict_one(row, extrapolate=True)]
        expected.append(framed.learn(one, y[r : r + 1], weight[r : r + 1])[0])
        given.append(single.learn_one(row, float(y[r]), weight[r]))
        if r % 25 == 24:  # rows in another form in between
            for model in (framed, single):
                model.learn(frame[:5], y[:5])
    assert same_bits(expected, given)
    assert pickle.dumps(framed) == pickle.dumps(single)


@pytest.mark.parametrize("options", [{"target": "auto"}, {"clip": "labels"}, {"bias": False}], ids=str)
def test_options_of_the_label_hold_one_at_a_time(options: dict[str, Any]) -> None:
    X, y = stream("squared", rows=100, features=13, seed=5)
    framed, single = ul.Learner(**options), ul.Learner(**options)
    expected = framed.learn(pd.DataFrame(X, columns=NAMES), y)
    given = [single.learn_one(row, label) for row, label in zip(rows_of(X), y.tolist(), strict=True)]
    assert same_bits(expected, given)
    assert pickle.dumps(framed) == pickle.dumps(single)


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200, 1e295])
def test_values_at_the_ends_of_the_range_give_the_same_bits(size: float) -> None:
    X, y = stream("squared", rows=60, features=13, seed=6, spread=1)
    X = X * size
    framed, single = ul.Learner(), ul.Learner()
    expected = framed.learn(pd.DataFrame(X, columns=NAMES), y)
    given = [single.learn_one(row, label) for row, label in zip(rows_of(X), y.tolist(), strict=True)]
    assert same_bits(expected, given)
    assert same_bits(framed.predict(pd.DataFrame(X, columns=NAMES)), [single.predict_one(row) for row in rows_of(X)])


@pytest.mark.parametrize("kind", [int, bool, np.float64, np.float32, np.int64])
def test_values_can_be_any_numbers(kind: type) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2 if kind is bool else 9, (50, 13))
    plain, typed = ul.Learner(), ul.Learner()
    for row in X.tolist():
        a = {name: float(value) for name, value in zip(NAMES, row, strict=True)}
        b = {name: kind(value) for name, value in zip(NAMES, row, strict=True)}
        assert plain.predict_one(a) == typed.predict_one(b)
        assert plain.learn_one(a, row[0]) == typed.learn_one(b, row[0])


def test_a_row_that_was_changed_after_it_was_predicted_is_read_anew() -> None:
    rng = np.random.default_rng(2)
    kept, fresh = ul.Learner(), ul.Learner()
    row = dict.fromkeys(NAMES, 1.0)
    for step in range(60):
        assert kept.predict_one(row) == fresh.predict_one(dict(row))
        if step % 2:
            row[NAMES[step % 13]] = float(rng.normal())
        if step % 3 == 0:
            row.update(zip(NAMES[:4], rng.normal(size=4).tolist(), strict=True))
        if step % 10 == 9:
            row[NAMES[0]] = row.pop(NAMES[0])  # to the end
        assert kept.learn_one(row, float(step)) == fresh.learn_one(dict(row), float(step))
    assert pickle.dumps(kept) == pickle.dumps(fresh)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({NAMES[3]: float("nan")}, "the value of feature 'name 3' is nan"),
        ({NAMES[12]: float("-inf")}, "the value of feature 'name 12' is -inf"),
        ({NAMES[0]: 10**400}, "the value of feature 'name 0' is 1000"),
        ({NAMES[0]: "1"}, "the value of feature 'name 0' is '1', not a number"),
        ({NAMES[0]: None}, "the value of feature 'name 0' is None, not a number"),
        ({NAMES[0]: 1e308}, "the value of feature 'name 0' is 1e.308; numbers must stay below 1e300"),
        ({7: 1.0}, "feature names must be text, not 7"),
    ],
    ids=str,
)
def test_a_bad_row_among_good_ones_changes_nothing(change: dict[Any, Any], message: str) -> None:
    m = ul.Learner(loss="logistic")
    good = dict.fromkeys(NAMES, 0.5)
    for label in (0, 1, 0, 1):
        m.learn_one(good, label)
    before = pickle.dumps(m)
    for action in (lambda row: m.learn_one(row, 1), m.predict_one):
        with pytest.raises(ul.InputError, match=message):
            action({**good, **change})
    for label in (-1, 2, float("nan")):
        with pytest.raises(ul.InputError, match="label is"):
            m.learn_one(good, label)
    assert pickle.dumps(m) == before
    other = pickle.loads(before)
    assert m.predict_one(good) == other.predict_one(good)
    assert m.learn_one(good, 1) == other.learn_one(good, 1)


def test_a_row_that_diverges_among_others_changes_nothing() -> None:
    m = ul.Learner("gd", learning_rate=0.01, importance_aware=False)
    good = dict.fromkeys(NAMES, 0.5)
    for label in (0.0, 1.0, 0.0, 1.0):
        m.learn_one(good, label)
    before = pickle.dumps(m)
    with pytest.raises(ul.DivergedError):
        m.learn_one(dict.fromkeys(NAMES, 1e200), 1.0)
    assert pickle.dumps(m) == before
    other = pickle.loads(before)
    assert m.learn_one(good, 1.0) == other.learn_one(good, 1.0)
    assert pickle.dumps(m) == pickle.dumps(other)


def test_threads_can_share_a_learner_one_row_at_a_time() -> None:
    m = ul.Learner()
    rows = [dict.fromkeys(NAMES, 0.1 * k) for k in range(10)]

    def work() -> None:
        for _ in range(200):
            for row in rows:
                m.predict_one(row)
                m.learn_one(row, 1.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    m.learn(pd.DataFrame([rows[3]] * 50_000), np.ones(50_000))  # it locks the learner but not the interpreter
    for thread in threads:
        thread.join()
    assert m.examples == 4 * 200 * 10 + 50_000
