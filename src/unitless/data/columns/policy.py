"""How values that are not numbers become features; each caller that reads frames or mappings chooses a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Policy:
    """How columns of a frame and values of a mapping become features.

    Args:
        booleans: "indicator": one feature of 0 and 1, which is never centered; "categories": the features `name=true`
            and `name=false`.
        text: "indicators": a feature `name=value` for each value, also for categories; "error": text is not allowed.
        missing: None, NaN, nulls and empty text: "absent" leaves the feature out of the row; "indicator" makes the
            feature `name=(missing)`; "error" does not allow them.
        dates: "parts": the features of `date_parts.py`; "error": dates are not allowed.
        marks: texts that mean a missing value, in addition to empty text.
        trim: whether blanks around text are removed.
    """

    booleans: Literal["indicator", "categories"]
    text: Literal["indicators", "error"]
    missing: Literal["absent", "indicator", "error"]
    dates: Literal["parts", "error"]
    marks: tuple[str, ...] = ()
    trim: bool = False
