"""A stream: one log and the models that learn from it."""

from .stream import Created, Outcome, Stream, created_payload, limits_payload, named_payload

__all__ = ["Created", "Outcome", "Stream", "created_payload", "limits_payload", "named_payload"]
