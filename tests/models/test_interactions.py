"""Interactions: the learner equals one that receives explicit products."""

from __future__ import annotations

import itertools
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from streams import UNIT_FREE, same_bits, stream

import unitless as ul
from unitless.cli import main

NAMES = ["a", "b", "c", "job=x", "job=y", "city=x"]
LISTS: dict[str, tuple[Any, list[tuple[int, int]]]] = {
    "all": (2, [(i, j) for j in range(6) for i in range(j + 1)]),
    "ordered": ("ordered", [(i, j) for i in range(6) for j in range(6)]),
    "names": ([("a", "b"), ("c", "a")], [(0, 1), (0, 2)]),
    "square": ([("b", "b")], [(1, 1)]),
    "groups": ([(["a", "b"], ["c"])], [(0, 2), (1, 2)]),
    "prefixes": ([("job=*", "city=*")], [(3, 5), (4, 5)]),
    "prefix squared": ([("job=*", "job=*")], [(3, 3), (3, 4), (4, 4)]),
    "everything": ([("*", "*")], [(i, j) for j in range(6) for i in range(j + 1)]),
    "mixed groups": ([(["a", "job=*"], "b")], [(0, 1), (1, 3), (1, 4)]),
    "overlapping": ([("a", "b"), ("b", "a"), (["a", "c"], ["b", "a"])], [(0, 1), (0, 0), (1, 2), (0, 2)]),
    "many": ([(name, "c") for name in NAMES] * 30, [(j, 2) for j in range(6)]),
}
COLUMN_LISTS = {
    "pair": ([(0, 1)], [(0, 1)]),
    "square": ([(2, 2)], [(2, 2)]),
    "groups": ([([0, 1], [2, 3])], [(0, 2), (0, 3), (1, 2), (1, 3)]),
    "overlapping": ([(0, 1), (1, 0), ([0, 1], [1])], [(0, 1), (1, 1)]),
}
Make = Callable[..., Any]
MODELS: dict[str, Make] = {
    "learner": lambda loss, **options: ul.Learner(loss=loss, learning_rate=0.3, **options),
    "auto": lambda loss, **options: ul.Learner(loss=loss, learning_rate="auto", **options),
    "one-vs-all": lambda loss, **options: ul.OneVsAll(loss=loss, learning_rate=0.3, **options),
    "sweep": lambda loss, **options: ul.Sweep([0.03, 0.3, 3.0], loss=loss, **options),
}


def problem(kind: str = "learner", loss: str = "squared", rows: int = 120) -> tuple[np.ndarray, np.ndarray]:
    X, y = stream(loss, rows=rows, features=6, spread=2)
    return X, np.digitize(y, [-0.5, 0.5]) if kind == "one-vs-all" else y


def explicit(X: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.hstack([X, np.column_stack([X[:, i] * X[:, j] for i, j in pairs])])


def mappings(X: np.ndarray) -> list[dict[str, float]]:
    """Rows by name. The first row has all names in order; later rows leave out zeros and have no fixed order."""
    rng = np.random.default_rng(4)
    rows = [dict(zip(NAMES, X[0].tolist(), strict=True))] if len(X) else []
    for row in X[1:].tolist():
        rows.append({NAMES[j]: row[j] for j in rng.permutation(6) if row[j] != 0})
    return rows


def shuffled_csr(X: np.ndarray) -> sp.csr_matrix:
    """Indices out of order, explicit zeros, and halves that must be added up before they are multiplied."""
    rng = np.random.default_rng(5)
    order = np.concatenate([rng.permutation(np.repeat(np.arange(6), 2)) for _ in X] or [np.zeros(0, int)])
    values = X[np.repeat(np.arange(len(X)), 12), order] / 2
    return sp.csr_matrix((values, order, np.arange(0, len(values) + 1, 12)), shape=X.shape)


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr": sp.csr_matrix,
    "shuffled csr": shuffled_csr,
    "frame": lambda X: pd.DataFrame(X, columns=NAMES),
    "mappings": mappings,
}


