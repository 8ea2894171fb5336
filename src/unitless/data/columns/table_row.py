"""Reads rows of a table that a program gives as mappings, one or many, in the same way as the table in training.

The core itself reads a row of plain values (`columns`). All other rows go through Arrow, which reads whatever a
frame may contain. Both give the same features, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ... import _core, inputs
from ...errors import InputError
from ..arrow import pyarrow
from ..read_options import ReadOptions
from ..sources.located_rows import Place
from . import date_parts, dates, tables
from .arrow_column import as_text, number
from .date_forms import NUMERIC
from .row_reader import RowReader, as_mapping, no_row
from .schema import DATES, HELD, STRINGS, Schema, fits, kind_of
from .written import PLAIN, Written, as_dates, both_clocks, dates_of_numbers, has_both_clocks, is_text, typed

_PLAIN = {
    "number": (float, int),
    "flag": (float, int),
    "text": (str,),
    "words": (str,),
    "ngrams": (str,),
    "boolean": (bool,),
}
_INT64 = range(-(2**63), 2**63)
_NONE = ("NAType", "NaTType")  # pandas' missing values
# NumPy's scalars, which are converted to Python's types.
_AS_PYTHON = (np.integer, np.float64, np.float32, np.float16, np.bool_, np.str_)


class TableRowReader(RowReader):
    """Reads mappings of a table's columns to values. Other keys are ignored; a column without a key has no value."""

    def __init__(self, schema: Schema, options: ReadOptions) -> None:
        self.schema, self._policy = schema, options.policy
        missing = self._policy.missing
        names: list[str] = []
        kinds: list[str] = []
        for name, kind in self.schema.columns:
            if kind in DATES:
                parts = date_parts.kinds(name, kind)
                names += parts
                kinds += parts.values()
            else:
                names.append(name)
                kinds.append(kind)
        self.columns = _core.TableColumns(names, kinds, missing, list(self._policy.marks), self._policy.trim)
        dated = any(kind in DATES for _, kind in self.schema.columns)  # the core knows their parts alone
        self.direct = None if dated else self.columns

    def plain(self, row: Any) -> dict[str, Any] | None:
        """Convert a row to plain numbers, text and booleans for the core; None if it is not a mapping."""
        row = as_mapping(row)
        if not isinstance(row, Mapping):
            return None
        found: dict[str, Any] = {}
        for name, kind in self.schema.columns:
            value = _as_python(row.get(name))
            known = type(value)
            if kind in DATES:
                found.update(self._date(name, kind, value) or self._read(name, kind, value))
            elif known in _PLAIN[kind] or value is None or (known is float and value != value):  # noqa: PLR0124  (NaN)
                found[name] = value
            elif kind in STRINGS and (known is bool or (known is int and value in _INT64)):
                found[name] = str(value).lower()
            else:
                found.update(self._read(name, kind, value))
        return found

    def _date(self, name: str, kind: str, value: Any) -> dict[str, Any] | None:
        """Convert a date, of a Python type or as text, to features; None for any other value."""
        if value is None or (type(value) is float and value != value):  # noqa: PLR0124  (not a number)
            return dict.fromkeys(date_parts.kinds(name, kind))
        if type(value) is not str:
            return date_parts.of_value(name, value, kind)
        moment = dates.read_one(value, self.schema.how(name).date or dates.usual_form(kind))
        return date_parts.of_microseconds(name, moment.wall, moment.ahead, kind) if moment.valid else None

    def _read(self, name: str, kind: str, value: Any) -> dict[str, Any]:
        """Convert a value of any other type to plain values, by feature, as in a table."""
        column = _column(name, kind, [value], False, self.schema.how(name), self._policy.marks)
        found: dict[str, Any] = {}
        for part, values, absent in tables.read_column(name, column, kind, self.schema, self._policy)[0]:
            if absent:
                found[part] = None
            elif isinstance(values, inputs.TextColumn | inputs.WordsColumn):
                text = (values if isinstance(values, inputs.TextColumn) else values.texts).first()
                found[part] = text == "true" if kind == "boolean" else text
            else:
                found[part] = float((values.numbers if isinstance(values, inputs.FlagColumn) else values)[0])
        return found

    def table(self, rows: Sequence[Mapping[Any, Any]], extra: Sequence[str] = ()) -> Any:
        """Rows as an Arrow table of the columns that the model knows.

        Args:
            rows: mappings of names to values.
            extra: what the table has as well: "target", "weight" and "offset", if the model was trained with them.
        """
        pa = pyarrow()
        for place, row in enumerate(rows, 1):
            if not isinstance(row, Mapping):
                raise no_row(row).at(row=place)
        several, how, marks = len(rows) > 1, self.schema.how, self._policy.marks
        columns = {
            name: _column(name, kind, [_as_python(row.get(name)) for row in rows], several, how(name), marks)
            for name, kind in self.schema.columns
        }
        schema = self.schema
        if "offset" in extra and schema.offset is not None:
            given = [row_offset(row, schema, place if several else None) for place, row in enumerate(rows, 1)]
            columns[schema.offset] = pa.array(given, pa.float64())
        if "target" in extra and schema.target is not None and schema.target_kind is not None:
            labels = [_as_python(row.get(schema.target)) for row in rows]
            columns[schema.target] = _column(
                schema.target, schema.target_kind, labels, several, how(schema.target), marks
            )
        if "weight" in extra and schema.weight is not None:
            weights = [_as_python(row.get(schema.weight)) for row in rows]
            columns[schema.weight] = _column(schema.weight, "number", weights, several, PLAIN, marks)
        return pa.table(columns)

    def read(self, row: Any) -> inputs.Frame:
        """Convert one row to an input of the core."""
        row = as_mapping(row)
        if not isinstance(row, Mapping):
            raise no_row(row)
        return tables.features(self.table([row]), self.schema, Place("", "row", 1), self._policy).frame

    def unknown(self, row: Any) -> list[str]:
        """Return the names in a row that are not columns."""
        row = as_mapping(row)
        known = {*self.schema.kinds, *self.schema.not_features}
        return [str(name) for name in row if name not in known]


