"""unitless sweep."""

from __future__ import annotations

NAME = "sweep"
EXAMPLES = ""


def command() -> None:
    """To come."""
