"""Contextual bandits: `Bandit`, and how good a policy would be, by a log of another one."""

from __future__ import annotations

from .decision import Decision
from .learning import Bandit

__all__ = ["Bandit", "Decision"]
