"""`Predictor.save`: a file that only predicts, with the same predictions, much smaller, and that refuses to learn."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.models.file import to_bytes


def table(task: str, rows: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 5))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    frame = pd.DataFrame(X, columns=list("abcde")).assign(job=np.array(["clerk", "pilot"])[rng.integers(0, 2, rows)])
    labels: dict[str, Any] = {
        "regression": score,
        "binary": np.where(score > 0, "yes", "no"),
        "classes": np.array(["low", "mid", "high"])[np.digitize(score, [-1, 1])],
    }
    return frame.assign(y=labels[task])


OPTIONS: list[dict[str, Any]] = [
    {},
    {"model_type": "linear"},
    {"model_type": "curves", "ensemble": False},
    {"model_type": "trees", "learning_rate": 0.5},
    {"model_type": "linear", "sparsity": 1.0},
    {"model_type": "curves only"},
    {"rule": "newton"},
]


@pytest.mark.parametrize("task", ["regression", "binary", "classes"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_predictions_are_the_same_to_the_bit(task: str, options: dict[str, Any], tmp_path: pathlib.Path) -> None:
    frame = table(task)
    result = ul.train(frame, "y", passes=2, **options)
    result.predictor.save(tmp_path / "p.unitless")
    loaded = ul.Predictor(tmp_path / "p.unitless")
    assert loaded.model.predict(frame).tobytes() == result.model.predict(frame).tobytes()
    assert list(loaded.predict(frame)) == list(result.predict(frame))
    assert loaded.predict_interval(frame[:50]).equals(result.predict_interval(frame[:50]))
    found, expected = (ul.explain(model, frame.iloc[0].to_dict()) for model in (loaded, result))
    assert found.score == pytest.approx(expected.score, rel=1e-9)
    parts = {part.column: part.contribution for part in expected.contributions}
    assert {part.column: part.contribution for part in found.contributions} == pytest.approx(parts, rel=0.02, abs=0.01)


@pytest.mark.parametrize(("task", "rows", "share"), [("classes", 1500, 10), ("regression", 20_000, 20)])
def test_with_trees_the_file_is_a_small_part_of_what_the_model_stores(
    task: str, rows: int, share: int, tmp_path: pathlib.Path
) -> None:
    result = ul.train(table(task, rows), "y", passes=1)
    result.predictor.save(tmp_path / "p.unitless")
    stored = len(to_bytes(result.model))  # before it is compressed
    assert (tmp_path / "p.unitless").stat().st_size < stored / share


def test_covariances_that_predictions_do_not_use_take_no_room(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 100))
    y = X @ rng.normal(size=100) + rng.normal(size=5000)
    result = ul.train(pd.DataFrame(X).add_prefix("c").assign(y=y), "y", model_type="linear")
    result.predictor.save(tmp_path / "p.unitless")
    assert (tmp_path / "p.unitless").stat().st_size < len(to_bytes(result.model)) / 8


def test_it_refuses_to_learn_in_every_way(tmp_path: pathlib.Path) -> None:
    frame = table("regression", 300)
    ul.train(frame, "y", passes=1, model_type="linear").predictor.save(tmp_path / "p.unitless")
    model = ul.load(tmp_path / "p.unitless")
    ways = [
        lambda: model.learn(frame, frame["y"]),
        lambda: model.learn_one({"a": 1.0}, 2.0),
        lambda: model.copy().learn(frame, frame["y"]),
        lambda: ul.train(frame, "y", resume=model),
    ]
    for way in ways:
        with pytest.raises(ul.OptionError, match="this model only predicts"):
            way()


def test_it_is_not_merged(tmp_path: pathlib.Path) -> None:
    result = ul.train(table("regression", 300), "y", passes=1, model_type="linear")
    result.predictor.save(tmp_path / "p.unitless")
    with pytest.raises(ul.MergeError, match="a model that only predicts cannot be merged"):
        ul.merge([result.model, ul.load(tmp_path / "p.unitless")])


def test_no_way_into_the_core_learns(tmp_path: pathlib.Path) -> None:
    frame = table("regression", 300)
    ul.train(frame, "y", passes=1, model_type="linear").predictor.save(tmp_path / "p.unitless")
    model = ul.load(tmp_path / "p.unitless")
    learning = [name for name in dir(type(model)) if name.startswith(("learn", "_learn")) and name != "learning_rate"]
    assert {"learn", "learn_one", "_learn_row", "_learn_dense", "_learn_table"} <= set(learning)
    for name in learning:
        with pytest.raises(ul.OptionError, match="this model only predicts"):
            getattr(model, name)()


@pytest.mark.parametrize("damage", ["cut", "changed", "size", "more"])
def test_a_damaged_file_is_refused(damage: str, tmp_path: pathlib.Path) -> None:
    ul.train(table("binary", 300), "y", passes=1).predictor.save(tmp_path / "p.unitless")
    data = bytearray((tmp_path / "p.unitless").read_bytes())
    if damage == "cut":
        data = data[:-100]
    elif damage == "changed":
        data[-5000] ^= 1
    else:
        start = data.index(b'\\"size\\": ') + len(b'\\"size\\": ')
        data[start : start + 1] = b"1" if damage == "size" else b"9"
    (tmp_path / "p.unitless").write_bytes(data)
    with pytest.raises(ul.ModelFileError):
        ul.load(tmp_path / "p.unitless")
