"""A source of data: something that can be read in chunks, from any position."""

from __future__ import annotations

import abc
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from . import formats
from .files import STDIN, File
from .located_rows import Chunk, Position
from .read_options import ReadOptions
from .row_places import RowPlaces
from .schema import Schema

DIGESTED = 64 << 10  # bytes at the beginning of a file, and before the place that was reached


class Source(abc.ABC):
    """Rows in chunks. Once the schema is decided it is told (`hold`), and later chunks must fit."""

    family: str = "table"
    schema: Schema | None = None
    keep: bool = False  # also give the columns that are not features
    once: bool = False  # no other part of what lies around a part will be wanted: nothing is kept
    strict: bool = False  # a key that the schema does not know is an error, wherever reading begins
    columns_may_come_later: bool = False  # after the first rows, which decide what the columns are
    stored_as_categories: frozenset[str] = frozenset()  # columns of text that come as categories, whatever they hold
    files: Sequence[File] = ()  # that are read, if there are any

    @abc.abstractmethod
    def chunks(self, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """The data from a position on, up to another one in the same file if it is given."""

    @abc.abstractmethod
    def places(self, file: int, most: int) -> RowPlaces:
        """How many rows there are, and positions from which they can be read, at most so many; of a file by its number.

        Raises nothing about rows that cannot be read.
        """

    @property
    def name(self) -> str:
        """What messages call the source."""
        return "the data"

    @property
    def total_bytes(self) -> int | None:
        """How much there is, as stored, if that is known."""
        return None

    @property
    def repeatable(self) -> bool:
        """Can it be read more than once?"""
        return True

    @property
    def at_hand(self) -> bool:
        """Are all rows there, so that they can be taken in any order? A stream's are not."""
        return self.repeatable

    @property
    def found(self) -> dict[str, Any]:
        """Reading options that were not given but found, and that later data of the same kind has too."""
        return {}

    @property
    def identity(self) -> list[Any]:
        """To recognise the same data when training goes on."""
        return []

    def content(self, consumed: int) -> list[Any]:
        """To recognise data of the same name and size that has changed: digests, where so many bytes were read."""
        return []

    def hold(self, schema: Schema) -> None:
        """Read all further data by this schema."""
        self.schema = schema


class FileSource(Source):
    """Files of one format, one after the other."""

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        self.files, self.options = files, options
        self._digests: dict[tuple[str, int, int], list[str]] = {}  # files that are done with do not change

    @property
    def name(self) -> str:
        """The name of the file, or how many files there are."""
        return self.files[0].name if len(self.files) == 1 else f"{len(self.files)} files"

    @property
    def total_bytes(self) -> int | None:
        """The size of all files, if all are known."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def repeatable(self) -> bool:
        """Whether it can be read again, which a pipe cannot."""
        return all(file.path != STDIN and file.size is not None for file in self.files)

    @property
    def identity(self) -> list[Any]:
        """The names and sizes of the files."""
        return [[file.path, file.size] for file in self.files]

    def content(self, consumed: int) -> list[Any]:
        """For each file that was begun: the place reached, and digests of its first bytes and of those before it.

        `consumed` counts the bytes of all files as stored. None stands for what cannot be read again, such as a pipe.
        """
        digests: list[Any] = []
        for file in self.files:
            size = file.size or 0
            place = min(consumed, size)
            consumed -= place
            digests.append(self._digested(file, size, place))
            if consumed <= 0:
                break
        return digests

    def _digested(self, file: File, size: int, place: int) -> list[Any] | None:
        key = file.path, size, place
        if key not in self._digests:
            try:
                if file.size is None:
                    return None
                with file.open() as stored:
                    found = [stored.read(DIGESTED)]
                    stored.seek(max(0, place - DIGESTED))
                    found.append(stored.read(min(place, DIGESTED)))
            except OSError:  # training that reads it already goes on
                return None
            self._digests[key] = [hashlib.blake2b(part, digest_size=16).hexdigest() for part in found]
        return [place, *self._digests[key]]

    def chunks(self, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """The data from a position on, file by file; up to another one in the same file if it is given."""
        if end is not None:
            yield from self.read(self.files[start.file], start, end)
            return
        before = sum(file.size or 0 for file in self.files[: start.file])
        for number in range(start.file, len(self.files)):
            here = start if number == start.file else Position(number)
            for chunk in self.read(self.files[number], here):
                chunk.consumed += before
                yield chunk
            before += self.files[number].size or 0

    @abc.abstractmethod
    def read(self, file: File, start: Position, end: Position | None = None) -> Iterator[Chunk]:
        """Read one file from a position on, up to another one if it is given."""


def other_kind(family: str, source: Source) -> str:
    """What to say when data does not fit a model's."""
    families = {
        "table": f"tables ({formats.titles('table')}, frames)",
        "named": f"rows of named features ({formats.titles('named')}, mappings)",
        "columns": "arrays",
    }
    return f"the model was trained on {families[family]}; {source.name} is one of {families[source.family]}"
