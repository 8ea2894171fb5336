"""Several classes under one softmax: the oracle, exact properties, classes that join during the stream."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest
import scipy.sparse
from instruction_sets import KERNELS
from oracles import published, softmax
from oracles.rates import AUTO_RATES, AUTO_START
from streams import UNIT_FREE, stream

import unitless as ul
from unitless.paper import algorithms as reference

LABELS = ["red", "green", "blue", "grey"]


def data(rows: int = 300, features: int = 7, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows in units from 1e-12 to 1e12, some of which grow during the stream, and four classes in a row."""
    X, y = stream(rows=rows, features=features, seed=seed)
    return X, np.digitize(y, np.quantile(y, [0.2, 0.5, 0.8]))


def names(y: np.ndarray) -> np.ndarray:
    return np.array(LABELS)[y]


def in_order_of_meeting(y: np.ndarray) -> np.ndarray:
    met = list(dict.fromkeys(y.tolist()))
    return np.array([met.index(label) for label in y.tolist()])


def head(rule: str, rate: float, aware: bool = True) -> object:
    return lambda: published.RULES[rule](rate, reference.Logistic(), aware)


@pytest.mark.parametrize("aware", [True, False])
@pytest.mark.parametrize("rate", [0.05, 0.5, 20.0])
@pytest.mark.parametrize("rule", UNIT_FREE)
def test_the_core_learns_what_the_oracle_does(rule: str, rate: float, aware: bool) -> None:
    if not aware and rate > 1:
        pytest.skip("plain steps of this length run away")
    X, y = data()
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=len(y))
    oracle = softmax.run(softmax.Softmax(head(rule, rate, aware), 4), X, y, 4, weight)  # type: ignore[arg-type]
    core = ul.Softmax(range(4), rule, rate, importance_aware=aware).learn(X, y, weight)
    np.testing.assert_allclose(core, oracle, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rule", ["nag", "ag"])
def test_so_it_does_where_classes_join(rule: str) -> None:
    X, y = data(features=5)
    X = X / np.abs(X).max(axis=0)
    y = in_order_of_meeting(np.where((y == 3) & (np.arange(len(y)) < 150), 0, y))
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=len(y))
    oracle = softmax.run(softmax.Softmax(head(rule, 0.5)), X, y, 4, weight)  # type: ignore[arg-type]
    m = ul.Softmax(rule=rule, learning_rate=0.5)  # type: ignore[arg-type]
    scores = m.learn(X, y, weight)
    order = [m.classes.index(c) for c in range(4)]
    np.testing.assert_allclose(scores[:, order], oracle, rtol=1e-6, atol=1e-6)


def test_the_automatic_rate_is_that_of_the_smallest_multinomial_loss() -> None:
    X, y = data(rows=400, features=4)
    first, last = AUTO_START
    models = [softmax.Softmax(head("nag", rate), 4) for rate in AUTO_RATES[first : last + 1]]  # type: ignore[arg-type]
    automatic = softmax.Automatic(models)
    oracle = softmax.run(automatic, X, y, 4)
    m = ul.Softmax(range(4))
    np.testing.assert_allclose(m.learn(X, y), oracle, rtol=1e-6, atol=1e-6)
    leading = AUTO_RATES[first + int(np.argmin(automatic.recent))]
    assert m.learning_rate == dict.fromkeys(range(4), leading)


