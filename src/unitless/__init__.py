"""Online learning that does not care about units.

import unitless as ul
m = ul.Learner()
predictions = m.learn(X, y)
"""

from . import evaluate
from .errors import DivergedError, Error, InputError, MergeError, ModelFileError, OptionError
from .learner import Learner
from .merging import merge
from .model import BIAS, kernels
from .model_file import load
from .one_vs_all import OneVsAll
from .rates import rate_grid
from .result import TrainResult
from .sweep import Sweep
from .training import train
from .version import __version__

__all__ = [
    "BIAS",
    "DivergedError",
    "Error",
    "InputError",
    "Learner",
    "MergeError",
    "ModelFileError",
    "OneVsAll",
    "OptionError",
    "Sweep",
    "TrainResult",
    "__version__",
    "evaluate",
    "kernels",
    "load",
    "merge",
    "rate_grid",
    "train",
]
