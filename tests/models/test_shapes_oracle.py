"""Core = oracle: curves, trees and their mixture are what the recipe in plain NumPy says.

Whether a leaf is split, and at which candidate, may hang on the last bit where two candidates divide the rows in the
same way: the streams here are such that it does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streams import LOSSES, RULES, labels

import unitless as ul
from unitless import reference
from unitless.research.shapes import Expert, Node, Shaped, Tree, Trees, adaptive

REFERENCE_LOSSES = {
    "squared": reference.Squared(),
    "logistic": reference.Logistic(),
    "hinge": reference.Hinge(),
    "quantile": reference.Quantile(0.3),
    "poisson": reference.Poisson(),
}
TEXT = (False, False, False, False, True)


def problem(loss: str, rows: int, seed: int = 0, plain: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of several sizes, whole numbers, text, missing values; steps and products, which linear models lack."""
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
    shape: Any, rule: str, loss: str, rate: Any, rows: int, seed: int = 0, weighted: bool = False, **options: Any
) -> tuple[ul.Learner, Shaped]:
    """A core and an oracle that have learned the same stream."""
    baseline = rule in ("gd", "ag")
    raw, y = problem(loss, rows, seed, plain=baseline)
    weight = some_weights(rows) if weighted else None
    aware, target = options.get("aware", True), "auto" if options.get("target") else None
    m = ul.Learner(rule, loss, rate, shape=shape, quantile=0.3, importance_aware=aware, target=target)
    p = m.learn(named(raw), y, weight)
    raw[:, 4] = codes(m, raw[:, 4])
    oracle = Shaped(shape, rule, REFERENCE_LOSSES[loss], rate, text=TEXT, **options)
    expected = oracle.run(raw, y, weight)
    # Of other losses the mixture weighs experts that are the same but for rounding by that rounding.
    if loss in ("squared", "logistic") or shape == "curves only":
        close(p, expected)
    same_state(m, oracle)
    return m, oracle


def codes(m: ul.Learner, values: np.ndarray) -> np.ndarray:
    """The numbers that texts have in the core: those of their features."""
    names = m._snapshot()["names"]
    assert names is not None
    return np.array([x if np.isnan(x) else 1 + names.index(f"e=text {int(x)}") for x in values])


def same_state(m: ul.Learner, oracle: Shaped) -> None:
    """The same thresholds and questions, to the last bit; the same weights of leaves, to rounding."""
    state = m._snapshot()["shape"]
    curves = [oracle.curves.curves.get(j) for j in range(len(state["curve.leaves"]))]
    assert state["curve.leaves"].tolist() == [len(curve.intervals) if curve else 0 for curve in curves]
    assert state["curve.thresholds"].tolist() == [x for curve in curves if curve for x in curve.thresholds]
    for expert in (expert for expert in oracle.experts if expert.curved):
        if expert.trees:
            same_trees(state, expert.trees)
        same_leaves(state, expert)


def same_leaves(state: dict[str, Any], expert: Expert) -> None:
    name, first = ("trees", 64 * 256) if expert.trees else ("curves", 0)
    leaves = state[f"{name}.leaves"].astype(int).tolist()
    lanes = [lane for head in expert.heads for lane in head.lanes]
    weights = dict(zip(leaves, state[f"{name}.weights"].reshape(-1, len(lanes)), strict=True))
    evidence = dict(zip(leaves, state[f"{name}.evidence"].reshape(-1, len(expert.heads)), strict=True))
    if isinstance(lanes[0].terms, reference.NG):
        assert np.isclose(state[f"{name}.N"][0], lanes[0].terms.N, rtol=1e-12)
    for leaf in expert.heads[0].G:
        kind, of, place = leaf
        number = of * 256 + place if kind == "tree" else first + of * 33 + (32 if place < 0 else place)
        w, G = [lane.w[leaf] for lane in lanes], [head.G[leaf] for head in expert.heads]
        np.testing.assert_allclose(weights.get(number, np.zeros(len(w))), w, rtol=1e-10, atol=1e-12)
        if adaptive(lanes[0].terms):  # of other rules it is not looked at
            np.testing.assert_allclose(evidence.get(number, np.zeros(len(G))), G, rtol=1e-10, atol=1e-12)


def same_trees(state: dict[str, Any], trees: Trees) -> None:
    assert state["tree.sizes"].tolist() == [tree.leaves for tree in trees.trees]
    at = 0
    for tree in trees.trees:
        end = at + 2 * tree.leaves - 1
        same_questions(tree, {name: state[f"tree.{name}"][at:end] for name in ("low", "high", "column", "child", "place")})
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
def test_curves_beside_linear_terms(rule: str, loss: str) -> None:
    check("curves", rule, loss, 0.05 if rule in ("gd", "ag") else 0.5, 120, weighted=rule != "nag")


@pytest.mark.parametrize("loss", LOSSES)
def test_trees(loss: str) -> None:
    check("trees", "nag", loss, 0.5, 220)


@pytest.mark.parametrize("rule", RULES)
def test_trees_by_other_rules(rule: str) -> None:
    check("trees", rule, "squared", 0.05 if rule in ("gd", "ag") else 0.5, 150, weighted=True)
