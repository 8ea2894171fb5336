"""Core = oracle: curves, trees and their mixture are equal to those of the NumPy implementation.

Where two candidates divide the rows in the same way, or two rates predict the same, the last bit may decide whether and
where a leaf is split and which rate leads. The streams here avoid such ties.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracles import published
from oracles.curves_and_trees import Member, Node, Shaped, Tree, Trees, adaptive
from streams import LOSSES, RULES, labels

import unitless as ul
from unitless.paper import algorithms as reference

TEXT = (False, False, False, False, True)


def problem(loss: str, rows: int, seed: int = 0, plain: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of several sizes, integers, text, missing values, and effects (steps, products) beyond a linear model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    X[:, 3] = rng.integers(0, 6, rows)
    code = rng.integers(0, 5, rows)
    score = np.sin(2 * X[:, 0]) + (X[:, 1] > 0) * X[:, 2] + 0.5 * (X[:, 3] == 2) + np.array([0, 1, -1, 0.5, 0])[code]
    raw = np.column_stack([X * (1.0 if plain else np.array([1.0, 1e4, 1e-3, 7.0])), code])
    missing = rng.random(raw.shape) < 0.06
    missing[0] = False
    return np.where(missing, np.nan, raw), labels(loss, score, rng)


def named(raw: np.ndarray) -> list[dict[str, float]]:
    rows = []
    for values in raw.tolist():
        row = {name: x for name, x in zip("abcd", values, strict=False) if not np.isnan(x)}
        if not np.isnan(values[4]):
            row[f"e=text {int(values[4])}"] = 1.0
        rows.append(row)
    return rows


def some_weights(rows: int) -> np.ndarray:
    return np.random.default_rng(7).choice([0.0, 0.5, 1.0, 1.0, 3.25], rows)


def close(p: Any, expected: np.ndarray, tolerance: float = 1e-12) -> None:
    p = np.asarray(p).reshape(expected.shape)
    assert np.isfinite(expected).all()
    size = np.maximum(np.abs(expected), np.sqrt(np.mean(expected**2)))
    error = (np.abs(p - expected) / size).max(axis=1)
    assert error.max() <= tolerance, f"{error.max():.2e}, the first in row {np.argmax(error > tolerance)}"


def check(
    model_type: Any, rule: str, loss: str, rate: Any, rows: int, seed: int = 0, weighted: bool = False, **options: Any
) -> tuple[ul.Learner, Shaped]:
    """Learn the same stream with a core and an oracle, and compare them."""
    baseline = rule in ("gd", "ag")
    raw, y = problem(loss, rows, seed, plain=baseline)
    weight = some_weights(rows) if weighted else None
    aware, target = options.get("aware", True), "auto" if options.get("target") else None
    penalties = {name: options[name] for name in ("sparsity", "l2") if name in options}
    m = ul.Learner(
        rule, loss, rate, model_type=model_type, quantile=0.3, importance_aware=aware, target=target, **penalties
    )
    p = m.learn(named(raw), y, weight)
    raw[:, 4] = codes(m, raw[:, 4])
    oracle = Shaped(model_type, rule, published.LOSSES[loss], rate, text=TEXT, **options)
    expected = oracle.run(raw, y, weight)
    # A plain step of a baseline does not depend on other features. Members therefore agree where a row has no leaves,
    # up to rounding, and that rounding would decide between losses of any size.
    if not (baseline and loss in ("hinge", "quantile") and model_type != "curves only"):
        close(p, expected, 1e-11 if loss == "hinge" else 1e-12)
    same_state(m, oracle)
    return m, oracle


def codes(m: ul.Learner, values: np.ndarray) -> np.ndarray:
    """The numbers that texts have in the core: those of their features."""
    names = m._snapshot()["names"]
    assert names is not None
    return np.array([x if np.isnan(x) else 1 + names.index(f"e=text {int(x)}") for x in values])


def same_state(m: ul.Learner, oracle: Shaped) -> None:
    """Compare thresholds and split questions to the last bit, and the weights of leaves up to rounding."""
    state = m._snapshot()["form"]
    curves = [oracle.curves.curves.get(j) for j in range(len(state["curve.leaves"]))]
    assert state["curve.leaves"].tolist() == [len(curve.intervals) if curve else 0 for curve in curves]
    assert state["curve.thresholds"].tolist() == [x for curve in curves if curve for x in curve.thresholds]
    for member in (member for member in oracle.members if member.curved):
        if member.trees:
            same_trees(state, member.trees)
        same_leaves(state, member)


def same_leaves(state: dict[str, Any], member: Member) -> None:
    count, most = (member.trees.T, member.trees.most) if member.trees else (0, 0)
    name, first = "trees" if member.trees else "curves", count * most
    leaves = state[f"{name}.leaves"].astype(int).tolist()
    lanes = [lane for head in member.heads for lane in head.lanes]
    weights = dict(zip(leaves, state[f"{name}.weights"].reshape(-1, len(lanes)), strict=True))
    evidence = dict(zip(leaves, state[f"{name}.evidence"].reshape(-1, len(member.heads)), strict=True))
    if isinstance(lanes[0].terms, reference.NG):
        assert np.isclose(state[f"{name}.N"][0], lanes[0].terms.N, rtol=1e-12)
    for leaf in member.heads[0].G:
        kind, of, place = leaf
        number = of * most + place if kind == "tree" else first + of * 33 + (32 if place < 0 else place)
        w, G = [lane.w[leaf] for lane in lanes], [head.G[leaf] for head in member.heads]
        np.testing.assert_allclose(weights.get(number, np.zeros(len(w))), w, rtol=1e-10, atol=1e-12)
        if adaptive(lanes[0].terms):  # other rules do not use it
            np.testing.assert_allclose(evidence.get(number, np.zeros(len(G))), G, rtol=1e-10, atol=1e-12)


def same_trees(state: dict[str, Any], trees: Trees) -> None:
    assert state["tree.sizes"].tolist() == [tree.leaves for tree in trees.trees]
    at = 0
    for tree in trees.trees:
        end = at + 2 * tree.leaves - 1
        same_questions(
            tree, {name: state[f"tree.{name}"][at:end] for name in ("low", "high", "column", "child", "place")}
        )
        at = end


def same_questions(tree: Tree, part: dict[str, np.ndarray]) -> None:
    def walk(node: Node, i: int) -> None:
        child = int(part["child"][i])
        if node.yes is None or node.no is None:
            assert child == i
            assert part["place"][i] == node.place
            return
        assert (part["low"][i], part["high"][i], part["column"][i]) == (node.low, node.high, node.column)
        walk(node.no, child)
        walk(node.yes, child + 1)

    walk(tree.root, 0)


# ------------------------------------------------------------------------------------------------- rules and losses


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", RULES)
def test_curves_only(rule: str, loss: str, weighted: bool) -> None:
    check("curves only", rule, loss, 0.05 if rule in ("gd", "ag") else 0.5, 150, weighted=weighted)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", RULES)
def test_curves_with_linear_terms_agree_with_the_oracle(rule: str, loss: str) -> None:
    check("curves", rule, loss, 0.05 if rule in ("gd", "ag") else 0.5, 120, weighted=rule != "nag")


@pytest.mark.parametrize("loss", LOSSES)
def test_trees(loss: str) -> None:
    check("trees", "nag", loss, 0.5, 220)


@pytest.mark.parametrize("rule", RULES)
def test_trees_by_other_rules(rule: str) -> None:
    check("trees", rule, "squared", 0.05 if rule in ("gd", "ag") else 0.5, 150, weighted=True)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_plain_steps(loss: str) -> None:
    check("curves", "nag", loss, 0.03, 150, aware=False)


@pytest.mark.parametrize("rate", [0.02, 0.2, 4.0])
def test_small_and_large_rates(rate: float) -> None:
    check("trees", "nag", "squared", rate, 150)


# ------------------------------------------------------------------------------------------------- penalties


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("model_type", ["curves", "trees", "curves only"])
def test_penalized_leaves(model_type: Any, loss: str) -> None:
    check(model_type, "nag", loss, 0.5, 150, weighted=True, sparsity=0.02, l2=0.3)


@pytest.mark.parametrize("penalty", ["sparsity", "l2"])
def test_penalized_leaves_of_labels_without_unit(penalty: str) -> None:
    check("trees", "nag", "squared", "auto", 100, target=True, **{penalty: 0.1})


# ------------------------------------------------------------------------------------------------- long streams


@pytest.mark.parametrize("rule", ["nag", "snag"])
def test_curves_that_are_cut_beyond_their_usual_number_of_leaves(rule: str) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.linspace(0, 9, 2600) + rng.normal(size=2600), rng.integers(0, 40, 2600) ** 2])
    y = np.sin(X[:, 0]) + np.sqrt(X[:, 1]) / 10 + 0.1 * rng.normal(size=2600)
    m, oracle = ul.Learner(rule, model_type="curves only"), Shaped("curves only", rule)
    close(m.learn(X, y), oracle.run(X, y))
    same_state(m, oracle)
    assert [len(curve.intervals) for curve in oracle.curves.curves.values()] > [20, 16]


def test_trees_of_many_leaves() -> None:
    _, oracle = check("trees", "nag", "squared", 0.5, 500, seed=1)
    assert oracle.members[2].trees
    assert min(tree.leaves for tree in oracle.members[2].trees.trees) > 5


# ------------------------------------------------------------------------------------------------- automatic rates


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_with_automatic_rates_trees_follow_the_leader(loss: str) -> None:
    check("trees", "nag", loss, "auto", 70, seed=1)


@pytest.mark.parametrize("loss", ["squared", "quantile"])
def test_rates_are_dropped_and_come_back(loss: str) -> None:
    _, oracle = check("curves only", "nag", loss, "auto", 1060)
    assert len(oracle.members[0].heads[0].lanes) < 16


# ------------------------------------------------------------------------------------------------- target, center


@pytest.mark.parametrize("model_type", ["trees", "curves only"])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(("rule", "loss"), [("nag", "squared"), ("ng", "squared"), ("snag", "quantile")])
def test_labels_without_unit_and_offset(rule: str, loss: str, weighted: bool, model_type: Any) -> None:
    check(model_type, rule, loss, 0.3, 100, weighted=weighted, target=True)


@pytest.mark.parametrize("model_type", ["curves", "trees", "curves only"])
def test_centered_columns(model_type: Any) -> None:
    raw, y = problem("squared", 150)
    X, weight = np.nan_to_num(raw[:, :4]) + np.array([3.0, 1e4, 0.0, -1.0]), some_weights(150)
    m, oracle = ul.Learner(model_type=model_type, center=True), Shaped(model_type, center=True)
    close(m.learn(X, y, weight), oracle.run(X, y, weight), 1e-10)
    same_state(m, oracle)


# ------------------------------------------------------------------------------------------------- classes


@pytest.mark.parametrize(("classes", "rows"), [(3, 130), (11, 90)])
@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_classes(loss: str, classes: int, rows: int) -> None:
    raw, score = problem("squared", rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    weight = some_weights(rows)
    m = ul.OneVsAll(range(classes), loss=loss, learning_rate=0.5, model_type="trees")
    p = m.learn(named(raw), y, weight)
    raw[:, 4] = codes(m, raw[:, 4])
    limited = loss == "squared"
    oracle = Shaped("trees", "nag", published.LOSSES[loss], classes=classes, text=TEXT, limited=limited)
    expected = oracle.run(raw, y, weight)
    close(p, expected)
    same_state(m, oracle)


@pytest.mark.parametrize(
    ("loss", "rate", "rows"), [("logistic", 0.5, 160), ("hinge", 0.5, 160), ("logistic", "auto", 30)]
)
@pytest.mark.parametrize("model_type", ["curves", "trees"])
def test_many_classes(model_type: Any, loss: str, rate: Any, rows: int) -> None:
    raw, score = problem("squared", rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, 26) / 26))
    y[::2] //= 9  # some classes are frequent, so that not all of them learn each row
    m = ul.OneVsAll(range(26), loss=loss, learning_rate=rate, model_type=model_type)
    p = m.learn(named(raw), y)
    raw[:, 4] = codes(m, raw[:, 4])
    oracle = Shaped(model_type, "nag", published.LOSSES[loss], rate, classes=26, text=TEXT)
    close(p, oracle.run(raw, y), 1e-10)
    same_state(m, oracle)


@pytest.mark.parametrize("patience", [0, 5])
@pytest.mark.parametrize("classes", [0, 3])
def test_few_trees_and_few_leaves(classes: int, patience: int) -> None:
    raw, y = problem("squared", 400)
    if classes:
        y = np.digitize(y, [-0.5, 0.7])
    size = {"n_trees": 3, "max_leaves": 4, "tree_patience": patience}
    options: dict[str, Any] = {"learning_rate": 0.5, "model_type": "trees", **size}
    m = ul.OneVsAll(range(3), **options) if classes else ul.Learner(**options)
    p = m.learn(named(raw), y)
    sizes = m._snapshot()["form"]["tree.sizes"]
    assert len(sizes) == 3
    assert sizes.max() == 4 or classes
    raw[:, 4] = codes(m, raw[:, 4])
    loss = reference.Logistic() if classes else None
    oracle = Shaped("trees", "nag", loss, classes=classes, text=TEXT, **size)
    close(p, oracle.run(raw, y))
    same_state(m, oracle)


def test_classes_with_automatic_rates() -> None:
    raw, score = problem("squared", 45)
    y = np.digitize(score, [-0.5, 0.7])
    m = ul.OneVsAll(range(3), learning_rate="auto", model_type="trees")
    p = m.learn(named(raw), y)
    raw[:, 4] = codes(m, raw[:, 4])
    oracle = Shaped("trees", "nag", reference.Logistic(), "auto", classes=3, text=TEXT)
    close(p, oracle.run(raw, y))
    same_state(m, oracle)


@pytest.mark.parametrize("model_type", ["curves", "trees", "curves only"])
@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_classes_under_a_softmax(model_type: Any, rate: Any) -> None:
    raw, score = problem("squared", 130 if rate == 0.5 else 45)
    y = np.digitize(score, [-0.5, 0.3, 0.9])
    weight = some_weights(len(y))
    m = ul.Softmax(range(4), learning_rate=rate, model_type=model_type)
    p = m.learn(named(raw), y, weight)
    raw[:, 4] = codes(m, raw[:, 4])
    oracle = Shaped(model_type, "nag", reference.Logistic(), rate, classes=4, text=TEXT, coupled=True)
    close(p, oracle.run(raw, y, weight), 1e-10)
    same_state(m, oracle)


# ------------------------------------------------------------------------------------------------- columns


def test_columns_that_join_later() -> None:
    raw, y = problem("squared", 180)
    raw[:60, 2:4], raw[:100, 3], raw[:, 4] = np.nan, np.nan, np.nan
    rows = named(raw)
    c, d = (next(r for r, row in enumerate(rows) if name in row) for name in "cd")
    m, oracle = ul.Learner(model_type="trees"), Shaped("trees")
    expected = [oracle.learn_one(raw[r, : 2 + (r >= c) + (r >= d)], y[r]) for r in range(180)]
    close(m.learn(rows, y), np.array(expected))
    same_state(m, oracle)


@pytest.mark.parametrize("columns", [1, 16, 17])
def test_any_number_of_columns(columns: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(110, columns))
    y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=110)
    m, oracle = ul.Learner(model_type="trees"), Shaped("trees")
    close(m.learn(X, y), oracle.run(X, y))
    same_state(m, oracle)


def test_predictions_and_rows_of_weight_zero_agree_with_learning() -> None:
    raw, y = problem("squared", 160)
    m, oracle = ul.Learner(model_type="trees"), Shaped("trees", text=TEXT)
    m.learn(named(raw[:100]), y[:100])
    raw[:, 4] = codes(m, raw[:, 4])
    oracle.run(raw[:100], y[:100])
    p = m.predict([{name: x for name, x in row.items() if "=" not in name} for row in named(raw[100:])])
    raw[100:, 4] = np.nan
    close(p, oracle.run(raw[100:], y[100:], np.zeros(60)))
