"""The paper's experiments, recomputed: its datasets, tables and figures, bounds, and the comparison that it proposed.

The command `unitless paper` runs them. In Python:

    >>> from unitless.paper import experiments
    >>> lab = experiments.Lab(datasets=["shuttle"], shuffles=1)
    >>> section = experiments.catalog.table2(lab)  # doctest: +SKIP
"""

from . import catalog, report
from .catalog import EXPERIMENTS, all_experiments, opening, steps
from .datasets import DATASETS, Dataset, Loaded, load
from .lab import Lab
from .preparation import Prepared, prepare
from .section import Section

__all__ = [
    "DATASETS",
    "EXPERIMENTS",
    "Dataset",
    "Lab",
    "Loaded",
    "Prepared",
    "Section",
    "all_experiments",
    "catalog",
    "load",
    "opening",
    "prepare",
    "report",
    "steps",
]
