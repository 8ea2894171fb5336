"""Where a replay of a log begins: the newest states that know nothing of the rows that it leaves out.

The model and the stream around it can begin at different places. As long as all rows are left out the model does not
change, so the stream may begin at the newest snapshot before the first row that the model learns. A model that is to be
what it was at a snapshot is therefore read from that snapshot, and little of the log is replayed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import Error, ModelFileError
from ..events import Kind, Record
from ..log import Tail
from ..log.places import first_kept
from ..origin import NEW, Source
from ..served import ServedModel
from . import snapshots
from .recovery import empty_state, oldest_state
from .snapshots import SnapshotError
from .stream import Created, Stream, joined, made


class ReplayError(Error):
    """A log cannot be replayed as far back as is necessary."""


class Start(NamedTuple):
    """Where a replay begins."""

    source: Source
    model: Path | None  # the snapshot that contains the model; None: the record by which it joined, or a new model
    seq: int  # the last record that the model knows
    stream: Path | None  # the snapshot of the stream around it; None: the oldest state that there is


class State(NamedTuple):
    """A snapshot in short."""

    path: Path
    seq: int
    needs: int  # the oldest record that a replay from here may read
    models: dict[str, int]  # by model: the record by which it joined
    stream: dict[str, Any]  # what it knows of the stream
    bytes: int


def find(folder: Path, sources: Sequence[Source], damaged: Collection[Path] = ()) -> Start:
    """Where a replay begins that makes a model like the first of these, or else like the next.

    Args:
        folder: of the stream.
        sources: models, and what is left out.
        damaged: snapshots that cannot be used.

    Raises:
        ReplayError: the log does not go back far enough for any of them.
    """
    first_seq = first_kept(folder / "log")
    states = [state for state in described(folder) if state.path not in damaged]
    for place, source in enumerate(sources):
        if source.model == NEW and (first_seq == 1 or place == 0):
            return Start(source, None, 0, None)
        if source.model != NEW and (start := _start(source, first_seq, states)) is not None:
            return start
    raise ReplayError(_reason(sources[0], first_seq, states))


def _start(source: Source, first_seq: int, states: list[State]) -> Start | None:
    """Where a replay of one model begins; None if it cannot."""
    last = source.unchanged_until()
    before = [state for state in _holding(source, states) if last is None or state.seq <= last]
    if before:
        model, seq = before[-1].path, before[-1].seq
    elif source.seq >= first_seq and (last is None or source.seq <= last):
        model, seq = None, source.seq
    else:
        return None
    around = [state for state in states if state.needs >= first_seq and state.seq < source.first_needed(seq)]
    if not around and first_seq > 1:
        return None
    return Start(source, model, seq, around[-1].path if around else None)


def _holding(source: Source, states: list[State]) -> list[State]:
    return [state for state in states if state.models.get(source.model) == source.seq]


def _reason(source: Source, first_seq: int, states: list[State]) -> str:
    """Why a model cannot be replayed, and from where it can."""
    usable = [state for state in _holding(source, states) if state.needs >= first_seq]
    oldest = source.seq if source.seq >= first_seq else usable[0].seq if usable else None
    if oldest is None:
        return f"the log begins at record {first_seq:,}, and no snapshot of {source.model!r} is kept"
    return (
        f"the oldest state of {source.model!r} that is kept is that after record {oldest:,}, and the log begins at "
        f"record {first_seq:,}: only rows after record {oldest:,} can be left out"
    )


def described(folder: Path) -> list[State]:
    """The snapshots of a stream that are not known to be damaged, oldest first."""
    found = []
    for path in snapshots.listed(folder):
        try:
            found.append(_described(path))
        except (OSError, SnapshotError, LookupError, ValueError):
            continue
    return found


def _described(path: Path) -> State:
    manifest = snapshots.read_manifest(path)
    files = {part["name"]: path / part["file"] for part in manifest["parts"]}
    stream = json.loads(files["stream.json"].read_bytes())
    models = {
        name: json.loads(files[f"models-{place}-state.json"].read_bytes())["created_seq"]
        for place, name in enumerate(stream["models"])
    }
    size = sum(part["bytes"] for part in manifest["parts"])
    return State(path, manifest["seq"], manifest["needs"], models, stream, size)


def load(folder: Path, created: Created, read: Callable[[int], Record]) -> tuple[Start, Stream, ServedModel]:
    """Where the replay for a new model begins, the stream there, and the model there.

    Args:
        folder: of the stream.
        created: the model.
        read: gives the record at a position of the log.
    """
    sources = [Source(NEW, 0, [])] if created.origin is None else created.origin.sources
    damaged: set[Path] = set()
    while True:
        start = find(folder, sources, damaged)
        try:
            return _loaded(folder, start, created, read)
        except (SnapshotError, ModelFileError, FileNotFoundError):
            damaged |= {path for path in (start.model, start.stream) if path is not None}
            if start.model is start.stream is None:
                raise


def _loaded(
    folder: Path, start: Start, created: Created, read: Callable[[int], Record]
) -> tuple[Start, Stream, ServedModel]:
    if start.source.model == NEW:
        stream = oldest_state(folder, first_kept(folder / "log"), read)
        return start._replace(seq=stream.seq), stream, made(created, 0)
    stream = empty_state(folder, read)
    if start.stream is not None:
        stream = Stream.from_parts(snapshots.read(start.stream).parts, read)
    if start.model is None:
        return start, stream, _joined(folder, start.source)
    there = stream if start.model == start.stream else Stream.from_parts(snapshots.read(start.model).parts, read)
    model = there.models[start.source.model]
    return start, stream, ServedModel.from_parts(model.parts())


def _joined(folder: Path, source: Source) -> ServedModel:
    """A model as it was when it joined."""
    with Tail(folder / "log", source.seq) as tail:
        for record in tail.read(1):
            if record.seq == source.seq and record.kind is Kind.create:
                return joined(record)
    raise ReplayError(f"record {source.seq:,} is not the one by which {source.model!r} joined")
