"""Contextual bandits: `Bandit`, and how good a policy would be, by a log of another one."""

from __future__ import annotations

from .decision import Decision
from .evaluation import Estimate, Evaluation, Evaluator, evaluate, replay
from .learning import Bandit
from .log import Logged, read_log, write_log
from .simulation import Simulated, simulate

__all__ = [
    "Bandit",
    "Decision",
    "Estimate",
    "Evaluation",
    "Evaluator",
    "Logged",
    "Simulated",
    "evaluate",
    "read_log",
    "replay",
    "simulate",
    "write_log",
]
