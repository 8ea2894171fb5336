"""Events for bandits of a server, and what the library alone makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from offline import records

import unitless as ul

LINEAR = {"task": "bandit", "model_type": "linear"}
NAMES = ["banner", "video", "text"]
RANK, REWARD, TICK, CREATE = 10, 11, 4, 5


def context(rng: np.random.Generator) -> dict[str, Any]:
    """The features of an event."""
    return {"age": float(rng.normal(40, 10)), "country": str(rng.choice(["de", "fr"])), "new": bool(rng.random() < 0.3)}


def reward(action: Any, given: dict[str, Any]) -> float:
    """Videos for the young, banners for the others."""
    return 5.0 if (action == "video") == (given["age"] < 38) else 1.0


def choice(rng: np.random.Generator, id: str | None, actions: Any = None) -> dict[str, Any]:
    """A request for a decision."""
    found = {"context": context(rng), "actions": NAMES if actions is None else actions}
    return found if id is None else found | {"id": id}


def replayed(log: Path, options: dict[str, Any]) -> tuple[ul.Bandit, dict[str, dict[str, Any]], dict[str, float]]:
    """Apply the files of a log with plain calls of the library: the bandit, its decisions, and the rewards learned."""
    bandit = ul.Bandit(**{name: value for name, value in options.items() if name != "task"})
    decided: dict[str, dict[str, Any]] = {}
    rewarded: dict[str, float] = {}
    for kind, row, seconds in _events(log):
        if bandit.time_limit is not None:
            bandit.expire(seconds)
        if kind == RANK and bandit.status(row["id"]) == "unknown":
            made = bandit.decide(row["id"], row["context"], row["actions"], time=seconds)
            decided[row["id"]] = {"action": made.action, "propensities": made.propensities}
        elif kind == REWARD and bandit.status(row["id"]) == "pending":
            assert row["id"] not in rewarded
            bandit.learn(row["id"], row["reward"], time=seconds)
            rewarded[row["id"]] = row["reward"]
    return bandit, decided, rewarded


def _events(log: Path) -> Iterator[tuple[int, Any, float]]:
    for one in records(log):
        if one.kind in (RANK, REWARD):
            for line in [one.content] if one.form == 0 else one.content.splitlines():
                yield one.kind, json.loads(line), one.time / 1e6
        elif one.kind == TICK:
            yield one.kind, None, one.time / 1e6
