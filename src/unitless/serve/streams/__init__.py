"""A stream: one log and the models that learn from it."""

from .stream import Created, Named, Outcome, Stream, encoded

__all__ = ["Created", "Named", "Outcome", "Stream", "encoded"]
