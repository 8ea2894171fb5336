"""unitless convert."""

from __future__ import annotations

NAME = "convert"
EXAMPLES = ""


def command() -> None:
    """To come."""
