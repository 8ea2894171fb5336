"""Whether the first row of a file has the columns' names, found by what is in it."""

from __future__ import annotations

from collections.abc import Sequence

from ..columns.written import NUMBER_MARKS


def has_header(rows: Sequence[Sequence[str]], needed: Sequence[str] = ()) -> bool:
    """Whether the first row names the columns.

    Args:
        rows: the first rows of the file; the first one may be data or names.
        needed: names that must be there, such as the target's; if the first row has one of them, it is a row of names.
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
        if numbers >= 0.9 and cell not in NUMBER_MARKS:  # a name over numbers
            return not _is_number(cell)
    # Text everywhere: names are different, and do not come again among the values.
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
