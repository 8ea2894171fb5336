"""Which segments of a log are no longer needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from . import snapshots


def first_kept(segments: Sequence[tuple[int, Path, int]], *, needed: Iterable[int], retain: int) -> int:
    """The record before which whole segments can go: the first one of the oldest segment that stays.

    A segment is removed if the log is larger than allowed and every record in it is older than all that is needed.

    Args:
        segments: of each its first record, its file and its size, oldest first.
        needed: records that may still be read, with all that follow: see `needed_by_snapshots`; the one where
            a backtest began.
        retain: how large the log may be, in bytes. What is needed stays even beyond that.
    """
    limit = min(needed)
    size = sum(size for _, _, size in segments)
    oldest = 0
    while oldest + 1 < len(segments) and size > retain and segments[oldest + 1][0] <= limit:
        size -= segments[oldest][2]
        oldest += 1
    return segments[oldest][0] if segments else 0


def needed_by_snapshots(folder: Path) -> int:
    """The oldest record that recovery may need, from the newest snapshot of a stream or, if that is damaged, from the
    one before: the records since, and predictions that waited for their labels then.
    """
    newest = snapshots.listed(folder)[-snapshots.KEPT :]
    if len(newest) < snapshots.KEPT:
        return 0
    try:
        return min(int(snapshots.read_manifest(path)["needs"]) for path in newest)
    except (OSError, snapshots.SnapshotError):
        return 0
