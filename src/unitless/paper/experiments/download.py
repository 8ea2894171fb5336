"""Download the paper's datasets from UCI, into a cache of Parquet files.

The digests of UCI's archives are not known, so the content of the table is checked instead. Every value of Bank, Census
and Covertype is checked by a digest. MSD and CT Slice have none: their rows, columns, labels and ranges are checked,
and the digest of the downloaded file is stored next to it, so that a later change is noticed.
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
    """The folder for downloads: the argument, or the value of UNITLESS_CACHE, or the system's cache folder."""
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
    """The address of the archive: at UCI, or at the mirror that the argument or UNITLESS_UCI names."""
    return f"{(base_url or os.environ.get('UNITLESS_UCI') or UCI).rstrip('/')}/{dataset.archive}"


def fetch(
    dataset: Dataset,
    cache: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    progress: Progress | None = None,
) -> pathlib.Path:
    """Download a dataset into the cache, unless it is there; returns the path of its Parquet file.

    An archive that does not contain the dataset is refused and stored with ".refused" in its name.
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
        raise DatasetError(f"{dataset.title} cannot be stored in {folder}: {error.strerror or error}") from None
    return target


def placing(dataset: Dataset, folder: pathlib.Path) -> str:
    """Instructions for getting a dataset without this package."""
    names = f"{dataset.original} or the archive {dataset.archive_file}"
    return f"To do without, place {names} of https://doi.org/{dataset.doi} in {folder}"


def check_unchanged(table: Any, path: pathlib.Path) -> None:
    """Check that a downloaded file has not changed, if its digest was stored."""
    note = _note(path)
    if not note.exists():
        return
    try:
        noted = json.loads(note.read_text(encoding="utf-8"))["sha256"]
    except (ValueError, KeyError, TypeError):
        raise DatasetError(f"{note.name} in the same folder is damaged") from None
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
            f"It is stored as {refused}; try again, or see whether UCI has changed the file"
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
