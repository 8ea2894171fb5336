"""Writes tables as Parquet and Arrow files."""

from __future__ import annotations

import abc
from typing import Any

from ...errors import InputError
from ..arrow import pyarrow
from .tables import TableWriter


class _Columnar(TableWriter):
    _out: Any = None

    def _begin(self) -> None:
        self._out = self._opened()

    @abc.abstractmethod
    def _opened(self) -> Any:
        """Return the writer of pyarrow."""

    def _rows(self, table: Any) -> None:
        self._out.write_table(table)

    def _conformed(self, table: Any) -> Any:
        table = super()._conformed(table)
        arrays = []
        for field in self._schema:
            try:
                arrays.append(table.column(field.name).cast(field.type))
            except (pyarrow().ArrowInvalid, pyarrow().ArrowNotImplementedError):
                raise _type_changed(field.name, str(field.type), str(table.schema.field(field.name).type)) from None
        return pyarrow().Table.from_arrays(arrays, schema=self._schema)

    def close(self) -> None:
        if self._out is not None:
            self._out.close()


class ParquetTable(_Columnar):
    """Writes a Parquet file."""

    def _opened(self) -> Any:
        return pyarrow("parquet").ParquetWriter(self.file, self._schema)


class ArrowTable(_Columnar):
    """Writes an Arrow IPC file, which is Feather too."""

    def _opened(self) -> Any:
        return pyarrow("ipc").new_file(self.file, self._schema)


class TypeChangedError(InputError):
    """A column has another type than in the first rows."""

    name = ""  # the name of the column
    whole = False  # whether it had whole numbers and now has fractions


def _type_changed(name: str, before: str, now: str) -> TypeChangedError:
    error = TypeChangedError(
        f"column {name!r} held {before} in the first rows of the data, but {now} later",
        advice="treat it as text, or write CSV or JSON lines, which do not tell such types apart",
    )
    return error.at(name=name, whole=before.startswith(("int", "uint")) and now in ("double", "float"))
