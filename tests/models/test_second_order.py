"""Rule "newton": the core equals the NumPy implementation, and the exact properties."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from instruction_sets import KERNELS
from oracles.rates import WALKS
from oracles.second_order import SecondOrder
from streams import labels, same_bits

import unitless as ul
from unitless.rules import MOST_FEATURES

LOSSES = ("squared", "logistic")


def newton(**options: Any) -> ul.Learner:
    return ul.Learner(rule="newton", **options)


def some_weights(rows: int) -> np.ndarray:
    return np.random.default_rng(7).choice([0.0, 0.5, 1.0, 1.0, 3.25], rows)


def close(p: Any, expected: np.ndarray, tolerance: float = 1e-9) -> None:
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(np.asarray(p).reshape(expected.shape), expected, rtol=tolerance, atol=tolerance)


def problem(loss: str, rows: int = 1300, features: int = 9, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns of several units, some mostly zero; values beyond all earlier ones come now and then."""
    rng = np.random.default_rng(seed)
    plain = rng.standard_t(4, size=(rows, features)) @ (np.eye(features) + 0.3 * rng.normal(size=(features, features)))
    plain[:, ::3] *= rng.random((rows, len(range(0, features, 3)))) < 0.4
    y = labels(loss, plain @ rng.normal(size=features) / features, rng)
    return plain * 10.0 ** rng.integers(-6, 7, features), y


def several_classes(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four classes; the later ones appear during the stream."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    y = np.argmax(X @ rng.normal(size=(5, 4)) + rng.gumbel(size=(rows, 4)), axis=1).astype(float)
    late = np.minimum(y, np.arange(rows) // 30)
    return X * [1e-3, 1.0, 1e5, 1.0, 7.0], late


def of_classes(classes: int = 0) -> ul.Softmax:
    """0: classes join when they are first learned."""
    return ul.Softmax([*range(classes)] or None, rule="newton")


# ------------------------------------------------------------------------------------------------------------- oracle


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"clip": "labels"}, {"target": "auto"}, {"center": True}, {"target": "auto", "center": True}],
    ids=str,
)
def test_squared_loss_agrees_with_the_oracle(options: dict[str, Any], weighted: bool) -> None:
    X, y = problem("squared")
    y = 3 + 10 * y
    weight = some_weights(len(y)) if weighted else None
    oracle = SecondOrder(
        "squared", target="target" in options, limited="clip" in options, center=options.get("center", False)
    )
    model = newton(**options)
    close(model.learn(X, y, weight), oracle.run(X, y, weight))
    assert [*model.rates] == [lane.how for lane in oracle.lanes]  # lanes were dropped and restored in the same way
    assert len(oracle.lanes) < len(WALKS)


@pytest.mark.parametrize("center", [False, True])
def test_logistic_loss_with_weights_and_offsets_agrees_with_the_oracle(center: bool) -> None:
    X, y = problem("logistic")
    weight, offset = some_weights(len(y)), np.random.default_rng(1).normal(size=len(y))
    oracle, model = SecondOrder("logistic", center=center), newton(loss="logistic", center=center)
    close(model.learn(X, y, weight, offset), oracle.run(X, y, weight, offset))
    assert [*model.rates] == [lane.how for lane in oracle.lanes]


def test_offsets_of_squared_loss_are_taken_from_the_labels() -> None:
    X, y = problem("squared", 200)
    offset = np.random.default_rng(1).normal(size=len(y))
    close(newton().learn(X, y, offset=offset), newton().learn(X, y - offset) + offset)


@pytest.mark.parametrize("open", [False, True])
def test_classes_agree_with_the_oracle(open: bool) -> None:
    X, y = several_classes(300)
    weight = some_weights(len(y))
    weight[:2] = 1.0
    model, oracle = of_classes(0 if open else 4), SecondOrder("classes", classes=None if open else 4)
    close(model.learn(X, y, weight), oracle.run(X, y, weight, classes=4), 1e-9)
    lanes = model._snapshot()["lane_rates"].reshape(-1, len(WALKS))
    assert len(lanes) == 4 + open


def test_classes_speak_of_each_other_as_a_softmax_does() -> None:
    X, y = several_classes(500)
    model = of_classes(4)
    said = model.learn(X, y)
    np.testing.assert_allclose((1 / (1 + np.exp(-said))).sum(axis=1), 1.0, rtol=1e-12)
    assert np.mean(said[200:].argmax(axis=1) == y[200:]) > 0.6


