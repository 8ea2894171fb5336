"""Online learning that does not care about units.

import unitless as ul
m = ul.Learner()
predictions = m.learn(X, y)
"""

from .errors import DivergedError, Error, InputError, MergeError, ModelFileError, OptionError
from .learner import BIAS, Learner, kernels
from .merging import merge
from .model_file import load
from .version import __version__

__all__ = [
    "BIAS",
    "DivergedError",
    "Error",
    "InputError",
    "Learner",
    "MergeError",
    "ModelFileError",
    "OptionError",
    "__version__",
    "kernels",
    "load",
    "merge",
]
