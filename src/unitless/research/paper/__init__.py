"""The paper's experiments, recomputed: its datasets, tables and figures, bounds, and the comparison that it asked for.

`unitless paper` is this as a command. In Python:

    >>> from unitless.paper import Lab, experiments
    >>> lab = Lab(datasets=["shuttle"], shuffles=1)
    >>> section = experiments.table2(lab)  # doctest: +SKIP
"""

from . import experiments, report
from .datasets import DATASETS, Dataset, Loaded, load
from .experiments import EXPERIMENTS, all_experiments, opening, steps
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
    "experiments",
    "load",
    "opening",
    "prepare",
    "report",
    "steps",
]
