"""Columns from the names of folders: `year=2020/month=01/part.parquet` has the columns year and month."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import unquote

import numpy as np

from ..arrow import pyarrow
from .files import File

MISSING = ("", "__HIVE_DEFAULT_PARTITION__")  # values that mean a missing one
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def values_in(path: str) -> dict[str, str | None]:
    """Return the columns from the folders in a file's path, with their values (None if missing)."""
    found: dict[str, str | None] = {}
    for folder in re.split(r"[/\\]", path)[:-1]:
        name, sign, value = folder.partition("=")
        if sign and name:
            found[unquote(name)] = None if value in MISSING else unquote(value)
    return found


class PathColumns:
    """The columns from the paths of some files. A file whose path lacks one of them has a missing value there.

    Args:
        files: all files that are read; their values decide together whether a column has numbers.
    """

    def __init__(self, files: Sequence[File]) -> None:
        self._values = {file.path: found for file in files if (found := values_in(file.path))}
        self.names = list(dict.fromkeys(name for found in self._values.values() for name in found))

    def known(self, name: str) -> list[str]:
        """Return the different values of a column."""
        every = dict.fromkeys(found.get(name) for found in self._values.values())
        return [value for value in every if value is not None]

    @cached_property
    def _numeric(self) -> frozenset[str]:
        return frozenset(name for name in self.names if all(map(_NUMBER.fullmatch, self.known(name))))

    def column(self, name: str, file: File, rows: int) -> Any:
        """Return a file's value of a column for this many rows, as text that is stored once."""
        pa = pyarrow()
        value = self._values.get(file.path, {}).get(name)
        places = pa.nulls(rows, pa.int32()) if value is None else pa.array(np.zeros(rows, np.int32))
        return pa.DictionaryArray.from_arrays(places, pa.array([value or ""], pa.string()))

    def as_inferred(self, name: str, column: Any, as_text: bool) -> Any:
        """Return a column for the inference of its type: numbers, or text (dates or categories)."""
        pa = pyarrow()
        if as_text:
            return column
        if name in self._numeric:
            return column.cast(pa.string()).cast(pa.float64())
        return column.cast(pa.string()) if all(map(_DAY.fullmatch, self.known(name))) else column

    def sample(self, name: str, rows: int) -> Any:
        """Return values of all files, repeated for this many rows; the value of one file would look like a constant."""
        pa = pyarrow()
        known = self.known(name)
        places = np.arange(rows, dtype=np.int32) // 2 % max(1, len(known))
        return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(known or [""], pa.string()))
