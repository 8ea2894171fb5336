"""Table 1 recomputed: the size of each dataset, its numeric features and the range of their scales.

The scale of a feature is its largest absolute value. Four of the six are exact: Bank (whose printed size counts the
header line as an example), Census, Covertype and Shuttle. Numeric columns count as features; Census has 28 text columns
and 13 numeric ones, some of which are codes (industry, occupation, own business, veterans).

In CT Slice −0.25 stands for a histogram bin outside of the image. The authors made an indicator of it, so it is not a
value of the feature here either, and a column with only zeros left is not a feature: zeros were not written to their
files. The paper counts 360 of UCI's 384 columns; this reading may explain it, but a sample cannot confirm or refute it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .datasets import Loaded, numeric_columns
from .records import OUTSIDE


@dataclasses.dataclass(frozen=True)
class Row:
    """One dataset: recomputed and printed numbers. A sample never matches; `note` describes the sample."""

    dataset: str
    rows: int
    features: int
    scale_low: float
    scale_high: float
    printed_rows: int
    printed_features: int
    printed_scale_low: float
    printed_scale_high: float
    matches: bool
    sample: bool
    note: str

    def asdict(self) -> dict[str, Any]:
        """The result as JSON-compatible values."""
        return dataclasses.asdict(self)


def row(loaded: Loaded) -> Row:
    """The row of Table 1 for a dataset."""
    dataset = loaded.dataset
    scales = _scales(loaded)
    scales = scales[scales > 0]
    low, high = float(scales.min()), float(scales.max())
    printed_low, printed_high = dataset.printed_scale
    agreements = (
        loaded.rows + _header_lines(loaded) == dataset.printed_rows,
        len(scales) == dataset.printed_features,
        abs(low - printed_low) < dataset.printed_unit,  # rounded or cut off, both print as this value
        abs(high - printed_high) < dataset.printed_unit,
    )
    return Row(
        dataset=dataset.title,
        rows=loaded.rows,
        features=len(scales),
        scale_low=low,
        scale_high=high,
        printed_rows=dataset.printed_rows,
        printed_features=dataset.printed_features,
        printed_scale_low=printed_low,
        printed_scale_high=printed_high,
        matches=all(agreements) and not loaded.is_sample,
        sample=loaded.is_sample,
        note=_note(loaded),
    )


def _scales(loaded: Loaded) -> NDArray[np.float64]:
    return np.array([np.abs(_values(loaded, name)).max() for name in numeric_columns(loaded)])


def _values(loaded: Loaded, name: str) -> NDArray[np.float64]:
    values: NDArray[np.float64] = loaded.table.column(name).to_numpy().astype(np.float64)
    return np.where(values == OUTSIDE, 0.0, values) if loaded.dataset.key == "ctslice" else values


def _header_lines(loaded: Loaded) -> int:
    return int(loaded.dataset.key == "bank")


def _note(loaded: Loaded) -> str:
    notes = [f"a sample: {loaded.sample_note}"] if loaded.is_sample else []
    if loaded.dataset.key == "bank":
        notes.append(f"the printed size is {loaded.rows:,} rows and the header line")
    if loaded.dataset.key == "ctslice":
        columns = len(loaded.dataset.features)
        notes.append(f"columns with a value other than 0 and {OUTSIDE:g} (outside of the image), of {columns}")
    return "; ".join(notes)
