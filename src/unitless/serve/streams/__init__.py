"""A stream: one log and the models that learn from it."""

from .stream import Created, Named, Outcome, Refused, Stream, encoded

__all__ = ["Created", "Named", "Outcome", "Refused", "Stream", "encoded"]
