"""Takes the rows of a batch apart by column: the values of a column, the rows without it, the rows with it permuted."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import inputs
from ...errors import InputError
from ..reader import Batch
from .feature_columns import FeatureColumns


def names(data: inputs.Input) -> list[str] | None:
    """Return the names of the columns that a row is stored in; None if rows are not stored in columns."""
    if isinstance(data, inputs.Dense):
        return [str(k) for k in range(data.array.shape[1])]
    return list(data.names) if isinstance(data, inputs.Frame) else None


def values(batches: Sequence[Batch], name: str) -> NDArray[Any] | None:
    """Return the values of a column in all rows: numbers, or texts; None if some batch does not have it."""
    parts: list[NDArray[Any]] = []
    for batch in batches:
        data = batch.data
        if isinstance(data, inputs.Dense):
            parts.append(data.array[:, int(name)].astype(np.float64))
            continue
        if not isinstance(data, inputs.Frame) or name not in data.names:
            return None
        column = data.columns[data.names.index(name)]
        if isinstance(column, inputs.WordsColumn):
            return None
        if isinstance(column, inputs.TextColumn):
            raw, ends = column.text.tobytes(), column.ends.tolist()
            texts: NDArray[Any] = np.empty(len(ends), object)  # the last one stands for a missing text
            texts[:] = [*(raw[a:b] for a, b in itertools.pairwise(ends)), b""]
            parts.append(texts[column.codes])
        else:
            parts.append(np.asarray(column.numbers if isinstance(column, inputs.FlagColumn) else column, np.float64))
    return np.concatenate(parts) if parts and len({part.dtype.kind for part in parts}) == 1 else None


def without(data: inputs.Input, columns: Collection[str]) -> inputs.Input | None:
    """Return the rows without some columns; None if no other column is left."""
    if isinstance(data, inputs.Dense):
        kept = [k for k in range(data.array.shape[1]) if str(k) not in columns]
        return inputs.Dense(np.ascontiguousarray(data.array[:, kept])) if kept else None
    if not isinstance(data, inputs.Frame):
        raise InputError("these rows are not stored in columns")
    others = [k for k, name in enumerate(data.names) if name not in columns]
    if not others:
        return None
    return replace(data, names=[data.names[k] for k in others], columns=[data.columns[k] for k in others])


def parts(data: inputs.Input, columns: FeatureColumns) -> dict[str | int, list[Any]]:
    """Return, for each column of the data, what `permuted` must move: its features, or the places of its parts."""
    if isinstance(data, inputs.Dense | inputs.Compressed):
        return {k: [k] for k in range(data.array.shape[1] if isinstance(data, inputs.Dense) else data.columns)}
    found: dict[str | int, list[Any]] = {}
    if isinstance(data, inputs.NamedRows):
        for name in dict.fromkeys(itertools.chain.from_iterable(data.mappings)):
            found.setdefault(columns.of(name), []).append(name)
        return found
    for k, name in enumerate(data.names if isinstance(data, inputs.Frame) else data.read.names):
        found.setdefault(columns.of(name), []).append(k)
    return found


def permuted(data: inputs.Input, moved: Sequence[Any], donors: NDArray[np.intp]) -> inputs.Input:
    """Return the rows with one column permuted: row i has the value of row `donors[i]`.

    Args:
        data: the rows.
        moved: the parts of the column; see `parts`.
        donors: the number of a row for each row, each once.
    """
    if isinstance(data, inputs.Dense):
        array = data.array.copy()
        array[:, moved] = data.array[donors][:, moved]
        return inputs.Dense(array)
    if isinstance(data, inputs.Frame):
        own = replace(data, names=[data.names[k] for k in moved], columns=[data.columns[k] for k in moved])
        picked = inputs.pick(own, donors)
        assert isinstance(picked, inputs.Frame)
        mixed = list(data.columns)
        for k, column in zip(moved, picked.columns, strict=True):
            mixed[k] = column
        return replace(data, columns=mixed)
    if isinstance(data, inputs.NamedRows):
        given = [{name: row[name] for name in moved if name in row} for row in data.mappings]
        mine = set(moved)
        return inputs.NamedRows(
            [
                {**{name: x for name, x in row.items() if name not in mine}, **given[donor]}
                for row, donor in zip(data.mappings, donors.tolist(), strict=True)
            ]
        )
    if isinstance(data, inputs.Compressed):
        order, starts = _moved_entries(data.indices, np.asarray(data.row_starts), moved, donors)
        return inputs.Compressed(
            data.values[order], data.indices[order], starts.astype(data.row_starts.dtype), data.columns
        )
    arrays = data.arrays()
    _, _, ids, numbers, row_ends = arrays[:5]
    # The ends of the rows may begin with 0, the start of the first row.
    ends = np.asarray(row_ends)[-data.rows :]
    order, starts = _moved_entries(np.asarray(ids), np.concatenate([[0], ends]), moved, donors)
    arrays[2], arrays[3] = np.asarray(ids)[order], np.asarray(numbers)[order]
    arrays[4] = starts[-len(row_ends) :].astype(np.asarray(row_ends).dtype)
    return inputs.TextRows.made(*arrays)


def _moved_entries(
    features: NDArray[Any], starts: NDArray[Any], moved: Sequence[int], donors: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The order of the entries of sparse rows after some features have moved, and where each row then starts."""
    lengths = np.diff(starts)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    receiver = np.empty(len(donors), np.intp)
    receiver[donors] = np.arange(len(donors))
    rows = np.where(np.isin(features, np.asarray(moved)), receiver[rows], rows)
    order = np.lexsort((features, rows))
    return order, np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(lengths)))])
