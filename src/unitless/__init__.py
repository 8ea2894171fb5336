"""Online learning that does not care about units.

import unitless as ul
result = ul.train("houses.csv", target="price")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import bandit, metrics, plot
    from .bandit.learning import Bandit
    from .data.read_options import Reading
    from .errors import DivergedError, Error, InputError, MergeError, ModelFileError, OptionError, WorkerError
    from .export.coefficients import to_json
    from .export.estimators import to_sklearn
    from .export.onnx_graph import to_onnx
    from .export.vw.model import from_vw
    from .inference.evaluate import evaluate
    from .inference.explanation import explain
    from .inference.predictor import Predictor
    from .loading import load
    from .merging.merge import merge
    from .models.learner import Learner
    from .models.one_vs_all import OneVsAll
    from .models.softmax import Softmax
    from .models.sweep import Sweep
    from .serve import serve
    from .training.cluster import Cluster
    from .training.compare import compare
    from .training.request import train
    from .training.result import TrainResult
    from .training.sweep import sweep
    from .version import __version__

# The module that defines each name. A module is imported when one of its names is first used, so that
# `unitless --help` imports none of them.
_HOMES = {
    "Bandit": "bandit.learning",
    "Cluster": "training.cluster",
    "DivergedError": "errors",
    "Error": "errors",
    "InputError": "errors",
    "Learner": "models.learner",
    "MergeError": "errors",
    "ModelFileError": "errors",
    "OneVsAll": "models.one_vs_all",
    "OptionError": "errors",
    "Predictor": "inference.predictor",
    "Reading": "data.read_options",
    "Softmax": "models.softmax",
    "Sweep": "models.sweep",
    "TrainResult": "training.result",
    "WorkerError": "errors",
    "__version__": "version",
    "compare": "training.compare",
    "evaluate": "inference.evaluate",
    "explain": "inference.explanation",
    "from_vw": "export.vw.model",
    "load": "loading",
    "merge": "merging.merge",
    "sweep": "training.sweep",
    "to_json": "export.coefficients",
    "to_onnx": "export.onnx_graph",
    "to_sklearn": "export.estimators",
    "train": "training.request",
}
_MODULES = ("bandit", "metrics", "plot", "serve")  # `serve` is a module that can be called

__all__ = [
    "Bandit",
    "Cluster",
    "DivergedError",
    "Error",
    "InputError",
    "Learner",
    "MergeError",
    "ModelFileError",
    "OneVsAll",
    "OptionError",
    "Predictor",
    "Reading",
    "Softmax",
    "Sweep",
    "TrainResult",
    "WorkerError",
    "__version__",
    "bandit",
    "compare",
    "evaluate",
    "explain",
    "from_vw",
    "load",
    "merge",
    "metrics",
    "plot",
    "serve",
    "sweep",
    "to_json",
    "to_onnx",
    "to_sklearn",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'unitless' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
