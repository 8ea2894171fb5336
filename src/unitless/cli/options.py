"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from ..data import formats

READING = "How the data is read"
LEARNING = "What is learned"
OUTPUT = "Output"

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help=f"Files ({formats.titles()}; compressed or not), globs, a folder, or - for the standard input.",
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help=f"{formats.one_of(formats.names())}.", rich_help_panel=READING),
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="Between the columns of CSV.", rich_help_panel=READING)
]
NoHeader = Annotated[
    bool,
    typer.Option("--no-header", help="CSV without names: columns are called 1, 2, 3, ...", rich_help_panel=READING),
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Of text, for example latin-1.", rich_help_panel=READING)
]
ZeroBased = Annotated[bool, typer.Option("--zero-based", help="libsvm features count from 0.", rich_help_panel=READING)]
OnError = Annotated[
    str,
    typer.Option("--on-error", help="What to do with bad rows: fail, or skip and count.", rich_help_panel=READING),
]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", help="The column to predict.", show_default=False, rich_help_panel=READING),
]
Weight = Annotated[
    str | None, typer.Option("--weight", help="A column of importance weights.", rich_help_panel=READING)
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", help="Columns to leave out; 'id,*_at', or several times.", rich_help_panel=READING),
]
Only = Annotated[list[str] | None, typer.Option("--only", help="Columns to use, no others.", rich_help_panel=READING)]
Text = Annotated[
    list[str] | None,
    typer.Option("--text", help="Columns of names that look like numbers (zip codes).", rich_help_panel=READING),
]
Numbers = Annotated[
    list[str] | None,
    typer.Option("--numbers", help="Columns to centre though they begin with 0s and 1s.", rich_help_panel=READING),
]
Dates = Annotated[
    str,
    typer.Option("--dates", help="Columns of dates: error, or parts (time, month, ...).", rich_help_panel=READING),
]
Missing = Annotated[str, typer.Option("--missing", help="Missing values: absent, or error.", rich_help_panel=READING)]
Task = Annotated[
    str | None,
    typer.Option("--task", help="regression, binary or classes; found out if not given.", rich_help_panel=LEARNING),
]
Positive = Annotated[
    str | None, typer.Option("--positive", help="Which of two labels is to be found.", rich_help_panel=LEARNING)
]
Loss = Annotated[
    str | None,
    typer.Option("--loss", help="squared, quantile, poisson; logistic, hinge.", rich_help_panel=LEARNING),
]
NoCentre = Annotated[
    bool, typer.Option("--no-centre", help="Take columns as they are, offset included.", rich_help_panel=LEARNING)
]
Interactions = Annotated[
    str | None,
    typer.Option(
        "--interactions", help="Products of features: 2 (all pairs), ordered, or a*b,c*d.", rich_help_panel=LEARNING
    ),
]
Bits = Annotated[
    int | None,
    typer.Option("--bits", "-b", help="Hash features into 2^BITS slots: bounded memory.", rich_help_panel=LEARNING),
]
Rules = Annotated[
    list[str] | None,
    typer.Option("--rules", help="Among nag, snag, ng, ag, gd; separated by commas.", rich_help_panel=LEARNING),
]
Rate = Annotated[str | None, typer.Option("--rate", help="Learning rate: auto, or a number.", rich_help_panel=LEARNING)]
Quantile = Annotated[float | None, typer.Option("--quantile", help="For quantile loss.", rich_help_panel=LEARNING)]
Passes = Annotated[int, typer.Option("--passes", help="Times through the data.", rich_help_panel=LEARNING)]
Holdout = Annotated[
    float, typer.Option("--holdout", help="Fraction of rows to keep out and score.", rich_help_panel=LEARNING)
]
Seed = Annotated[int, typer.Option("--seed", help="Which rows are held out.", rich_help_panel=LEARNING)]
Json = Annotated[bool, typer.Option("--json", help="Results as JSON, for machines.", rich_help_panel=OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.", rich_help_panel=OUTPUT)]
Plot = Annotated[
    str | None, typer.Option("--plot", help="Write a picture: .png, .svg or .pdf.", rich_help_panel=OUTPUT)
]
