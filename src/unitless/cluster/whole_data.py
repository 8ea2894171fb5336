"""Data that each worker can hold as a whole: then its rows are dealt one by one, in the random order of `train`.

Blocks of rows that follow one another are alike where a file has an order, which small cells feel. A worker reads such
data once, whatever number of cells it learns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..data.columns.schema import TEXTS
from ..data.progress import Progress
from ..data.rows.shuffle import Shuffle
from ..data.sources import compression
from ..data.sources.decoded_parts import PartCache
from .blocks import DataSpec, FileSurvey
from .units import Scales

MOST = 512 << 20  # bytes of rows that a worker holds
_TEXT = 4  # how much larger than a number a text may be, and than their text rows of named features
_PACKED = 10  # how much larger text may be than it is when compressed
_KEPT = 2  # data sets that a process holds


def is_small(data: DataSpec, surveys: Sequence[FileSurvey]) -> bool:
    """Whether each worker can hold all rows."""
    assert data.schema is not None
    if data.schema.columns:
        values = sum(_TEXT if kind in TEXTS else 1 for _, kind in data.schema.columns)
        return 8 * (values + 2) * sum(one.rows for one in surveys) <= MOST
    packed = {file: _PACKED if compression.of_name(file.path) else 1 for file in data.files}
    return data.memory is not None or _TEXT * sum(times * (file.size or 0) for file, times in packed.items()) <= MOST


@dataclass(frozen=True)
class WholeData:
    """All rows that can be learned, and what was noticed when they were read."""

    rows: Shuffle
    counts: Progress
    scales: Scales


_held = PartCache(_KEPT)


def whole_data(key: str, read: Callable[[], WholeData]) -> WholeData:
    """The data of that key, read if this process does not hold it; one thread reads, and others wait for it."""
    return _held.get(key, read, lambda _: 1)


def let_go(key: str) -> None:
    """This process needs the data no more."""
    _held.drop(key)
