"""Formats numbers, names and tables as plain text for people. html.py formats them as HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


def number(value: float | None, digits: int = 4) -> str:
    """Return a number as text for a table; "-" if it is missing or not finite.

    >>> [number(value) for value in (0.12345, 1234.5, 1905321.7, 1.5e-7, None)]
    ['0.1235', '1,234.50', '1,905,322', '1.500e-07', '-']
    """
    if value is None or not math.isfinite(value):
        return "-"
    size = abs(value)
    if size != 0 and not 1e-4 <= size < 1e15:
        return f"{value:.{digits - 1}e}"
    decimals = digits if size < 100 else 2 if size < 1e5 else 0
    return f"{value:,.{decimals}f}"


def rate(value: float) -> str:
    """Return a learning rate as text; "none" for NaN, because rules of second order have no learning rate."""
    return "none" if math.isnan(value) else f"{value:.3g}"


def given(value: Any) -> str:
    """Return a value as the user gave it, with at most six digits: 31, 2,500.5, clerk."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return short(str(value), 40)
    if value == 0 or 1e-4 <= abs(value) < 1e15:
        text = f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
        return text if "e" not in text else f"{value:,.0f}"
    return f"{value:.6g}"


def short(text: str, width: int = 80) -> str:
    """Return text for one line: the middle of a long text is left out, and control characters are escaped."""
    cut = len(text) > width
    ends = [text[: width // 2], text[len(text) - (width - width // 2 - 3) :]] if cut else [text]
    plain = ("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in end) for end in ends)
    return "...".join(plain)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table as text; the first `left` columns are aligned left, the other columns (numbers) right.

    >>> from unitless.presentation import shown
    >>> print(shown.table(["feature", "weight"], [["age", "0.5"], ["a long name", "12.0"]]))
    feature      weight
    age             0.5
    a long name    12.0
    """
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in (header, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def place(fields: Mapping[str, Any]) -> str:
    """Return the place of a row in words; `fields` are those of `data.located_rows.Place.at`."""
    file, unit = fields.get("file"), "row" if "row" in fields else "line"
    return f"{unit} {fields[unit]:,}" + (f" of {file}" if file else "")


def share(value: float) -> str:
    """Return a share as a percentage; "-" if it is not finite."""
    return f"{value:.2%}" if math.isfinite(value) else "-"


def count(value: int, what: str) -> str:
    """Return a number with a noun: 1 row, 2,000 rows."""
    return f"{value:,} {what}{'s' * (value != 1)}"


def rates(value: Any) -> str:
    """Return a learning rate as text, or the range of the classes' learning rates."""
    values = sorted(value.values()) if isinstance(value, Mapping) else [value]
    if not values:
        return ""
    first, last = rate(values[0]), rate(values[-1])
    return first if first == last else f"{first} to {last}, by class"


def some(names: Sequence[str], most: int) -> str:
    """Return names separated by commas; of a long list, the first `most` names and the number of all."""
    listed = ", ".join(short(name, 40) for name in names[:most])
    return f"{listed}, ... ({len(names):,})" if len(names) > most else listed


def listed(found: Iterable[str], last: str = "or", written: Callable[[str], str] = repr) -> str:
    """Return names as a list for a message, such as 'a', 'b' or 'c'.

    Args:
        found: the names.
        last: the word before the last name. Default: "or".
        written: writes one name. Default: `repr`.
    """
    texts = [written(name) for name in found]
    return f" {last} ".join([*([", ".join(texts[:-1])] if texts[1:] else []), *texts[-1:]])


def invalid(column: str, value: Any, where: str, what: str, count: int) -> str:
    """Return a message that a column has invalid values, with the first one and the number of all."""
    more = f"; so are {count - 1:,} more" if count > 1 else ""
    return f"column {column!r}: {value!r} in {where} is not {what} that can be used, and is treated as missing{more}"
