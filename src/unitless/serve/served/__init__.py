"""One model in service: how it reads rows and labels, its predictions and its metrics."""

from .growth import Limits
from .model import Prediction, ServedModel

__all__ = ["Limits", "Prediction", "ServedModel"]
