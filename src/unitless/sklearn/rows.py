"""X as scikit-learn's users give it: checked by scikit-learn, read as the core takes it.

Arrays and sparse matrices are columns by their number. A frame's columns keep their names and types: numbers are taken
as they lie, booleans are 0 and 1 that are never centred, and text and categories become a feature for each value,
`column=value`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from .. import inputs
from ..data import frame_reader
from ..data import in_memory as memory
from ..data.policy import Policy
from ..errors import InputError

Rows: TypeAlias = inputs.Dense | inputs.Compressed | inputs.Frame

POLICY = Policy(booleans="indicator", text="indicators", missing="error", dates="error")

# The core looks at every value anyway, and says where the bad one is.
_CHECKS = {"accept_sparse": "csr", "ensure_all_finite": False}


def read(estimator: Any, X: Any, text_columns: Collection[str] | None = None) -> Rows:
    """X for `estimator`. Without `text_columns` it decides what the columns are; with them it must have the same."""
    first = text_columns is None
    if memory.is_frame(X):
        frame_reader.check_names([str(name) for name in (X.column_names if hasattr(X, "column_names") else X.columns)])
        validate_data(estimator, X, reset=first, skip_check_array=True)
        if hasattr(estimator, "feature_names_in_"):
            return _frame(X, text_columns)
        return _matrix(check_array(X, estimator=estimator, input_name="X", **_CHECKS))
    by_name = not first and hasattr(estimator, "feature_names_in_")
    checked = validate_data(estimator, X, reset=first, **{**_CHECKS, "accept_sparse": False if by_name else "csr"})
    if not by_name:
        return _matrix(checked)
    for name in text_columns or ():
        raise InputError(f"column {name!r} was text when the model was fitted; give X as a frame with that column")
    array = _dense(checked)
    return inputs.Frame(estimator.feature_names_in_.tolist(), list(array.T), len(array))


def text_columns(rows: Rows) -> list[str]:
    """The columns of text."""
    return frame_reader.text_columns(rows) if isinstance(rows, inputs.Frame) else []


def _matrix(checked: Any) -> inputs.Dense | inputs.Compressed:
    rows = inputs.read(checked)
    assert isinstance(rows, inputs.Dense | inputs.Compressed)
    return rows


def _dense(checked: Any) -> np.ndarray[Any, Any]:
    rows = inputs.read(checked)
    assert isinstance(rows, inputs.Dense)
    return rows.array


def _frame(X: Any, text_columns: Collection[str] | None) -> inputs.Frame:
    if not X.shape[0]:
        raise InputError("X has 0 rows; it must have at least one")
    try:
        frame = frame_reader.read_frame(X, POLICY)
    except frame_reader.MissingValueError as error:  # in the words of scikit-learn
        raise error.at(
            problem=f"X contains NaN: {error.problem}",
            advice=f"{error.advice} (for example with sklearn.impute.SimpleImputer)",
        ) from None
    for name, column in zip(frame.names, frame.columns, strict=True):
        if text_columns is not None and (name in text_columns) != isinstance(column, inputs.TextColumn):
            was, now = ("text", "numbers") if name in text_columns else ("numbers", "text")
            raise InputError(f"column {name!r} holds {now}, but held {was} when the model was fitted")
    return frame
