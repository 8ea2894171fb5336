"""The columns of a table as inputs of an exported model."""

from __future__ import annotations

from ..data.columns.schema import DATES, SPLIT, Kind
from ..errors import Option, OptionError, Phrase

AS_MATRIX = Phrase("use ", Option("inputs", "matrix"))


def check_column(name: str, kind: Kind) -> None:
    """Check that the values of a column can be inputs: one number, boolean or text for each row."""
    if kind in DATES:
        raise OptionError(f"column {name!r} contains dates, which stand for several features", advice=AS_MATRIX)
    if kind in SPLIT:
        problem = f"column {name!r} contains {SPLIT[kind]}, which are separated when the data is read"
        raise OptionError(problem, advice=AS_MATRIX)
