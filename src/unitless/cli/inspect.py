"""unitless inspect."""

from __future__ import annotations

NAME = "inspect"
EXAMPLES = ""


def command() -> None:
    """To come."""
