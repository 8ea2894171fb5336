"""The file formats, one record each.

To add a format, add a record here and the class that scans its files. A record names its classes as "module:class", so
that help texts can list the formats without loading NumPy or pyarrow.
"""

from __future__ import annotations

import importlib
from codecs import BOM_UTF8
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from .sources import compression

if TYPE_CHECKING:
    from .sources.scan import FileScan
    from .sources.source import FileSource, ScanOptions
    from .writers.lines import LineWriter
    from .writers.tables import TableWriter

Family: TypeAlias = Literal["table", "named"]


@dataclass(frozen=True)
class Format:
    """A file format.

    Args:
        name: the value of `format=` and `--format`.
        title: the name in help texts and messages.
        suffixes: the endings of the names of such files.
        family: "table" for rows with the same columns, "named" for rows of named features.
        scanner: the `FileScan` that reads such files.
        options: those reading options of this format that not all formats have.
        magic: possible first bytes of such files; empty if the first bytes do not identify the format.
        looks_like: returns whether the first line of a text file is of this format.
        columns_may_come_later: whether rows may have columns that the first rows do not have.
        chooses_features: whether the reader applies `ignore` and `only` to the features of each row.
        table_writer: the `TableWriter`; empty if the format has no columns.
        line_writer: the `LineWriter` of rows of named features; empty if the format cannot store them.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    family: Family
    scanner: str
    options: frozenset[str] = frozenset()
    magic: tuple[bytes, ...] = ()
    looks_like: Callable[[bytes], bool] | None = None
    columns_may_come_later: bool = False
    chooses_features: bool = False
    table_writer: str = ""
    line_writer: str = ""

    def scan(self, source: FileSource, how: ScanOptions) -> FileScan:
        """Make a scan of files of this format."""
        found: FileScan = _class(self.scanner)(source, how)
        return found

    def new_table_writer(self, file: IO[bytes]) -> TableWriter:
        """Make a writer of tables."""
        writer: TableWriter = _class(self.table_writer)(file)
        return writer

    def new_line_writer(self) -> LineWriter:
        """Make a writer of rows of named features."""
        writer: LineWriter = _class(self.line_writer)()
        return writer


def _class(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(f".{module}", __package__), name)


def _is_vw(line: bytes) -> bool:
    """Return whether a line has a label, perhaps a weight and a tag, and features after a bar."""
    before, bar, after = line.partition(b"|")
    return bool(bar) and len(before.split()) <= 3 and (b" " in after or b":" in after) and b"," not in before


def _is_libsvm(line: bytes) -> bool:
    """Return whether a line has a label, and then pairs of an index and a value."""
    pairs = [pair.partition(b":") for pair in line.partition(b"#")[0].split()[1:]]
    return bool(pairs) and all(colon and index.isdigit() for index, colon, _ in pairs)


CSV = Format(
    name="csv",
    title="CSV",
    suffixes=(".csv",),
    family="table",
    scanner="sources.delimited:CsvScan",
    options=frozenset({"delimiter", "header", "encoding", "tail"}),
    table_writer="writers.csv:Csv",
)
TSV = Format(
    name="tsv",
    title="TSV",
    suffixes=(".tsv", ".tab"),
    family="table",
    scanner="sources.delimited:TsvScan",
    options=CSV.options,
    table_writer="writers.csv:Tsv",
)
JSON_LINES = Format(
    name="jsonl",
    title="JSON lines",
    suffixes=(".jsonl", ".json", ".ndjson"),
    family="table",
    scanner="sources.json_lines:JsonScan",
    options=frozenset({"encoding", "tail"}),
    magic=(b"{",),
    columns_may_come_later=True,
    table_writer="writers.json_lines:JsonTable",
    line_writer="writers.json_lines:JsonFeatures",
)
PARQUET = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet", ".pq"),
    family="table",
    scanner="sources.columnar:ParquetScan",
    magic=(b"PAR1",),
    table_writer="writers.columnar:ParquetTable",
)
ARROW = Format(  # IPC files, IPC streams, and Feather
    name="arrow",
    title="Arrow",
    suffixes=(".arrow", ".arrows", ".feather", ".ipc"),
    family="table",
    scanner="sources.columnar:ArrowScan",
    magic=(b"ARROW1", b"\xff\xff\xff\xff"),
    table_writer="writers.columnar:ArrowTable",
)
VW = Format(
    name="vw",
    title="VW text",
    suffixes=(".vw",),
    family="named",
    scanner="sources.named_text:VwScan",
    options=frozenset({"encoding", "tail"}),
    looks_like=_is_vw,
    chooses_features=True,
    line_writer="writers.vw:VwLines",
)
LIBSVM = Format(
    name="libsvm",
    title="libsvm",
    suffixes=(".libsvm", ".svm", ".svmlight"),
    family="named",
    scanner="sources.named_text:LibsvmScan",
    options=frozenset({"encoding", "zero_based", "tail"}),
    looks_like=_is_libsvm,
    line_writer="writers.libsvm:LibsvmLines",
)
FORMATS: tuple[Format, ...] = (CSV, TSV, JSON_LINES, PARQUET, ARROW, VW, LIBSVM)
FALLBACK = CSV  # the format of text whose first line does not look like any other format
FIRST_BYTES = 64 << 10  # bytes at the beginning of a file that identify its format


def names() -> list[str]:
    """Return the names of all formats."""
    return [format.name for format in FORMATS]


def titles(family: Family | None = None) -> str:
    """Return the titles of all formats, or of one family, as a text: "CSV, TSV, ..."."""
    return ", ".join(format.title for format in FORMATS if family in (None, format.family))


def suffixes() -> list[str]:
    """Return the endings of file names that identify a format."""
    return sorted(suffix for format in FORMATS for suffix in format.suffixes)


def endings(of: list[str]) -> list[str]:
    """Return the usual file ending of each of these formats."""
    return [get(name).suffixes[0] for name in of]


def get(name: str) -> Format:
    """Return the format with this name, which must exist."""
    return next(format for format in FORMATS if format.name == name)


def of_name(path: str) -> Format | None:
    """Return the format that a file's name suggests, compressed or not; None if it suggests no format."""
    suffix = compression.suffix_inside(path)
    return next((format for format in FORMATS if suffix in format.suffixes), None)


def of_content(head: bytes) -> Format:
    """Return the format of a file, judged by its first bytes."""
    beginning = head.removeprefix(BOM_UTF8).lstrip()
    for format in FORMATS:
        if beginning.startswith(format.magic):
            return format
    line = next(iter(beginning.splitlines()), b"").strip()
    # The later formats in the list have stricter rules for lines, so they are tried first.
    for format in reversed(FORMATS):
        if format.looks_like is not None and format.looks_like(line):
            return format
    return FALLBACK


def table_formats() -> list[str]:
    """Return the names of the formats in which tables, such as predictions, can be written."""
    return [format.name for format in FORMATS if format.table_writer]


def written_formats() -> list[str]:
    """Return the names of the formats that can be written."""
    return [format.name for format in FORMATS if format.table_writer or format.line_writer]


def particular_options() -> list[str]:
    """Return the names of the reading options that only some formats have."""
    return sorted({option for format in FORMATS for option in format.options})


def that_take(option: str) -> list[str]:
    """Return the names of the formats that have a reading option."""
    return [format.name for format in FORMATS if option in format.options]
