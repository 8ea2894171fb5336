"""Every entry point uses `resolve` for the options that were not given: equal options make equal models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.serve.served.options import ModelRequest
from unitless.sklearn import UnitlessClassifier, UnitlessRegressor
from unitless.training.defaults import DataFacts, resolve

river = pytest.importorskip("unitless.river")

ROWS = 400
pytestmark = pytest.mark.filterwarnings("ignore:.* makes the model linear:UserWarning")


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {name: rng.normal(size=ROWS) * unit for name, unit in zip("abc", (1e-3, 1.0, 1e3), strict=True)}
    )
    score = frame["a"] * 1e3 + frame["b"] - frame["c"] * 1e-3 + 0.1 * rng.normal(size=ROWS)
    frame["number"] = 50 + score
    frame["two"] = score > 0
    frame["three"] = pd.cut(score, [-np.inf, -1, 1, np.inf], labels=["low", "mid", "high"]).astype(str)
    return frame


FEATURES = ["a", "b", "c"]
TARGETS = {"regression": "number", "binary": "two", "classes": "three"}
COMMON: list[dict[str, Any]] = [
    {},
    {"learning_rate": 0.3},
    {"model_type": "linear"},
    {"model_type": "curves", "ensemble": False},
    {"sparsity": 1.0},
    {"l2": 0.5},
    {"sparsity": "auto", "learning_rate": 0.5},
    {"rule": "newton"},
    {"rule": "snag", "model_type": "linear"},
    {"center": False},
    {"falling_scales": False},
    {"interactions": 2, "model_type": "linear"},
    {"bias": False, "ensemble": True, "learning_rate": 0.5},
]
OPTIONS = [
    *((task, options) for task in TARGETS for options in COMMON),
    *(("regression", {"loss": "quantile", "quantile": 0.8, **more}) for more in ({}, {"sparsity": 1.0}, {"l2": 1.0})),
    ("regression", {"loss": "poisson", "model_type": "linear"}),
    ("binary", {"loss": "hinge"}),
    ("classes", {"loss": "softmax"}),
]


def trained(frame: pd.DataFrame, task: str, options: dict[str, Any], shuffle: bool = False) -> Any:
    given = frame[[*FEATURES, TARGETS[task]]]
    return ul.train(given, TARGETS[task], task=task, shuffle=shuffle, passes=1, **options).model


def of_sklearn(frame: pd.DataFrame, task: str, options: dict[str, Any]) -> Any:
    if task == "regression":
        return UnitlessRegressor(shuffle=False, max_iter=1, **options).fit(frame[FEATURES], frame["number"]).model_
    allowed = {} if task == "binary" else {"new_classes": "allow"}
    estimator = UnitlessClassifier(shuffle=False, max_iter=1, **allowed, **options)
    return estimator.fit(frame[FEATURES], frame[TARGETS[task]]).model_


def of_river(frame: pd.DataFrame, task: str, options: dict[str, Any]) -> Any:
    estimator = (river.UnitlessRegressor if task == "regression" else river.UnitlessClassifier)(**options)
    estimator.learn_many(frame[FEATURES], frame[TARGETS[task]])
    return estimator.model


DOORS: dict[str, Callable[..., Any]] = {"scikit-learn": of_sklearn, "River": of_river}


@pytest.mark.parametrize(("task", "options"), OPTIONS, ids=str)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_options_and_the_same_model(door: str, task: str, options: dict[str, Any]) -> None:
    frame = table()
    expected, found = trained(frame, task, options), DOORS[door](frame, task, options)
    assert found.options == expected.options
    assert found.predict(frame[FEATURES]).tobytes() == expected.predict(frame[FEATURES]).tobytes()


@pytest.mark.parametrize(("task", "options"), OPTIONS, ids=str)
def test_the_server_resolves_options_as_train_does(task: str, options: dict[str, Any]) -> None:
    asked = ModelRequest({"task": task, **options})
    classes = {"binary": [False, True]}.get(task)
    assert asked.model(task, classes).options == resolve(task, DataFacts(), options)


@pytest.mark.parametrize("task", TARGETS)
def test_a_fit_of_scikit_learn_has_the_options_of_a_fit_of_train(task: str) -> None:
    frame = table()
    for options in COMMON:
        estimator = (UnitlessRegressor if task == "regression" else UnitlessClassifier)(max_iter=1, **options)
        model = estimator.fit(frame[FEATURES], frame[TARGETS[task]]).model_
        assert model.options == trained(frame, task, options, shuffle=True).options


def test_vowpal_wabbits_learner_can_be_trained() -> None:
    model = trained(table(), "regression", {"order": "vw", "learning_rate": 0.5})
    assert (model.options.center, model.options.target, model.options.ensemble) == (False, None, False)
    assert trained(table(), "regression", {"order": "vw"}).options.learning_rate == 0.5


def test_a_parallel_training_has_the_options_of_train() -> None:
    frame = table()
    for task, target in TARGETS.items():
        given = frame[[*FEATURES, target]]
        found = ul.train(given, target, task=task, passes=1, cluster=ul.Cluster(partitions=2, sync_rounds=1))
        assert found.model.options == trained(frame, task, {}, shuffle=True).options


def test_options_of_reading_and_of_a_cluster_have_records_of_their_own() -> None:
    with pytest.raises(ul.OptionError, match=r"give reading=ul\.Reading\(ignore=\.\.\.\)"):
        ul.train(table(), "two", ignore="a")
    with pytest.raises(ul.OptionError, match=r"give cluster=ul\.Cluster\(partitions=\.\.\.\)"):
        ul.train(table(), "two", partitions=4)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("model_typ", "model_type"),
        ("shape", "model_type"),
        ("seed", "random_state"),
        ("n_iter", "passes"),
        ("experts", "ensemble"),
        ("centre", "center"),
        ("lr", "learning_rate"),
        ("holdot", "holdout"),
    ],
)
def test_an_unknown_option_suggests_the_one_that_is_meant(given: str, meant: str) -> None:
    with pytest.raises(ul.OptionError, match=f"there is no option '{given}'; did you mean '{meant}'"):
        ul.train(table(), "two", **{given: 1})
