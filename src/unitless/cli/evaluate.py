"""unitless evaluate."""

from __future__ import annotations

NAME = "evaluate"
EXAMPLES = ""


def command() -> None:
    """To come."""
