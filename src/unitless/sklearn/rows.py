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
from ..data import in_memory as memory
from ..data import tables
from ..data.arrow import pyarrow
from ..data.schema import kind_of
from ..errors import InputError

Rows: TypeAlias = inputs.Dense | inputs.Compressed | inputs.Frame

# The core looks at every value anyway, and says where the bad one is.
_CHECKS = {"accept_sparse": "csr", "ensure_all_finite": False}


def read(estimator: Any, X: Any, text_columns: Collection[str] | None = None) -> Rows:
    """X for `estimator`. Without `text_columns` it decides what the columns are; with them it must have the same."""
    first = text_columns is None
    if memory.is_frame(X):
        _check_names(X)
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
    if not isinstance(rows, inputs.Frame):
        return []
    columns = zip(rows.names, rows.columns, strict=True)
    return [name for name, column in columns if isinstance(column, inputs.TextColumn)]


def _matrix(checked: Any) -> inputs.Dense | inputs.Compressed:
    rows = inputs.read(checked)
    assert isinstance(rows, inputs.Dense | inputs.Compressed)
    return rows


def _dense(checked: Any) -> np.ndarray[Any, Any]:
    rows = inputs.read(checked)
    assert isinstance(rows, inputs.Dense)
    return rows.array


def _names(X: Any) -> list[Any]:
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def _check_names(X: Any) -> None:
    names = _names(X)
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise InputError(f"X has two columns named {double!r}; rename one")


def _frame(X: Any, text_columns: Collection[str] | None) -> inputs.Frame:
    if not X.shape[0]:
        raise InputError("X has 0 rows; it must have at least one")
    columns: list[inputs.FrameColumn] = []
    names: list[str] = _names(X)
    for name in names:
        column = _column(X.column(name) if hasattr(X, "column_names") else X[name], name)
        if text_columns is not None and (name in text_columns) != isinstance(column, inputs.TextColumn):
            was, now = ("text", "numbers") if name in text_columns else ("numbers", "text")
            raise InputError(f"column {name!r} holds {now}, but held {was} when the model was fitted")
        columns.append(column)
    return inputs.Frame(names, columns, X.shape[0])


def _column(column: Any, name: str) -> inputs.FrameColumn:
    category = str(getattr(column, "dtype", getattr(column, "type", ""))).startswith(("category", "dictionary"))
    if not category:
        array = inputs.unmasked(inputs.as_array(column, f"column {name!r}"), f"column {name!r}")
        if array.dtype.kind in "biuf":
            return inputs.as_numbers(array, f"column {name!r}")
    whole = _arrow(column, name)
    if whole.null_count:
        row = int(np.argmax(whole.is_null()))
        raise InputError(
            f"X contains NaN: there is no value at row {row}, column {name!r}; drop or fill in such values "
            "(for example with sklearn.impute.SimpleImputer)"
        )
    kind = kind_of(whole.type)
    if kind == "text":
        return tables.text(whole)[0]
    if kind == "boolean":
        return inputs.as_numbers(np.asarray(whole.to_pylist(), dtype=bool), name)
    if kind == "number":
        return tables.number(whole)[0]
    raise InputError(
        f"column {name!r} holds {whole.type}, which is neither numbers nor text: leave it out, or turn it into numbers"
    )


def _arrow(column: Any, name: str) -> Any:
    """A column of a pandas or polars frame or of an Arrow table as one Arrow array."""
    pa = pyarrow()
    try:
        if hasattr(column, "to_arrow"):  # polars
            column = column.to_arrow()
        elif not hasattr(column, "type"):
            column = pa.Array.from_pandas(column)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"column {name!r} is neither all numbers nor all text: {error}") from None
    return tables.whole(column)
