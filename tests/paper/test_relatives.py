"""The later relatives compute what their papers say, and their units matter exactly where they say so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import signs

from unitless.errors import OptionError
from unitless.models.learner import Learner
from unitless.paper.baselines import (
    KATE,
    KT,
    VSGD,
    CoinBetting,
    DoG,
    FreeGrad,
    GradientLearner,
    MetaGrad,
    Prodigy,
    ScheduleFree,
    ScInOL1,
    ScInOL2,
)
from unitless.paper.contest.learners import CHANGES, Contestant, contestants
from unitless.paper.contest.table import Rows, Task

RELATIVES: dict[str, Any] = {
    "ScInOL₁": ScInOL1,
    "ScInOL₂": ScInOL2,
    "coin betting": CoinBetting,
    "KT": KT,
    "FreeGrad": FreeGrad,
    "FreeGrad, scaled": lambda loss, **options: FreeGrad(loss, scaled=True, **options),
    "MetaGrad": MetaGrad,
    "MetaGrad, scaled": lambda loss, **options: MetaGrad(loss, scaled=True, **options),
    "KATE": KATE,
    "DoG": DoG,
    "Prodigy": Prodigy,
    "schedule-free": ScheduleFree,
}
CONTESTANTS = {one.name: one for one in contestants()}


# ------------------------------------------------------------------------- each against the letter of its paper


def slope(p: float, y: float) -> float:
    return float(-y / (1 + np.exp(y * p)))


def literal(name: str, X: np.ndarray, y: np.ndarray) -> list[float]:
    """One number after another, one feature after another, as the papers write it."""
    d = X.shape[1]
    state: list[dict[str, float]] = [{} for _ in range(d)]
    predictions = []
    for t, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True), start=1):
        w = [LITERAL[name](s, v, t) if v != 0 else 0.0 for s, v in zip(state, x, strict=True)]
        p = sum(a * b for a, b in zip(w, x, strict=True))
        predictions.append(p)
        for s, v, a in zip(state, x, w, strict=True):
            if v != 0:
                LEARN[name](s, slope(p, label) * v, a, v)
    return predictions


def sums(s: dict[str, float], g: float, w: float, x: float) -> None:
    s["G"] = s.get("G", 0.0) + g
    s["V"] = s.get("V", 0.0) + g**2
    s["won"] = s.get("won", 0.0) - g * w
    s["n"] = s.get("n", 0.0) + 1


def scinol1(s: dict[str, float], x: float, t: int) -> float:
    s["M"] = max(s.get("M", 0.0), abs(x))
    size = s.get("V", 0.0) + s["M"] ** 2
    s["beta"] = min(s.get("beta", 1.0), size / (x**2 * t))
    theta = -s.get("G", 0.0) / size**0.5
    return float(s["beta"] * np.sign(theta) * (np.exp(abs(theta) / 2) - 1) / (2 * size**0.5))


def scinol2(s: dict[str, float], x: float, t: int) -> float:
    s["M"] = max(s.get("M", 0.0), abs(x))
    size = (s.get("V", 0.0) + s["M"] ** 2) ** 0.5
    theta = -s.get("G", 0.0) / size
    return float((1 + s.get("won", 0.0)) * np.sign(theta) * min(abs(theta), 1) / (2 * size))


def kt(s: dict[str, float], x: float, t: int) -> float:
    s["M"] = max(s.get("M", 0.0), abs(x))
    return -s.get("G", 0.0) / s["M"] ** 2 * (1 + s.get("won", 0.0)) / (s.get("n", 0.0) + 1)


def freegrad(s: dict[str, float], x: float, t: int) -> float:
    """With hints from the features."""
    s["first"] = s.get("first", abs(x))
    s["h"] = max(s.get("h", 0.0), abs(x))
    V, G, h = s["first"] ** 2 + s.get("V", 0.0), s.get("G", 0.0), s["h"]
    return float(
        -G
        * (2 * V + h * abs(G))
        * s["first"] ** 2
        / (2 * (V + h * abs(G)) ** 2 * V**0.5)
        * np.exp(G**2 / (2 * V + 2 * h * abs(G)))
        / s["first"]
    )


def kate_learn(s: dict[str, float], g: float, w: float, x: float) -> None:
    if g == 0:
        return
    s["eta"] = s.get("eta", 1 / g**2)
    s["b2"] = s.get("b2", 0.0) + g**2
    s["m2"] = s.get("m2", 0.0) + s["eta"] * g**2 + g**2 / s["b2"]
    s["w"] = w - 0.01 * s["m2"] ** 0.5 * g / s["b2"]


LITERAL: dict[str, Any] = {
    "ScInOL₁": scinol1,
    "ScInOL₂": scinol2,
    "KT": kt,
    "FreeGrad, scaled": freegrad,
    "KATE": lambda s, x, t: s.get("w", 0.0),
}
LEARN: dict[str, Any] = {"ScInOL₁": sums, "ScInOL₂": sums, "KT": sums, "FreeGrad, scaled": sums, "KATE": kate_learn}


@pytest.mark.parametrize("name", LITERAL)
def test_relatives_follow_the_letter_of_their_papers(name: str) -> None:
    X, y = signs(300)
    np.testing.assert_allclose(RELATIVES[name]("logistic").run(X, y), literal(name, X, y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
def test_metagrad_of_each_weight_is_a_list_of_experts(scaled: bool) -> None:
    X, y = signs(300)
    D, expected = 2.0, []
    weights: list[dict[str, Any]] = [
        {"B": 0.0, "sum": 0.0, "relative": 0.0, "since": 0.0, "experts": {}, "w": 0.0, "D": 0.0} for _ in range(5)
    ]
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        p = sum(s["w"] * v for s, v in zip(weights, x, strict=True))
        expected.append(p)
        for s, v in zip(weights, x, strict=True):
            if v == 0:
                continue
            s["D"] = s["D"] or (D / abs(v) if scaled else D)
            g = slope(p, label) * v
            b, before = 2 * s["D"] * abs(g), s["B"]
            s["B"] = max(b, before)
            total = sum(e["share"] for e in s["experts"].values())
            for k, e in s["experts"].items():
                eta = 2.0**k
                r = eta * (s["w"] - e["w"]) * g * before / s["B"]
                e["share"] *= np.exp(r - r**2)
                e["H"] -= 2 * eta**2 * (e["H"] * g) ** 2 / (1 + 2 * eta**2 * e["H"] * g**2)
                step = (eta + 2 * eta**2 * g * (e["w"] - s["w"])) * g
                e["w"] = float(np.clip(e["w"] - e["H"] * step, -s["D"], s["D"]))
            after = sum(e["share"] for e in s["experts"].values())
            s["relative"] += b / s["B"]
            restart = s["since"] == 0 or s["B"] > s["since"] * s["relative"]
            for e in s["experts"].values():
                e["share"] = 1.0 if restart else e["share"] * total / after
            s["since"] = s["B"] if restart else s["since"]
            s["sum"] += min(b, before)
            grid = range(int(np.ceil(-np.log2(2 * (s["sum"] + s["B"])))), int(np.floor(-np.log2(2 * s["B"]))) + 1)
            new = {"share": 1.0, "w": 0.0, "H": s["D"] ** 2}
            s["experts"] = {k: s["experts"].get(k, dict(new)) for k in grid}
            size = sum(2.0**k * e["share"] for k, e in s["experts"].items())
            s["w"] = sum(2.0**k * e["share"] * e["w"] for k, e in s["experts"].items()) / size if size else 0.0
    p = MetaGrad("logistic", D, scaled=scaled).run(X, y)
    np.testing.assert_allclose(p, expected, rtol=1e-8, atol=1e-11)
    assert np.abs(p).max() > 0.1


def test_dog_prodigy_and_schedule_free_follow_their_papers() -> None:
    X, y = signs(300)
    w, r, Q, dog = np.zeros(5), 0.1, 0.0, []
    for x, label in zip(X, y, strict=True):
        dog.append(w @ x)
        g = slope(w @ x, label) * x
        r, Q = max(r, float(np.linalg.norm(w))), Q + float(g @ g)
        w = w - r / np.sqrt(Q) * g if Q else w
    np.testing.assert_allclose(DoG("logistic", 0.1).run(X, y), dog, rtol=1e-10, atol=1e-12)

    w, d, gain, prodigy = np.zeros(5), 1e-6, 0.0, []
    s, m, v = np.zeros(5), np.zeros(5), np.zeros(5)
    for x, label in zip(X, y, strict=True):
        prodigy.append(w @ x)
        g = slope(w @ x, label) * x
        gain = 0.999**0.5 * gain - d / 1e-6 * d * float(g @ w)
        s = 0.999**0.5 * s + d / 1e-6 * d * g
        m, v = 0.9 * m + 0.1 * d * g, 0.999 * v + 0.001 * d**2 * g**2
        old = d
        if np.abs(s).sum():
            d = max(d, gain / np.abs(s).sum())
            step = np.divide(m, np.sqrt(v) + d * 1e-8)
            w = w - old * step
    np.testing.assert_allclose(Prodigy("logistic").run(X, y), prodigy, rtol=1e-7, atol=1e-10)

    w, z, v, free = np.zeros(5), np.zeros(5), np.zeros(5), []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        free.append(w @ x)
        ahead = 0.1 * z + 0.9 * w
        g = slope(ahead @ x, label) * x
        v = 0.999 * v + 0.001 * g**2
        z = z - 0.0025 * g / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        w = (1 - 1 / t) * w + z / t
    np.testing.assert_allclose(ScheduleFree("logistic").run(X, y), free, rtol=1e-10, atol=1e-13)


# ------------------------------------------------------------------------------------------------- Vowpal Wabbit


def example(x: np.ndarray) -> str:
    return "| " + " ".join(f"{i}:{v!r}" for i, v in enumerate(x.tolist()) if v != 0)


def test_freegrad_agrees_with_vowpal_wabbit() -> None:
    vw = pytest.importorskip("vowpalwabbit")
    X, y = signs(300)
    X = X * [1, 100, 0.01, 3, 1]
    theirs = vw.Workspace("--freegrad --loss_function logistic --noconstant --holdout_off --quiet")
    found = []
    for x, label in zip(X, y, strict=True):
        row = theirs.example(f"{label:g} {example(x)}")
        theirs.learn(row)
        found.append(row.get_simplelabel_prediction())
        theirs.finish_example(row)
    theirs.finish()
    p = FreeGrad("logistic").run(X, y)
    assert np.abs(p).max() > 1
    np.testing.assert_allclose(p, found, rtol=1e-4, atol=1e-4)


def test_coin_betting_agrees_with_vowpal_wabbit() -> None:
    """Vowpal Wabbit stores the weights that predicted a row when it has learned the row, one row late; so the
    prediction of a row is that of the same row, asked again after it was learned.
    """
    vw = pytest.importorskip("vowpalwabbit")
    X, y = signs(300)
    X = X * [1, 100, 0.01, 3, 1]
    theirs = vw.Workspace("--coin --loss_function logistic --noconstant --holdout_off --quiet")
    found = []
    for x, label in zip(X, y, strict=True):
        row = theirs.example(f"{label:g} {example(x)}")
        theirs.learn(row)
        theirs.finish_example(row)
        found.append(theirs.predict(example(x)))
    theirs.finish()
    p = CoinBetting("logistic").run(X, y)
    assert np.abs(p).max() > 1
    np.testing.assert_allclose(p, found, rtol=1e-4, atol=1e-4)


# -------------------------------------------------------------------------------------------------------- claims

SMALL, SMALL_SIGNS = signs(80, 4)
TASKS: tuple[Task, ...] = ("binary", "regression", "classes")


def labels(X: np.ndarray, task: Task) -> np.ndarray:
    score = X @ np.arange(1.0, X.shape[1] + 1) + 0.3 * np.random.default_rng(1).normal(size=len(X))
    if task == "binary":
        return (score > 0).astype(np.float64)
    return score if task == "regression" else np.digitize(score, np.quantile(score, [0.3, 0.6])).astype(np.float64)


def scores(one: Contestant, X: np.ndarray, y: np.ndarray, task: Task) -> np.ndarray:
    return one.untuned(Rows(np.ascontiguousarray(X), y, task))


@pytest.mark.parametrize("name", [name for name, one in CONTESTANTS.items() if "units" in one.exact])
@settings(max_examples=15, deadline=None)
@given(exponents=st.lists(st.integers(-60, 60), min_size=4, max_size=4), task=st.sampled_from(TASKS))
def test_powers_of_two_change_no_bit_where_claimed(name: str, exponents: list[int], task: Task) -> None:
    y = labels(SMALL, task)
    expected = scores(CONTESTANTS[name], SMALL, y, task)
    found = scores(CONTESTANTS[name], SMALL * np.ldexp(1.0, exponents), y, task)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", [name for name, one in CONTESTANTS.items() if "units" in one.nearly])
@settings(max_examples=10, deadline=None)
@given(decades=st.lists(st.floats(-12, 12), min_size=4, max_size=4), task=st.sampled_from(TASKS))
def test_any_unit_changes_only_rounding_where_claimed(name: str, decades: list[float], task: Task) -> None:
    y = labels(SMALL, task)
    expected = scores(CONTESTANTS[name], SMALL, y, task)
    found = scores(CONTESTANTS[name], SMALL * 10.0 ** np.array(decades), y, task)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", [name for name, one in CONTESTANTS.items() if "order of columns" in one.nearly])
@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(4)), task=st.sampled_from(TASKS))
def test_the_order_of_columns_changes_only_rounding_where_claimed(name: str, order: list[int], task: Task) -> None:
    y = labels(SMALL, task)
    expected = scores(CONTESTANTS[name], SMALL, y, task)
    np.testing.assert_allclose(scores(CONTESTANTS[name], SMALL[:, order], y, task), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [name for name, one in CONTESTANTS.items() if "offsets" in one.nearly])
@settings(max_examples=10, deadline=None)
@given(offsets=st.lists(st.floats(-100, 100), min_size=4, max_size=4), task=st.sampled_from(TASKS))
def test_offsets_change_only_rounding_where_claimed(name: str, offsets: list[float], task: Task) -> None:
    """Without rows of exact zeros, which an offset would turn into values."""
    X = np.random.default_rng(2).normal(size=(80, 4))
    y = labels(X, task)
    expected = scores(CONTESTANTS[name], X, y, task)
    np.testing.assert_allclose(scores(CONTESTANTS[name], X + offsets, y, task), expected, rtol=1e-6, atol=1e-6)


def raw_numbers(name: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Predictions for labels in their own unit, which the contest itself gives only to ours."""
    one = CONTESTANTS[name]
    if one.kind == "ours" and name != "NAG, automatic rate":
        return scores(one, X, y, "regression")[:, 0]
    rule: dict[str, Any] = {
        "NAG": "nag",
        "sNAG": "snag",
        "NG": "ng",
        "AG": "ag",
        "GD": "gd",
        "NAG, automatic rate": "nag",
    }
    if name in rule:
        return Learner(rule[name], "squared", "auto" if "auto" in name else 0.5).learn(X, y)
    return np.asarray(VSGD("squared").run(X, y) if name == "vSGD" else RELATIVES[name]("squared").run(X, y))


