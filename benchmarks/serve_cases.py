"""The cases of the server benchmark, their contenders, and the goals that a run is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

VW, RIVER = "VW daemon", "FastAPI + River"


@dataclass(frozen=True)
class Contender:
    """One server under one load."""

    name: str
    server: str  # its key in `serve.py`
    load: dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """A goal: our contender's number is at most, or at least, this many times the other's."""

    ours: str
    other: str
    at_most: float | None = None  # of processor time
    at_least: float | None = None  # of rows per second

    def ratio(self, ours: dict[str, float], other: dict[str, float]) -> float:
        key = "cpu" if self.at_most is not None else "rows_per_second"
        return ours[key] / other[key]

    def reached(self, ratio: float) -> bool:
        return ratio <= self.at_most if self.at_most is not None else ratio >= (self.at_least or 0)

    def text(self) -> str:
        what = f"CPU ≤ {self.at_most:.4g} ×" if self.at_most is not None else f"rows/s ≥ {self.at_least:.4g} ×"
        return f"{self.ours}: {what} {self.other}"


@dataclass(frozen=True)
class Case:
    """Contenders that are compared."""

    name: str
    title: str
    contenders: list[Contender]
    goals: list[Goal] = field(default_factory=list)


def _ours(name: str, server: str, model: str, verb: str, connections: int, **more: Any) -> Contender:
    load = {"protocol": "http", "path": f"/v1/models/{model}/{verb}", "learn": verb == "learn"}
    return Contender(name, server, load | {"connections": connections} | more)


def _vw(**more: Any) -> Contender:
    return Contender(VW, "vw", {"protocol": "lines", "connections": 1} | more)  # its only child has one connection


def _river(path: str, **more: Any) -> Contender:
    return Contender(RIVER, "river", {"protocol": "http", "path": path, "connections": 32} | more)


ALL = [
    Case(
        "predict",
        "One prediction a request",
        [
            _vw(),
            _river("/predict"),
            _ours("1 connection", "process", "linear", "predict", 1),
            _ours("32 connections", "process", "linear", "predict", 32),
            _ours("32 connections, default model", "process", "default", "predict", 32),
        ],
        [Goal("32 connections", VW, at_most=1.2), Goal("32 connections", RIVER, at_most=1 / 8)],
    ),
    Case(
        "learn",
        "One row a request, survives kill -9",
        [
            _vw(learn=True),
            _river("/learn", learn=True),
            _ours("1 connection", "process", "linear", "learn", 1),
            _ours("32 connections", "process", "linear", "learn", 32),
            _ours("32 connections, default model", "process", "default", "learn", 32),
        ],
        [Goal("32 connections", VW, at_most=1.5), Goal("32 connections", RIVER, at_most=1 / 8)],
    ),
    Case(
        "sync",
        "One row a request, survives a power cut",
        [
            _vw(learn=True),
            _ours("1 connection", "disk", "linear", "learn", 1),
            _ours("32 connections", "disk", "linear", "learn", 32),
            _ours("256 connections", "disk", "linear", "learn", 256),
            _ours("256 connections, default model", "disk", "default", "learn", 256),
        ],
        [Goal("256 connections", VW, at_most=2)],
    ),
    Case(
        "ids",
        "Predictions that wait for their label, learning with an id",
        [
            _ours("predict with an id", "disk", "linear", "predict", 32, ids=True),
            _ours("learn with an id", "disk", "linear", "learn", 32, ids=True),
        ],
    ),
    Case(
        "bandit",
        "Decisions of a bandit among 10 actions, and as many rewards, survives a power cut",
        [
            _ours("decisions alone", "disk", "bandit", "rank", 32, ids=True, actions=10),
            *(
                _ours(f"{name} and rewards", "disk", model, "rank", 32, ids=True, actions=10, labels=reward, delay=400)
                for name, model in (("decisions", "bandit"), ("decisions of trees", "bandit-default"))
                for reward in (f"/v1/models/{model}/reward",)
            ),
        ],
    ),
    Case(
        "lines",
        "VW's lines in bursts of 1,000, survives a power cut",
        [
            _vw(learn=True, batch=1000),
            Contender("VW lines", "disk", {"protocol": "lines", "learn": True, "batch": 1000}),
            Contender("VW lines, default model", "default lines", {"protocol": "lines", "learn": True, "batch": 1000}),
        ],
        [Goal("VW lines", VW, at_most=0.75), Goal("VW lines", VW, at_least=2)],
    ),
    Case(
        "json_lines",
        "JSON lines, 1,000 rows a request, survives a power cut",
        [
            _vw(learn=True, batch=1000),
            _river("/learn_lines", learn=True, batch=1000, connections=1),
            _ours("JSON lines", "disk", "linear", "learn", 1, batch=1000),
            _ours("JSON lines, default model", "disk", "default", "learn", 1, batch=1000),
        ],
        [Goal("JSON lines", VW, at_most=2.5)],
    ),
]
