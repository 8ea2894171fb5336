"""Merging in one step or in several, in any grouping, gives the same model up to rounding."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from streams import RULES

import unitless as ul
from unitless.merging.layout import Lanes


class Problem:
    """Random options, and models with these options that have learned different rows; a seed determines everything."""

    def __init__(self, seed: int, based: bool = False, **options: Any) -> None:
        self.rng = rng = np.random.default_rng(seed)
        rule = RULES[seed % len(RULES)]
        self.by_name = bool(rng.integers(2))
        self.logistic = bool(rng.integers(2))
        fixed = 0.01 if rule in ("gd", "ag") else 0.3
        self.options: dict[str, Any] = {
            "rule": rule,
            "loss": "logistic" if self.logistic else "squared",
            "learning_rate": "auto" if rng.integers(2) else fixed,
            "center": bool(rng.integers(4)),
            "interactions": [None, 2, "ordered"][rng.integers(3)],
            "average": bool(rng.integers(2)),
            "target": None if self.logistic else [None, "auto"][rng.integers(2)],
            **options,
        }
        self.bounded = bool(rng.integers(2))
        self.weights = rng.normal(size=4)
        self.base = self.taught(self.fresh()) if based else None

    def fresh(self) -> ul.Learner:
        return ul.Learner(**self.options)

    def taught(self, model: ul.Learner) -> ul.Learner:
        """Rows whose means, scales and known columns differ for each model."""
        rng, rows = self.rng, int(self.rng.integers(20, 1500))
        X = rng.normal(size=(rows, 4)) * [1, 3, 0.3, 1] * (1 + rng.random(4)) + rng.normal(size=4)
        y = X @ self.weights + X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=rows) + 5
        labels = y > 5 if self.logistic else y
        if self.by_name:
            known = rng.permutation(4)[: rng.integers(2, 5)]
            frame = pytest.importorskip("pandas").DataFrame({f"x{j}": X[:, j] for j in known})
            model.learn(frame, labels)
        else:
            model.learn(X, labels)
        return model

    def models(self, count: int) -> list[ul.Learner]:
        made = [self.fresh() if self.base is None else self.base.copy() for _ in range(count)]
        return [self.taught(model) if self.rng.random() > 0.1 else model for model in made]

    def merged(self, models: list[ul.Learner]) -> ul.Learner:
        return ul.merge(models, bounded=self.bounded, base=self.base)

    def feature(self, name: Any) -> Any:
        """The name of a feature, whichever factor of a product was met first."""
        if self.options["interactions"] == "ordered" or not isinstance(name, str):
            return name
        return tuple(sorted(name.split("*")))

    def nested(self, models: list[ul.Learner]) -> ul.Learner:
        """Merge neighbors until one model is left."""
        left = list(models)
        while len(left) > 1:
            at = int(self.rng.integers(len(left) - 1))
            end = at + int(self.rng.integers(2, 4))
            left[at:end] = [self.merged(left[at:end])]
        return left[0]


def close(a: Any, b: Any) -> None:
    """Compare states to 1e-12; weights and sums that cancel are compared relative to their terms."""
    one, other = a._snapshot(), b._snapshot()
    assert one["names"] == other["names"]
    for key in ("slots", "lane_heads", "lane_rates", "products", "center_features"):
        np.testing.assert_array_equal(one[key], other[key])
    for key in ("t", "T", "N", "examples", "label_min", "label_max", "averaged_t", "missed"):
        np.testing.assert_allclose(one[key], other[key], rtol=1e-12)
    for key in ("scale", "H", "average_scale", "center_means", "followed"):
        np.testing.assert_allclose(one[key], other[key], rtol=1e-12, atol=1e-300)
    for key in ("v", "average", "slopes", "target", "scores"):
        largest = np.max(np.abs(one[key][np.isfinite(one[key])]), initial=0.0)
        np.testing.assert_allclose(one[key], other[key], rtol=1e-12, atol=1e-12 * largest)


@pytest.mark.parametrize("seed", range(40))
def test_the_order_of_merging_does_not_matter(seed: int) -> None:
    problem = Problem(seed)
    models = problem.models(int(problem.rng.integers(3, 6)))
    close(problem.merged(models), problem.nested(models))


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_models_with_a_base_does_not_matter(seed: int) -> None:
    problem = Problem(seed, based=True)
    models = problem.models(4)
    merged, other = problem.merged(models), problem.merged(models[::-1])
    assert merged.examples == other.examples
    for one, same in ((merged.scales, other.scales), (merged.weights, other.weights)):
        known, expected = ({problem.feature(name): value for name, value in own.items()} for own in (one, same))
        assert known == pytest.approx(expected, rel=1e-9, abs=1e-9 * max(map(abs, expected.values())))


@pytest.mark.parametrize("rule", RULES)
def test_centered_columns_do_not_make_merging_depend_on_the_order(rule: str) -> None:
    problem = Problem(7, rule=rule, center=True, learning_rate=0.01, interactions=2, average=True)
    models = problem.models(4)
    a, b, c, d = models
    flat = problem.merged(models)
    close(flat, problem.merged([problem.merged([a, b]), problem.merged([c, d])]))
    close(flat, problem.merged([a, problem.merged([b, problem.merged([c, d])])]))


@pytest.mark.parametrize("rule", RULES)
def test_hashed_models_with_automatic_rates_merge_in_any_grouping(rule: str) -> None:
    rng = np.random.default_rng(0)
    models = []
    for rows in (1100, 2100, 1500):
        m = ul.Learner(rule, learning_rate="auto", bits=6, interactions=2)
        X = rng.normal(size=(rows, 3)) * rng.random(3)
        m.learn([{f"x{j}": value for j, value in enumerate(row)} for row in X], X.sum(1) * rng.random())
        models.append(m)
    a, b, c = models
    close(ul.merge(models), ul.merge([ul.merge([a, b]), c]))
    close(ul.merge(models), ul.merge([a, ul.merge([b, c])]))


def test_classes_that_join_later_merge_in_any_grouping() -> None:
    rng = np.random.default_rng(0)
    models = []
    for known in (["a", "b"], ["b", "c"], ["d", "a"]):
        m = ul.OneVsAll(center=True)
        m.learn(rng.normal(size=(1200, 3)) + rng.normal(size=3), rng.choice(known, 1200))
        models.append(m)
    a, b, c = models
    flat = ul.merge(models)
    assert flat.classes == ul.merge([a, ul.merge([b, c])]).classes
    close(flat, ul.merge([ul.merge([a, b]), c]))
    close(flat, ul.merge([a, ul.merge([b, c])]))


@pytest.mark.parametrize("model_type", ["curves", "trees"])
def test_linear_terms_of_curves_and_trees_merge_in_any_grouping(model_type: Any) -> None:
    problem = Problem(3, model_type=model_type, center=True, learning_rate="auto", average=False, interactions=None)
    a, b, c = models = problem.models(3)
    flat, nested = problem.merged(models), problem.merged([problem.merged([a, b]), c])
    close(flat, nested)
    one, other = (model._snapshot()["form"] for model in (flat, nested))
    np.testing.assert_allclose(one["curves.v"], other["curves.v"], rtol=1e-12, atol=1e-12)


def test_rates_of_a_merged_model_stand_for_others_as_those_of_its_parts_do() -> None:
    rng = np.random.default_rng(0)

    def numbered(rates: list[int]) -> dict[int, int]:
        return {rate: k for k, rate in enumerate(rates)}

    for _ in range(300):
        parts = [numbered(sorted(rng.permutation(9)[: rng.integers(1, 6)].tolist())) for _ in range(3)]
        flat = Lanes.of([[part] for part in parts])
        inner = Lanes.of([[part] for part in parts[:2]])
        assert flat == Lanes.of([[numbered(inner.rates)], [parts[2]]])
        through = flat.source([numbered(inner.rates)])
        for part in parts[:2]:
            assert flat.source([part]) == [inner.source([part])[lane] for lane in through]


def _apart() -> list[ul.Learner]:
    rng = np.random.default_rng(0)
    models = []
    for k in range(3):
        m = ul.Learner(center=True, target="auto", learning_rate=0.5, interactions=2)
        X = rng.normal(size=(300, 3)) + k
        m.learn(X, X.sum(1) * (1 + k))
        models.append(m)
    return models


def test_models_that_were_saved_between_merges_are_merged_as_others(tmp_path: pathlib.Path) -> None:
    a, b, c = models = _apart()
    ul.merge([a, b]).save(tmp_path / "ab.unitless")
    close(ul.merge(models), ul.merge([ul.load(tmp_path / "ab.unitless"), c]))
    close(ul.merge(models), ul.merge([ul.merge([a, b]).copy(), c]))


def test_learning_drops_the_information_stored_for_the_next_merge() -> None:
    a, b, c = _apart()
    merged = ul.merge([a, b])
    assert len(merged._snapshot()["slopes"]) > 0
    again = merged.copy()
    X = np.random.default_rng(1).normal(size=(5, 3))
    again.learn(X, X.sum(1), weight=np.zeros(5))
    assert len(again._snapshot()["slopes"]) > 0
    again.learn(X, X.sum(1))
    assert len(again._snapshot()["slopes"]) == 0
    assert np.isfinite(ul.merge([again, c]).predict(X)).all()


def test_units_of_centered_columns_change_no_bit_of_nested_merges() -> None:
    powers = np.ldexp(1.0, [-40, 3, 90])
    merged = []
    rng = np.random.default_rng(0)
    X, y = rng.normal((1, -2, 3), size=(900, 3)), rng.normal(size=900)
    for units in (np.ones(3), powers):
        models = []
        for rows in np.split(np.arange(900), 3):
            m = ul.Learner(center=True, learning_rate=0.5, interactions=2, average=True)
            m.learn(X[rows] * units, y[rows])
            models.append(m)
        merged.append(ul.merge([ul.merge(models[:2]), models[2]]))
    plain, other = (m._snapshot() for m in merged)
    for key in ("v", "H", "average"):
        assert plain[key].tobytes() == other[key].tobytes()