def test_probabilities_add_up_to_one_and_are_those_of_the_scores() -> None:
    X, y = data()
    m = ul.Softmax(range(4))
    m.learn(X, y)
    scores = m.predict(X)
    sigmoids = 1 / (1 + np.exp(-scores))
    np.testing.assert_allclose(sigmoids.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(m._shares(scores), sigmoids, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(m.predict_label(X), scores.argmax(axis=1))


def test_two_classes_mirror_each_other() -> None:
    X, y = data()
    scores = ul.Softmax([0, 1]).learn(X, y > 1)
    np.testing.assert_allclose(scores[:, 0], -scores[:, 1], rtol=1e-9, atol=1e-12)
    hard = (scores[:, 1] > 0) == (y > 1)
    assert hard[100:].mean() > 0.5


def test_many_classes_are_learned() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 60, size=6000)
    X = rng.normal(size=(60, 12))[y] * 3 + rng.normal(size=(6000, 12))
    m = ul.Softmax()
    scores = m.learn(X, y)
    right = np.array(m.classes)[scores[4000:].argmax(axis=1)] == y[4000:]
    assert right.mean() > 0.9


def test_one_class_alone_is_certain_once_it_is_met_and_others_find_it_so() -> None:
    m = ul.Softmax()
    scores = m.learn(np.ones((20, 1)), ["only"] * 20)
    assert scores[0, 0] == 0
    assert np.all(np.diff(scores[:, 0]) > 0)
    joined = m.learn([[1.0], [1.0]], ["other", "only"])
    assert joined[0, 1] < -1  # the prediction before the class was met
    assert m.classes == ["only", "other"]
    with pytest.raises(ul.OptionError, match="at least two"):
        ul.Softmax(["only"])


def test_probabilities_of_ordered_classes_are_better_than_one_vs_all() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 1))
    y = (X[:, 0] * 6).astype(int)  # four of the six classes have neighbors on both sides
    losses = []
    for kind in (ul.Softmax, ul.OneVsAll):
        m = kind(range(6))
        losses.append(-np.log(m._shares(m.learn(X, y))[np.arange(len(y)), y]).mean())
    assert losses[0] < 0.8 * losses[1]


# ----------------------------------------------------------------------------------------------------- exact properties

OPTIONS = [
    {"learning_rate": 0.5},
    {"learning_rate": "auto"},
    {"learning_rate": "auto", "rule": "snag", "center": True},
    {"learning_rate": "auto", "average": True},
    {"learning_rate": "auto", "interactions": 2},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("classes", [None, LABELS])
def test_calls_and_kinds_of_input_change_no_bit(options: dict[str, object], classes: object) -> None:
    X, y = data(rows=2300)
    y = np.where((y == 3) & (np.arange(len(y)) < 1200), 0, y)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=len(y))
    whole = ul.Softmax(classes, **options)  # type: ignore[arg-type]
    scores = whole.learn(X, names(y), weight)

    def same(other: ul.Softmax, said: list[np.ndarray]) -> None:
        for row, expected in zip(said, scores, strict=True):
            np.testing.assert_array_equal(row, expected[: len(row)])
        np.testing.assert_array_equal(other.predict(X), whole.predict(X))
        assert other.weights == whole.weights

    cut = ul.Softmax(classes, **options)  # type: ignore[arg-type]
    ends = [0, 1, 2, 7, 100, 1023, 1024, 1025, 1300, len(y)]
    parts = [cut.learn(X[a:b], names(y[a:b]), weight[a:b]) for a, b in itertools.pairwise(ends)]
    same(cut, [row for part in parts for row in part])
    if options.get("center") or options.get("interactions"):
        return
    compressed = ul.Softmax(classes, **options)  # type: ignore[arg-type]
    same(compressed, list(compressed.learn(scipy.sparse.csr_matrix(X), names(y), weight)))


def test_rows_by_name_one_at_a_time_change_no_bit() -> None:
    X, y = data(rows=1300)
    rows = [{str(j): value for j, value in enumerate(row)} for row in X.tolist()]
    many, single = ul.Softmax(), ul.Softmax()
    expected = many.learn(rows, names(y))
    for row, label, scores in zip(rows, names(y).tolist(), expected, strict=True):
        before = single.predict_one(row)
        said = single.learn_one(row, label)
        np.testing.assert_array_equal(before, said[: len(before)])
        np.testing.assert_array_equal(said, scores[: len(said)])
    assert single.weights == many.weights


def test_divergence_is_an_error_and_keeps_the_rows_before() -> None:
    X, y = data()
    m = ul.Softmax(LABELS, "gd", 1e300, importance_aware=False)
    with pytest.raises(ul.DivergedError):
        m.learn(X, names(y))
    assert 0 < m.examples <= len(y)


def test_one_rate_leads_for_all_classes_and_others_are_dropped() -> None:
    X, y = data(rows=9000)
    m = ul.Softmax(LABELS)
    m.learn(X, names(y))
    assert len(set(m.learning_rate.values())) == 1
    rates = list(m.rates.values())
    assert all(one == rates[0] for one in rates)
    assert 2 <= len(rates[0]) < 16


