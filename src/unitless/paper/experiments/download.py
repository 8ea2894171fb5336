"""The paper's datasets from UCI, into a cache of Parquet files.

What UCI's archives hash to is not known here, so the content is checked instead, once it is a table. Of Bank, Census
and Covertype every value is checked against a digest. For MSD and CT Slice there is none: their rows, columns, labels
and ranges are checked, and the digest of what came is kept beside the file, so that a later change would be noticed.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import tempfile
from typing import Any

from ... import whole_file
from ...data.arrow import pyarrow
from ...errors import DatasetError
from . import archives, content, original_files
from .records import Dataset
from .transfer import Progress, TransferError, transfer

UCI = "https://archive.ics.uci.edu/static/public"


def cache_directory(cache: str | os.PathLike[str] | None = None) -> pathlib.Path:
    """Where downloads are kept: the argument, or what UNITLESS_CACHE says, or the system's place for such things."""
    chosen = cache or os.environ.get("UNITLESS_CACHE")
    if chosen:
        return pathlib.Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return pathlib.Path(base).expanduser() / "unitless"


def address(dataset: Dataset, base_url: str | None = None) -> str:
    """Where the archive is: at UCI, or at the mirror that the argument or UNITLESS_UCI names."""
    return f"{(base_url or os.environ.get('UNITLESS_UCI') or UCI).rstrip('/')}/{dataset.archive}"


def fetch(
    dataset: Dataset,
    cache: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    progress: Progress | None = None,
) -> pathlib.Path:
    """Download a dataset into the cache, unless it is there, and give the path of its Parquet file.

    An archive that arrives but does not hold the dataset is refused and kept aside, with ".refused" in its name.
    """
    if dataset.key == "shuttle":
        raise DatasetError("Shuttle comes with the package and is not downloaded")
    folder = cache_directory(cache)
    target = folder / dataset.file
    if target.exists():
        return target
    archive, url = folder / f"{dataset.key}.zip", address(dataset, base_url)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not archive.exists():
            transfer(url, archive, progress)
        _store(_table(dataset, archive), dataset, target, url)
        archive.unlink()
    except TransferError as error:
        raise DatasetError(f"{dataset.title} cannot be downloaded: {error}. {placing(dataset, folder)}") from None
    except OSError as error:
        raise DatasetError(f"{dataset.title} cannot be kept in {folder}: {error.strerror or error}") from None
    return target


def placing(dataset: Dataset, folder: pathlib.Path) -> str:
    """How to get a dataset without a download by this package."""
    names = f"{dataset.original} or the archive {dataset.archive_file}"
    return f"To do without, place {names} of https://doi.org/{dataset.doi} in {folder}"


def check_unchanged(table: Any, path: pathlib.Path) -> None:
    """Whether a downloaded file is still what came, if that was noted beside it."""
    note = _note(path)
    if not note.exists():
        return
    try:
        noted = json.loads(note.read_text(encoding="utf-8"))["sha256"]
    except (ValueError, KeyError, TypeError):
        raise DatasetError(f"{note.name}, beside it, is damaged") from None
    if noted != content.digest(table):
        raise DatasetError("it has changed since it was downloaded")


def _table(dataset: Dataset, archive: pathlib.Path) -> Any:
    try:
        with tempfile.TemporaryDirectory(prefix=".unitless-", dir=archive.parent) as folder:
            table = original_files.read(dataset, archives.extract(archive, dataset.original, pathlib.Path(folder)))
        content.check(table, dataset)
    except DatasetError as error:
        refused = archive.with_name(f"{dataset.key}.refused.zip")
        os.replace(archive, refused)
        raise DatasetError(
            f"what came is not the {dataset.title} dataset: {error}. "
            f"It is kept as {refused}; try again, or see whether UCI has changed the file"
        ) from None
    return table


def _store(table: Any, dataset: Dataset, target: pathlib.Path, url: str) -> None:
    if dataset.digest is None:
        noted = {"dataset": dataset.key, "rows": table.num_rows, "sha256": content.digest(table), "from": url}
        whole_file.write(_note(target), (json.dumps(noted, indent=2) + "\n").encode())
    with whole_file.opened(target) as file:
        pyarrow("parquet").write_table(table, file, compression="zstd")


def _note(path: pathlib.Path) -> pathlib.Path:
    return path.with_name(f"{path.stem}.digest.json")
