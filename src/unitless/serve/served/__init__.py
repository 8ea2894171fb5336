"""One model in service: how it reads rows and labels, what it answers, how good it was."""

from .model import Said, ServedModel

__all__ = ["Said", "ServedModel"]
