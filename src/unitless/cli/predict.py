"""unitless predict."""

from __future__ import annotations

NAME = "predict"
EXAMPLES = ""


def command() -> None:
    """To come."""
