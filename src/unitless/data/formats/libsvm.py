"""libsvm (svmlight): a label, then number:value pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .format import Format

if TYPE_CHECKING:
    from ..files import File
    from ..read_options import ReadOptions
    from ..source import Source
    from ..writers.lines import LineWriter


def _source(files: list[File], options: ReadOptions) -> Source:
    from ..named_parsers import LibsvmParser  # noqa: PLC0415  (formats are listed without loading their readers)
    from ..named_text import NamedText  # noqa: PLC0415

    return NamedText(files, options, LibsvmParser(options.zero_based), comment=b"#")


def _line_writer() -> LineWriter:
    from ..writers.libsvm import LibsvmLines  # noqa: PLC0415

    return LibsvmLines()


def _looks_like(line: bytes) -> bool:
    pairs = line.partition(b"#")[0].split()[1:]
    return bool(pairs) and all(_is_pair(pair) for pair in pairs)


def _is_pair(word: bytes) -> bool:
    index, colon, _ = word.partition(b":")
    return bool(colon) and index.isdigit()


FORMAT = Format(
    name="libsvm",
    title="libsvm",
    suffixes=(".libsvm", ".svm", ".svmlight"),
    family="named",
    source=_source,
    options=frozenset({"encoding", "zero_based", "tail"}),
    looks_like=_looks_like,
    line_writer=_line_writer,
)
