"""unitless demo: training, a report and a picture from bundled data, in a few seconds."""

from __future__ import annotations

import pathlib
import shutil
import sys

from .options import Flag

NAME = "demo"
EXAMPLES = """
[bold]Example[/]

unitless demo --folder pictures

unitless demo --data shuttle.csv
"""
OPTIONS = (
    Flag("folder", "The folder for the table, the model, the report and the picture.", default="out", metavar="DIR"),
    Flag("data", "Only write the bundled data to this CSV file, and stop. Default: none.", metavar="FILE"),
)


def command(*, folder: str, data: str | None) -> int | None:
    """Train on a bundled table, write a report, and draw what happens when units change."""
    if data is not None:
        from ..paper.datasets import write_shuttle  # noqa: PLC0415

        write_shuttle(data)
        print(f"{data}: 43,500 readings of the space shuttle's radiators; the column to predict is 'label', 1 to 7")
        return None
    from ..paper import demo  # noqa: PLC0415
    from . import main  # noqa: PLC0415

    to = pathlib.Path(folder)
    to.mkdir(parents=True, exist_ok=True)
    table, model, report = (str(to / name) for name in ("sensors.csv", "sensors.unitless", "report.html"))
    demo.write_table(to / "sensors.csv")
    print(f"{table}: 43,500 readings of nine sensors of the space shuttle. Is the state the usual one?\n")
    arguments = ["train", table, "--target", "state", "--output", model, "--report", report]
    program = "unitless" if shutil.which("unitless") else sys.argv[0]  # `make demo` runs the one in .venv
    print("$", program, *arguments, flush=True)
    code = main([*arguments, "--quiet"])
    if code:
        return code
    print("\nNow the readings are a stream. In its middle, two sensors begin to report in other units:\n")
    demo.main(folder)
    print(f"report:  {report}\n\nNext, type")
    print(f"  {program} predict {model} {table} --probabilities | head")
    print(f"  {program} inspect {model}")
    print(f"  {program} train YOUR.csv --target COLUMN --output YOUR.unitless")
    print(f"  {program} evaluate YOUR.unitless NEW.csv      # rows that the model has not learned")
    return None
