"""Read the original UCI files as tables: the label first, text without its leading blank."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ...data.arrow import pyarrow
from ...errors import DatasetError
from .records import Dataset


@dataclass(frozen=True)
class Format:
    """The format of a file: its delimiter, the position of the label, and the meaning of text labels."""

    delimiter: str
    label: str  # its name in the header, or "first" or "last" without a header
    meanings: tuple[str, str] | None = None  # the texts of labels 0 and 1
    left_out: tuple[str, ...] = ()  # columns of the header that are not features

    @property
    def header(self) -> bool:
        """Whether the first line has the names of the columns."""
        return self.label not in {"first", "last"}


_FORMATS = {
    "bank": Format(";", "y", meanings=("no", "yes")),
    "census": Format(",", "last", meanings=("- 50000.", "50000+.")),
    "covertype": Format(",", "last"),
    "ctslice": Format(",", "reference", left_out=("patientId",)),
    "msd": Format(",", "first"),
    "shuttle": Format(" ", "last"),
}


def read(dataset: Dataset, path: str | os.PathLike[str]) -> Any:
    """Read a dataset's file, which may be compressed with gzip."""
    pa, csv = pyarrow(), pyarrow("csv")
    form = _FORMATS[dataset.key]
    names = _names_in_file(dataset, form)
    try:
        table = csv.read_csv(
            os.fspath(path),
            read_options=csv.ReadOptions(column_names=None if form.header else names),
            parse_options=csv.ParseOptions(delimiter=form.delimiter, quote_char='"' if form.header else False),
            convert_options=csv.ConvertOptions(
                column_types={name: _type(dataset, form, name) for name in names},
                null_values=[],  # "NA" is a value in Census, and no number is missing in any file
            ),
        )
    except (pa.ArrowInvalid, OSError) as error:
        raise DatasetError(f"it cannot be read: {error}") from None
    if form.header and table.column_names != names:
        raise DatasetError(f"its first line is not the one of {dataset.original}")
    if table.num_rows != dataset.original_rows:
        raise DatasetError(f"it has {table.num_rows:,} rows instead of {dataset.original_rows:,}")
    label = form.label if form.header else "label"
    columns = {"label": table.column(label)} | {name: table.column(name) for name in dataset.features}
    for name in dataset.text_features:
        columns[name] = _without_blanks(columns[name])
    if form.meanings:
        columns["label"] = _labels(_without_blanks(columns["label"]), form.meanings)
    return pa.table(columns).slice(0, dataset.rows)


def _names_in_file(dataset: Dataset, form: Format) -> list[str]:
    if form.label == "first":
        return ["label", *dataset.features]
    return [*form.left_out, *dataset.features, form.label if form.header else "label"]


def _type(dataset: Dataset, form: Format, name: str) -> Any:
    pa = pyarrow()
    is_label = name in {"label", form.label}
    if name in dataset.text_features or (is_label and form.meanings):
        return pa.dictionary(pa.int32(), pa.string())
    return pa.float64() if ("label" if is_label else name) in dataset.fractional else pa.int32()


def _without_blanks(column: Any) -> Any:
    """Remove the one blank after the comma; a blank at the end is part of some values of Census."""
    pa = pyarrow()
    whole = column.unify_dictionaries().combine_chunks()
    texts = pa.array([text.removeprefix(" ") for text in whole.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(whole.indices, texts)


def _labels(column: Any, meanings: tuple[str, str]) -> Any:
    pa, compute = pyarrow(), pyarrow("compute")
    unknown = sorted(set(column.dictionary.to_pylist()) - set(meanings))
    if unknown:
        raise DatasetError(f"it has the label {unknown[0]!r}, which is neither {meanings[0]!r} nor {meanings[1]!r}")
    return compute.index_in(column.cast(pa.string()), pa.array(meanings)).cast(pa.int8())