def close(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.sqrt(np.mean(np.square(b))))


# ------------------------------------------------------------------------------------------------- explicit products


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("rule", UNIT_FREE)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("pairs", [2, "ordered"])
def test_all_pairs_equal_explicit_products(pairs: object, kind: str, rule: str, loss: str) -> None:
    X, y = problem(kind, loss)
    _, products = LISTS["all" if pairs == 2 else "ordered"]
    a, b = MODELS[kind](loss, rule=rule, interactions=pairs), MODELS[kind](loss, rule=rule)
    close(a.learn(X, y), b.learn(explicit(X, products), y))
    close(a.predict(X), b.predict(explicit(X, products)))


@pytest.mark.parametrize("form", ["frame", "mappings"])
@pytest.mark.parametrize("rule", UNIT_FREE)
@pytest.mark.parametrize("case", LISTS)
def test_listed_pairs_of_names_equal_explicit_products(case: str, rule: str, form: str) -> None:
    interactions, products = LISTS[case]
    X, y = problem()
    a, b = ul.Learner(rule, interactions=interactions), ul.Learner(rule)
    close(a.learn(FORMS[form](X), y), b.learn(explicit(X, products), y))
    close(a.predict(FORMS[form](X)), b.predict(explicit(X, products)))
    assert len(a.weights) == 1 + 6 + len(products)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("case", COLUMN_LISTS)
def test_listed_pairs_of_columns_equal_explicit_products(case: str, kind: str, form: str) -> None:
    interactions, products = COLUMN_LISTS[case]
    X, y = problem(kind, "logistic")
    a, b = MODELS[kind]("logistic", interactions=interactions), MODELS[kind]("logistic")
    close(a.learn(FORMS[form](X), y), b.learn(explicit(X, products), y))
    close(a.predict(FORMS[form](X)), b.predict(explicit(X, products)))


@pytest.mark.parametrize("options", [{"bias": False}, {"order": "vw"}, {"clip": "labels"}])
def test_other_options_go_together_with_interactions(options: dict[str, object]) -> None:
    X, y = problem()
    a = ul.Learner(interactions=2, **options).learn(X, y)  # type: ignore[arg-type]
    b = ul.Learner(**options).learn(explicit(X, LISTS["all"][1]), y)  # type: ignore[arg-type]
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * np.sqrt(np.mean(b**2)))


def test_importance_weights_count_for_products_too() -> None:
    X, y = problem()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    a, b = ul.Learner(interactions=2), ul.Learner()
    close(a.learn(X, y, weight), b.learn(explicit(X, LISTS["all"][1]), y, weight))