def test_a_class_that_is_announced_changes_nothing_before_it_is_learned() -> None:
    X, y = several_classes(200)
    whole, later = of_classes(), of_classes()
    at_once = whole.learn(X, y)
    cuts = [0, *np.searchsorted(np.maximum.accumulate(y), [1, 2, 3]).tolist(), len(y)]
    for known, (a, b) in enumerate(itertools.pairwise(cuts), 1):
        assert same_bits(later.learn(X[a:b], y[a:b]), at_once[a:b, :known])
        assert all(same_bits(at_once[a + 1 : b, known], at_once[a + 1 : b, column]) for column in range(known, 4))
    assert pickle.dumps(whole) == pickle.dumps(later)


# ------------------------------------------------------------------------------------------------------- exact ridge


def test_collinear_features_give_the_weights_of_exact_ridge() -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(-1, 1, size=(60_000, 3))
    X = np.column_stack([base, base @ [0.5, 0.5, 0.0], base[:, 0], base[:, 1] + 1e-4 * rng.uniform(-1, 1, 60_000)])
    y = base @ [1.0, -2.0, 3.0] + 0.1 * rng.normal(size=len(base)) + 0.5
    model = newton()
    model._keep_rates(True)  # no lane is dropped
    model.learn(X, y)
    state = model._snapshot()
    lane = WALKS.index((1e-4, 0.0, 0.0))
    v = state["v"].reshape(-1, len(WALKS))[:, lane]
    Z = np.column_stack([np.ones(len(X)), X / np.abs(X).max(axis=0)])
    q, r = np.linalg.qr(np.vstack([Z, 1e-2 * np.eye(7)]))
    np.testing.assert_allclose(v, np.linalg.solve(r, q.T @ np.append(y, np.zeros(7))), atol=1e-6)
    variance = np.linalg.inv(Z.T @ Z + 1e-4 * np.eye(7))
    np.testing.assert_allclose(state["H"].reshape(-1, len(WALKS))[:, lane], np.diag(variance), rtol=1e-6)


def test_a_scale_that_grows_leaves_the_ridge_of_the_new_unit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) * np.geomspace(1e-3, 1e3, 400)[:, None]
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=400)
    model = newton()
    model._keep_rates(True)
    model.learn(X, y)
    Z = np.column_stack([np.ones(len(X)), X / np.abs(X).max(axis=0)])
    for lane, how in enumerate(WALKS[:3]):
        exact = np.linalg.solve(Z.T @ Z + how.prior * np.eye(4), Z.T @ y)
        np.testing.assert_allclose(model._snapshot()["v"].reshape(-1, len(WALKS))[:, lane], exact, rtol=1e-9)


# ----------------------------------------------------------------------------------------------------- no bit changes


def test_the_label_times_a_power_of_two_scales_predictions_exactly() -> None:
    X, y = problem("squared", 300)
    assert same_bits(1024 * newton().learn(X, y), newton().learn(X, 1024 * y))


def test_an_affine_change_of_the_label_maps_predictions_likewise() -> None:
    X, y = problem("squared", 1300)
    p, q = (newton(target="auto").learn(X, a * y + b) for a, b in ((1.0, 0.0), (1.8, 32.0)))
    np.testing.assert_allclose(q[1:], 1.8 * p[1:] + 32, rtol=1e-9)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_way_to_feed_rows_gives_the_same_bits(loss: str, center: bool, kernel: str) -> None:
    X, y = problem(loss, 1200)
    weight = some_weights(len(y))
    names = [f"f{j}" for j in range(X.shape[1])]
    whole = newton(loss=loss, center=center)
    expected = whole.learn(X, y, weight)
    for edges in ([0, 1, 500, 501, 1023, 1024, 1025, 1200], [*range(0, 1201, 77), 1200]):
        parts = newton(loss=loss, center=center)
        pieces = [parts.learn(X[a:b], y[a:b], weight[a:b]) for a, b in itertools.pairwise(edges)]
        assert same_bits(expected, np.concatenate(pieces))
        assert pickle.dumps(whole) == pickle.dumps(parts)
    for kind in (np.asfortranarray, *(() if center else (sp.csr_matrix,))):  # sparse columns are not centered
        other = newton(loss=loss, center=center)
        assert same_bits(expected, other.learn(kind(X), y, weight))
        assert pickle.dumps(whole) == pickle.dumps(other)
    assert same_bits(expected, newton(loss=loss, center=center).learn(pd.DataFrame(X, columns=names), y, weight))
    if center:
        return
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    assert same_bits(expected, newton(loss=loss).learn(rows, y, weight))
    named, rng = newton(loss=loss), np.random.default_rng(0)
    one_by_one = []
    for r, row in enumerate(X.tolist()):
        order = range(len(names)) if r == 0 else rng.permutation(len(names))
        mapping = {names[j]: row[j] for j in order if r == 0 or row[j] != 0}
        one_by_one.append(named.learn_one(mapping, y[r], weight[r]))
    assert same_bits(expected, one_by_one)
    assert same_bits(whole.predict(X), [named.predict_one(dict(zip(names, row, strict=True))) for row in X.tolist()])