@pytest.mark.parametrize("name", CONTESTANTS)
def test_the_unit_of_labels_matters_exactly_where_claimed(name: str) -> None:
    X = np.random.default_rng(2).normal(size=(80, 4))
    y = labels(X, "regression")
    one, expected = CONTESTANTS[name], raw_numbers(name, X, y)
    found = raw_numbers(name, X, 1024.0 * y) / 1024.0
    if "label units" in one.exact:
        np.testing.assert_array_equal(found, expected)
    if "label units" in one.nearly:
        np.testing.assert_allclose(raw_numbers(name, X, 37.0 * y) / 37.0, expected, rtol=1e-7, atol=1e-7)
    else:
        assert not np.allclose(found, expected, rtol=1e-3, atol=1e-3 * np.nanmax(np.abs(expected)), equal_nan=True)


@pytest.mark.parametrize(
    "name", [name for name, one in CONTESTANTS.items() if name in ("unitless", "unitless, linear")]
)
def test_offsets_of_labels_change_only_rounding_for_ours(name: str) -> None:
    X = np.random.default_rng(2).normal(size=(80, 4))
    y = labels(X, "regression")
    found = raw_numbers(name, X, 37.0 * y + 1000.0) - 1000.0
    np.testing.assert_allclose(found[1:] / 37.0, raw_numbers(name, X, y)[1:], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", CONTESTANTS)
def test_what_is_not_claimed_is_not_so(name: str) -> None:
    """Factors and offsets change the predictions of every learner that claims nothing about them."""
    one, X = CONTESTANTS[name], np.random.default_rng(2).normal(size=(80, 4))
    y = labels(X, "binary")
    expected = scores(one, X, y, "binary")
    least = 0.01 * np.abs(expected).max()
    if "units" not in one.exact:
        assert np.abs(scores(one, X * [1.0, 1024.0, 1.0, 1.0], y, "binary") - expected).max() > least
    if "offsets" not in one.nearly:
        assert np.abs(scores(one, X + 5.0, y, "binary") - expected).max() > least
    assert one.changes("order of columns") == ("no" if name == "unitless" else "to rounding")
    assert set(one.exact | one.nearly) <= set(CHANGES)


@pytest.mark.parametrize("name", CONTESTANTS)
def test_the_order_of_rows_matters_to_every_online_learner(name: str) -> None:
    y = labels(SMALL, "binary")
    expected = scores(CONTESTANTS[name], SMALL, y, "binary")
    assert not np.allclose(scores(CONTESTANTS[name], SMALL[::-1], y[::-1], "binary")[::-1], expected)


# ------------------------------------------------------------------------------------------------------ mechanics


@pytest.mark.parametrize("name", RELATIVES)
def test_predict_equals_learn_and_changes_nothing_in_relatives(name: str) -> None:
    X, y = signs(60)
    m, whole = RELATIVES[name]("logistic"), RELATIVES[name]("logistic").run(X, y)
    for x, label, expected in zip(X, y, whole, strict=True):
        assert m.predict(x) == expected
        assert m.weights(x).shape == (1, 5)
        assert m.predict(x) == m.learn(x, label)


@pytest.mark.parametrize("name", RELATIVES)
def test_a_lane_of_a_relative_is_a_learner_alone(name: str) -> None:
    X, _ = signs(120, 3)
    y = np.random.default_rng(1).integers(3, size=len(X))
    knobs = {
        "coin betting": "wealth",
        "KT": "wealth",
        "KATE": "rate",
        "schedule-free": "rate",
        "Prodigy": "coefficient",
    }
    knobs |= {"MetaGrad": "radius", "MetaGrad, scaled": "radius", "DoG": "r_epsilon"}
    knob = knobs.get(name, "epsilon")
    p = RELATIVES[name]("logistic", classes=3, **{knob: [0.5, 0.02]}).run(X, y)
    assert p.shape == (len(X), 2, 3)
    for place, value in enumerate((0.5, 0.02)):
        for label in range(3):
            alone = RELATIVES[name]("logistic", **{knob: value}).run(X, np.where(y == label, 1, -1))
            np.testing.assert_allclose(p[:, place, label], alone, rtol=1e-10, atol=1e-12)


def test_limits_bound_predictions_and_slopes() -> None:
    X, y = signs(300)
    p = CoinBetting("squared", limits=(-0.25, 0.25)).run(X, 0.25 * y)
    assert np.abs(p).max() == 0.25
    m = KT("linear", limits=(-1, 1))
    assert isinstance(m, GradientLearner)
    assert m.learn([1.0], 0.5) == 0.0
    assert m.predict([1.0]) == -0.25  # the label is the slope: θ = −½, n = 1
    with pytest.raises(OptionError, match="smaller and a larger"):
        KT("squared", limits=(1, 1))
