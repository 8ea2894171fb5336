"""On small, narrow or odd tables, the default model_type is not much worse than linear models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul

USUAL = "auto"  # the default
NEW = 2000  # rows that are not used for training


def errors(make: Any, rows: int, seed: int = 0, **options: Any) -> dict[str, float]:
    """The RMSE of the default model_type and of linear models on new rows."""
    frame = make(rows + NEW, np.random.default_rng(seed))
    found = {}
    for model_type in (USUAL, "linear"):
        result = ul.train(frame[:rows], "y", model_type=model_type, **options)
        new = ul.evaluate(result, frame[rows:]).metrics
        found[model_type] = new["rmse"] if "rmse" in new else new["error_rate"]
        assert np.isfinite(found[model_type])
    return found


def lines(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    X = rng.normal(size=(rows, 4)) * [1e-3, 1, 1e3, 1]
    return pd.DataFrame(X, columns=list("abcd")).assign(y=X @ [2000, 1, -3e-3, 0] + rng.normal(size=rows))


def one_column(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    x = rng.normal(size=rows)
    return pd.DataFrame({"x": x, "y": 3 * x + rng.normal(size=rows)})


def only_text(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    town, job = rng.choice(list("abcdefgh"), rows), rng.choice(["clerk", "cook"], rows)
    y = np.array([ord(one) for one in town]) + 3.0 * (job == "cook") + rng.normal(size=rows)
    return pd.DataFrame({"town": town, "job": job, "y": y})


def constants(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    return lines(rows, rng).assign(one=1.0, nought=0.0, word="same", large=1e12)


def numbered(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Names and numbers of rows, which have no information about the target."""
    names = [f"customer {k}" for k in rng.permutation(rows)]
    return lines(rows, rng).assign(name=names, number=rng.permutation(rows) + 10**9)


@pytest.mark.parametrize("make", [lines, one_column, only_text, constants, numbered])
@pytest.mark.parametrize("rows", [1000, 200, 40])
def test_odd_tables_are_learned_about_as_well_as_by_linear_models(make: Any, rows: int) -> None:
    found = [errors(make, rows, seed) for seed in range(2)]
    usual, linear = (np.mean([one[model_type] for one in found]) for model_type in (USUAL, "linear"))
    assert usual < (1.1 if rows >= 1000 else 1.25) * linear, (usual, linear)


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
@pytest.mark.parametrize("make", [lines, one_column, only_text, constants, numbered])
def test_a_handful_of_rows_is_a_model(make: Any, rows: int) -> None:
    frame = make(rows, np.random.default_rng(0))
    result = ul.train(frame, "y", task="regression" if rows == 1 else None)
    assert np.isfinite(np.asarray(result.predict(frame), float)).all()
    assert ul.explain(result, frame.drop(columns="y").to_dict("records")[0]).score == pytest.approx(
        float(result.model.predict(frame[:1])[0])
    )


def test_a_column_that_is_always_missing_changes_little() -> None:
    frame = lines(600, np.random.default_rng(0))
    plain, empty = ul.train(frame, "y"), ul.train(frame.assign(e=np.nan), "y", reading=ul.Reading(numbers="e"))
    assert empty.metrics["rmse"] == pytest.approx(plain.metrics["rmse"], rel=0.1)


def test_memory_does_not_grow_with_the_rows() -> None:
    rng = np.random.default_rng(0)
    model, sizes = ul.Learner(model_type=USUAL, learning_rate="auto"), []
    for _ in range(3):
        X = rng.normal(size=(10_000, 4))
        model.learn(X, np.abs(X[:, 0]) + X[:, 1] * X[:, 2])
        sizes.append(model.nbytes)
    assert sizes[2] < 1.05 * sizes[0]


def test_nonlinear_data_are_learned_better_than_by_a_line() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3)) * [1e-3, 1, 1e3]
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=np.abs(X[:, 1]) + (X[:, 0] > 0) * np.sign(X[:, 2]))
    usual, linear = (ul.train(frame, "y", model_type=model_type).metrics["rmse"] for model_type in (USUAL, "linear"))
    assert usual < 0.6 * linear


def test_classes_of_small_tables() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60 + NEW, 3))
    y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + 0.3 * rng.normal(size=len(X)), [-0.5, 0.5])]
    usual, linear = (
        ul.evaluate(ul.train(X[:60], y[:60], model_type=model_type), X[60:], target=y[60:]).metrics["error_rate"]
        for model_type in (USUAL, "linear")
    )
    assert usual < 1.15 * linear


def test_a_rate_that_is_given_asks_for_one_learner_unless_members_are_too() -> None:
    X, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200.0)
    asked = {"model_type": "linear", "shuffle": False}
    assert ul.train(X, y, **asked).model.ensemble == "newton"
    assert ul.train(X, y, learning_rate=0.5, **asked).model.ensemble == "none"
    assert ul.train(X, y, learning_rate=0.5, ensemble=True, **asked).model.ensemble == "newton"
