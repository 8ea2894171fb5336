"""Merging models with several members under one mixture."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import numpy as np
import pytest

import unitless as ul

sparse = pytest.importorskip("scipy.sparse")

FEATURES = 12
# By member: the options of models, whether labels are classes, and whether rows are sparse.
KINDS: dict[str, tuple[dict[str, Any], bool]] = {
    "snag, squared": ({"target": "auto"}, True),
    "snag, averaged": ({"average": True}, True),
    "snag, logistic": ({"loss": "logistic"}, True),
    "snag, one rate": ({"learning_rate": 0.3}, True),
    "newton, squared": ({"target": "auto", "center": True}, False),
    "newton, averaged": ({"average": True, "center": True}, False),
    "newton, logistic": ({"loss": "logistic"}, False),
    "newton, one rate": ({"learning_rate": 0.3}, False),
    "newton, trees": ({"model_type": "trees"}, False),
}


def problem(kind: str, rows: int, seed: int = 0) -> tuple[Any, Any]:
    options, thin = KINDS[kind]
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(rows, FEATURES)) + 1) * np.logspace(-3, 3, FEATURES)
    if thin:
        X *= rng.random(X.shape) < 0.4
    w = np.cos(np.arange(FEATURES))
    y = X @ (np.logspace(3, -3, FEATURES) * w) + 0.3 * rng.normal(size=rows) - (0.4 if thin else 1.0) * w.sum()
    return (sparse.csr_matrix(X) if thin else X), (y > 0 if options.get("loss") == "logistic" else y + 4)


def fresh(kind: str) -> ul.Learner:
    return ul.Learner(**{"ensemble": True, "learning_rate": "auto", "model_type": "linear", **KINDS[kind][0]})


def scaled(X: Any, units: Any) -> Any:
    return X @ sparse.diags(units) if sparse.issparse(X) else X * units


def apart(kind: str, count: int = 2, rows: int = 900, units: Any = None) -> list[ul.Learner]:
    X, y = problem(kind, rows)
    X = scaled(X, np.ones(FEATURES) if units is None else units)
    models = []
    for part in np.array_split(np.arange(rows), count):
        m = fresh(kind)
        m.learn(X[part], y[part])
        assert m.ensemble == kind.partition(",")[0]
        models.append(m)
    return models


@pytest.mark.parametrize("kind", KINDS)
def test_a_fresh_model_is_neutral_and_order_does_not_matter(kind: str) -> None:
    models = apart(kind)
    X = problem(kind, 200, 1)[0]
    for merged in (ul.merge([models[0], fresh(kind)]), ul.merge([fresh(kind), models[0]]), ul.merge([models[0]])):
        np.testing.assert_allclose(merged.predict(X), models[0].predict(X), rtol=1e-8, atol=1e-9)
        assert merged.ensemble == models[0].ensemble
    assert ul.merge([fresh(kind), fresh(kind)]).ensemble == "none"
    a, b = (ul.merge(order).predict(X) for order in itertools.permutations(models))
    np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "trees" not in kind])
def test_the_order_of_merging_does_not_matter(kind: str) -> None:
    a, b, c = apart(kind, 3)
    X = problem(kind, 200, 1)[0]
    at_once = ul.merge([a, b, c])
    for nested in (ul.merge([ul.merge([a, b]), c]), ul.merge([a, ul.merge([c, b])])):
        np.testing.assert_allclose(nested.predict(X), at_once.predict(X), rtol=1e-7, atol=1e-7)
        assert nested.examples == at_once.examples


@pytest.mark.parametrize("kind", KINDS)
def test_units_change_no_bit(kind: str) -> None:
    powers = np.ldexp(1.0, np.arange(FEATURES) * 7 - 40)
    X = problem(kind, 100, 1)[0]
    plain, other = (ul.merge(apart(kind, rows=500, units=units)) for units in (None, powers))
    np.testing.assert_array_equal(plain.predict(X), other.predict(scaled(X, powers)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_merged_model_saves_loads_and_learns_on(kind: str, tmp_path: pathlib.Path) -> None:
    merged = ul.merge(apart(kind))
    merged.save(tmp_path / "m.unitless")
    loaded = ul.load(tmp_path / "m.unitless")
    X, y = problem(kind, 200, 1)
    np.testing.assert_array_equal(loaded.predict(X), merged.predict(X))
    np.testing.assert_array_equal(loaded.learn(X, y), merged.learn(X, y))
    assert merged.examples == 1100


@pytest.mark.parametrize("kind", KINDS)
def test_merged_models_are_about_as_good_as_their_parts(kind: str) -> None:
    models = apart(kind, rows=3000)
    X, y = problem(kind, 1000, 1)

    def loss(model: ul.Learner) -> float:
        said = model.predict(X)
        return float(np.mean((said > 0) != y) if y.dtype == bool else np.mean((said - y) ** 2))

    assert loss(ul.merge(models)) < 1.1 * max(map(loss, models))


@pytest.mark.parametrize("classes", [None, [0, 1, 2]])
@pytest.mark.parametrize("thin", [False, True])
def test_classes_are_merged_that_one_part_has_not_met(classes: Any, thin: bool) -> None:
    kind = "snag, squared" if thin else "newton, squared"
    X, y = problem(kind, 1200)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    few = np.flatnonzero(labels[:400] != 2)
    a, b, c = (ul.OneVsAll(classes, ensemble=True) for _ in range(3))
    a.learn(X[few], labels[few])
    if classes is None:
        a.learn(X[:1], [2], weight=[0.0])  # declared, but not met
    b.learn(X[400:800], labels[400:800])
    c.learn(X[800:], labels[800:])
    merged, nested = ul.merge([a, b, c]), ul.merge([ul.merge([c, b]), a])
    assert sorted(merged.classes) == [0, 1, 2]
    order = [nested.classes.index(label) for label in merged.classes]
    np.testing.assert_allclose(merged.predict(X), nested.predict(X)[:, order], rtol=1e-7, atol=1e-7)
    assert np.mean(np.array(merged.classes)[merged.predict(X).argmax(1)] != labels) < 0.3
    merged.copy().learn(X, labels)


def test_members_that_differ_are_refused() -> None:
    wide, narrow = apart("snag, squared")[0], apart("newton, squared")[0]
    with pytest.raises(ul.MergeError, match="differ in center"):
        ul.merge([wide, narrow])
    wide, narrow = apart("snag, logistic")[0], apart("newton, logistic")[0]
    with pytest.raises(ul.MergeError, match="differ in the members of their ensembles: 'snag' and 'newton'"):
        ul.merge([wide, narrow])
    alone = ul.Learner(loss="logistic", learning_rate="auto")
    with pytest.raises(ul.MergeError, match="the models differ in ensemble: True and False"):
        ul.merge([wide, alone])
