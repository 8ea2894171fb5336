"""Sources of data: what a user named, and how it is read. A source never changes; a `Scan` reads it."""

from __future__ import annotations

import abc
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from .. import formats
from ..columns.schema import Schema
from ..formats import Format
from ..read_options import ReadOptions
from .byte_stream import never
from .file_identity import content_before, identity_of
from .files import STDIN, File, TailedFile
from .located_rows import Place
from .path_columns import PathColumns

if TYPE_CHECKING:
    from .scan import Scan


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a table, from which its column types are inferred.

    Args:
        table: the rows, as an Arrow table; None if no row can be read.
        place: where the rows are, for messages.
        own_columns: the columns of the file itself; the other columns come from the names of folders.
        found: reading options that were inferred.
        handover: what the next scan needs, so that data that can be read only once is not lost.
    """

    table: Any
    place: Place
    own_columns: frozenset[str] = frozenset()
    found: Mapping[str, Any] | None = None
    handover: Any = None


@dataclass(frozen=True)
class ScanOptions:
    """How a source is scanned.

    Args:
        schema: the columns; None to read them as they are, so that their types can be inferred.
        first: the first rows, if the schema was inferred from them; the scan begins with them.
        originals: whether rows are returned with all their columns, for a caller that copies them.
        keys: the names that rows may have, if each row has its own names; None for any names.
        reuse: whether other parts of the data will be read too, so that decoded parts stay in memory for a while.
        recorded: whether the next scan reads streams again.
    """

    schema: Schema | None = None
    first: FirstRows | None = None
    originals: bool = False
    keys: frozenset[str] | None = None
    reuse: bool = True
    recorded: bool = False


class Source(abc.ABC):
    """Data that can be scanned, in chunks of rows."""

    family: Literal["table", "named", "columns"] = "table"
    columns_may_come_later: bool = False  # in rows after the first ones
    chooses_features: bool = False  # whether the format itself applies `ignore` and `only`
    files: Sequence[File] = ()  # the files that are read, if any

    def open(
        self,
        schema: Schema | None = None,
        first: FirstRows | None = None,
        *,
        originals: bool = False,
        keys: Collection[str] | None = None,
        reuse: bool = True,
    ) -> Scan:
        """Make a scan of the data by a schema; see `ScanOptions`."""
        keys = None if keys is None else frozenset(keys)
        return self._scan(ScanOptions(schema, first, originals, keys, reuse))

    @abc.abstractmethod
    def _scan(self, options: ScanOptions) -> Scan: ...

    def first_rows(self, stopped: Callable[[], bool] = never) -> FirstRows:
        """Return the first rows of a table; the rows of a stream are waited for, until `stopped`."""
        raise NotImplementedError  # it is not a table

    @property
    def has_columns(self) -> bool:
        """Whether rows have columns, whose mean can be subtracted: rows of VW text and libsvm have single features."""
        return self.family != "named"

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return "the data"

    @property
    def total_bytes(self) -> int | None:
        """The size of the data as stored; None if it is not known."""
        return None

    @property
    def repeatable(self) -> bool:
        """Whether the data can be read more than once."""
        return True

    @property
    def live(self) -> bool:
        """Whether rows may arrive while the data is read."""
        return False

    @property
    def reads_ahead(self) -> bool:
        """Whether it is useful, and safe, to read the data in another thread."""
        return True

    @property
    def tailed(self) -> bool:
        """Whether a file is read while it grows."""
        return any(isinstance(file, TailedFile) for file in self.files)

    @property
    def at_hand(self) -> bool:
        """Whether all rows exist already, so that they can be read in any order; those of a stream do not."""
        return self.repeatable

    @cached_property
    def identity(self) -> list[Any]:
        """What identifies the data when a training continues."""
        return []

    def content(self, consumed: int) -> list[Any] | None:
        """Return what identifies a growing file, of which this many bytes were read; None if no file grows."""
        return None


class FileSource(Source):
    """Files of one format, one after the other."""

    def __init__(self, files: Sequence[File], options: ReadOptions, format: Format) -> None:
        self.files, self.options, self.format = tuple(files), options, format
        self.family = format.family
        self.columns_may_come_later, self.chooses_features = format.columns_may_come_later, format.chooses_features
        self.path_columns = PathColumns(self.files)

    def _scan(self, options: ScanOptions) -> Scan:
        return self.format.scan(self, options)

    def first_rows(self, stopped: Callable[[], bool] = never) -> FirstRows:
        """Return the first rows of the first file that has some."""
        return self.format.scan(self, ScanOptions(recorded=True)).first_rows(stopped)

    @property
    def name(self) -> str:
        """The name of the file, or the number of files."""
        return self.files[0].name if len(self.files) == 1 else f"{len(self.files)} files"

    @property
    def total_bytes(self) -> int | None:
        """The size of all files; None if one of them is not known."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def repeatable(self) -> bool:
        """Whether the data can be read again; a pipe cannot."""
        return all(file.path != STDIN and file.size is not None for file in self.files)

    @property
    def live(self) -> bool:
        """Whether one of the files is a pipe or another kind of stream."""
        return any(file.size is None for file in self.files)

    @cached_property
    def identity(self) -> list[Any]:
        """The names, sizes and digests of the files when this was first read."""
        return [identity_of(file) for file in self.files]

    def content(self, consumed: int) -> list[Any] | None:
        """Return digests of a growing file up to the place reached; `consumed` counts the bytes of all files."""
        last = self.files[-1]
        if not isinstance(last, TailedFile):
            return None
        return content_before(last, consumed - sum(file.size or 0 for file in self.files[:-1]))


def other_kind(family: str, source: Source) -> str:
    """Return the message that data is not of the same family as that of the model."""
    families = {
        "table": f"tables ({formats.titles('table')}, frames)",
        "named": f"rows of named features ({formats.titles('named')}, mappings)",
        "columns": "arrays",
    }
    return f"the model was trained on {families[family]}; {source.name} is one of {families[source.family]}"
