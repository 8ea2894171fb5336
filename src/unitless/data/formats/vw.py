"""The text format of Vowpal Wabbit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .format import Format

if TYPE_CHECKING:
    from ..files import File
    from ..read_options import ReadOptions
    from ..source import Source
    from ..writers.lines import LineWriter


def _source(files: list[File], options: ReadOptions) -> Source:
    from ..named_parsers import VwParser  # noqa: PLC0415  (formats are listed without loading their readers)
    from ..named_text import NamedText  # noqa: PLC0415

    return NamedText(files, options, VwParser(options.ignore, options.only), namespaces=True)


def _line_writer() -> LineWriter:
    from ..writers.vw import VwLines  # noqa: PLC0415

    return VwLines()


def _looks_like(line: bytes) -> bool:
    """A label, perhaps a weight and a tag, a bar, and features after it."""
    before, bar, after = line.partition(b"|")
    return bool(bar) and len(before.split()) <= 3 and (b" " in after or b":" in after) and b"," not in before


FORMAT = Format(
    name="vw",
    title="VW text",
    suffixes=(".vw",),
    family="named",
    source=_source,
    options=frozenset({"encoding", "tail"}),
    looks_like=_looks_like,
    line_writer=_line_writer,
)
