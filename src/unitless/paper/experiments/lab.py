"""What all experiments share: where the data comes from, the orders of rows, what was computed before, who is told."""

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
    """A dataset's key, from that or from its title."""
    return name.lower().replace(" ", "")


class Lab:
    """Data, seeds and earlier results.

    Args:
        data: the directory with the datasets; see `datasets.load`.
        download: fetch from UCI what is not there.
        datasets: only these; by default all that can be had.
        shuffles: over how many orders of the rows a loss is averaged; their seeds are 1, 2, …
        comparison_rows: at most so many rows of each dataset are compared over.
        cache: where results and downloads are kept; None for the usual place.
        keep: whether to use and keep results at all.
        told: called with a few words after every piece of work.
        transferred: called with bytes and their total in a download.
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
        """Why a dataset that was asked for is not there."""
        self._named = datasets is not None
        self._where: dict[str, Any] = {
            "directory": data,
            "download": download,
            "cache": cache,
            "progress": transferred,
        }
        self._loaded: dict[str, Loaded] = {}
        self._prepared: dict[str, Prepared] = {}

    def loaded(self) -> list[Loaded]:
        """All datasets that can be had. One that was asked for by name and is not there is an error."""
        for key in self.asked:
            if key in self._loaded or key in self.missing:
                continue
            try:
                self._loaded[key] = load(key, **self._where)
            except DatasetError as error:
                absent = isinstance(error, MissingDatasetError) or self._where["download"]
                if self._named or not absent:  # a file that is there but damaged is not to be passed over
                    raise
                self.missing[key] = str(error)
        return [self._loaded[key] for key in self.asked if key in self._loaded]

    def prepared(self) -> list[Prepared]:
        """The same, as the authors fed them to their learners."""
        for one in self.loaded():
            if one.dataset.key not in self._prepared:
                self._prepared[one.dataset.key] = prepare(one)
        return [self._prepared[key] for key in self.asked if key in self._prepared]
