"""CSV, with any delimiter, and tab-separated text."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from .format import Format

if TYPE_CHECKING:
    from ..files import File
    from ..read_options import ReadOptions
    from ..source import Source
    from ..writers.tables import TableWriter


def _csv(files: list[File], options: ReadOptions) -> Source:
    from ..delimited import Delimited  # noqa: PLC0415  (formats are listed without loading their readers)

    return Delimited(files, options)


def _tsv(files: list[File], options: ReadOptions) -> Source:
    from ..delimited import Delimited  # noqa: PLC0415

    return Delimited(files, options, "\t")


def _csv_writer(file: IO[bytes]) -> TableWriter:
    from ..writers.csv import Csv  # noqa: PLC0415

    return Csv(file)


def _tsv_writer(file: IO[bytes]) -> TableWriter:
    from ..writers.csv import Csv  # noqa: PLC0415

    return Csv(file, "\t")


_OPTIONS = frozenset({"delimiter", "header", "encoding", "tail"})

CSV = Format(
    name="csv",
    title="CSV",
    suffixes=(".csv",),
    family="table",
    source=_csv,
    options=_OPTIONS,
    table_writer=_csv_writer,
)
TSV = Format(
    name="tsv",
    title="TSV",
    suffixes=(".tsv", ".tab"),
    family="table",
    source=_tsv,
    options=_OPTIONS,
    table_writer=_tsv_writer,
)
