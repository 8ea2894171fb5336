"""With many classes, a trial on the first rows of a fit chooses between trees and a linear model."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import unitless as ul
from unitless.sklearn import UnitlessClassifier


@cache
def bent(classes: int = 24, rows: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Classes that are intervals of a column, again and again: no line separates them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(rows, 3))
    return X, np.array([f"c{k}" for k in (np.floor(X[:, 0] * 2 * classes).astype(int) % classes)])


@cache
def straight(classes: int = 30, rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Classes by the largest of linear scores of forty columns."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(rows, 40)), rng.normal(size=(40, classes))
    return X, np.array([f"c{k}" for k in (X @ W + rng.gumbel(size=(rows, classes))).argmax(axis=1)])


def trials(result: ul.TrainResult) -> list[str]:
    return [str(note) for note in result.notes if "trial" in str(note)]


def test_trees_are_chosen_where_they_predict_better() -> None:
    result = ul.train(*bent(), passes=1)
    assert result.model_type == "trees"
    (note,) = trials(result)
    assert note.startswith(
        "model_type='trees' was chosen by a trial on the first 2,700 rows: the progressive log loss "
    )
    assert "with model_type='linear'" in note


def test_a_linear_model_is_chosen_where_trees_gain_nothing() -> None:
    X, y = straight()
    result = ul.train(X, y, passes=1)
    assert result.model_type == "linear"
    assert trials(result)[0].startswith("model_type='linear' was chosen by a trial on the first 1,800 rows")
    again = ul.train(X, y, passes=1, model_type="linear")
    assert (result.model.predict(X) == again.model.predict(X)).all()


@pytest.mark.parametrize(("options", "classes"), [({}, 20), ({"model_type": "trees"}, 24), ({"sparsity": 1}, 24)])
def test_no_trial_where_there_is_nothing_to_choose(options: dict[str, object], classes: int) -> None:
    X, y = bent(classes, 1000)
    assert not trials(ul.train(X, y, passes=1, **options))  # type: ignore[arg-type]


def test_with_very_many_classes_the_model_is_linear() -> None:
    rng = np.random.default_rng(0)
    y = np.array([f"c{k}" for k in range(501)] * 2)
    result = ul.train(rng.normal(size=(len(y), 2)), y, passes=1)
    assert result.model_type == "linear"
    assert any("501 classes are too many for trees" in str(note) for note in result.notes)


def test_a_stream_has_no_trial() -> None:
    X, y = bent()
    result = ul.train(X, y, shuffle=False)
    assert not trials(result)
    assert result.model_type == "trees"


def test_the_choice_is_saved_with_the_model(tmp_path: Path) -> None:
    X, y = straight()
    result = ul.train(X, y, passes=1, output=tmp_path / "m.unitless")
    assert ul.load(tmp_path / "m.unitless").model_type == result.model_type == "linear"


def test_rows_are_learned_once_a_pass_whatever_the_trial_has_learned() -> None:
    X, y = bent()
    result, plain = ul.train(X, y, passes=1), ul.train(X, y, passes=1, model_type="trees")
    assert result.model.examples == plain.model.examples == len(y)
    assert (result.model.predict(X) == plain.model.predict(X)).all()


def test_the_estimator_takes_the_trial_too() -> None:
    assert UnitlessClassifier(max_iter=1).fit(*bent()).model_.model_type == "trees"
    assert UnitlessClassifier(max_iter=1).fit(*straight()).model_.model_type == "linear"
