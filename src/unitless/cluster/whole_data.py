"""Data that each worker can read as a whole.

Then single rows are assigned to partitions, in the random order of `train`.

Consecutive rows are similar where a file is sorted, and small cells suffer from that. A worker reads such data once,
whatever the number of cells that it learns.
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

MOST = 512 << 20  # bytes of rows that a worker keeps in memory
_TEXT = 4  # the size of text, relative to numbers; also of rows of named features, relative to their text
_PACKED = 10  # the size of text relative to its compressed file
_KEPT = 2  # data sets that a process keeps in memory


def is_small(data: DataSpec, surveys: Sequence[FileSurvey]) -> bool:
    """Whether each worker can keep all rows in memory."""
    assert data.schema is not None
    if data.schema.columns:
        values = sum(_TEXT if kind in TEXTS else 1 for _, kind in data.schema.columns)
        return 8 * (values + 2) * sum(one.rows for one in surveys) <= MOST
    packed = {file: _PACKED if compression.of_name(file.path) else 1 for file in data.files}
    return data.memory is not None or _TEXT * sum(times * (file.size or 0) for file, times in packed.items()) <= MOST


@dataclass(frozen=True)
class WholeData:
    """All rows that can be learned, and what was found when they were read."""

    rows: Shuffle
    counts: Progress
    scales: Scales


_held = PartCache(_KEPT)


def whole_data(key: str, read: Callable[[], WholeData]) -> WholeData:
    """The data for a key. The first thread reads it; other threads wait for it."""
    return _held.get(key, read, lambda _: 1)


def let_go(key: str) -> None:
    """Release the data of this process."""
    _held.drop(key)
