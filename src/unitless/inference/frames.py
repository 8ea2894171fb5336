"""Predictions as a frame of the caller's library: pandas (with its index), polars or pyarrow."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ..inputs import Float64


def _kind(source: Any) -> str | None:
    """Return the library of a frame; None if `source` is not a frame."""
    library = type(source).__module__.partition(".")[0]
    names = {"pandas": ("DataFrame",), "polars": ("DataFrame",), "pyarrow": ("Table", "RecordBatch")}.get(library, ())
    return library if type(source).__name__ in names else None


def column(source: Any, values: list[Any], name: str = "prediction") -> Any:
    """Return one value per row as a column of the source's library; the list itself if `source` is not a frame.

    The column is a pandas Series with the frame's index, a polars Series or a pyarrow Array.

    >>> import polars as pl
    >>> from unitless.inference import frames
    >>> frames.column(pl.DataFrame({"x": [1, 2]}), [0.5, None]).to_list()
    [0.5, None]
    >>> frames.column([[1.0], [2.0]], [0.5, 1.5])
    [0.5, 1.5]
    """
    kind = _kind(source)
    if kind == "pandas":
        return sys.modules["pandas"].Series(values, index=source.index, name=name)
    if kind == "polars":
        return sys.modules["polars"].Series(name, values)
    if kind == "pyarrow":
        return sys.modules["pyarrow"].array(values)
    return values


def table(source: Any, values: Mapping[str, list[Any]]) -> Any:
    """Return columns as a frame of the source's library; None if `source` is not a frame."""
    kind = _kind(source)
    if kind == "pandas":
        return sys.modules["pandas"].DataFrame(dict(values), index=source.index)
    if kind == "polars":
        return sys.modules["polars"].DataFrame(dict(values))
    if kind == "pyarrow":
        return sys.modules["pyarrow"].table(dict(values))
    return None


def columns(source: Any, values: Float64, names: Sequence[Any]) -> Any:
    """Return columns of numbers as a frame of the source's library; the array itself if `source` is not a frame."""
    kind = _kind(source)
    if kind == "pandas":
        return sys.modules["pandas"].DataFrame(values, index=source.index, columns=list(names))
    if kind == "polars":
        return sys.modules["polars"].DataFrame(values, schema=[str(name) for name in names])
    if kind == "pyarrow":
        return sys.modules["pyarrow"].table({str(name): values[:, k] for k, name in enumerate(names)})
    return values
