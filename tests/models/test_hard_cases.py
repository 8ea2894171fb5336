"""Cases that once failed or nearly did: hostile objects, numbers at the end of the range, threads."""

from __future__ import annotations

import decimal
import os
import pathlib
import pickle
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import unitless as ul


def unchanged(m: ul.Learner, error: type[Exception], message: str, action: object) -> None:
    before = pickle.dumps(m)
    with pytest.raises(error, match=message):
        action()  # type: ignore[operator]
    assert pickle.dumps(m) == before


# ------------------------------------------------------------------------------------------------- hostile objects


def malformed(part: str) -> sp.csr_matrix:
    matrix = sp.random(50, 20, 0.3, format="csr", random_state=0)
    setattr(matrix, part, getattr(matrix, part)[:5])
    return matrix


@pytest.mark.parametrize("part", ["indices", "indptr", "data"])
def test_a_malformed_sparse_matrix_is_refused(part: str) -> None:
    m = ul.Learner()
    unchanged(m, ul.InputError, "malformed", lambda: m.learn(malformed(part), np.zeros(50)))


def test_a_mapping_that_changes_another_while_it_is_read() -> None:
    first = {f"name {j}": 1.0 for j in range(50)}

    class Vandal(dict):  # type: ignore[type-arg]
        def items(self) -> object:
            first.clear()
            return [(f"other {j}", np.float64(1.0)) for j in range(50)]

    m = ul.Learner()
    m.learn([first, Vandal(x=np.float64(1.0))], [1.0, 2.0])
    assert {f"name {j}" for j in range(50)} <= set(m.weights)


class Repeating(dict):  # type: ignore[type-arg]
    def items(self) -> object:
        return [("new", 1.0), ("b", np.float64(1e308)), ("b", 1e308)]


def test_names_that_were_refused_lose_their_slots() -> None:
    m = ul.Learner()
    m.learn_one({"a": 1.0}, 1.0)
    unchanged(m, ul.InputError, "below 1e300", lambda: m.learn([Repeating(x=None)], [1.0]))
    unchanged(m, ul.InputError, "below 1e300", lambda: m.learn_one(Repeating(x=None), 1.0))
    m.learn_one({"c": 1.0}, 1.0)
    assert list(m.weights) == ["(bias)", "a", "c"]


def test_an_interrupt_while_a_number_is_read_is_not_swallowed() -> None:
    class Slow:
        def __float__(self) -> float:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ul.Learner().learn_one({"a": Slow()}, 1.0)


@pytest.mark.parametrize("kind", ["dense", "rows"])
def test_colliding_values_that_overflow_are_refused_before_learning(kind: str) -> None:
    X = np.ones((600, 4))
    X[500] = 1e308
    rows = X if kind == "dense" else [dict(zip("abcd", row, strict=True)) for row in X.tolist()]
    m = ul.Learner(bits=1)
    unchanged(m, ul.InputError, "at row 500", lambda: m.learn(rows, np.ones(600)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]]), "X has masked values"),
        (pd.DataFrame({"a": ["1"]}), "column 'a' is (not all|of type)"),
        (pl.DataFrame({"a": ["1"]}), "column 'a' is (not all|of type)"),
        (pa.table({"a": ["1"]}), "column 'a' is (not all|of type)"),
        (pl.DataFrame({"a": [[1, 2]]}), "column 'a'"),
        (pd.DataFrame({"(bias)": [1.0]}), "the bias's own name"),
        ([[10**400]], "not all numbers"),
        (iter([[1.0]]), "X is a list_iterator"),
        (None, "X is a NoneType"),
        ("text", "X is a str|it must hold numbers"),
    ],
)
def test_odd_rows_are_refused(X: object, message: str) -> None:
    m = ul.Learner()
    unchanged(m, ul.InputError, message, lambda: m.learn(X, [1.0]))


@pytest.mark.parametrize("y", [["1"], [[1.0, 2.0], [1.0]], None, [10**400], np.ma.masked_array([1.0], mask=[True])])
def test_odd_labels_are_refused(y: object) -> None:
    m = ul.Learner()
    unchanged(m, ul.InputError, "y ", lambda: m.learn([[1.0]], y))


def test_none_is_refused_where_a_number_or_a_row_should_be() -> None:
    m = ul.Learner()
    unchanged(m, ul.InputError, "label is None, not a number", lambda: m.learn_one({"a": 1.0}, None))
    unchanged(m, ul.InputError, "weight is None, not a number", lambda: m.learn_one({"a": 1.0}, 1.0, None))
    unchanged(m, ul.InputError, "x is None, not a mapping", lambda: m.learn_one(None, 1.0))
    unchanged(m, ul.InputError, "x is None, not a mapping", lambda: m.predict_one(None))


