"""Reads single rows: a mapping of a table's columns, a mapping of named features, or a list of numbers.

`Predictor`, the server and the River estimators use these readers.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ... import inputs
from ...errors import InputError, Option, Phrase
from ..read_options import ReadOptions
from . import date_parts
from .policy import Policy
from .schema import Schema
from .text_columns import TextColumns
from .written import BLANKS


class RowReader(abc.ABC):
    """Reads one row as the core takes it.

    Attributes:
        columns: the columns of a table, with which the core itself reads rows of plain values.
        direct: `columns`, if the core may read a row as it is given; None if its values must be made plain first.
    """

    columns: Any = None
    direct: Any = None

    def plain(self, row: Any) -> dict[str, Any] | None:
        """The row in plain values, as the core reads it by `columns`; None if it cannot read it so."""
        return None

    @abc.abstractmethod
    def read(self, row: Any) -> inputs.Input:
        """Convert one row, which may be a pandas Series too."""

    def unknown(self, row: Any) -> list[str]:
        """Return the names in a row that are not columns of the table."""
        return []


def row_reader(schema: Schema, options: ReadOptions, reading: Mapping[str, Any]) -> RowReader:
    """The reader of rows like those that a model was trained on.

    Args:
        schema: what the training has found about its data.
        options: how data is read.
        reading: the record of it in the model file, which says how a server reads rows as well.
    """
    from .table_row import TableRowReader  # noqa: PLC0415  (that module imports this one)

    if schema.family == "columns":
        return NumberRowReader()
    if schema.family == "table":
        return TableRowReader(schema, options)
    return NamedRowReader.of(schema, options, reading)


class NumberRowReader(RowReader):
    """Reads lists of numbers, for a model whose features are numbered columns."""

    def read(self, row: Any) -> inputs.Input:
        """Convert one row."""
        row = as_mapping(row)
        if isinstance(row, Mapping):
            raise InputError("this model knows its features as columns; give the row as a list of numbers")
        if isinstance(row, str | bytes):
            raise no_row(row)
        return inputs.read(np.asarray(inputs.as_array(row, "the row"))[None, :])


class NamedRowReader(RowReader):
    """Reads mappings of names to numbers, text and booleans.

    Args:
        policy: what the values become. Dates of Python, NumPy and pandas become their parts, or are left to the core,
            which refuses them.
        as_text: names whose values are text although they look like numbers.
        apart: names that are not features.
        uses: whether a name is to be used.
        texts: what the text columns contain, for a model that a server made from single rows.
    """

    def __init__(
        self,
        policy: Policy,
        as_text: Collection[str] = (),
        *,
        apart: Collection[str] = (),
        uses: Callable[[str], bool] | None = None,
        texts: TextColumns | None = None,
    ) -> None:
        self.policy, self.as_text, self.texts = policy, as_text, texts
        self._apart, self._uses = apart, uses

    @classmethod
    def of(cls, schema: Schema, options: ReadOptions, reading: Mapping[str, Any]) -> NamedRowReader:
        """The reader of rows like those of a training; see `row_reader`."""
        policy = options.policy
        if reading.get("booleans") == "indicator":  # the model learned a server's rows, one by one
            policy = replace(policy, booleans="indicator")
        texts = None if reading.get("texts") is None else TextColumns(reading["texts"])
        return cls(policy, options.text, apart=schema.not_features, uses=options.uses, texts=texts)

    def read(self, row: Any) -> inputs.NamedRows:
        """Convert one row."""
        row = as_mapping(row)
        if not isinstance(row, Mapping):
            raise no_row(row)
        used = self.used(row)
        return inputs.NamedRows([self.numbers(used if self.texts is None else self.texts.read(used))])

    def used(self, row: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """Return the used features of a row: without labels, weights, offsets and ignored names."""
        uses = self._uses
        if uses is None:
            return row
        return {name: value for name, value in row.items() if name not in self._apart and uses(str(name))}

    def numbers(self, features: Mapping[Any, Any]) -> dict[str, Any]:
        """Convert features for the core: names to numbers and booleans. Text becomes `name=value`: True."""
        return self.numbers_and_missing(features)[0]

    def numbers_and_missing(self, features: Mapping[Any, Any]) -> tuple[dict[str, Any], list[str]]:
        """Convert features for the core; also return the names without a value."""
        policy, as_text = self.policy, self.as_text
        found: dict[str, Any] = {}
        absent: list[str] = []
        parted = 0  # features of dates, less one for each date
        for name, value in features.items():
            # The most frequent case is tested first, because this runs for each row of a stream.
            if type(value) is float and type(name) is str and value == value and not as_text:  # noqa: PLR0124  (NaN)
                found[name] = value
                continue
            if isinstance(value, str) and policy.trim:
                value = value.strip(BLANKS)  # noqa: PLW2901
            if is_missing(value) or (isinstance(value, str) and value in policy.marks):
                if policy.missing == "error":
                    raise InputError(
                        f"feature {str(name)!r} has no value (it is {str(value) or 'empty text'})",
                        advice=Phrase("fill it in, leave the feature out, or use ", Option("missing", "absent")),
                    )
                absent.append(str(name))
                if policy.missing == "indicator":
                    found[f"{name}={inputs.MISSING}"] = True
            elif isinstance(value, bool | np.bool_) and policy.booleans == "categories":
                found[f"{name}={'true' if value else 'false'}"] = True
            elif isinstance(value, str) or name in as_text:
                found[f"{name}={value}"] = True
            elif policy.dates == "parts" and (parts := date_parts.of_any(str(name), value)) is not None:
                found |= {
                    f"{part}={one}" if type(one) is str else part: one if type(one) is not str else True
                    for part, one in parts.items()
                }
                parted += len(parts) - 1
            else:
                found[name if type(name) is str else str(name)] = value
        if len(found) - parted + (len(absent) if policy.missing == "absent" else 0) < len(features):
            raise InputError(f"two features of {list(features)!r} have the same name; rename one")
        return found, absent


def is_missing(value: Any) -> bool:
    """Return whether a value means a missing one: None, NaN, pandas' NA and NaT, or empty text."""
    if isinstance(value, str):
        return not value
    if value is None or isinstance(value, float | np.floating):
        return value is None or math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def as_mapping(row: Any) -> Any:
    """Convert a pandas Series to a mapping; return anything else unchanged."""
    if isinstance(row, Mapping) or not (hasattr(row, "items") and getattr(row, "ndim", 0) == 1):
        return row
    return dict(row.items())


def no_row(row: Any) -> InputError:
    """Return the error for a row that is not a mapping."""
    advice = 'it must have names and values, such as {"age": 31}'
    return InputError(f"the row is of type {type(row).__name__}", advice=advice)