def test_new_names_in_mid_stream_bring_their_products() -> None:
    X, y = problem(rows=200)
    rows, with_products = [], []
    for r, row in enumerate(X.tolist()):
        known = {NAMES[j]: row[j] for j in range(6) if r >= 40 * (j - 2)}
        rows.append(known)
        pairs = itertools.combinations_with_replacement(known, 2)
        with_products.append(known | {f"{i} times {j}": known[i] * known[j] for i, j in pairs})
    a, b = ul.Learner(interactions=2), ul.Learner()
    close(a.learn(rows, y), b.learn(with_products, y))
    expected = {name.replace(" times ", "*"): weight for name, weight in b.weights.items()}
    assert a.weights == pytest.approx(expected, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("interactions", [2, "ordered"])
@pytest.mark.parametrize("kind", ["learner", "one-vs-all"])
def test_beyond_4096_features_products_are_the_same(kind: str, interactions: object) -> None:
    rng = np.random.default_rng(0)
    columns = np.array([0, 3, 4094, 4095, 4096, 4097, 6000])
    small, y = rng.normal(size=(150, 7)) * (rng.random((150, 7)) < 0.6), rng.integers(0, 3, 150)
    wide = np.zeros((150, 6001))
    wide[:, columns] = small
    pairs = [(i, j) for i in range(7) for j in range(7) if i <= j or interactions == "ordered"]
    a, b = MODELS[kind]("squared", interactions=interactions), MODELS[kind]("squared")
    close(a.learn(sp.csr_matrix(wide), y), b.learn(explicit(small, pairs), y))
    dense = MODELS[kind]("squared", interactions=interactions)
    dense.learn(wide, y)
    assert pickle.dumps(a) == pickle.dumps(dense)
    assert same_bits(pickle.loads(pickle.dumps(a)).learn(wide, y), a.learn(wide, y))


# ------------------------------------------------------------------------------------------------- not a bit


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("rule", UNIT_FREE)
@pytest.mark.parametrize("form", ["fortran", "csr", "shuffled csr", "frame", "mappings"])
def test_every_way_of_feeding_gives_the_same_bits(form: str, rule: str, kind: str, loss: str) -> None:
    X, y = problem(kind, loss, 60)
    a, b = (MODELS[kind](loss, rule=rule, interactions=2) for _ in range(2))
    assert same_bits(a.learn(X, y), b.learn(FORMS[form](X), y))
    for extrapolate in (False, True):
        expected = a.predict(2 * X, extrapolate=extrapolate)
        assert same_bits(expected, b.predict(FORMS[form](2 * X), extrapolate=extrapolate))


@pytest.mark.parametrize("case", LISTS)
def test_frames_and_mappings_give_the_same_bits_for_every_list(case: str) -> None:
    X, y = problem()
    a, b = (ul.Learner(interactions=LISTS[case][0]) for _ in range(2))
    assert same_bits(a.learn(FORMS["frame"](X), y), b.learn(mappings(X), y))
    assert pickle.dumps(a) == pickle.dumps(b)


@pytest.mark.parametrize("interactions", [2, "ordered", [("a", "b"), ("job=*", "c")]], ids=str)
def test_the_order_of_a_frames_columns_does_not_matter_once_they_are_known(interactions: object) -> None:
    X, y = problem()
    table = FORMS["frame"](X)
    a, b = (ul.Learner(interactions=interactions) for _ in range(2))
    expected = a.learn(table, y)
    first, rest = b.learn(table[:50], y[:50]), b.learn(table[50:][NAMES[::-1]], y[50:])
    assert same_bits(expected, np.concatenate([first, rest]))
    assert pickle.dumps(a) == pickle.dumps(b)


@pytest.mark.parametrize("interactions", [2, "ordered", [("a", "b"), ("job=*", "c")]], ids=str)
def test_the_order_in_which_names_are_met_matters_by_rounding_only(interactions: object) -> None:
    X, y = problem()
    table = FORMS["frame"](X)
    a, b = (ul.Learner(interactions=interactions) for _ in range(2))
    close(a.learn(table, y), b.learn(table[NAMES[::-1]], y))


def test_a_sweeps_models_go_on_with_its_products() -> None:
    X, y = problem()
    sweep, alone = ul.Sweep([0.1, 0.5], interactions=2), ul.Learner(learning_rate=0.5, interactions=2)
    sweep.learn(X[:60], y[:60])
    alone.learn(X[:60], y[:60])
    m = sweep.model(1)
    close(m.predict(X), alone.predict(X))
    close(m.learn(X[60:], y[60:]), alone.learn(X[60:], y[60:]))


@pytest.mark.parametrize("kind", ["learner", "sweep"])
def test_loading_keeps_names_that_came_after_products(kind: str) -> None:
    rng = np.random.default_rng(0)
    m = MODELS[kind]("squared", interactions=[("n*", "n*")])
    for k in range(40):
        m.learn_one({f"n{j}": float(rng.normal()) for j in range(k // 10 + 1)} | {f"other{k}": 1.0}, 1.0)
    twin = pickle.loads(pickle.dumps(m))
    row = {f"n{j}": 0.5 * j - 1 for j in range(6)} | {"other3": 2.0, "new": 1.0}
    for _ in range(3):
        assert same_bits(m.predict_one(row), twin.predict_one(row))
        assert same_bits(m.learn_one(row, 2.0), twin.learn_one(row, 2.0))
    assert pickle.dumps(m) == pickle.dumps(twin)


@pytest.mark.parametrize("rule", UNIT_FREE)
def test_predict_is_what_learn_would_have_predicted_and_changes_nothing(rule: str, kernel: str) -> None:
    X, y = problem(rows=60)
    m = ul.Learner(rule, interactions=2)
    for r in range(len(y)):
        before = pickle.dumps(m)
        predicted = m.predict(X[r : r + 1])
        assert pickle.dumps(m) == before
        assert same_bits(predicted, m.learn(X[r : r + 1], y[r : r + 1]))


# ------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("rule", UNIT_FREE)
@pytest.mark.parametrize("case", LISTS)
def test_extrapolated_predictions_are_sums_over_features_and_products(case: str, rule: str) -> None:
    X, y = problem()
    m = ul.Learner(rule, interactions=LISTS[case][0])
    m.learn(FORMS["frame"](X), y)
    values = {"(bias)": np.ones(len(X))} | dict(zip(NAMES, X.T, strict=True))
    total = np.zeros(len(X))
    for name, weight in m.weights.items():
        left, _, right = str(name).partition("*")
        total += weight * values[left] * (values[right] if right else 1.0)
    close(m.predict(FORMS["frame"](X), extrapolate=True), total)


def test_products_are_named_after_their_factors() -> None:
    m = ul.Learner(interactions=[("age", "income"), ("age", "age")])
    m.learn(pd.DataFrame({"income": [1.0, 2.0], "age": [3.0, 4.0]}), [1.0, 2.0])
    assert list(m.weights) == ["(bias)", "income", "age", "income*age", "age*age"]
    assert m.scales["income*age"] == 8.0
    assert m.scales["age*age"] == 16.0
    columns = ul.Learner(interactions="ordered")
    columns.learn([[1.0, 2.0]], [1.0])
    assert sorted(map(str, columns.weights)) == ["(bias)", "0", "0*0", "0*1", "1", "1*0", "1*1"]


# ------------------------------------------------------------------------------------------------- merging


@pytest.mark.parametrize("interactions", [2, "ordered", [("a", "b"), ("job=*", "c")]], ids=str)
@pytest.mark.parametrize("kind", ["learner", "sweep"])
def test_merging_does_not_depend_on_the_order_in_which_names_were_met(kind: str, interactions: object) -> None:
    X, y = problem()
    table = FORMS["frame"](X)
    a, b, c = (MODELS[kind]("squared", interactions=interactions) for _ in range(3))
    a.learn(table[:60], y[:60])
    b.learn(table[60:], y[60:])
    c.learn(table[60:][NAMES[::-1]], y[60:])
    expected, merged = ul.merge([a, b]), ul.merge([a, c])
    close(merged.predict(table), expected.predict(table))
    close(merged.learn(table, y), expected.learn(table, y))


def test_merged_products_equal_merged_explicit_products() -> None:
    X, y = problem()
    wide = explicit(X, LISTS["all"][1])
    parts, plain = [ul.Learner(interactions=2) for _ in range(2)], [ul.Learner() for _ in range(2)]
    for k, rows in enumerate((slice(0, 60), slice(60, 120))):
        parts[k].learn(X[rows], y[rows])
        plain[k].learn(wide[rows], y[rows])
    close(ul.merge(parts).predict(X), ul.merge(plain).predict(wide))


# ------------------------------------------------------------------------------------------------- bounded memory


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("interactions", [2, "ordered", [("n*", "n*")]], ids=str)
def test_hashed_products_take_no_more_memory(interactions: object, kind: str) -> None:
    rng = np.random.default_rng(0)
    m = MODELS[kind]("squared", interactions=interactions, bits=8, **{"classes": [0, 1]} if "one" in kind else {})

    def row(k: int) -> dict[str, float]:
        return {f"n{j}": float(rng.normal()) for j in range(k, k + 12)}

    m.learn([row(k) for k in range(1000)], np.zeros(1000))
    before = m.nbytes
    m.learn([row(k) for k in range(1000, 4000)], np.ones(3000))
    assert m.nbytes < 1.2 * before  # a row's working memory depends on its collisions


@pytest.mark.parametrize("interactions", [2, "ordered", [(0, 1), ([2, 3], 4)]], ids=str)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("bits", [3, 18])
def test_hashed_columns_give_the_same_bits_dense_and_sparse(bits: int, kind: str, interactions: object) -> None:
    X, y = problem(kind)
    a, b = (MODELS[kind]("squared", interactions=interactions, bits=bits) for _ in range(2))
    assert same_bits(a.learn(X, y), b.learn(sp.csr_matrix(X), y))
    assert same_bits(a.predict(X), b.predict(sp.csr_matrix(X)))
    assert pickle.dumps(a) == pickle.dumps(b)


@pytest.mark.parametrize("interactions", [2, "ordered", [("a", "b"), ("job=*", "c")]], ids=str)
def test_hashed_products_without_collisions_learn_what_exact_ones_do(interactions: object) -> None:
    X, y = problem()
    a, b = ul.Learner(interactions=interactions), ul.Learner(interactions=interactions, bits=24)
    close(a.learn(FORMS["frame"](X), y), b.learn(FORMS["frame"](X), y))
    close(a.predict(FORMS["frame"](X)), b.predict(mappings(X)))


@pytest.mark.parametrize("bits", [3, 18])
@pytest.mark.parametrize("form", ["dense", "csr", "frame", "mappings"])
@pytest.mark.parametrize("listed", [False, True])
def test_a_loaded_hashed_model_predicts_and_learns_on_alike(listed: bool, form: str, bits: int) -> None:
    X, y = problem()
    named = form in ("frame", "mappings")
    interactions = [("a", "b"), ("job=*", "c")] if named else [(0, 1), ([3, 4], 2)]
    m = ul.Learner(interactions=interactions if listed else 2, bits=bits)
    m.learn(FORMS[form](X), y)
    twin = pickle.loads(pickle.dumps(m))
    assert same_bits(m.predict(FORMS[form](X)), twin.predict(FORMS[form](X)))
    assert same_bits(m.learn(FORMS[form](X), y), twin.learn(FORMS[form](X), y))


def test_a_loaded_hashed_model_need_not_meet_colliding_names_again() -> None:
    m = ul.Learner(interactions=[("a", "b")], bits=1)
    m.learn([{f"n{j}": 1.0 for j in range(8)} | {"a": 1.0, "b": 1.0}] * 5, np.arange(5.0))
    twin = pickle.loads(pickle.dumps(m))
    rows = [{f"n{j}": 0.5 * j + r for j in range(8)} for r in range(8)]
    assert same_bits(m.learn(rows, np.ones(8)), twin.learn(rows, np.ones(8)))


def test_asking_a_hashed_model_does_not_change_what_it_learns() -> None:
    asked, left_alone = (ul.Learner(interactions=[("a", "b")], bits=1) for _ in range(2))
    for name in "ab":
        asked.predict_one({name: 1.0})
    for m in (asked, left_alone):
        m.learn([{f"n{j}": 1.0 + j for j in range(8)}] * 3, np.ones(3))
    assert pickle.dumps(asked) == pickle.dumps(left_alone)


# ------------------------------------------------------------------------------------------------- bad input


FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
CASES: dict[str, tuple[Any, Callable[[Any], object], str]] = {
    "missing in a frame": ([("a", "z")], lambda m: m.learn(FRAME, [1, 2]), "names 'z', which the data does not have"),
    "no such beginning": ([("a", "job=*")], lambda m: m.learn(FRAME, [1, 2]), r"names 'job=\*', which"),
    "one of a group": ([("a", ["b", "q"])], lambda m: m.learn(FRAME, [1, 2]), "names 'q', which"),
    "number in a frame": ([(0, 1)], lambda m: m.learn(FRAME, [1, 2]), "names column 0, which"),
    "missing in an array": ([(0, 2)], lambda m: m.learn(np.ones((2, 2)), [1, 2]), "names column 2, which .* 2 columns"),
    "name in an array": ([("a", "b")], lambda m: m.learn(np.ones((2, 2)), [1, 2]), "names 'a', .* by their numbers"),
    "missing in csr": ([(0, 7)], lambda m: m.learn(sp.csr_matrix((2, 3)), [1, 2]), "names column 7, which"),
    "large dense": (2, lambda m: m.learn([[1.0, 1e200]], [1]), r"value is .*; products of such values leave the range"),
    "large csr": (2, lambda m: m.learn(sp.csr_matrix([[1e200]]), [1]), "products of such values leave the range"),
    "large frame": (2, lambda m: m.learn(FRAME * 1e200, [1, 2]), "products of such values leave the range"),
    "large mapping": (2, lambda m: m.learn_one({"a": 1e200, "b": -1e200}, 1), "products of such values|more than"),
    "large mappings": (2, lambda m: m.learn([{"new": 1.0}, {"a": 1e200}], [1, 1]), "products of such values|more than"),
    "predict large dense": (2, lambda m: m.predict([[1e200]]), "products of such values leave the range"),
    "predict large mapping": (2, lambda m: m.predict_one({"a": 1e200}), "products of such values|more than"),
    "nan in a frame": (2, lambda m: m.learn(FRAME * [1, np.nan], [1, 2]), "value is nan at row 0, column 'b'"),
}


def refused(m: Any, action: Callable[[Any], object], message: str) -> None:
    before = pickle.dumps(m)
    with pytest.raises(ul.InputError, match=message):
        action(m)
    assert pickle.dumps(m) == before


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("bits", [None, 10])
def test_bad_input_is_refused_and_changes_nothing(case: str, bits: int | None) -> None:
    interactions, action, message = CASES[case]
    refused(ul.Learner(interactions=interactions, bits=bits), action, message)


@pytest.mark.parametrize("case", [case for case in CASES if "mapping" in case or "nan" in case])
def test_a_model_that_has_learned_is_not_changed_either(case: str) -> None:
    interactions, action, message = CASES[case]
    m = ul.Learner(interactions=interactions)
    m.learn(FRAME, [1, 2])
    refused(m, action, message)


def test_names_of_refused_data_leave_no_trace() -> None:
    bad, fresh = (ul.Learner(interactions=[("a", "b")]) for _ in range(2))
    refused(bad, lambda m: m.learn(FRAME * [1, np.nan], [1, 2]), "value is nan")
    rows = pd.DataFrame({"x": [1.0, 2.0], "y": [2.0, 1.0], "a": [5.0, 1.0], "b": [3.0, 4.0]})
    bad.learn(rows, [1, 2])
    fresh.learn(rows, [1, 2])
    assert list(bad.weights) == list(fresh.weights)
    assert pickle.dumps(bad) == pickle.dumps(fresh)


@pytest.mark.parametrize("interactions", [None, 2, [("a", "b")]], ids=str)
def test_names_of_a_refused_mapping_leave_no_trace(interactions: object) -> None:
    bad, fresh = (ul.Learner(interactions=interactions) for _ in range(2))
    refused(bad, lambda m: m.learn_one({"a": 1.0, "b": 1.0, "(bias)": 1.0}, 1), "the bias's own name")
    for m in (bad, fresh):
        m.learn_one({"x": 1.0, "y": 2.0}, 1.0)
        m.learn_one({"a": 5.0, "b": 3.0}, 2.0)
    assert list(bad.weights) == list(fresh.weights)
    assert pickle.dumps(bad) == pickle.dumps(fresh)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_after_divergence_exactly_the_rows_before_are_learned(form: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * 30
    X[:, 5] *= np.arange(300) >= 40  # the second half adds products
    y = X @ np.ones(6)
    options = {"rule": "gd", "learning_rate": 1.0, "importance_aware": False, "schedule": "constant"}
    m, expected = (ul.Learner(interactions=2, **options) for _ in range(2))  # type: ignore[arg-type]
    with pytest.raises(ul.DivergedError):
        m.learn(FORMS[form](X), y)
    expected.learn(FORMS[form](X[: m.examples]), y[: m.examples])
    assert pickle.dumps(m) == pickle.dumps(expected)


@pytest.mark.parametrize(
    ("interactions", "message"),
    [
        (3, "interactions is 3; it must be None, 2, 'ordered', or a list of pairs"),
        (1, "interactions is 1"),
        (2.0, "interactions is 2.0"),
        (True, "interactions is True"),
        ("all", "interactions is 'all'"),
        (b"ordered", "interactions is b'ordered'"),
        ([], "interactions is empty"),
        (["ab"], "interactions has 'ab', which is not a pair"),
        ([("a",)], "which is not a pair"),
        ([("a", "b", "c")], "which is not a pair"),
        ([7], "interactions has 7, which is not a pair"),
        ([("a", -1)], "names column -1; columns count from 0"),
        ([("a", 1.5)], "names 1.5; name a feature"),
        ([("a", None)], "names None; name a feature"),
        ([("a", True)], "names True; name a feature"),
        ([("a", [])], r"names \[\]; name a feature"),
        ([("a", [["b"]])], r"names \[\['b'\]\]; name a feature"),
        ([("a", b"b")], "names b'b'; name a feature"),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [ul.Learner, ul.OneVsAll, ul.Sweep])
def test_malformed_interactions_are_refused(make: Make, interactions: object, message: str) -> None:
    with pytest.raises(ul.OptionError, match=message):
        make(interactions=interactions)


def test_options_keep_interactions_in_one_form() -> None:
    m = ul.Learner(interactions=[["a", np.int64(2)], (["b", "c"], "d*")])
    assert m.options.interactions == (("a", 2), (("b", "c"), "d*"))
    assert ul.Learner(**m.options.asdict()).options == m.options
    assert pickle.loads(pickle.dumps(m)).options == m.options


@pytest.mark.parametrize(
    ("written", "pairs"),
    [
        ("age*income,a*b", [("age", "income"), ("a", "b")]),
        ("job=**city=*", [("job=*", "city=*")]),
        ("a^**b", [("a^*", "b")]),
        ("a*b^*", [("a", "b^*")]),
    ],
)
def test_pairs_on_the_command_line_are_split_between_their_stars(
    written: str, pairs: list[tuple[str, str]], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "data.vw").write_text("1 | a b\n2 | a\n" * 5)
    command = ["train", str(tmp_path / "data.vw"), "--task", "regression", "-q", "--passes", "1"]
    assert main([*command, "--interactions", written, "-o", str(tmp_path / "m.unitless")]) == 0
    assert ul.load(tmp_path / "m.unitless").options.interactions == tuple(pairs)


@pytest.mark.parametrize("written", ["age", "age*", "*age", "a***b", "a*b*c", "a*b,"])
def test_other_interactions_on_the_command_line_are_refused(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data.vw", "--interactions", written]) == 2
    assert "pairs such as" in capsys.readouterr().err


def test_rows_without_any_feature_are_rows_of_the_bias_alone() -> None:
    plain, paired = (ul.Learner(interactions=which, learning_rate=0.5, center=False) for which in (None, 2))
    X = sp.csr_matrix((3, 2))
    y = np.array([1.0, 2.0, 3.0])
    assert (plain.learn(X, y) == paired.learn(X, y)).all()
    assert (plain.predict(X) == paired.predict(X)).all()
