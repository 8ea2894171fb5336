"""What the program knows of a file format, in one record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from ..files import File
    from ..read_options import ReadOptions
    from ..source import Source
    from ..writers.lines import LineWriter
    from ..writers.tables import TableWriter

Family: TypeAlias = Literal["table", "named"]


@dataclass(frozen=True)
class Format:
    """A file format.

    The functions import what they need when they are called, so that the records can be listed without loading NumPy
    or pyarrow.

    Args:
        name: as `format=` and `--format` take it.
        title: as help texts and messages call it.
        suffixes: how the names of such files end.
        family: "table" for rows with the same columns, "named" for rows of named features.
        source: makes the reader of files of this format.
        options: the reading options that only some formats take, and that this one does.
        magic: what the content of every such file begins with, one of these; nothing if that does not decide it.
        looks_like: decides from the first line of a text file whether it is of this format.
        table_writer: writes tables; None if the format has no columns.
        line_writer: writes rows of named features, one per line; None if the format cannot hold them.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    family: Family
    source: Callable[[list[File], ReadOptions], Source]
    options: frozenset[str] = frozenset()
    magic: tuple[bytes, ...] = ()
    looks_like: Callable[[bytes], bool] | None = None
    table_writer: Callable[[IO[bytes]], TableWriter] | None = None
    line_writer: Callable[[], LineWriter] | None = None
