"""One model in service: how it reads rows and labels, what it answers, how good it was."""

from .growth import Limits
from .model import Said, ServedModel

__all__ = ["Limits", "Said", "ServedModel"]
