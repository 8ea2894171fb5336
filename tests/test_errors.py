"""Errors have fields from which their text is composed; code that knows more about the place changes the fields."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import unitless as ul
from unitless.data.columns.frame_reader import MissingValueError
from unitless.data.writers.columnar import TypeChangedError
from unitless.errors import WHERE, Option, Phrase


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "label is nan"),
        ({"row": 3}, "label is nan at row 3"),
        ({"row": 3, "column": 1, "advice": "fill it in"}, "label is nan at row 3, column 1; fill it in"),
        ({"file": "a.csv", "row": 3, "column": "area"}, "a.csv, row 3, column 'area': label is nan"),
        ({"file": "a.vw", "line": 7, "advice": "fill it in"}, "a.vw, line 7: label is nan; fill it in"),
        ({"file": "a.vw"}, "a.vw: label is nan"),
        ({"option": "quantile"}, "quantile label is nan"),
    ],
)
def test_the_text_is_composed_from_the_fields(fields: dict[str, Any], text: str) -> None:
    assert str(ul.InputError("label is nan", **fields)) == text


def test_a_message_can_contain_its_place() -> None:
    error = ul.InputError(Phrase("the class ", WHERE, " is 'eel'"), row=3)
    assert str(error) == "the class at row 3 is 'eel'"
    assert str(error.at(file="a.csv")) == "the class at a.csv, row 3 is 'eel'"


def test_divergence_reports_the_rows_that_were_learned() -> None:
    error = ul.DivergedError(at=5, learned=5)
    assert str(error).startswith("the learner diverged at row 5; the rows before it are learned; look for")
    assert "the rows before row 3 are learned" in str(ul.DivergedError(at=5, learned=3))
    moved = ul.DivergedError(at=5, learned=3).moved(lambda row: {"file": "a.csv", "row": row + 101})
    assert (moved.where, moved.learned) == ("a.csv, row 106", 104)
    assert "diverged at a.csv, row 106; the rows before row 104 are learned" in str(moved)


@pytest.mark.parametrize(
    "error",
    [
        ul.InputError("a", row=3, column="b", advice=Phrase("use ", Option("on_error", "skip"))),
        ul.InputError(Phrase("a ", WHERE, " b"), row=3),
        ul.InputError(Phrase("use ", Option("target"))),
        ul.OptionError("is 2", option="quantile"),
        ul.DivergedError(at=5, learned=3),
        ul.ModelFileError("a"),
        MissingValueError("there is no value", row=3, column="b"),
        TypeChangedError("a").at(name="b", whole=True),
    ],
)
def test_errors_survive_pickling_and_copying(error: ul.Error) -> None:
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert other.text(lambda option: f"--{option.name}") == error.text(lambda option: f"--{option.name}")


def test_row_errors_of_the_core_have_fields() -> None:
    learner = ul.Learner()
    X = np.ones((4, 2))
    X[2, 1] = np.nan
    with pytest.raises(ul.InputError) as caught:
        learner.learn(X, np.ones(4))
    error = caught.value.moved(lambda row: {"file": "a.csv", "row": row + 1})
    assert (error.file, error.row, error.column) == ("a.csv", 3, 1)
    assert error.value is not None
    assert np.isnan(error.value)
    assert str(error).startswith("a.csv, row 3, column 1: value is nan; drop or fill in")


def test_a_name_of_the_users_is_not_read() -> None:
    error = ul.InputError(Phrase("feature 'x at row 7' is bad")).moved(lambda row: {"row": row + 100})
    assert str(error) == "feature 'x at row 7' is bad"
