"""The exact properties of curves and trees: changes of the input that must not change a single bit."""

from __future__ import annotations

import copy
import hashlib
import itertools
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from instruction_sets import digests_by_kernel, digests_by_threads
from streams import LOSSES, labels, same_bits

import unitless as ul

SHAPES = ("curves", "trees", "curves only", "penalized trees")
ROWS = 1200  # enough rows for the learning rates to be compared
NAMES = list("abcde")
CLASSES = tuple("rstuvwxyzab")
# while a leaf draws candidates, and while it watches them
BREAKS = (0, 1, 2, 3, 31, 32, 33, 34, 60, 500, 1023, 1024, 1025, ROWS)


@cache
def problem(loss: str = "squared", rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(rows, 5)), 2)
    X[:, 3] = rng.integers(0, 6, rows)
    X[rng.random(rows) < 0.3, 4] = 0.0
    score = np.sin(2 * X[:, 0]) + (X[:, 1] > 0) * X[:, 2] + 0.5 * (X[:, 3] == 2)
    return X, labels(loss, score, rng)


def classes(count: int, rows: int = ROWS) -> list[str]:
    """Labels of `count` classes, which appear one after another."""
    _, y = problem(rows=rows)
    rank = np.argsort(np.argsort(y + np.linspace(-1, 3, rows)))
    return [CLASSES[k] for k in rank * count // rows]


def some_weights(rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng(7).choice([0.0, 0.5, 1.0, 1.0, 3.25], rows)


def mappings(X: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


def of_type(model_type: str, loss: str = "logistic") -> Any:
    """The options of a shape. With quantile loss, penalties are in the label's unit."""
    if model_type != "penalized trees":
        return {"model_type": model_type}
    return {"model_type": "trees"} if loss == "quantile" else {"model_type": "trees", "sparsity": 0.05, "l2": 0.5}


def learner(model_type: Any, loss: Any = "squared", rate: Any = "auto", **options: Any) -> ul.Learner:
    return ul.Learner(loss=loss, learning_rate=rate, quantile=0.3, **of_type(model_type, loss), **options)


# ------------------------------------------------------------------------------------------------- units


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("model_type", SHAPES)
def test_powers_of_two_of_columns_change_no_bit(model_type: str, loss: str) -> None:
    X, y = problem(loss)
    scaled = X * np.ldexp(1.0, [3, -40, 100, -300, 500])
    a, b = learner(model_type, loss), learner(model_type, loss)
    assert same_bits(a.learn(X, y), b.learn(scaled, y))
    assert same_bits(a.predict(3 * X), b.predict(3 * scaled))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("model_type", ["curves", "trees"])
def test_any_other_factor_changes_predictions_by_rounding_only(model_type: str, loss: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = labels(loss, np.sin(2 * X[:, 0]) + X[:, 1], rng)
    for target in (None, "auto") if loss in ("squared", "quantile") else (None,):
        a, b = (learner(model_type, loss, 0.5, target=target) for _ in range(2))
        np.testing.assert_allclose(a.learn(X, y), b.learn(X * [3.0, 0.7, 1e5], y), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model_type", ["curves", "trees"])
def test_another_unit_and_offset_of_labels_map_predictions_to_rounding(model_type: str) -> None:
    X, y = problem(rows=400)
    a, b = (learner(model_type, rate=0.5, target="auto") for _ in range(2))
    # Trees add up residuals in 32 bits.
    np.testing.assert_allclose(a.learn(X, y)[1:], (b.learn(X, 3 * y + 40)[1:] - 40) / 3, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rate", [0.5, "auto"])
@pytest.mark.parametrize("power", [-60, 1, 40])
@pytest.mark.parametrize("loss", ["squared", "quantile"])
@pytest.mark.parametrize("model_type", SHAPES)
def test_powers_of_two_of_labels_map_predictions_exactly(model_type: str, loss: str, power: int, rate: Any) -> None:
    X, y = problem(loss, 500)
    factor = float(np.ldexp(1.0, power))
    a, b = (learner(model_type, loss, rate, target="auto") for _ in range(2))
    assert same_bits(factor * a.learn(X, y + 5), b.learn(X, factor * (y + 5)))
    assert same_bits(factor * a.predict(X), b.predict(X))


MAPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log": np.log,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "cube root": np.cbrt,
    "rank": lambda X: np.column_stack([np.unique(x, return_inverse=True)[1] for x in X.T]).astype(float),
}


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("name", MAPS)
def test_curves_alone_see_only_the_order_of_values(name: str, loss: str) -> None:
    X, y = problem(loss)
    X = X + 10.0
    mapped = MAPS[name](X)
    assert all(len(np.unique(a)) == len(np.unique(b)) for a, b in zip(X.T, mapped.T, strict=True))
    assert same_bits(learner("curves only", loss).learn(X, y), learner("curves only", loss).learn(mapped, y))


# ------------------------------------------------------------------------------------------------- ways of feeding


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "quantile"])
@pytest.mark.parametrize("model_type", SHAPES)
def test_one_call_is_many_calls(model_type: str, loss: str, weighted: bool) -> None:
    X, y = problem(loss)
    weight = some_weights() if weighted else np.ones(ROWS)
    whole, parts = learner(model_type, loss), learner(model_type, loss)
    expected = whole.learn(X, y, weight)
    pieces = [parts.learn(X[a:b], y[a:b], weight[a:b]) for a, b in itertools.pairwise(BREAKS)]
    assert same_bits(expected, np.concatenate(pieces))
    assert pickle.dumps(whole) == pickle.dumps(parts)


@pytest.mark.parametrize("rate", [0.5, "auto"])
@pytest.mark.parametrize("model_type", SHAPES)
def test_every_way_of_feeding_gives_the_same_bits(model_type: str, rate: Any) -> None:
    X, y = problem(rows=400)
    weight = some_weights(400)
    weight[0] = 1.0
    rows, dense = mappings(X), learner(model_type, rate=rate)
    expected, later = dense.learn(X, y, weight), dense.predict(2 * X)
    for form, asked in (
        (pd.DataFrame(X, columns=NAMES), pd.DataFrame(2 * X, columns=NAMES)),
        (np.asfortranarray(X), 2 * X),
        (rows, mappings(2 * X)),
    ):
        m = learner(model_type, rate=rate)
        assert same_bits(expected, m.learn(form, y, weight))
        assert same_bits(later, m.predict(asked))
    single = learner(model_type, rate=rate)
    assert same_bits(expected, [single.learn_one(row, *rest) for row, *rest in zip(rows, y, weight, strict=True)])
    assert same_bits(later, [single.predict_one(row) for row in mappings(2 * X)])


@pytest.mark.parametrize("model_type", SHAPES)
def test_rows_that_lack_values_and_have_text_can_be_fed_in_any_way(model_type: str) -> None:
    X, y = problem(rows=400)
    rows = mappings(X)
    for r, row in enumerate(rows[1:], 1):
        row[f"colour={'red' if r % 3 else 'blue'}"] = 1.0
        for name in NAMES[r % 5 :: 4]:
            del row[name]
    whole, parts, single = (learner(model_type) for _ in range(3))
    expected = whole.learn(rows, y)
    pieces = [parts.learn(rows[a:b], y[a:b]) for a, b in itertools.pairwise((0, 1, 2, 30, 31, 32, 33, 200, 400))]
    assert same_bits(expected, np.concatenate(pieces))
    assert same_bits(expected, [single.learn_one(row, label) for row, label in zip(rows, y, strict=True)])
    assert pickle.dumps(whole) == pickle.dumps(parts) == pickle.dumps(single)


# ------------------------------------------------------------------------------------------------- going on later


def saved(m: ul.Learner, folder: Path) -> Any:
    m.save(folder / "m.unitless")
    return ul.load(folder / "m.unitless")


AGAIN: dict[str, Callable[[Any, Path], Any]] = {
    "saved": saved,
    "pickled": lambda m, _: pickle.loads(pickle.dumps(m)),
    "copied": lambda m, _: m.copy(),
    "deep": lambda m, _: copy.deepcopy(m),
}


@pytest.mark.parametrize("way", AGAIN)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("model_type", SHAPES)
def test_saving_and_copying_in_mid_stream_is_invisible(model_type: str, loss: str, way: str, tmp_path: Path) -> None:
    X, y = problem(loss, 2200)
    m, whole = learner(model_type, loss), learner(model_type, loss)
    expected, pieces = whole.learn(X, y), []
    for a, b in itertools.pairwise((0, 1, 2, 31, 32, 33, 60, 500, 1024, 1025, 2048, 2049, 2200)):
        again = AGAIN[way](m, tmp_path)
        assert a == 0 or same_bits(m.predict(X[:50]), again.predict(X[:50]))
        m = again
        pieces.append(m.learn(X[a:b], y[a:b]))
    assert same_bits(expected, np.concatenate(pieces))
    assert pickle.dumps(whole) == pickle.dumps(m)


# ------------------------------------------------------------------------------------------------- machines


def everything() -> str:
    """A digest of the predictions and states of models of all types."""
    result = hashlib.sha256()
    for model_type in SHAPES:
        for loss in LOSSES:
            X, y = problem(loss)
            m = learner(model_type, loss)
            result.update(m.learn(X, y, some_weights()).tobytes() + m.predict(2 * X).tobytes() + pickle.dumps(m))
        one_vs_all = ul.OneVsAll(CLASSES, learning_rate=0.5, **of_type(model_type))
        result.update(one_vs_all.learn(problem()[0], classes(11)).tobytes() + pickle.dumps(one_vs_all))
    X, y = problem("logistic")
    m = learner("trees", "logistic")  # begins anew when the labels change
    result.update(m.learn(X, np.where(np.arange(ROWS) < 900, y, -y)).tobytes() + pickle.dumps(m))
    return result.hexdigest()


def test_every_instruction_set_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(digests_by_kernel(everything, monkeypatch)) == 1


def test_any_number_of_threads_gives_the_same_bits() -> None:
    assert len(digests_by_threads(everything)) == 1


# ------------------------------------------------------------------------------------------------- predicting


@pytest.mark.parametrize("rate", [0.5, "auto"])
@pytest.mark.parametrize("model_type", SHAPES)
def test_a_fresh_model_predicts_zero(model_type: str, rate: Any) -> None:
    X = np.ones((3, 2))
    assert not learner(model_type, rate=rate).predict(X).any()
    assert learner(model_type, rate=rate).predict_one({"a": 1.0}) == 0
    assert not learner(model_type, rate=rate).learn(X, np.ones(3), np.zeros(3)).any()
    m = learner(model_type, rate=rate)
    m.learn_one({}, 1.0)
    assert np.isfinite(m.predict_one({"a": 1.0}))
    assert same_bits(m.predict_one({"a": 1.0}), pickle.loads(pickle.dumps(m)).predict_one({"a": 1.0}))


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize("model_type", SHAPES)
def test_predict_gives_what_learn_would_and_changes_nothing(model_type: str, loss: str) -> None:
    X, y = problem(loss)
    m = learner(model_type, loss)
    for r in (0, 1, 2, 30, 31, 32, 33, 34, 100, 1023, 1024):
        m.learn(X[m.examples : r], y[m.examples : r])
        if r == 0:
            continue
        before = pickle.dumps(m)
        predicted = m.predict(X[r : r + 1])
        assert same_bits(predicted, m.learn(X[r : r + 1], y[r : r + 1], [0.0]))
        assert pickle.dumps(m) == before
        assert same_bits(predicted, m.learn(X[r : r + 1], y[r : r + 1]))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("model_type", SHAPES)
def test_rows_without_weight_change_nothing(model_type: str, loss: str) -> None:
    X, y = problem(loss)
    weight = (some_weights() > 0).astype(float)
    kept = weight > 0
    a, b = learner(model_type, loss), learner(model_type, loss)
    assert same_bits(a.learn(X, y, weight)[kept], b.learn(X[kept], y[kept]))
    assert pickle.dumps(a) == pickle.dumps(b)


@pytest.mark.parametrize("model_type", SHAPES)
def test_rows_of_weight_zero_do_not_affect_the_rows_around_them(model_type: str) -> None:
    X, y = problem(rows=60)
    X, weight = X.copy(), np.ones(60)
    X[3, 1], weight[3] = np.nan, 0.0
    whole, single = learner(model_type), learner(model_type)

    def learn(m: ul.Learner, a: int, b: int) -> np.ndarray:
        return m._learn_table(NAMES, list(X[a:b].T.copy()), True, False, False, y[a:b], weight[a:b])

    expected = learn(whole, 0, 60)
    assert same_bits(expected, np.concatenate([learn(single, r, r + 1) for r in range(60)]))
    assert pickle.dumps(whole) == pickle.dumps(single)


@pytest.mark.parametrize("model_type", SHAPES)
def test_columns_of_rows_without_weight_are_forgotten(model_type: str) -> None:
    X, y = problem(rows=200)
    m, fresh = learner(model_type), learner(model_type)
    m.learn(pd.DataFrame({"x": [1.0, 2.0]}), [1.0, 2.0], [0.0, 0.0])
    assert pickle.dumps(m) == pickle.dumps(fresh)
    rows = [{f"colour={'red' if row[0] > 0 else 'blue'}": 1.0, "b": row[1]} for row in X.tolist()]
    assert same_bits(m.learn(rows, y), fresh.learn(rows, y))


# ------------------------------------------------------------------------------------------------- divergence


@pytest.mark.parametrize("loss", ["squared", "hinge"])
@pytest.mark.parametrize("model_type", SHAPES)
def test_members_stay_in_step_when_one_diverges(model_type: str, loss: str) -> None:
    X, y = problem(loss, 100)
    m = learner(model_type, loss, 1e200, importance_aware=False)
    with pytest.raises(ul.DivergedError):
        m.learn(X, y)
    again = pickle.loads(pickle.dumps(m))
    assert again.examples == m.examples
    assert same_bits(m.predict(X), again.predict(X))


# ------------------------------------------------------------------------------------------------- classes


@pytest.mark.parametrize("rate", [0.5, "auto"])
@pytest.mark.parametrize("count", [3, 11])
@pytest.mark.parametrize("model_type", SHAPES)
def test_classes_can_be_fed_in_any_way(model_type: Any, count: int, rate: Any) -> None:
    X, y = problem(rows=600)[0], classes(count, 600)
    whole, parts = (ul.OneVsAll(CLASSES[:count], learning_rate=rate, **of_type(model_type)) for _ in range(2))
    expected, pieces = whole.learn(X, y), []
    for a, b in itertools.pairwise((0, 1, 2, 32, 33, 34, 300, 600)):
        pieces.append(parts.learn(X[a:b], y[a:b]))
        parts = pickle.loads(pickle.dumps(parts))
    assert same_bits(expected, np.concatenate(pieces))
    assert pickle.dumps(whole) == pickle.dumps(parts)


@pytest.mark.parametrize("count", [3, 11])
@pytest.mark.parametrize("model_type", SHAPES)
def test_classes_join_when_they_are_met_however_rows_are_fed(model_type: Any, count: int) -> None:
    X, y = problem(rows=900)[0], classes(count, 900)
    whole, parts = (ul.OneVsAll(learning_rate=0.5, **of_type(model_type)) for _ in range(2))
    whole.learn(X, y)
    for a, b in itertools.pairwise((0, 1, 3, 40, 41, 300, 900)):
        parts.learn(X[a:b], y[a:b])
    assert same_bits(whole.predict(X), parts.predict(X))
    assert pickle.dumps(whole) == pickle.dumps(parts)


@pytest.mark.parametrize("rate", [0.5, "auto"])
@pytest.mark.parametrize("model_type", SHAPES)
def test_a_model_whose_classes_have_joined_goes_on_after_saving(model_type: Any, rate: Any) -> None:
    X, y = problem(rows=900)[0], classes(11, 900)
    m = ul.OneVsAll(learning_rate=rate, **of_type(model_type))
    for a, b in itertools.pairwise((0, 1, 40, 300, 600)):
        m.learn(X[a:b], y[a:b])
        again = pickle.loads(pickle.dumps(m))
        assert same_bits(m.predict(X), again.predict(X))
        assert same_bits(m.copy().learn(X[600:], y[600:]), again.learn(X[600:], y[600:]))
