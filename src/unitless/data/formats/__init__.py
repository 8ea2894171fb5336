"""The file formats. A new one is a record in a file of its own, and its name in `FORMATS`."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import IO, TYPE_CHECKING

from .. import compression
from . import arrow, csv, json_lines, libsvm, parquet, vw
from .format import Family, Format

if TYPE_CHECKING:
    from ..writers.tables import TableWriter

FORMATS: tuple[Format, ...] = (
    csv.CSV,
    csv.TSV,
    json_lines.FORMAT,
    parquet.FORMAT,
    arrow.FORMAT,
    vw.FORMAT,
    libsvm.FORMAT,
)
FALLBACK = csv.CSV  # of text whose first line does not look like any other format
FIRST_BYTES = 64 << 10  # of a file's content, which are enough to recognize its format


def names() -> list[str]:
    """The names of all formats."""
    return [format.name for format in FORMATS]


def titles(family: Family | None = None) -> str:
    """What help texts and messages call the formats, or those of one family: "CSV, TSV, ..."."""
    return ", ".join(format.title for format in FORMATS if family in (None, format.family))


def suffixes() -> list[str]:
    """The endings of file names that say a format."""
    return sorted(suffix for format in FORMATS for suffix in format.suffixes)


def endings(of: list[str]) -> list[str]:
    """The usual ending of a file's name for each of these formats."""
    return [get(name).suffixes[0] for name in of]


def one_of(words: list[str]) -> str:
    """A choice in words: "a, b or c"."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def get(name: str) -> Format:
    """The format of a name, which must exist."""
    return next(format for format in FORMATS if format.name == name)


def of_name(path: str) -> Format | None:
    """The format that a file's name promises, compressed or not."""
    suffix = compression.suffix_inside(path)
    return next((format for format in FORMATS if suffix in format.suffixes), None)


def of_content(head: bytes) -> Format:
    """The format that the first bytes of a file's content show."""
    beginning = head.removeprefix(BOM_UTF8).lstrip()
    for format in FORMATS:
        if beginning.startswith(format.magic):
            return format
    line = next(iter(beginning.splitlines()), b"").strip()
    # Later formats are more particular about their lines than earlier ones.
    for format in reversed(FORMATS):
        if format.looks_like is not None and format.looks_like(line):
            return format
    return FALLBACK


def table_formats() -> list[str]:
    """The names of the formats that tables, such as predictions, can be written in."""
    return [format.name for format in FORMATS if format.table_writer is not None]


def table_writer(name: str, file: IO[bytes]) -> TableWriter:
    """The writer of one of the `table_formats`."""
    make = get(name).table_writer
    assert make is not None
    return make(file)


def written_formats() -> list[str]:
    """The names of the formats that can be written."""
    return [format.name for format in FORMATS if format.table_writer is not None or format.line_writer is not None]


def particular_options() -> list[str]:
    """The reading options that only some formats take."""
    return sorted({option for format in FORMATS for option in format.options})


def that_take(option: str) -> list[str]:
    """The names of the formats that take a reading option."""
    return [format.name for format in FORMATS if option in format.options]
