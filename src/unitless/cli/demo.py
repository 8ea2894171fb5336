"""unitless demo: what it is about, on bundled data."""

from __future__ import annotations

from .options import Flag

NAME = "demo"
EXAMPLES = """
[bold]Example[/]

unitless demo --folder pictures

unitless demo --data shuttle.csv
"""
OPTIONS = (
    Flag("folder", "The folder for the picture.", default="out"),
    Flag("data", "Only write the bundled data to this CSV file."),
)


def command(*, folder: str, data: str | None) -> None:
    """Learn the same bundled data in two sets of units, with five learners, and draw what happens."""
    if data is not None:
        from ..paper.datasets import write_shuttle  # noqa: PLC0415

        write_shuttle(data)
        print(f"{data}: 43,500 readings of the space shuttle's radiators; the column to predict is 'label', 1 to 7")
        return
    from ..paper.demo import main  # noqa: PLC0415

    main(folder)