def test_columns_of_booleans_and_labels_of_every_kind_work() -> None:
    columns = {"a": [True, False, True], "b": [1, 2, 3]}
    expected = ul.Learner(loss="logistic").learn(pd.DataFrame(columns), [True, False, True])
    for frame in (pa.table(columns), pa.RecordBatch.from_pydict(columns), pl.DataFrame(columns)):
        for y in (
            pa.array([True, False, True]),
            pa.chunked_array([[1, 0, 1]]),
            pl.Series([1, 0, 1]),
            pd.Series([1, 0, 1]),
        ):
            assert ul.Learner(loss="logistic").learn(frame, y).tobytes() == expected.tobytes()


def test_no_rows_at_all() -> None:
    m = ul.Learner()
    assert m.learn([], []).shape == (0,)
    assert m.predict([]).shape == (0,)


def test_options_may_be_any_kind_of_number() -> None:
    m = ul.Learner(learning_rate=np.float32(0.5), bits=np.int64(8), bias=np.False_)
    assert m.copy().options == ul.Learner(bits=8, bias=False).options
    assert ul.Learner(learning_rate=decimal.Decimal("0.25")).copy().options.learning_rate == 0.25
    with pytest.raises(ul.OptionError, match="learning_rate"):
        ul.Learner(learning_rate=10**400)


def test_saved_files_have_ordinary_permissions_and_links_are_followed(tmp_path: pathlib.Path) -> None:
    m = ul.Learner()
    mask = os.umask(0o022)
    try:
        m.save(tmp_path / "real")
    finally:
        os.umask(mask)
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o644
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    m.learn([[1.0]], [1.0])
    m.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    assert ul.load(tmp_path / "real").examples == 1
    for bad in (tmp_path, f"{tmp_path}/x/", "\0", 3.5):
        with pytest.raises(ul.ModelFileError, match="cannot write"):
            m.save(bad)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("options", "X", "y", "weight"),
    [
        ({}, [[1, 1], [1, 2]], [1, 0.5], [1, 1e15]),
        ({"loss": "hinge"}, [[1.0], [-1.0], [1.0]], [1, -1, 1], [1e15, 1e15, 1e15]),
        ({"rule": "gd"}, [[1e200]], [1.0], None),
        ({"rule": "ag"}, [[1e200]], [1.0], None),
        ({"rule": "ag", "importance_aware": False}, [[1e200]], [1.0], None),
        ({"rule": "gd", "importance_aware": False}, [[1e200]], [1e60], None),
        ({"rule": "gd", "importance_aware": False, "learning_rate": 1e300}, [[1e10]], [1.0], None),
        ({"rule": "snag"}, [[1e300]], [1.0], [1e15]),
        ({}, [[1.0]], [1e60], None),
    ],
    ids=str,
)
def test_overflowing_values_never_enter_the_state(
    options: dict[str, object], X: object, y: object, weight: object
) -> None:
    for kind in (np.asarray, sp.csr_matrix):
        m = ul.Learner(**options)  # type: ignore[arg-type]
        try:
            m.learn(kind(np.asarray(X, float)), y, weight)
        except ul.DivergedError:
            assert m.examples < len(X)  # type: ignore[arg-type]
        assert all(np.isfinite(list(m.weights.values())))
        assert m.copy().examples == m.examples  # and its own file loads


def test_divergence_is_found_in_the_same_row_dense_and_sparse() -> None:
    X = np.array([[1e-100], [1e200], [1.0]])
    rows = []
    for kind in (np.asarray, sp.csr_matrix):
        m = ul.Learner("gd", importance_aware=False)
        with pytest.raises(ul.DivergedError):
            m.learn(kind(X), np.ones(3))
        rows.append(m.examples)
    assert rows[0] == rows[1]


def test_tiny_values_after_a_huge_one_are_no_divergence() -> None:
    assert np.isfinite(ul.Learner(bias=False).learn([[1e200], [1e40]], [1, 2])).all()


def test_an_example_without_weight_does_not_settle_how_labels_are_written() -> None:
    m = ul.Learner(loss="logistic")
    m.learn([[1.0]], [0], [0.0])
    m.learn([[1.0]], [-1])
    unchanged(m, ul.InputError, "earlier negative labels were -1", lambda: m.learn([[1.0]], [0]))


