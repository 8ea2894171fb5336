"""JSON lines: one object per line."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from .format import Format

if TYPE_CHECKING:
    from ..files import File
    from ..read_options import ReadOptions
    from ..source import Source
    from ..writers.lines import LineWriter
    from ..writers.tables import TableWriter


def _source(files: list[File], options: ReadOptions) -> Source:
    from ..json_lines import JsonLines  # noqa: PLC0415  (formats are listed without loading their readers)

    return JsonLines(files, options)


def _table_writer(file: IO[bytes]) -> TableWriter:
    from ..writers.json_lines import JsonTable  # noqa: PLC0415

    return JsonTable(file)


def _line_writer() -> LineWriter:
    from ..writers.json_lines import JsonFeatures  # noqa: PLC0415

    return JsonFeatures()


FORMAT = Format(
    name="jsonl",
    title="JSON lines",
    suffixes=(".jsonl", ".json", ".ndjson"),
    family="table",
    source=_source,
    options=frozenset({"encoding", "tail"}),
    magic=(b"{",),
    table_writer=_table_writer,
    line_writer=_line_writer,
)