def row_offset(row: Any, schema: Schema, place: int | None = None) -> float:
    """Return the offset of one row; 0 if the model was trained without offsets."""
    row = as_mapping(row)
    if schema.offset is None or not isinstance(row, Mapping):
        return 0.0
    value = _as_python(row.get(schema.offset))
    if value is None or value != value:  # noqa: PLR0124  (not a number)
        raise InputError(f"the offset {schema.offset!r} is missing", row=place)
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise InputError(f"the offset {schema.offset!r} is {_shown(value)}; it must be a number", row=place)
    return float(value)


def _as_python(value: Any) -> Any:
    """Convert NumPy's scalars and pandas' missing values to Python types; return anything else unchanged."""
    if isinstance(value, _AS_PYTHON):
        return value.item()
    if isinstance(value, np.datetime64):
        exact = value.astype("datetime64[us]")
        return None if np.isnat(value) else exact.item() if exact == value else value
    if type(value).__name__ == "Timestamp" and not value.nanosecond:
        return value.to_pydatetime()
    return None if type(value).__name__ in _NONE else value


def _column(name: str, kind: str, values: list[Any], several: bool, written: Written, marks: Sequence[str]) -> Any:
    """Convert values to an Arrow column of some kind. Their types may differ if each can be read alone."""
    pa = pyarrow()
    mixed = kind in STRINGS and len({type(value) for value in values} - {type(None)}) > 1
    # Arrow would convert all moments to the time zone of the first one.
    zones = kind in DATES and any(getattr(value, "tzinfo", None) is not None for value in values)
    if not (several and (mixed or zones)):
        try:
            array = pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            pass
        else:
            if fits(array.type, kind) and (kind in STRINGS or not is_text(array.type)):
                return array
    return pa.concat_arrays(
        [_value(name, kind, value, row if several else None, written, marks) for row, value in enumerate(values, 1)]
    )


def _value(name: str, kind: str, value: Any, row: int | None, written: Written, marks: Sequence[str]) -> Any:
    """Convert one value to an Arrow array of the type that all values of this kind have here."""
    pa = pyarrow()
    try:
        unsigned = type(value) is int and 2**63 <= value < 2**64
        array, invalid = pa.array([value], pa.uint64() if unsigned else None, from_pandas=True), None
        if isinstance(value, str):  # read as in files
            array, invalid = typed(array, kind, written, marks)
        elif kind in DATES and pyarrow("types").is_null(array.type):
            array = array.cast(pa.time64("us") if kind == "time" else pa.timestamp("us"))
        elif kind in DATES and kind_of(array.type) == "number" and written.date in NUMERIC:
            array, invalid = dates_of_numbers(array, written)
        if invalid is None and fits(array.type, kind) and not (kind in DATES and kind_of(array.type) == "number"):
            if kind in DATES:
                return _by_both_clocks(array, kind)
            if kind == "boolean":
                return array.cast(pa.bool_())
            if kind in STRINGS:
                return as_text(array)
            return pa.array(number(array)[0].astype(np.float64), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    advice = as_dates(kind, written) if kind in DATES else ""
    raise InputError(f"{name!r} is {_shown(value)}, but in training it held {HELD[kind]}", advice=advice, row=row)


def _by_both_clocks(array: Any, kind: str) -> Any:
    """Convert dates of any type to moments in local time and in UTC."""
    pa, types = pyarrow(), pyarrow("types")
    if has_both_clocks(array.type):
        return array
    if kind == "time":
        time = array.cast(pa.time64("us"))
        return both_clocks(time, time)
    moment = pa.timestamp("us")
    in_zone = types.is_timestamp(array.type) and array.type.tz is not None
    wall = pyarrow("compute").local_timestamp(array) if in_zone else array
    return both_clocks(wall.cast(moment, safe=False), array.cast(moment, safe=False))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