@pytest.mark.parametrize("rule", ["ng", "nag", "snag"])
def test_models_of_very_different_scales_merge(rule: str) -> None:
    parts = []
    for scale in (1e-155, 1e155):
        m = ul.Learner(rule)
        m.learn(scale * np.random.default_rng(0).normal(size=(50, 1)), np.ones(50))
        parts.append(m)
    for bounded in (False, True):
        merged = ul.merge(parts, bounded=bounded)
        assert np.isfinite(merged._snapshot()["v"]).all()
        merged.copy()


def test_an_invalid_base_is_refused() -> None:
    base, part = ul.Learner(), ul.Learner()
    base.learn([[1.0]] * 5, [1.0] * 5)
    with pytest.raises(ul.MergeError, match="was not continued from it"):
        ul.merge([part, part], base=base)
    with pytest.raises(ul.MergeError, match="only learners"):
        ul.merge([base, None])  # type: ignore[list-item]
    with pytest.raises(ul.MergeError, match="list of learners"):
        ul.merge(base)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- order "vw"


def test_order_vw_predicts_what_it_would_learn_with() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * np.exp(np.linspace(0, 6, 60))[:, None]
    y = X @ [1, 2, 3]
    for rule in ("ng", "nag", "ag"):
        m = ul.Learner(rule, order="vw")
        for r in range(60):
            before = m.predict(X[r : r + 1])
            assert m.learn(X[r : r + 1], y[r : r + 1], [0.0]).tobytes() == before.tobytes()
            np.testing.assert_allclose(m.learn(X[r : r + 1], y[r : r + 1]), before, rtol=1e-12, atol=1e-12)


def test_order_vw_reports_a_prediction_that_is_no_number() -> None:
    m = ul.Learner(order="vw", bias=False, loss="hinge")
    m.learn([[1e-300, 1e-300]], [1])
    unchanged(m, ul.DivergedError, "diverged", lambda: m.learn([[1e300, -1e300]], [1]))


@pytest.mark.parametrize("clip", ["labels", "vw"])
@pytest.mark.parametrize("order", ["paper", "vw"])
def test_clipping_keeps_the_bits_whatever_the_input(order: str, clip: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 9)) * 10.0 ** np.arange(-4, 5)
    y = X @ (10.0 ** np.arange(4, -5, -1))
    a, b, c = (ul.Learner(order=order, clip=clip) for _ in range(3))
    expected = a.learn(X, y)
    assert b.learn(sp.csr_matrix(X), y).tobytes() == expected.tobytes()
    pieces = [c.learn(X[i : i + 13], y[i : i + 13]) for i in range(0, 200, 13)]
    assert np.concatenate(pieces).tobytes() == expected.tobytes()


# ------------------------------------------------------------------------------------------------- threads


def test_reading_a_learners_counts_while_others_learn_does_not_freeze() -> None:
    X, y = np.random.default_rng(0).normal(size=(2000, 5)), np.zeros(2000)
    frame = pd.DataFrame(X, columns=list("abcde"))
    m = ul.Learner()
    m.learn(frame, y)
    stop = threading.Event()

    def repeat(action: object) -> None:
        while not stop.is_set():
            action()  # type: ignore[operator]

    actions = [
        lambda: m.learn(frame, y),
        lambda: [m.learn_one({"a": 1.0, "b": 2.0}, 0.0) for _ in range(50)],
        lambda: (m.examples, m.total_weight, m.nbytes, repr(m)),
        lambda: m.weights,
    ]
    threads = [threading.Thread(target=repeat, args=(action,), daemon=True) for action in actions]
    for thread in threads:
        thread.start()
    stop.wait(1.0)
    stop.set()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


def test_a_row_that_vanishes_while_its_thread_waits_is_still_read_right() -> None:
    X, y = np.random.default_rng(0).normal(size=(100_000, 8)), np.zeros(100_000)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(8)])
    m = ul.Learner()
    m.learn(frame[:1], y[:1])
    for round_number in range(3):
        row = {f"fresh {round_number} {j}": 1.0 for j in range(30)}
        names = set(row)
        threads = [
            threading.Thread(target=lambda: m.learn(frame, y)),
            threading.Thread(target=lambda row=row: m.learn_one(row, 1.0)),  # type: ignore[misc]
        ]
        for thread in threads:
            thread.start()
        threading.Event().wait(0.002)
        row.clear()
        _ = [f"something else {j}" for j in range(1000)]
        for thread in threads:
            thread.join()
        assert names <= set(m.weights) or not names & set(m.weights)
