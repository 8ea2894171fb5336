"""The base class of writers of tables, which write batch by batch."""

from __future__ import annotations

import abc
from typing import IO, Any

from ...errors import InputError
from ..arrow import pyarrow
from .cells import plain


class TableWriter(abc.ABC):
    """Writes tables one after another. All have the columns of the first one."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self._schema: Any = None

    def write(self, table: Any) -> None:
        """Write more rows."""
        table = plain(table)
        if self._schema is None:
            self._schema = table.schema
            self._begin()
        elif table.schema != self._schema:
            table = self._conformed(table)
        self._rows(table)

    def close(self) -> None:  # noqa: B027  (many formats need no more than their rows)
        """Finish the file, after the last rows."""

    def _begin(self) -> None:  # noqa: B027
        """Write what comes before the first rows; the names of the columns are known."""

    @abc.abstractmethod
    def _rows(self, table: Any) -> None:
        """Write the rows of a table."""

    def _conformed(self, table: Any) -> Any:
        pa = pyarrow()
        names = table.column_names
        for name in names:
            if name not in self._schema.names:
                raise InputError(
                    f"column {name!r} is not in the first rows of the data, so the output has no column for it"
                )
        return pa.table({name: table.column(name) if name in names else pa.nulls(len(table)) for name in self._names})

    @property
    def _names(self) -> list[str]:
        return list(self._schema.names)
