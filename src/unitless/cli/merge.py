"""unitless merge."""

from __future__ import annotations

NAME = "merge"
EXAMPLES = ""


def command() -> None:
    """To come."""
