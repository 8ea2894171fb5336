"""Writes tables as CSV."""

from __future__ import annotations

from typing import Any, ClassVar

from ..arrow import pyarrow
from .cells import cells, columns, joined
from .tables import TableWriter


class Csv(TableWriter):
    """Writes text separated by commas, with quotes only where they are needed."""

    _delimiter: ClassVar[str] = ","

    def _begin(self) -> None:
        names = pyarrow().array(self._names)
        self.file.write((self._delimiter.join(self._quoted(names).to_pylist()) + "\n").encode())

    def _rows(self, table: Any) -> None:
        parts: list[Any] = []
        for name, column in columns(table):
            parts += [self._quoted(cells(name, column)), self._delimiter]
        parts[-1] = "\n"
        alone = table.num_columns == 1  # readers skip empty lines
        self.file.write(joined(parts, '""' if alone else ""))

    def _quoted(self, cells: Any) -> Any:
        compute = pyarrow("compute")
        special = compute.match_substring_regex(cells, f'["\r\n{self._delimiter}]')
        if not compute.any(special).as_py():
            return cells
        doubled = compute.replace_substring(cells, '"', '""')
        return compute.if_else(special, compute.binary_join_element_wise('"', doubled, '"', ""), cells)


class Tsv(Csv):
    """Writes text separated by tabs."""

    _delimiter = "\t"