@pytest.mark.parametrize("loss", LOSSES)
def test_predict_is_what_learn_would_have_predicted(loss: str) -> None:
    X, y = problem(loss, 120)
    model = newton(loss=loss, center=True)
    for r in range(len(y)):
        before = pickle.dumps(model)
        predicted = model.predict(X[r : r + 1])
        assert pickle.dumps(model) == before
        assert same_bits(predicted, model.learn(X[r : r + 1], y[r : r + 1]))


@pytest.mark.parametrize("features", [1, 7, 8, 9, 23, 100])
def test_every_instruction_set_gives_the_same_bits(features: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for name in KERNELS:
        monkeypatch.setenv("UNITLESS_KERNEL", name)
        said = []
        for loss in LOSSES:
            X, y = problem(loss, 150, features)
            model = newton(loss=loss)
            said += [model.learn(X, y, some_weights(150)), model.predict(2 * X), model.predict(X, extrapolate=True)]
        X, y = several_classes(150)
        said += [of_classes().learn(X, y), of_classes(4).learn(X, y)]
        found.add(b"".join(one.tobytes() for one in said))
    assert len(found) == 1


def test_a_model_of_classes_is_taken_up_where_it_was_left() -> None:
    X, y = several_classes(300)
    expected = of_classes().learn(X, y)
    for cut in (0, 10, 40, 200):
        first = of_classes()
        said = first.learn(X[:cut], y[:cut])
        second = pickle.loads(pickle.dumps(first))
        assert same_bits(expected[:cut, : said.shape[1]], said)
        assert same_bits(expected[cut:], second.learn(X[cut:], y[cut:]))


# ------------------------------------------------------------------------------------------------------- what it does


def test_it_learns_from_fewer_rows_where_features_hang_together() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(2000, 8))
    X = base @ (np.ones((8, 8)) + 0.1 * rng.normal(size=(8, 8)))
    y = base @ rng.normal(size=8)
    first, second = ul.Learner(learning_rate="auto").learn(X, y), newton().learn(X, y)
    assert np.mean((second - y) ** 2) < 0.1 * np.mean((first - y) ** 2)


def test_a_row_that_counts_twice_is_two_rows() -> None:
    X, y = problem("squared", 60)
    scales = np.abs(X).max(axis=0)
    X, y = np.vstack([scales, X]), np.append(0.0, y)
    twice, rows = newton(), newton()
    twice.learn(X, y, np.full(len(y), 2.0))
    rows.learn(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    lanes = len(WALKS)
    for lane in range(3):  # those that do not forget: steps of squared loss are exact
        np.testing.assert_allclose(
            *(model._snapshot()["v"].reshape(-1, lanes)[:, lane] for model in (twice, rows)), rtol=1e-8, atol=1e-12
        )


def test_extrapolating_is_the_plain_linear_model() -> None:
    X, y = problem("logistic", 400)
    model = newton(loss="logistic", center=True)
    model.learn(X, y)
    w = model.weights
    plain = X @ [w.get(j, 0.0) for j in range(X.shape[1])] + w["(bias)"]
    np.testing.assert_allclose(
        model.predict(5 * X, extrapolate=True) - 5 * (plain - w["(bias)"]), w["(bias)"], rtol=1e-6
    )


def test_while_rates_are_not_chosen_the_leader_stays_and_all_lanes_learn() -> None:
    X, y = problem("squared", 300)
    model = newton()
    model.learn(X[:100], y[:100])
    before = model._snapshot()
    model._choose_rates(False)
    model.learn(X[100:], y[100:])
    after = model._snapshot()
    assert same_bits(before["scores"], after["scores"])
    moved = before["v"].reshape(-1, len(WALKS)) != after["v"].reshape(-1, len(WALKS))[: len(before["slots"])]
    assert moved.any(axis=0).all()


def test_rows_that_are_judged_count_for_the_lanes_and_move_no_weight() -> None:
    X, y = problem("squared", 300)
    model = newton()
    model.learn(X[:200], y[:200])
    before = model._snapshot()
    model._begin_judging(y[200:], None)
    model.predict(X[200:])
    model._end_judging()
    after = model._snapshot()
    assert same_bits(before["v"], after["v"])
    assert (after["scores"].reshape(-1, 6)[:, 0] > before["scores"].reshape(-1, 6)[:, 0]).all()


# ---------------------------------------------------------------------------------------------------- limits, refusals


def test_a_hundred_features_are_taken_and_one_more_is_refused() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, MOST_FEATURES + 1)), rng.normal(size=50)
    model = newton()
    model.learn(X[:, :-1], y)
    with pytest.raises(ul.InputError, match="takes at most 100 features"):
        newton().learn(X, y)
    X[:, 3] = 0.0  # a column of zeros only is not counted
    newton().learn(X, y)


