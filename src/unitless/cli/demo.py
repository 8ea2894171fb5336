"""unitless demo: what it is about, on bundled data."""

from __future__ import annotations

from typing import Annotated

import typer

NAME = "demo"
EXAMPLES = """
[bold]Example[/]

unitless demo --folder pictures
"""


def command(
    folder: Annotated[str, typer.Option("--folder", help="Where the picture goes.")] = "out",
) -> None:
    """Learn the same bundled data in two sets of units, with five learners, and draw what happens."""
    from ..demo import main  # noqa: PLC0415

    main(folder)
