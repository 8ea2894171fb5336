"""unitless paper: the paper's tables, figures and bounds, recomputed."""

from __future__ import annotations

import pathlib
import sys
from typing import TYPE_CHECKING, Literal

from . import arguments, display, options
from .options import Flag

if TYPE_CHECKING:
    from ..paper.experiments import Section

NAME = "paper"
EXAMPLES = """
[bold]Examples[/]

unitless paper figure1

unitless paper table2 --datasets shuttle --json

unitless paper all --data datasets --out report

unitless paper contest
"""

STOPPED = "stopped; the results so far are stored, and the same command continues from there"

What = Literal[
    "all", "table1", "table2", "table3", "figure1", "figure2", "figure3", "claims", "bounds", "comparison", "contest"
]
REPORTS = {"all": "report", "contest": "contest"}
"""The parts that write a report, and its folder."""

OPTIONS = (
    Flag(
        "what",
        "The part of the paper to compute; all and contest write a report. The contest is not a part of all.",
        What,
        "all",
        argument=True,
    ),
    Flag(
        "data",
        "The folder with the datasets. Default: the one that the environment variable UNITLESS_DATA names.",
        metavar="DIR",
    ),
    Flag("download", "Download missing or incomplete datasets from UCI into --data.", bool, False),
    Flag("datasets", "The datasets to use, separated by commas; not for the contest. Default: all.", many=True),
    Flag(
        "shuffles",
        "The number of random orders of the rows over which losses are averaged; not for the contest. Default: 5.",
        int,
        least=1,
    ),
    Flag(
        "rows",
        "The largest number of rows of each dataset in the comparison and the contest. Default: 20000; for the contest "
        "5000, its largest number.",
        int,
        least=100,
    ),
    Flag(
        "out",
        "The folder for the report and the pictures. Default: report for all, contest for contest; otherwise none.",
        metavar="DIR",
    ),
    Flag("no_cache", "Compute everything again, and do not store results.", bool, False),
    options.JSON,
    options.QUIET,
)


def command(
    *,
    what: What,
    data: str | None,
    download: bool,
    datasets: list[str] | None,
    shuffles: int | None,
    rows: int | None,
    out: str | None,
    no_cache: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Recompute the paper: every table, figure and bound, next to the printed numbers.

    Results are stored when they are computed, so that an interrupted command continues where it stopped. Datasets
    that are missing are listed and left out. Shuttle is bundled; figure 1 and the bounds need no data.
    """
    from ..errors import OptionError  # noqa: PLC0415

    try:
        from ..paper import contest  # noqa: PLC0415
        from ..paper.experiments import EXPERIMENTS, Lab, all_experiments, opening, report, steps  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise OptionError(f"this needs {error.name}: pip install 'unitless[paper]'") from None
    if what == "contest":
        rows = _rows_of_contest(rows, {"--datasets": datasets, "--shuffles": shuffles})
    folder = pathlib.Path(out) if out is not None else pathlib.Path(REPORTS[what]) if what in REPORTS else None
    if folder is not None:
        report.check_folder(folder)
    with display.Steps(quiet) as progress:
        lab = Lab(
            data,
            download=download,
            datasets=arguments.listed(datasets) or None,
            shuffles=5 if shuffles is None else shuffles,
            comparison_rows=20_000 if rows is None else rows,
            keep=not no_cache,
            told=progress.told,
            transferred=progress.transferred,
        )
        if what == "all":
            sections = all_experiments(lab, progress.begun)
        elif what == "contest":
            if download:
                progress.say("datasets of the paper")
                lab.loaded()
            progress.begun(what, contest.steps())
            sections = [contest.contest(lab)]
        else:
            progress.begun(what, steps(what, lab))
            sections = [EXPERIMENTS[what](lab)]
    seconds = sum(section.seconds for section in sections)
    if folder is not None and what not in REPORTS and not sections[0].figures:
        progress.say(f"{what} has no picture; nothing is written to {folder}")
    if what == "contest":
        assert folder is not None
        about = report.facts([], seconds, contest.PACKAGES)
        report.write(folder, sections, about, contest.OPENING, contest.TITLE)
    elif what == "all":
        assert folder is not None
        report.write(folder, sections, report.facts(lab.seeds, seconds), opening(lab))
    elif folder is not None:
        for path in report.write_figures(folder, sections[0]):
            progress.say(f"wrote {path}")
    if download and lab.missing:
        for why in lab.missing.values():
            print(f"unitless: {why}", file=sys.stderr)
    if as_json:
        print(report.as_json(sections, report.facts(lab.seeds, seconds)) if what == "all" else sections[0].json())
        return int(download and bool(lab.missing))
    for section in sections:
        show(section)
    if what in REPORTS:
        assert folder is not None
        print(f"The report: {folder / 'index.html'} ({folder / 'report.md'}), in {seconds:.0f} s")
    return int(download and bool(lab.missing))


def _rows_of_contest(rows: int | None, others: dict[str, object]) -> int:
    """Check the options of the contest, and return its number of rows."""
    from ..errors import OptionError  # noqa: PLC0415
    from ..paper import contest  # noqa: PLC0415

    for name, given in others.items():
        if given:
            why = {
                "--datasets": "it uses all tables that are there",
                "--shuffles": "it learns each table once, in one order",
            }[name]
            raise OptionError(f"the contest has no {name}: {why}")
    if rows is not None and rows > contest.MOST_ROWS:
        raise OptionError(f"--rows {rows} is too large: a table of the contest has at most {contest.MOST_ROWS} rows")
    return contest.MOST_ROWS if rows is None else rows


def show(section: Section) -> None:
    """A section as text."""
    print(section.title)
    for text in section.text:
        print(f"\n{text.replace('**', '*')}")
    for table in section.tables:
        if table.wide:
            continue
        print()
        rows = [[cell.replace("**", "*") for cell in row] for row in table.rows]
        display.table(table.title or None, table.header, rows, left=table.left)
    for note in section.notes:
        print(f"\n{note}")
    print()
