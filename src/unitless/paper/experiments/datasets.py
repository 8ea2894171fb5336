"""The paper's six datasets as tables: found in a directory, downloaded, or bundled; and checked.

>>> loaded = load("shuttle")
>>> loaded.rows, loaded.dataset.title, loaded.is_sample
(43500, 'Shuttle', False)
"""

from __future__ import annotations

import os
import pathlib
import tempfile
from dataclasses import dataclass
from typing import Any

from ...data.arrow import pyarrow
from ...errors import DatasetError, MissingDatasetError, OptionError
from .. import datasets as bundled
from . import archives, content, original_files
from .download import cache_directory, check_unchanged, fetch
from .records import DATASETS, Dataset, Sample
from .transfer import Progress

__all__ = ["DATASETS", "Dataset", "Found", "Loaded", "categorical_columns", "find", "load", "numeric_columns"]


@dataclass(frozen=True)
class Found:
    """A file of a dataset: the whole dataset, or a known sample."""

    path: pathlib.Path
    sample: Sample | None = None


@dataclass(frozen=True)
class Loaded:
    """A dataset, read and checked. `table` is a pyarrow.Table: `label` first, then the features in their order."""

    table: Any
    dataset: Dataset
    is_sample: bool
    sample_note: str
    source: str

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)


def numeric_columns(loaded: Loaded) -> list[str]:
    """The numeric features, which Table 1 counts. Cast them to float before arithmetic."""
    return [name for name in loaded.dataset.features if name not in loaded.dataset.text_features]


def categorical_columns(loaded: Loaded) -> list[str]:
    """The features that are text, dictionary-encoded in the table."""
    return list(loaded.dataset.text_features)


def find(key: str, directory: str | os.PathLike[str]) -> Found | None:
    """Find the file of a dataset in a directory.

    The whole as Parquet or as UCI's file, else the known sample, else None.
    """
    dataset, folder = _dataset(key), pathlib.Path(directory)
    for name in dataset.whole_files:
        if (folder / name).is_file():
            return Found(folder / name)
    if dataset.sample is not None and (folder / dataset.sample.file).is_file():
        return Found(folder / dataset.sample.file, dataset.sample)
    return None


def load(
    key: str,
    directory: str | os.PathLike[str] | None = None,
    download: bool = False,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Loaded:
    """Load a dataset by its key: bank, census, covertype, ctslice, msd or shuttle.

    It is searched in `directory`, by default the value of the environment variable UNITLESS_DATA, and then among
    earlier downloads; the first match is used. Shuttle is bundled. With `download`, samples are not used, and a dataset
    that is not found is fetched from UCI; `progress(bytes, total)` is called during the download.
    """
    dataset = _dataset(key)
    named = directory or os.environ.get("UNITLESS_DATA")
    places = [*([pathlib.Path(named)] if named else []), cache_directory(cache)]
    for place in places:
        found = find(key, place)
        if found is not None and not (download and found.sample):
            return _read(dataset, found)
    if key == "shuttle":
        return _read(dataset, Found(pathlib.Path(bundled.__file__).with_name(dataset.file)), "bundled with unitless")
    if download:
        return _read(dataset, Found(fetch(dataset, cache=cache, progress=progress)))
    raise _missing(dataset, places)


def _dataset(key: str) -> Dataset:
    if key not in DATASETS:
        raise OptionError(f"there is no dataset {key!r}: choose among {', '.join(DATASETS)}")
    return DATASETS[key]


def _read(dataset: Dataset, found: Found, source: str | None = None) -> Loaded:
    path = found.path
    try:
        if path.suffix == ".parquet":
            table = _parquet(path)
            content.check(table, dataset, found.sample)
            if dataset.digest is None and found.sample is None:
                check_unchanged(table, path)
        else:
            table = _original(dataset, path)
            content.check(table, dataset)
    except DatasetError as error:
        raise DatasetError(
            f"{path} is not the {dataset.title} dataset as it should be: {error}; replace or delete it"
        ) from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or error}") from None
    return Loaded(
        table=_with_dictionaries(table, dataset),
        dataset=dataset,
        is_sample=found.sample is not None,
        sample_note=found.sample.note if found.sample else "",
        source=source or str(path),
    )


def _parquet(path: pathlib.Path) -> Any:
    try:
        return pyarrow("parquet").read_table(path)
    except pyarrow().ArrowException as error:
        raise DatasetError(f"it is not a Parquet file, or it is damaged ({error})") from None


def _original(dataset: Dataset, path: pathlib.Path) -> Any:
    if path.suffix != ".zip":
        return original_files.read(dataset, path)
    with tempfile.TemporaryDirectory(prefix="unitless-") as folder:
        return original_files.read(dataset, archives.extract(path, dataset.original, pathlib.Path(folder)))


def _with_dictionaries(table: Any, dataset: Dataset) -> Any:
    for name in dataset.text_features:
        k = table.column_names.index(name)
        if not pyarrow("types").is_dictionary(table.schema.types[k]):
            table = table.set_column(k, name, table.column(k).dictionary_encode())
    return table


def _missing(dataset: Dataset, places: list[pathlib.Path]) -> MissingDatasetError:
    looked = " and ".join(f"{place}{'' if place.is_dir() else ' (which does not exist)'}" for place in places)
    names = ", ".join(dataset.whole_files)
    return MissingDatasetError(
        f"the dataset {dataset.title} is not there: looked for {names} in {looked}. "
        f"Place one of these files of https://doi.org/{dataset.doi} in {places[0]}, or have it downloaded: --download "
        "(in Python, download=True)"
    )
