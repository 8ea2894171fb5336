"""Parquet files."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from .format import Format

if TYPE_CHECKING:
    from ..files import File
    from ..read_options import ReadOptions
    from ..source import Source
    from ..writers.tables import TableWriter


def _source(files: list[File], options: ReadOptions) -> Source:
    from ..columnar import Parquet  # noqa: PLC0415  (formats are listed without loading their readers)

    return Parquet(files, options)


def _table_writer(file: IO[bytes]) -> TableWriter:
    from ..writers.columnar import ParquetTable  # noqa: PLC0415

    return ParquetTable(file)


FORMAT = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet", ".pq"),
    family="table",
    source=_source,
    magic=(b"PAR1",),
    table_writer=_table_writer,
)
