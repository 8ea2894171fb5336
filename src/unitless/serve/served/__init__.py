"""One model in service: how it reads rows and labels, its predictions and its metrics."""

from __future__ import annotations

from .bandit import ServedBandit
from .growth import Limits
from .model import Prediction, ServedModel

__all__ = ["Limits", "Prediction", "ServedBandit", "ServedModel", "restored"]


def restored(parts: dict[str, bytes]) -> ServedModel:
    """Restore a model or a bandit from its `parts`."""
    return (ServedBandit if "bandit.unitless" in parts else ServedModel).from_parts(parts)
