"""Decides from the content whether the first row of a file has the names of the columns."""

from __future__ import annotations

from collections.abc import Sequence

from ..columns.written import NUMBER_MARKS


def has_header(rows: Sequence[Sequence[str]], needed: Sequence[str] = ()) -> bool:
    """Return whether the first row has the names of the columns.

    Args:
        rows: the first rows of the file.
        needed: names that must exist, such as the target's. A first row with one of them has names. Default: none.
    """
    first, *rest = [[cell.strip() for cell in row] for row in rows]
    if any(name in first for name in needed):
        return True
    if all(_is_number(cell) or not cell for cell in first):
        return False
    rest = [row for row in rest if len(row) == len(first)]
    if not rest:
        return len(set(first)) == len(first)
    for cell, *below in zip(first, *rest, strict=True):
        there = [value for value in below if value not in NUMBER_MARKS]
        if not there:
            continue
        numbers = sum(map(_is_number, there)) / len(there)
        if numbers >= 0.9 and cell not in NUMBER_MARKS:  # a name above numbers
            return not _is_number(cell)
    # All values are text: names differ from each other, and do not occur among the values.
    names = [cell for cell in first if cell]
    if len(set(names)) < len(names):
        return False
    columns = list(zip(*rest, strict=True))
    again = sum(cell in column for cell, column in zip(first, columns, strict=True) if cell)
    return not again


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip("$€£%").replace(",", "."))
    except ValueError:
        return False
    return True
