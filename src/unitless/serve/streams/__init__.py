"""A stream: one log and the models that learn from it."""
