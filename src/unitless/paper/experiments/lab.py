"""The common settings of all experiments: data, orders of rows, earlier results, progress messages."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable
from typing import Any

from ...errors import DatasetError, MissingDatasetError, OptionError
from .datasets import DATASETS, Loaded, load
from .download import cache_directory
from .kept_results import Kept
from .preparation import Prepared, prepare
from .rate_search import Told
from .transfer import Progress


def _key(name: str) -> str:
    """A dataset's key, from its key or title."""
    return name.lower().replace(" ", "")


class Lab:
    """The data, seeds and earlier results of a run.

    Args:
        data: the directory with the datasets; see `datasets.load`.
        download: fetch missing datasets from UCI.
        datasets: the datasets to use. Default: all that are available.
        shuffles: the number of orders of the rows over which a loss is averaged; their seeds are 1, 2, …
        comparison_rows: the most rows of each dataset in the comparison and the contest.
        cache: the folder for results and downloads. Default: None, the system's cache folder.
        keep: whether to use and store results.
        told: called with a short text after every step.
        transferred: called with the bytes so far and their total during a download.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        *,
        download: bool = False,
        datasets: Iterable[str] | None = None,
        shuffles: int = 5,
        comparison_rows: int = 20_000,
        cache: str | os.PathLike[str] | None = None,
        keep: bool = True,
        told: Told | None = None,
        transferred: Progress | None = None,
    ) -> None:
        if shuffles < 1:
            raise OptionError(f"shuffles is {shuffles}; there must be at least one order of the rows")
        named = os.environ.get("UNITLESS_DATA")
        if data is not None and not pathlib.Path(data).is_dir():
            raise OptionError(f"there is no directory {os.fspath(data)!r} to take data from")
        if data is None and named and not pathlib.Path(named).is_dir():
            raise OptionError(f"there is no directory {named!r}, which the environment variable UNITLESS_DATA names")
        self.asked = list(DATASETS) if datasets is None else list(dict.fromkeys(map(_key, datasets)))
        for key in self.asked:
            if key not in DATASETS:
                raise OptionError(f"there is no dataset {key!r}: choose among {', '.join(DATASETS)}")
        self.comparison_rows = comparison_rows
        self.seeds = list(range(1, shuffles + 1))
        self.kept = Kept(cache_directory(cache) / "paper" if keep else None)
        self.told = told
        self.missing: dict[str, str] = {}
        """By dataset: why a requested dataset is not available."""
        self._named = datasets is not None
        self.directory = pathlib.Path(where) if (where := data or named) else None
        """The directory with the datasets, if one was named."""
        self._where: dict[str, Any] = {
            "directory": data,
            "download": download,
            "cache": cache,
            "progress": transferred,
        }
        self._loaded: dict[str, Loaded] = {}
        self._prepared: dict[str, Prepared] = {}

    def loaded(self) -> list[Loaded]:
        """All available datasets. A dataset that was requested by name and is missing is an error."""
        for key in self.asked:
            if key in self._loaded or key in self.missing:
                continue
            try:
                self._loaded[key] = load(key, **self._where)
            except DatasetError as error:
                absent = isinstance(error, MissingDatasetError) or self._where["download"]
                if self._named or not absent:  # a damaged file must not be skipped silently
                    raise
                self.missing[key] = str(error)
        return [self._loaded[key] for key in self.asked if key in self._loaded]

    def prepared(self) -> list[Prepared]:
        """All available datasets, prepared as the authors did."""
        for one in self.loaded():
            if one.dataset.key not in self._prepared:
                self._prepared[one.dataset.key] = prepare(one)
        return [self._prepared[key] for key in self.asked if key in self._prepared]
