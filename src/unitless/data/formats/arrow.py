"""Arrow IPC files and streams, and Feather."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from .format import Format

if TYPE_CHECKING:
    from ..files import File
    from ..read_options import ReadOptions
    from ..source import Source
    from ..writers.tables import TableWriter


def _source(files: list[File], options: ReadOptions) -> Source:
    from ..columnar import ArrowFiles  # noqa: PLC0415  (formats are listed without loading their readers)

    return ArrowFiles(files, options)


def _table_writer(file: IO[bytes]) -> TableWriter:
    from ..writers.columnar import ArrowTable  # noqa: PLC0415

    return ArrowTable(file)


FORMAT = Format(
    name="arrow",
    title="Arrow",
    suffixes=(".arrow", ".arrows", ".feather", ".ipc"),
    family="table",
    source=_source,
    magic=(b"ARROW1", b"\xff\xff\xff\xff"),
    table_writer=_table_writer,
)
