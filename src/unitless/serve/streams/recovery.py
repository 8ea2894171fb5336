"""States of a stream from which its log can be replayed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ...errors import Error, ModelFileError
from ..events import Record
from . import snapshots
from .snapshots import SnapshotError
from .stream import Stream


def newest_state(folder: Path, read: Callable[[int], Record], warn: Callable[[str], object]) -> Stream:
    """The stream as its newest good snapshot has it; empty if there is none.

    Args:
        folder: of the stream.
        read: gives the record at a position of the log.
        warn: is called with a message for each snapshot that cannot be used.
    """
    older_than: int | None = None
    while (snapshot := snapshots.read_newest(folder, warn, older_than)) is not None:
        try:
            return Stream.from_parts(snapshot.parts, read)
        except ModelFileError as error:
            warn(f"the snapshot {snapshot.path} cannot be used, an older one is: {error}")
            older_than = snapshot.seq
    return empty_state(folder, read)


def oldest_state(folder: Path, first_seq: int, read: Callable[[int], Record]) -> Stream:
    """The oldest state from which a log can be replayed that begins at a record."""
    if first_seq == 1:
        return empty_state(folder, read)
    for path in snapshots.listed(folder):
        try:
            if snapshots.read_manifest(path)["needs"] >= first_seq:
                return Stream.from_parts(snapshots.read(path).parts, read)
        except (OSError, SnapshotError):
            continue
    raise SnapshotError(
        f"the log begins at record {first_seq:,}, and there is no snapshot from which it can be replayed",
        file=str(folder),
    )


def empty_state(folder: Path, read: Callable[[int], Record]) -> Stream:
    """The stream before its first record."""
    return Stream(name_in(folder), read)


def name_in(folder: Path) -> str:
    """The name of the stream in a folder.

    Raises:
        Error: its manifest cannot be read.
    """
    file = folder / "manifest.json"
    try:
        return str(json.loads(file.read_bytes())["name"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise Error(f"{file} cannot be read ({error}); restore the folder from a backup") from None
