"""Snapshots of a stream: its whole state after a record, in a folder that is complete or does not exist.

    snapshots/<seq as 20 digits>/manifest.json    seq, where the log was, the oldest record that is still needed, the
                                                  library's version, and of each part its name, size and SHA-256
                                 000.part …       the parts; their names never become paths

A snapshot is made in a temporary folder whose name begins with a dot, flushed to the disk and renamed. A process that
is killed meanwhile leaves that folder behind; `remove_abandoned` removes it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ...errors import Error
from ...version import __version__
from ..log.segments import sync_folder

FORMAT = 1
KEPT = 2  # the newest ones; if one is damaged there is another
FOLDER = "snapshots"
MANIFEST = "manifest.json"
_NAME = re.compile(r"[0-9]{20}")
_FLUSHED = 4 << 20  # bytes; a disk that is never asked to flush more at once lets the log's own flushes through
_warn = logging.getLogger("unitless.serve").warning


class SnapshotError(Error):
    """A snapshot is damaged, or of a format that is not known."""


class HasParts(Protocol):
    """What a snapshot can be taken of."""

    def parts(self) -> Mapping[str, bytes]:
        """The whole state as named byte strings; equal states give equal bytes."""


class Snapshot(NamedTuple):
    """The state of a stream after a record."""

    seq: int
    parts: dict[str, bytes]
    position: int  # where the log's next record begins
    needs: int  # the oldest record that a replay from here may have to read
    version: str  # the version of the library that wrote it
    path: Path


def write(folder: Path, stream: HasParts, *, seq: int, position: int, needs: int | None = None) -> Path:
    """Write a snapshot of the stream in this folder; when this returns it is on the disk.

    Args:
        folder: of the stream.
        stream: after the record `seq`.
        seq: the last record that was applied.
        position: where the next one begins.
        needs: the oldest record that will be read again, such as a prediction that waits for its label; the next one
            if there is none before.
    """
    target = folder / FOLDER / f"{seq:020d}"
    if target.exists():
        try:
            read(target)
        except (OSError, SnapshotError):
            remove(target)
        else:
            return target
    write_parts(target, stream.parts(), seq=seq, position=position, needs=seq + 1 if needs is None else needs)
    return target


def write_parts(target: Path, parts: Mapping[str, bytes], **known: int) -> None:
    """Write a folder of parts, whole or not at all."""
    holder = target.parent
    if not holder.exists():
        holder.mkdir(mode=0o700)  # never the stream's own folder: it may have been deleted meanwhile
        sync_folder(holder.parent)
    making = holder / f".making-{target.name}-{secrets.token_hex(4)}"
    making.mkdir(mode=0o700)
    try:
        listed = []
        for number, (name, data) in enumerate(parts.items()):
            file = f"{number:03d}.part"
            _write_file(making / file, data)
            listed.append({"name": name, "file": file, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
        manifest = {"format": FORMAT, "version": __version__, **known, "parts": listed}
        text = json.dumps(manifest | {"sha256": _digest(manifest)}, indent=1)
        _write_file(making / MANIFEST, text.encode())
        sync_folder(making)
        making.rename(target)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    sync_folder(holder)


def _write_file(path: Path, data: bytes) -> None:
    view = memoryview(data)
    with open(path, "xb", buffering=0, opener=_private) as file:
        written = flushed = 0
        while written < len(view):
            written += file.write(view[written : written + _FLUSHED])
            if written - flushed >= _FLUSHED:
                os.fdatasync(file.fileno())
                flushed = written
        os.fsync(file.fileno())


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner can read."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _digest(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def read(path: Path) -> Snapshot:
    """The snapshot in this folder, checked to the last byte."""
    manifest = read_manifest(path)
    parts = {}
    for part in manifest["parts"]:
        file = path / part["file"]
        data = file.read_bytes()
        if len(data) != part["bytes"] or hashlib.sha256(data).hexdigest() != part["sha256"]:
            raise SnapshotError("the file is not what was written", file=str(file))
        parts[part["name"]] = data
    return Snapshot(manifest["seq"], parts, manifest["position"], manifest["needs"], manifest["version"], path)


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a snapshot, checked."""
    file = path / MANIFEST
    try:
        manifest = json.loads(file.read_bytes())
        held = manifest.pop("sha256")
    except (ValueError, LookupError, TypeError, AttributeError):
        raise SnapshotError("the file is not what was written", file=str(file)) from None
    if held != _digest(manifest):
        raise SnapshotError("the file is not what was written", file=str(file))
    if manifest["format"] != FORMAT:
        raise SnapshotError(
            f"the snapshot is of format {manifest['format']}, not {FORMAT}",
            file=str(file),
            advice=f"use the version of unitless that wrote it, {manifest['version']}",
        )
    return dict(manifest)


def read_newest(folder: Path, warn: Callable[[str], object] = _warn, older_than: int | None = None) -> Snapshot | None:
    """The newest whole snapshot of the stream in this folder; `warn` is called with a message for each damaged one."""
    for path in reversed(listed(folder)):
        if older_than is not None and int(path.name) >= older_than:
            continue
        try:
            return read(path)
        except FileNotFoundError as error:
            if path.exists():  # otherwise the snapshot process has just removed it
                warn(f"the snapshot {path} is not complete, an older one is used: {error.filename} is missing")
        except (OSError, SnapshotError) as error:
            warn(f"the snapshot {path} cannot be used, an older one is: {error}")
    return None


def listed(folder: Path) -> list[Path]:
    """The snapshots of the stream in this folder, oldest first; not checked."""
    try:
        return sorted(path for path in (folder / FOLDER).iterdir() if _NAME.fullmatch(path.name))
    except FileNotFoundError:
        return []


def seqs(folder: Path) -> list[int]:
    """After which records there are snapshots, oldest first."""
    return [int(path.name) for path in listed(folder)]


def remove_old(folder: Path, *, apart: float = math.inf, first_seq: int = 1) -> None:
    """Remove snapshots that are not needed.

    The newest ones (`KEPT`) stay; of the others those that are so many bytes of the log apart, so that there is a state
    from which what is left of a long log can be replayed.

    Args:
        folder: of the stream.
        apart: bytes of the log.
        first_seq: the oldest record of the log; a snapshot that needs older ones is of no use.
    """
    last = 0
    for path in listed(folder)[:-KEPT]:
        try:
            manifest = read_manifest(path)
        except (OSError, SnapshotError):
            remove(path)
            continue
        if manifest["needs"] < first_seq or manifest["position"] - last < apart:
            remove(path)
        else:
            last = manifest["position"]


def remove(path: Path) -> None:
    """Remove a folder so that it is never seen in part."""
    leaving = path.with_name(f".removed-{path.name}-{secrets.token_hex(4)}")
    try:
        path.rename(leaving)
    except FileNotFoundError:
        return
    shutil.rmtree(leaving, ignore_errors=True)


def remove_abandoned(holder: Path) -> None:
    """Remove what was not finished or not quite removed. Only for the process that writes there."""
    if holder.is_dir():
        for path in holder.iterdir():
            if path.name.startswith("."):
                shutil.rmtree(path, ignore_errors=True)
