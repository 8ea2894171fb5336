"""What values that are not numbers become: a caller that reads frames or mappings chooses in one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Policy:
    """How columns of a frame and values of a mapping become features.

    Args:
        booleans: "indicator", one feature of 0 and 1 which is never centered; or "categories", a feature `name=true`
            and a feature `name=false`.
        text: "indicators", a feature `name=value` for each value, which is what categories become too; or an "error".
        missing: what None, not-a-number, nulls and empty text are: "absent", as if the feature were not in the row;
            "indicator", a feature of its own, `name=(missing)`; or an "error".
        dates: "parts", as in `date_parts.py`; or an "error".
        marks: text that stands for a missing value, besides empty text.
        trim: whether blanks around text are taken away.
    """

    booleans: Literal["indicator", "categories"]
    text: Literal["indicators", "error"]
    missing: Literal["absent", "indicator", "error"]
    dates: Literal["parts", "error"]
    marks: tuple[str, ...] = ()
    trim: bool = False
