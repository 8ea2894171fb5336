"""What can be wrong with a log: every message names the file, the byte where there is one, and what to do."""

from __future__ import annotations

from pathlib import Path

from ...errors import Error


class LogError(Error):
    """A log is damaged, incomplete, or cannot take or give records."""


def damaged(path: Path, byte: int, what: str = "the records are damaged") -> LogError:
    """A file whose bytes are not those that were written."""
    return LogError(
        f"{what} at byte {byte:,}",
        file=str(path),
        advice="restore this file from a backup; or, if there is a snapshot that is newer than its records, move this "
        "file and all older ones out of the folder",
    )


def gap(path: Path, byte: int, first: int, last: int) -> LogError:
    """Records that are missing between a file and the one after it."""
    return LogError(
        f"it ends at byte {byte:,}, and the records {first:,} to {last:,} are missing after it",
        file=str(path),
        advice=f"restore this file, or {first:020}.seg if there was one, from a backup; or, if there is a snapshot "
        "that is newer than these records, move this file and all older ones out of the folder",
    )


def exchanged(path: Path, after: Path) -> LogError:
    """A valid file that is not the one that was written."""
    return LogError(
        f"it is not the file that {after.name} was written after",
        file=str(path),
        advice="restore both from the same backup",
    )


def unknown(path: Path, byte: int, what: str) -> LogError:
    """A file that is in order, but that this version cannot read."""
    return LogError(
        f"{what} at byte {byte:,} is not known", file=str(path), advice="use the version of unitless that wrote it"
    )


def dropped(folder: Path, seq: int) -> LogError:
    """Records that retention has removed."""
    return LogError(
        f"the records from {seq:,} on are no longer kept",
        file=str(folder),
        advice="start from a newer snapshot, or keep more of the log (the option log_retention)",
    )


def dropped_at(folder: Path, position: int) -> LogError:
    """A single record that retention has removed."""
    return LogError(
        f"the record at position {position:,} is no longer kept",
        file=str(folder),
        advice="keep more of the log (the option log_retention)",
    )
