"""unitless convert: data to other formats, models to plain coefficients."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import display, options

if TYPE_CHECKING:
    from ..converting import Converted

NAME = "convert"
EXAMPLES = """
[bold]Examples[/]

unitless convert logs.csv.gz logs.parquet

unitless convert people.csv people.vw --target income

unitless convert clicks.vw clicks.jsonl.zst

unitless convert prices.unitless prices.json
"""


def command(
    source: Annotated[
        str,
        typer.Argument(metavar="IN", help="Data (a file, a glob, a folder, or -), or a model.", show_default=False),
    ],
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help="Where to write: .csv, .tsv, .jsonl, .parquet, .arrow, .feather, .vw, .libsvm or .svm, also .gz, .bz2 "
            "or .zst; for a model .json; or -.",
            show_default=False,
        ),
    ],
    to: Annotated[
        str | None, typer.Option("--to", help="The format, if OUT does not say it.", rich_help_panel=options.OUTPUT)
    ] = None,
    target: options.Target = None,
    task: options.Task = None,
    positive: options.Positive = None,
    weight: options.Weight = None,
    ignore: options.Ignore = None,
    only: options.Only = None,
    text: options.Text = None,
    dates: options.Dates = "error",
    on_error: options.OnError = "fail",
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    no_header: options.NoHeader = False,
    encoding: options.Encoding = None,
    zero_based: options.ZeroBased = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No remarks.", rich_help_panel=options.OUTPUT)] = False,
) -> None:
    """Write data in another format, or a model as plain coefficients.

    A table becomes VW text or libsvm with --target: numbers are name:value, text is column=value, zeros are left out.

    Spaces, colons and bars in names become _. Text labels become 1 and -1, or 1, 2, 3, in order of appearance.

    A model becomes JSON, its weights in the data's units: bias + Σ weight · x is what predict --extrapolate computes.
    """
    if _is_model(source):
        _model(source, output, to, quiet)
        return
    from ..converting import convert  # noqa: PLC0415

    kind = to or _suffix(output)
    reading: dict[str, Any] = {
        **options.reading(format, delimiter, no_header, encoding, zero_based),
        "target": target,
        "weight": weight,
        "ignore": options.listed(ignore),
        "only": options.listed(only),
        "text": options.listed(text),
        "dates": dates,
        "on_error": on_error,
    }
    _check_other(source, output)
    done = convert(source, None if output == "-" else output, kind, task=task, positive=positive, **reading)
    if not quiet:
        _remark(done)


def _remark(done: Converted) -> None:
    for bad in done.bad:
        print(f"skipped: {bad}", file=sys.stderr)
    skipped = f", {done.skipped:,} skipped" if done.skipped else ""
    print(f"{display.count(done.rows, 'row')} written{skipped}", file=sys.stderr)
    for remark in done.remarks:
        print(remark, file=sys.stderr)


def _suffix(output: str) -> str:
    from ..data.files import suffix_format  # noqa: PLC0415
    from ..errors import OptionError  # noqa: PLC0415

    kind = None if output == "-" else suffix_format(output)
    if kind is None:
        raise OptionError(f"{output}: this name does not say which format it is to have; say it with --to")
    return kind


def _check_other(source: str, output: str) -> None:
    from ..errors import OptionError  # noqa: PLC0415

    if os.path.exists(source) and os.path.exists(output) and os.path.samefile(source, output):
        raise OptionError(f"{output} is the data itself; write to another file")


def _is_model(path: str) -> bool:
    """A model's file begins with the length of its header, which is JSON."""
    try:
        with open(path, "rb") as file:
            head = file.read(9)
        return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") < os.path.getsize(path)
    except OSError:
        return False


def _model(source: str, output: str, to: str | None, quiet: bool) -> None:
    from ..coefficients import coefficients  # noqa: PLC0415
    from ..data.writing import opened  # noqa: PLC0415
    from ..errors import OptionError  # noqa: PLC0415
    from ..model_file import load  # noqa: PLC0415
    from ..sweep import Sweep  # noqa: PLC0415

    if to not in (None, "json") or (to is None and output != "-" and not _json_name(output)):
        raise OptionError(f"a model becomes JSON; write to a file that ends in .json instead of {output}")
    model = load(source)
    if isinstance(model, Sweep):
        model = model.best
    plain = coefficients(model)
    with opened(output) as file:
        file.write((json.dumps(plain, indent=2, ensure_ascii=False) + "\n").encode())
    if not quiet:
        weights = plain["weights"].values()
        count = sum(map(len, weights)) if plain["classes"] and isinstance(plain["bias"], dict) else len(weights)
        print(f"{display.count(count, 'weight')} written", file=sys.stderr)


def _json_name(output: str) -> bool:
    stem, suffix = os.path.splitext(output.lower())
    return suffix == ".json" or (suffix in (".gz", ".bz2", ".zst", ".xz") and stem.endswith(".json"))
