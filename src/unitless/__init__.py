"""Online learning that does not care about units.

import unitless as ul
m = ul.Learner()
predictions = m.learn(X, y)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import evaluate
    from .comparing import Comparison, compare
    from .errors import DivergedError, Error, InputError, MergeError, ModelFileError, OptionError
    from .explaining import explain
    from .exporting.coefficients import to_json
    from .exporting.estimators import to_sklearn
    from .exporting.onnx_graph import to_onnx
    from .importing.vw_model import from_vw
    from .learner import Learner
    from .merging import merge
    from .model import BIAS, kernels
    from .model_file import load
    from .one_vs_all import OneVsAll
    from .rates import rate_grid
    from .result import TrainResult
    from .sweep import Sweep
    from .sweeping import RateSweep, sweep_rates
    from .training import train
    from .version import __version__

__all__ = [
    "BIAS",
    "Comparison",
    "DivergedError",
    "Error",
    "InputError",
    "Learner",
    "MergeError",
    "ModelFileError",
    "OneVsAll",
    "OptionError",
    "RateSweep",
    "Sweep",
    "TrainResult",
    "__version__",
    "compare",
    "evaluate",
    "explain",
    "from_vw",
    "kernels",
    "load",
    "merge",
    "rate_grid",
    "sweep_rates",
    "to_json",
    "to_onnx",
    "to_sklearn",
    "train",
]

# Where each name lives. Modules are imported when a name is first used: `unitless --help` needs none of them.
_HOMES = {
    "BIAS": "model",
    "Comparison": "comparing",
    "Learner": "learner",
    "OneVsAll": "one_vs_all",
    "RateSweep": "sweeping",
    "Sweep": "sweep",
    "TrainResult": "result",
    "__version__": "version",
    "compare": "comparing",
    "explain": "explaining",
    "from_vw": "importing.vw_model",
    "kernels": "model",
    "load": "model_file",
    "merge": "merging",
    "rate_grid": "rates",
    "sweep_rates": "sweeping",
    "to_json": "exporting.coefficients",
    "to_onnx": "exporting.onnx_graph",
    "to_sklearn": "exporting.estimators",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    if name == "evaluate":
        return importlib.import_module(".evaluate", __name__)
    if name not in __all__:
        raise AttributeError(f"module 'unitless' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES.get(name, 'errors')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