def test_other_losses_are_refused_with_the_right_model() -> None:
    with pytest.raises(ul.OptionError, match=r"use ul\.Softmax"):
        ul.Learner(loss="softmax")
    with pytest.raises(ul.OptionError, match=r"use ul\.Softmax"):
        ul.OneVsAll(loss="softmax")
    with pytest.raises(ul.OptionError, match=r"ul\.OneVsAll takes others"):
        ul.Softmax(loss="hinge")
    with pytest.raises(ul.OptionError, match="classes"):
        ul.Sweep([0.1], loss="softmax")
    with pytest.raises(ul.OptionError, match="clip"):
        ul.Softmax(clip="labels")


def test_a_sweep_has_every_rate_as_if_it_were_alone() -> None:
    X, y = data()
    rates = [0.01 * 2**k for k in range(11)]
    sweep = ul.Sweep(rates, loss="softmax", classes=LABELS)
    winners = sweep.learn(X, names(y))
    for k, rate in enumerate(rates):
        alone = ul.Softmax(LABELS, learning_rate=rate)
        scores = alone.learn(X, names(y))
        own = scores[np.arange(len(y)), y]
        np.testing.assert_array_equal(np.array(LABELS)[scores.argmax(axis=1)], winners[:, k])
        np.testing.assert_allclose(sweep.losses[k], np.logaddexp(0, -own).mean(), rtol=1e-9)
        assert sweep.errors[k] == np.mean(scores.argmax(axis=1) != y)
        assert sweep.model(k).weights == alone.weights
    assert type(sweep.best) is ul.Softmax
    np.testing.assert_array_equal(sweep.predict(X), sweep.best.predict(X))


# ----------------------------------------------------------------------------------------------------- curves and trees

SHAPES = ["curves", "curves only", "trees"]


def bent(rows: int = 1300) -> tuple[np.ndarray, np.ndarray]:
    """Classes that depend on a product and a square."""
    X = np.random.default_rng(0).normal(size=(rows, 4)) * [1.0, 1e-3, 1e6, 1.0]
    y = np.digitize(X[:, 0] * X[:, 3] + (X[:, 1] * 1e3) ** 2, [0.0, 0.7, 1.5])
    return X, np.where((y == 3) & (np.arange(rows) < 700), 0, y)


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("classes", [None, LABELS])
def test_exact_properties_are_true_of_curves_and_trees(model_type: str, classes: object) -> None:
    X, y = bent()
    whole, cut, scaled = (ul.Softmax(classes, model_type=model_type) for _ in range(3))  # type: ignore[arg-type]
    scores = whole.learn(X, names(y))
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scaled.learn(X * [2.0, 2.0**-40, 2.0**100, 1.0], names(y)), scores)
    for a, b in itertools.pairwise([0, 1, 5, 300, 690, 1024, len(y)]):
        np.testing.assert_array_equal(cut.predict(X[a : a + 1])[0], scores[a][: len(cut.classes)])
        said = cut.learn(X[a:b], names(y[a:b]))
        np.testing.assert_array_equal(said, scores[a:b, : said.shape[1]])
        cut = pickle.loads(pickle.dumps(cut))
    np.testing.assert_array_equal(cut.predict(X), whole.predict(X))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model_type", ["curves", "trees"])
