"""Which segments of a log are no longer needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def first_kept(
    segments: Sequence[tuple[int, Path, int]], *, snapshots: Sequence[int], needed: Iterable[int], retain: int
) -> int:
    """The record before which whole segments can go: the first one of the oldest segment that stays.

    A segment goes if the log is larger than it may be and every record in it is older than the second newest snapshot
    and than all that is needed.

    Args:
        segments: of each its first record, its file and its size, oldest first.
        snapshots: after which records there are snapshots, oldest first; two of them, so that one may be damaged.
        needed: records that somebody will still read, with all that follow: the oldest prediction that waits for its
            label, the one where a backtest is or began.
        retain: how large the log may be, in bytes. What is needed stays even beyond that.
    """
    limit = min([snapshots[-2] + 1 if len(snapshots) > 1 else 0, *needed])
    size = sum(size for _, _, size in segments)
    oldest = 0
    while oldest + 1 < len(segments) and size > retain and segments[oldest + 1][0] <= limit:
        size -= segments[oldest][2]
        oldest += 1
    return segments[oldest][0] if segments else 0
