"""Streams, models and their metrics as JSON: the answers of the addresses that only read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from ..errors import Error
from ..version import __version__
from . import wire
from .live import LiveStream
from .log.places import time_text
from .origin import Origin
from .problems import Problem, refused
from .served import ServedModel, describe
from .streams import starts

_summaries: WeakKeyDictionary[ServedModel, tuple[tuple[Any, ...], wire.OfModel]] = WeakKeyDictionary()


async def models(store: Any) -> wire.Models:
    """All models and the server. Other requests are answered between two models, as each takes milliseconds."""
    found: list[wire.Summary] = []
    for live, model in store.models:
        if model.name in live.stream.models:
            found.append(summary(live, model.name))
        await asyncio.sleep(0)
    found += [replaying(store, name) for name in store.backtests]
    settings = store.settings
    server: wire.ServerState = {
        "version": __version__,
        "started": store.started,
        "durability": settings.durability,
        "replica": settings.replica_of is not None,
        "seq": sum(live.stream.seq for live in store.streams.values()),
    }
    missing: list[wire.Quarantined] = [
        {"name": one.name, "problem": one.problem, "folder": str(one.folder)} for one in store.quarantined
    ]
    return {"models": found, "quarantined": missing, "server": server}


def readiness(store: Any, *, in_full: bool) -> dict[str, Any]:
    """Which streams are missing, and why; without `in_full` only how many.

    Raises:
        Problem: 503 if rows of a stream cannot be learned, because the disk is full or its log has failed.
    """
    missing = {one.name: one.problem for one in store.quarantined}
    found: dict[str, Any] = {"quarantined": missing if in_full else len(missing)} if missing else {}
    if troubles := store.troubles():
        found["troubles"] = troubles if in_full else len(troubles)
        names = ", ".join(name or "all models" for name in troubles) if in_full else f"{len(troubles)} models"
        raise Problem(503, "rows cannot be learned", f"this concerns {names}", retry_after=10, **found)
    return found


def summary(live: LiveStream, name: str) -> wire.Summary:
    """The summary of a model."""
    known = _summary(live.model(name))
    return {
        **known,
        "stream": live.name,
        "waiting": live.stream.waiting,
        "seq": live.stream.seq,
        "status": "ready",
        "progress": None,
        "notes": [*known["notes"], *live.notes, *([] if live.failure is None else [live.failure])],
    }


def _summary(served: ServedModel) -> wire.OfModel:
    """The summary of a model, made again when the model has changed."""
    version = (served.learned, served.rejected, served.role)
    known = _summaries.get(served)
    if known is None or known[0] != version:
        known = _summaries[served] = version, describe.summary(served)
    return known[1]


def replaying(store: Any, name: str) -> wire.Model:
    """A model that still learns from history."""
    created = store.backtests.created(name)
    return {
        "name": name,
        "stream": store.backtests.stream(name).name,
        "role": created.role,
        "options": created.options,
        "replay": _replay(created.origin),
        "status": "replaying",
        "progress": store.backtests.progress(name),
        "metrics": {},
        "examples": 0,
        "notes": [],
    }


def details(live: LiveStream, name: str) -> wire.Model:
    """All details of a model."""
    served = live.model(name)
    features = None if served.nbytes > describe.LARGE else served.growth.features
    columns = served.columns
    kinds = {} if columns is None else columns.dates | dict.fromkeys(columns.left_out, "left out")
    return {
        **summary(live, name),
        "options": served.options,
        "replay": _replay(served.origin),
        "features": features,
        "columns": kinds,
        "digest": served.digest,
    }


def _replay(origin: Origin | None) -> wire.Replayed | None:
    """Which history a model learned before it joined: that of which model, up to which record, without which ones."""
    if origin is None:
        return None
    skipped = [[span.first, span.last] for span in (origin.sources[0].skipped if origin.sources else [])]
    return {"of": origin.of(), "seq": origin.seq, "skipped": skipped}


def snapshots(stream: str, folder: Path | None) -> wire.Snapshots:
    """The snapshots of a stream, oldest first.

    Args:
        stream: its name.
        folder: of the stream; None if it has none, as for a replica of a broker.
    """
    found = [] if folder is None else starts.described(folder)
    return {
        "stream": stream,
        "snapshots": [
            {
                "seq": state.seq,
                "time": time_text(state.stream["time"]),
                "rows": state.stream["counts"].get("learned", 0),
                "bytes": state.bytes,
                "models": list(state.models),
            }
            for state in found
        ],
    }


def metrics(live: LiveStream, name: str) -> wire.Metrics:
    """The metrics of a model, the state of its stream, and the moments of the last minutes and hours."""
    served, stream = live.model(name), live.stream
    others: list[wire.ModelMetrics] = [
        {"name": one.name, "role": one.role, "metrics": _summary(one)["metrics"]} for one in stream.models.values()
    ]
    return {
        "name": name,
        "stream": live.name,
        "seq": stream.seq,
        "time": stream.time / 1e6,
        "examples": served.examples,
        **describe.progress(served),
        "waiting": stream.waiting,
        "expired": stream.expired,
        "duplicates": stream.counts["duplicate"],
        "rejected": stream.counts["refused"] + stream.counts["failed"],
        "models": others,
        "log": live.log_state(),
        "moments": live.moments.kept(),
        "recent": live.moments.recent(),
        "bandit": None if stream.bandit is None else stream.bandit.describe(),
    }


def explain(frozen: Callable[[], ServedModel], features: Any) -> wire.Explanation:
    """Explain the prediction of a model for a row.

    Args:
        frozen: returns a copy of the model; a class may join the model itself meanwhile.
        features: of the row.

    Raises:
        Problem: 422 if it cannot use the row.
    """
    try:
        return describe.explanation(frozen(), features)
    except Error as error:
        raise refused(error) from None


def weights(frozen: Callable[[], ServedModel], most: int) -> wire.Weights:
    """The most important features of a model.

    Args:
        frozen: returns a copy of the model.
        most: how many features are listed.

    Raises:
        Problem: 422 if the model is too large.
    """
    try:
        return describe.features(frozen(), most)
    except Error as error:
        raise Problem(422, "this cannot be listed", str(error)) from None


def waiting_features(live: LiveStream, id: str) -> Any:
    """The features of a prediction that waits for its label.

    Raises:
        Problem: 404 if there is no such prediction.
    """
    waiting = live.stream.join.waiting(id)
    if waiting is None:
        raise Problem(404, "no such id", f"no prediction with the id {id[:80]!r} waits for its label")
    return live.stream.features_of(waiting)