def test_every_instruction_set_gives_the_same_shapes(
    model_type: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = bent()
    expected = ul.Softmax(model_type=model_type).learn(X, y)  # type: ignore[arg-type]
    monkeypatch.setenv("UNITLESS_KERNEL", kernel)
    np.testing.assert_array_equal(ul.Softmax(model_type=model_type).learn(X, y), expected)  # type: ignore[arg-type]


def test_trees_learn_classes_that_lines_cannot() -> None:
    X, y = bent(4000)
    wrong = [
        np.mean(ul.Softmax(range(4), model_type=model_type).learn(X, y).argmax(axis=1) != y)
        for model_type in ("linear", "trees")
    ]
    assert wrong[1] < 0.6 * wrong[0]


def test_a_member_without_leaves_learns_as_the_linear_model() -> None:
    X, y = data(rows=1100)
    rows = [{f"x{j}={value:g}": 1.0 for j, value in enumerate(row) if value} for row in np.sign(X).tolist()]
    plain, curved = ul.Softmax(LABELS), ul.Softmax(LABELS, model_type="curves only")
    np.testing.assert_allclose(curved.learn(rows, names(y)), plain.learn(rows, names(y)), rtol=1e-9, atol=1e-9)


# ----------------------------------------------------------------------------------------------------- what it becomes


def test_a_merged_model_knows_the_classes_of_all_and_learns_on() -> None:
    X, y = data(rows=3000)
    parts = [ul.Softmax() for _ in range(3)]
    for k, part in enumerate(parts):  # none of them sees all classes
        of = (np.arange(len(y)) % 3 == k) & (y != k)
        part.learn(X[of], names(y[of]))
    merged = ul.merge(parts)
    assert set(merged.classes) == set(LABELS)
    assert np.mean(merged.predict_label(X) == names(y)) > 0.4
    again = pickle.loads(pickle.dumps(merged))
    np.testing.assert_array_equal(again.learn(X, names(y)), merged.learn(X, names(y)))
    with pytest.raises(ul.MergeError, match="different kinds"):
        ul.merge([parts[0], ul.OneVsAll()])


def test_a_class_that_was_announced_and_never_learned_survives_saving() -> None:
    m = ul.Softmax(rule="gd", learning_rate=1e300, importance_aware=False)
    with pytest.raises(ul.DivergedError):
        m.learn([[1.0], [2.0], [3.0], [4.0], [-5.0]], ["a", "b", "a", "b", "late"])
    assert m.classes == ["a", "b", "late"]
    other = pickle.loads(pickle.dumps(m))
    assert other.classes == m.classes
    np.testing.assert_array_equal(other.predict([[1.0]]), m.predict([[1.0]]))
    assert other.predict([[1.0]]).shape == (1, 3)
    assert other.weights == m.weights


@pytest.mark.parametrize("what", ["scores", "followed", "lane_rates"])
def test_a_file_whose_classes_differ_in_their_rates_or_losses_is_refused(what: str) -> None:
    X, y = data()
    m = ul.Softmax(LABELS)
    m.learn(X, names(y))
    state = m._snapshot()
    changed = state[what].copy()  # type: ignore[literal-required]
    changed[-1] += 1
    with pytest.raises(ul.InputError, match="classes of a softmax differ"):
        ul.Softmax(LABELS)._restore({**state, what: changed})  # type: ignore[misc]


def test_exports_compute_the_same_probabilities() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = data(features=4)
    X = X / np.abs(X).max(axis=0)
    m = ul.Softmax(center=True)
    m.learn(X, names(y))
    order = np.argsort(m.classes)
    estimator = ul.to_sklearn(m)
    expected = m._shares(m.predict(X, extrapolate=True))[:, order]
    np.testing.assert_allclose(estimator.predict_proba(X), expected, rtol=1e-9, atol=1e-12)
    assert estimator.classes_.tolist() == sorted(LABELS)
    session = onnxruntime.InferenceSession(ul.to_onnx(m, dtype="float64").SerializeToString())
    scores, shares, label = session.run(["scores", "probabilities", "label"], {"features": X})
    np.testing.assert_allclose(scores, m.predict(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(shares, m._shares(m.predict(X)), rtol=1e-9, atol=1e-12)
    assert label.tolist() == m.predict_label(X).tolist()
    plain = json.loads(ul.to_json(m))
    assert (plain["link"], plain["classes"]) == ("softmax", m.classes)


def test_two_classes_export_as_their_difference() -> None:
    X, y = data()
    X = X / np.abs(X).max(axis=0)
    m = ul.Softmax(["no", "yes"])
    m.learn(X, np.where(y > 1, "yes", "no"))
    expected = m._shares(m.predict(X, extrapolate=True))
    np.testing.assert_allclose(ul.to_sklearn(m).predict_proba(X), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model_type", ["linear", "curves", "trees"])
def test_an_explanation_adds_up_to_the_score(model_type: str) -> None:
    X, y = bent()
    m = ul.Softmax(model_type=model_type)  # type: ignore[arg-type]
    m.learn(X, names(y))
    for label in m.classes:
        why = ul.explain(m, X[5].tolist(), label)
        np.testing.assert_allclose(why.score, m.predict(X[5:6])[0, m.classes.index(label)], rtol=1e-9)
        total = why.base_value + sum(part.contribution for part in why.contributions)
        np.testing.assert_allclose(total, why.score, rtol=1e-9)
        assert why.label == label
