"""Every entry point uses `resolve` for the options that were not given: equal options make equal models."""

from __future__ import annotations

import inspect
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.cli import main
from unitless.cli.train import OPTIONS as TRAIN
from unitless.options import Options
from unitless.serve.served import ServedModel
from unitless.sklearn import UnitlessClassifier, UnitlessRegressor

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
    {"sparsity": 0.05, "l2": 0.5, "model_type": "trees"},
    {"sparsity": "auto", "model_type": "curves"},
    {"rule": "newton"},
    {"rule": "snag", "model_type": "linear"},
    {"center": False},
    {"falling_scales": False},
    {"interactions": 2, "model_type": "linear"},
    {"bias": False, "ensemble": True, "learning_rate": 0.5},
    {"importance_aware": False, "ensemble": False},
    {"rule": "ng", "schedule": "constant", "model_type": "linear", "learning_rate": 0.1},
    {"bits": 8},
]
OPTIONS = [
    *((task, options) for task in TARGETS for options in COMMON),
    *(("regression", {"loss": "quantile", "quantile": 0.8, **more}) for more in ({}, {"sparsity": 1.0}, {"l2": 1.0})),
    ("regression", {"order": "vw"}),
    ("binary", {"order": "vw"}),
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


def of_mappings(frame: pd.DataFrame, task: str, options: dict[str, Any]) -> Any:
    rows = frame[[*FEATURES, TARGETS[task]]].to_dict("records")
    return ul.train(rows, TARGETS[task], task=task, shuffle=False, passes=1, **options).model


def of_rows_of_river(frame: pd.DataFrame, task: str, options: dict[str, Any]) -> Any:
    estimator = (river.UnitlessRegressor if task == "regression" else river.UnitlessClassifier)(**options)
    for row, label in zip(frame[FEATURES].to_dict("records"), frame[TARGETS[task]].tolist(), strict=True):
        estimator.learn_one(row, label)
    return estimator.model


def of_server(frame: pd.DataFrame, task: str, options: dict[str, Any]) -> Any:
    classes = {"classes": [False, True]} if task == "binary" else {}
    served = ServedModel("m", "champion", {"task": task, **classes, **options})
    for row, label in zip(frame[FEATURES].to_dict("records"), frame[TARGETS[task]].tolist(), strict=True):
        served.learn(row, label)
    return served.model


def of_command_line(frame: pd.DataFrame, task: str, options: dict[str, Any], folder: pathlib.Path) -> Any:
    frame[[*FEATURES, TARGETS[task]]].to_parquet(folder / "a.parquet")
    words = ["train", str(folder / "a.parquet"), "--target", TARGETS[task], "--task", task, "--no-shuffle", "-q"]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        words += [flag] if value is True else ["--no-" + flag[2:]] if value is False else [flag, str(value)]
    assert main([*words, "--output", str(folder / "m.unitless")]) == 0
    return ul.load(folder / "m.unitless")


Door = Callable[[pd.DataFrame, str, dict[str, Any]], Any]
DOORS: dict[str, Door] = {"scikit-learn": of_sklearn, "River": of_river}
# Rows of names become columns when they are first met.
DOORS_OF_NAMES: dict[str, Door] = {"River's rows": of_rows_of_river, "server": of_server}


def same(found: Any, expected: Any, frame: pd.DataFrame) -> None:
    assert found.options == expected.options
    assert (
        found._scores(found._data(frame[FEATURES])).tobytes()
        == expected._scores(expected._data(frame[FEATURES])).tobytes()
    )


@pytest.mark.parametrize(("task", "options"), OPTIONS, ids=str)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_options_and_the_same_model(door: str, task: str, options: dict[str, Any]) -> None:
    frame = table()
    same(DOORS[door](frame, task, options), trained(frame, task, options), frame)


@pytest.mark.parametrize(("task", "options"), OPTIONS, ids=str)
@pytest.mark.parametrize("door", DOORS_OF_NAMES)
def test_every_door_gives_the_same_model_of_rows_of_names(door: str, task: str, options: dict[str, Any]) -> None:
    frame = table()
    same(DOORS_OF_NAMES[door](frame, task, options), of_mappings(frame, task, options), frame)


@pytest.mark.parametrize(("task", "options"), OPTIONS, ids=str)
def test_mappings_have_the_options_of_a_frame(task: str, options: dict[str, Any]) -> None:
    frame = table()
    assert of_mappings(frame, task, options).options == trained(frame, task, options).options


@pytest.mark.parametrize(("task", "options"), OPTIONS, ids=str)
def test_the_command_line_gives_the_model_of_train(
    task: str, options: dict[str, Any], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = table()
    same(of_command_line(frame, task, options, tmp_path), trained(frame, task, options), frame)


def test_every_option_is_a_parameter_of_every_door() -> None:
    every, of_numbers = {*Options.__dataclass_fields__}, {"target", "quantile", "clip"}
    for estimator, missing in (
        (UnitlessRegressor, set()),
        (UnitlessClassifier, of_numbers),
        (river.UnitlessRegressor, {"average"}),  # rows that come one by one never use the average
        (river.UnitlessClassifier, {"average", *of_numbers}),
    ):
        assert every - {*inspect.signature(estimator).parameters} == missing
    flags = {flag.library_name for flag in TRAIN}
    assert every - flags == set()  # `--target` is another option: the labels' unit is always learned


def test_a_penalty_that_makes_a_model_linear_is_reported_by_every_door() -> None:
    frame = table()
    note = "l2 makes the model linear"
    assert any(note in str(one) for one in ul.train(frame[[*FEATURES, "number"]], "number", l2=1.0).notes)
    for door in (of_sklearn, of_river, of_rows_of_river):
        with pytest.warns(UserWarning, match=note):
            door(frame, "regression", {"l2": 1.0})


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("task", TARGETS)
def test_a_fit_of_scikit_learn_is_a_fit_of_train(task: str, seed: int) -> None:
    frame = table()
    estimator = UnitlessRegressor if task == "regression" else UnitlessClassifier
    # By default the classes of an estimator are known beforehand, and sorted; those of `train` come with the rows.
    coming = {"new_classes": "allow"} if task == "classes" else {}
    found = estimator(random_state=seed, **coming).fit(frame[FEATURES], frame[TARGETS[task]])
    expected = ul.train(frame[[*FEATURES, TARGETS[task]]], TARGETS[task], task=task, random_state=seed)
    labels = found.predict(frame[FEATURES]).tolist()
    assert labels == expected.predict(frame[FEATURES]).tolist()
    same(found.model_, expected.model, frame)


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
