"""Facts about the paper's six datasets, from `datasets.json`: columns, labels, origin, and the numbers in Table 1.

The digests (see `content.digest`) are those of the whole UCI files, where these were available. For MSD and CT Slice
they were not, so the digest is None: the rows, columns, labels and ranges can be checked, but not each value.
"""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

FILE = pathlib.Path(__file__).with_name("datasets.json")
"""The facts. A column of numbers is written as its name; "name:text" has text, "name:fraction" has fractional numbers,
and "name1..9" stands for nine columns.
"""


@dataclass(frozen=True)
class Sample:
    """A known part of a dataset, used if the whole is not available."""

    file: str
    rows: int
    note: str
    digest: str


@dataclass(frozen=True)
class Dataset:
    """One of the paper's datasets. `features` are its columns in order, without the label."""

    key: str
    title: str
    citation: str
    doi: str
    task: Literal["binary", "classes", "number"]
    printed_rows: int
    printed_features: int
    printed_scale: tuple[float, float]
    rows: int
    features: tuple[str, ...]
    text_features: tuple[str, ...]
    fractional: tuple[str, ...]  # columns, perhaps the label, that have fractional numbers
    labels: tuple[float, float]  # the smallest and the largest value; whole numbers unless the label is in `fractional`
    original: str  # the UCI file that contains the rows
    original_rows: int  # only the first `rows` of these are used
    delimiter: str  # in the UCI file
    label_column: str  # its name in the header of the UCI file, or "first" or "last" without a header
    archive: str  # its path at UCI, below the address for archives
    meanings: tuple[str, ...] = ()  # the texts of labels 0 and 1 in the UCI file
    left_out: tuple[str, ...] = ()  # columns of the UCI file that are not features
    digest: str | None = None
    sample: Sample | None = None
    header_lines: int = 0  # that the printed number of rows includes
    positive_only: bool = False  # whether numbers count only where they are positive
    outside: float | None = None  # the value that stands for a bin outside of the image
    label_shift: float = 0.0  # subtracted from numeric labels before they are learned

    @property
    def file(self) -> str:
        """The name of the file in Parquet."""
        return f"{self.key}.parquet"

    @property
    def archive_file(self) -> str:
        """The name under which a browser saves UCI's archive."""
        return self.archive.rpartition("/")[2]

    @property
    def has_header(self) -> bool:
        """Whether the first line of the UCI file has the names of the columns."""
        return self.label_column not in {"first", "last"}

    @property
    def printed_unit(self) -> float:
        """The last digit to which Table 1 prints the scales."""
        return 1 if self.printed_scale[0] >= 1 else 0.001

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the dataset's table: the label first."""
        return ("label", *self.features)

    @property
    def whole_files(self) -> tuple[str, ...]:
        """The file names to look for in a directory, the best first."""
        return (self.file, self.original, f"{self.original}.gz", self.archive_file)


def _read(key: str, facts: dict[str, Any]) -> Dataset:
    columns, original, sample = (facts.pop(name, None) for name in ("columns", "original", "sample"))
    kinds = dict(_columns(columns))
    values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in facts.items()}
    return Dataset(
        key=key,
        features=tuple(name for name in kinds if name != "label"),
        text_features=tuple(name for name, kind in kinds.items() if kind == "text"),
        fractional=tuple(name for name, kind in kinds.items() if kind == "fraction"),
        original=original["file"],
        original_rows=original["rows"],
        delimiter=original["delimiter"],
        label_column=original["label"],
        meanings=tuple(original.get("meanings", ())),
        left_out=tuple(original.get("left_out", ())),
        sample=None if sample is None else Sample(**sample),
        **values,
    )


def _columns(written: Iterable[str]) -> Iterable[tuple[str, str]]:
    """The names of columns and their kinds: "text", "fraction", or nothing for whole numbers."""
    for one in written:
        name, _, kind = one.partition(":")
        series = re.fullmatch(r"(\D+)(\d+)\.\.(\d+)", name)
        if series is None:
            yield name, kind
        else:
            stem, first, last = series.groups()
            yield from ((f"{stem}{number}", kind) for number in range(int(first), int(last) + 1))


DATASETS: dict[str, Dataset] = {
    key: _read(key, facts) for key, facts in json.loads(FILE.read_text(encoding="utf-8")).items()
}
