"""`model_type` in train, compare and the sweep of rates."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import unitless as ul
from unitless import inputs
from unitless.training.defaults import WIDE, DataFacts, resolve

SHAPES = ("linear", "curves", "trees", "auto", "curves only")


def data(rows: int = 300) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3)) * [1e-3, 1, 1e3]
    return X, np.abs(X[:, 1]) + X @ [1000, 0, 0.001]


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("shuffle", [True, False])
def test_a_trained_model_has_the_shape_that_was_asked_for(model_type: Any, shuffle: bool) -> None:
    result = ul.train(*data(), model_type=model_type, shuffle=shuffle, passes=2)
    assert result.model.options.model_type == model_type
    assert result.model_type == result.asdict()["model_type"] == result.model.model_type
    assert result.model_type is not None
    assert result.model_type == "linear" or result.model_type in result._repr_html_()


def test_there_is_one_usual_model_type() -> None:
    usual = resolve("regression", DataFacts(), {}).model_type
    result, comparison = ul.train(*data(), passes=1), ul.compare(*data(), rules=["nag"])
    assert result.model.options.model_type == comparison["nag"].model.options.model_type == usual


@pytest.mark.parametrize("model_type", SHAPES)
def test_only_linear_models_are_averaged(model_type: Any) -> None:
    result = ul.train(*data(), model_type=model_type, passes=2)
    assert result.model.options.average == (model_type == "linear")
    assert model_type == "linear" or result.selected == "last"
    assert not ul.train(*data(), model_type=model_type, shuffle=False).model.options.average


def test_an_average_that_is_asked_for_is_kept_whatever_the_shape() -> None:
    assert ul.train(*data(), model_type="curves", passes=1, average=True).model.options.average


def test_auto_is_averaged_of_text_that_names_its_features(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{k % 5 - 2} {k % 3 + 1}:1 {k % 7 + 4}:2\n" for k in range(100)))
    result = ul.train(path, task="regression", model_type="auto", passes=2)
    assert result.model.model_type == "linear"
    assert result.model.options.average


def averaged(options: dict[str, Any], rows: inputs.Input) -> bool:
    """Whether a fit of these rows uses the average of the weights."""
    return resolve("regression", DataFacts(fitted=True, rows=rows), options).average


def test_auto_is_averaged_where_it_will_be_linear() -> None:
    auto = {"model_type": "auto"}
    narrow, wide = np.zeros((2, WIDE)), np.zeros((2, WIDE + 1))
    assert not averaged(auto, inputs.read(narrow))
    assert averaged(auto, inputs.read(wide))
    assert averaged(auto, inputs.read(sp.csr_matrix(narrow)))
    assert averaged({**auto, "bits": 10}, inputs.read(narrow))
    assert not averaged({**auto, "order": "vw"}, inputs.read(wide))  # Vowpal Wabbit's learner has no average
    names = [f"x{k}" for k in range(WIDE + 1)]
    assert averaged(auto, inputs.Frame(names, [np.zeros(2)] * len(names), 2))
    assert not averaged(auto, inputs.Frame(names[1:], [np.zeros(2)] * WIDE, 2))
    assert not averaged(auto, inputs.read([{"a": 1.0}]))


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("shuffle", [True, False])
def test_an_interrupted_training_goes_on_with_its_shape(tmp_path: Path, model_type: Any, shuffle: bool) -> None:
    X, y = data()
    table = tmp_path / "table.csv"
    lines = [",".join(map(repr, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    table.write_text("\n".join(["a,b,c,y", *lines]))
    settings: dict[str, Any] = {"shuffle": shuffle, "passes": 2}
    whole = ul.train(table, "y", model_type=model_type, output=tmp_path / "whole.unitless", **settings)
    saved = tmp_path / "part.unitless"

    def stop(run: Any) -> None:
        if run.model is not None and run.progress.rows >= 100:
            signal.raise_signal(signal.SIGINT)

    part = ul.train(table, "y", model_type=model_type, output=saved, checkpoint=100, progress=stop, **settings)
    assert part.details.interrupted
    assert ul.load(saved).options.model_type == model_type
    resumed = ul.train(table, "y", resume=saved, output=saved, checkpoint=100, **settings)
    assert resumed.model_type == whole.model_type
    assert resumed.metrics == whole.metrics
    assert resumed.predict([{"a": 0.001, "b": 1.0, "c": 10.0}]) == whole.predict([{"a": 0.001, "b": 1.0, "c": 10.0}])


def test_the_shape_is_settled_by_the_model_that_is_resumed() -> None:
    first = ul.train(*data(), model_type="curves", passes=1)
    with pytest.raises(ul.OptionError, match="model_type is determined by the model that is resumed"):
        ul.train(*data(), model_type="trees", resume=first.model)
    assert ul.train(*data(), resume=first.model, passes=1).model.options.model_type == "curves"


@pytest.mark.parametrize("model_type", SHAPES)
def test_the_record_of_a_training_is_kept_with_the_shape(model_type: Any) -> None:
    model = ul.train(*data(), model_type=model_type, passes=1).model
    copy = model.copy()
    assert copy._training == model._training
    assert copy.options == model.options


def test_learners_of_a_shape_are_compared() -> None:
    comparison = ul.compare(*data(), rules=["nag", "snag"], model_type="curves")
    assert {one.model.options.model_type for one in comparison.learners.values()} == {"curves"}
    assert comparison.asdict()["model_type"] == "curves"
    json.dumps(comparison.asdict())
    alone = ul.train(*data(), model_type="curves", holdout=0, passes=1, ensemble=False)
    assert comparison["nag"].metrics == alone.progressive


def test_rates_are_swept_for_linear_models() -> None:
    with pytest.raises(ul.OptionError, match="model_type is 'trees'; a sweep compares the rates of one linear model"):
        ul.sweep(*data(), rules=["nag"], rates=[1.0], model_type="trees")
    assert ul.sweep(*data(), rules=["nag"], rates=[1.0], model_type="linear").best == ("nag", 1.0)


@pytest.mark.parametrize("penalty", [{"l2": 1.0}, {"sparsity": "auto"}])
def test_a_penalty_that_makes_the_model_linear_is_noted(penalty: dict[str, Any]) -> None:
    rows = [{"x": i % 17, "y": (i % 17) ** 2} for i in range(400)]
    result = ul.train(rows, "y", **penalty)
    assert result.model_type == "linear"
    noted = [note for note in result.notes if "makes the model linear" in note]
    assert noted == [
        f"{next(iter(penalty))} makes the model linear: give model_type='linear' to confirm, model_type='trees' to "
        f"penalize the weights of trees, or leave out {next(iter(penalty))} to let the data choose the model type"
    ]
    confirmed = ul.train(rows, "y", model_type="linear", **penalty)
    assert not any("makes the model linear" in note for note in confirmed.notes)
