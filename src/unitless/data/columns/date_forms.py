"""The forms in which dates and times are written. The name of a form is an example of it.

The core reads text (`core/text/written_date.hpp`), for whole columns and for single values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..arrow import as_numpy, letters_of, pyarrow, text_array

WRITTEN = _core.date_forms
YEAR_FIRST, DAY_FIRST, MONTH_FIRST, TOGETHER = WRITTEN[:4]
MONTH_OF_YEAR, TIME = WRITTEN[7], WRITTEN[9]
# Numbers that count time since 1970: the microseconds in one unit.
EPOCHS = {"seconds": 1_000_000.0, "milliseconds": 1_000.0, "microseconds": 1.0, "nanoseconds": 0.001}
FORMS = (*WRITTEN, *EPOCHS)
NUMERIC = (TOGETHER, *EPOCHS)  # forms in which numbers can be read too

_FIRST, _END = -62_135_596_800_000_000, 253_402_300_800_000_000  # the years 1 to 9999, in microseconds
_NUMBER = re.compile("[0-9]{1,20}(?:[.][0-9]{0,20})?")
_BLANKS = " \t"


@dataclass(frozen=True)
class Moments:
    """Moments in local time, in microseconds since 1970, and how far local time is ahead of UTC.

    The fields are arrays for a column, and whole numbers for a single value. `valid` marks what could be read.
    """

    wall: Any
    ahead: Any
    valid: Any


_NOTHING = Moments(0, 0, False)


def read_column(texts: Any, form: str) -> Moments:
    """Read dates from an Arrow array of text; nulls are not valid."""
    pa, compute = pyarrow(), pyarrow("compute")
    if form in EPOCHS:
        texts = compute.ascii_trim(texts.cast(pa.string()), _BLANKS)
        plain = compute.match_substring_regex(texts, f"^{_NUMBER.pattern}$")
        numbers = compute.if_else(plain, texts, pa.scalar(None, pa.string())).cast(pa.float64())
        return read_numbers(as_numpy(numbers), form)
    wall, ahead, valid = _core.written_dates(*letters_of(texts), form)  # a null is an empty text, which is not a date
    return Moments(wall, ahead, valid.astype(bool))


def read_value(text: str, form: str) -> Moments:
    """Read a date from one text."""
    if form in EPOCHS:
        text = text.strip(_BLANKS)
        found = read_numbers(np.array([float(text) if _NUMBER.fullmatch(text) else np.nan]), form)
        return Moments(int(found.wall[0]), 0, True) if found.valid[0] else _NOTHING
    if not text.isascii():  # all kinds of blanks
        text = text.encode(errors="replace").decode()
    moment = _core.written_date(text, form)
    return _NOTHING if moment is None else Moments(*moment, True)


def read_numbers(values: NDArray[Any], form: str) -> Moments:
    """Read dates from numbers: time since 1970 in some unit, or digits such as 20200213."""
    values = np.asarray(values, np.float64)
    if form not in EPOCHS:
        return _digits(values)
    with np.errstate(all="ignore"):
        exact = np.rint(values * EPOCHS[form])
        valid = (exact >= _FIRST) & (exact < _END) & (exact != 0)  # 0 means that there is no date
    return Moments(np.where(valid, exact, 0).astype(np.int64), np.zeros(len(values), np.int64), valid)


def _digits(values: NDArray[np.float64]) -> Moments:
    """Read numbers whose digits are a date, and perhaps a time: 20200213, 202002131030, 20200213103000."""
    with np.errstate(all="ignore"):
        whole = values == np.floor(values)
        whole &= np.isin(np.floor(np.log10(values)), (7, 11, 13))  # one less than the number of digits
        different, places = np.unique(np.where(whole, values, 0).astype(np.int64), return_inverse=True)
    found = read_column(as_arrow([str(value) for value in different.tolist()]), TOGETHER)
    return Moments(found.wall[places], found.ahead[places], found.valid[places])


def as_arrow(texts: Sequence[str]) -> Any:
    """Convert texts to an Arrow array."""
    return text_array(texts).cast(pyarrow().string())