def test_rows_with_a_feature_too_many_change_nothing() -> None:
    model = newton()
    model.learn([{f"f{j}": 1.0} for j in range(90)], np.ones(90))
    before = pickle.dumps(model)
    rows = [{f"f{j}": 1.0 + j % 7} for j in range(5000)]
    with pytest.raises(ul.InputError, match="at most 100 features"):
        model.learn(rows, np.ones(5000))
    with pytest.raises(ul.InputError, match="at most 100 features"):
        model.learn_one({f"g{j}": 1.0 for j in range(11)}, 1.0)
    assert pickle.dumps(model) == before
    model.predict(rows)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loss": "hinge"}, "rule='newton' is for squared, logistic and softmax loss, not for hinge loss"),
        ({"loss": "poisson"}, "not for poisson loss"),
        ({"learning_rate": 0.1}, "rule='newton' has no learning rate"),
        ({"model_type": "curves"}, "rule='newton' is for linear models"),
        ({"importance_aware": False}, "importance_aware=False is for rules of first order"),
        ({"order": "vw"}, "order='vw' is for rules of first order"),
        ({"schedule": "sqrt"}, "adapts its rates by itself"),
    ],
)
def test_options_that_it_does_not_have_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ul.OptionError, match=said):
        newton(**options)


def test_other_models_refuse_newton_and_name_an_alternative() -> None:
    with pytest.raises(ul.OptionError, match="use Softmax"):
        ul.OneVsAll(rule="newton")
    with pytest.raises(ul.OptionError, match="no learning rate"):
        ul.Sweep([0.5], rule="newton")


def test_there_is_no_learning_rate_and_the_lanes_are_shown() -> None:
    X, y = problem("squared", 50)
    model = newton()
    model.learn(X, y)
    assert np.isnan(model.learning_rate)
    assert [*model.rates] == [*WALKS]
    assert "prior" in model._repr_html_()
    assert repr(model) == "<Learner(rule='newton'): 50 examples>"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_values_from_the_ends_of_the_range_of_numbers(loss: str, size: float) -> None:
    X, y = problem(loss, 100)
    X = X / np.abs(X).max(axis=0) * size
    X[50:, 0] = np.sign(X[50:, 0]) * 1e-305 if size > 1 else X[50:, 0] * 1e280
    model = newton(loss=loss)
    assert np.isfinite(model.learn(X, y)).all()
    assert np.isfinite(model.predict(X)).all()


# --------------------------------------------------------------------------------------------------------- model files


@pytest.mark.parametrize(
    ("name", "forged"),
    [
        ("newton.P", lambda a: a[:-1]),
        ("newton.P", lambda a: np.where(np.arange(len(a)) == 3, np.nan, a)),
        ("newton.order", lambda a: a + 1),
        ("newton.order", np.zeros_like),
        ("newton.order", lambda a: a + 0.5),
        ("newton.order", lambda a: np.full_like(a, 1e18)),
        ("newton.recent", lambda a: a[1:]),
        ("newton.recent", lambda a: -a - 1),
        ("newton.recent", lambda a: np.full_like(a, np.nan)),
    ],
)
def test_numbers_that_learning_does_not_give_are_refused(name: str, forged: Any) -> None:
    X, y = problem("squared", 50)
    model, other = newton(), newton()
    model.learn(X, y)
    state = model._snapshot()
    state["form"][name] = np.ascontiguousarray(forged(state["form"][name]))
    with pytest.raises(ul.InputError):
        other._restore(state)
    assert other.examples == 0


def test_a_state_without_them_is_refused() -> None:
    X, y = problem("squared", 50)
    model = newton()
    model.learn(X, y)
    for name in ("newton.P", "newton.order", "newton.recent"):
        state = model._snapshot()
        del state["form"][name]
        with pytest.raises(ul.InputError, match=name):
            newton()._restore(state)


@pytest.mark.parametrize("weight", [1e6, 1e12, 1e15])
def test_heavy_rows_leave_a_model_that_can_be_kept(weight: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=300)
    for options in ({"rule": "newton"}, {"ensemble": True}):
        model = ul.Learner(**options)
        model.learn(X, y, np.full(300, weight))
        again = pickle.loads(pickle.dumps(model))
        assert (again.predict(X) == model.predict(X)).all()
        if weight <= 1e12:
            assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.15
