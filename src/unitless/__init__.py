"""Online learning that does not care about units.

import unitless as ul
m = ul.Learner()
predictions = m.learn(X, y)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .convert.export.coefficients import to_json
    from .convert.export.estimators import to_sklearn
    from .convert.export.onnx_graph import to_onnx
    from .convert.vw.model import from_vw
    from .errors import DivergedError, Error, InputError, MergeError, ModelFileError, OptionError, WorkerError
    from .evaluation import evaluation as evaluate
    from .inference.curve_plot import plot_curves
    from .inference.explanation import explain
    from .inference.predictor import Predictor
    from .inference.scoring import Score, score
    from .models.file import load
    from .models.kernels import kernels
    from .models.learner import Learner
    from .models.merge import merge
    from .models.model import BIAS
    from .models.one_vs_all import OneVsAll
    from .models.softmax import Softmax
    from .models.sweep import Sweep
    from .plotting import (
        plot_explanation,
        plot_history,
        plot_importance,
        plot_precision_recall,
        plot_predictions,
        plot_reliability,
        plot_residuals,
        plot_roc,
        plot_sweep,
    )
    from .rates import rate_grid
    from .serve import serve
    from .training.compare import Comparison, compare
    from .training.request import train
    from .training.result import TrainResult
    from .training.sweep_rates import RateSweep, sweep_rates
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
    "Predictor",
    "RateSweep",
    "Score",
    "Softmax",
    "Sweep",
    "TrainResult",
    "WorkerError",
    "__version__",
    "compare",
    "evaluate",
    "explain",
    "from_vw",
    "kernels",
    "load",
    "merge",
    "plot_curves",
    "plot_explanation",
    "plot_history",
    "plot_importance",
    "plot_precision_recall",
    "plot_predictions",
    "plot_reliability",
    "plot_residuals",
    "plot_roc",
    "plot_sweep",
    "rate_grid",
    "score",
    "serve",
    "sweep_rates",
    "to_json",
    "to_onnx",
    "to_sklearn",
    "train",
]

# Where each name lives. Modules are imported when a name is first used: `unitless --help` needs none of them.
_HOMES = {
    "BIAS": "models.model",
    "Comparison": "training.compare",
    "Learner": "models.learner",
    "OneVsAll": "models.one_vs_all",
    "Predictor": "inference.predictor",
    "RateSweep": "training.sweep_rates",
    "Score": "inference.scoring",
    "Softmax": "models.softmax",
    "Sweep": "models.sweep",
    "TrainResult": "training.result",
    "__version__": "version",
    "compare": "training.compare",
    "explain": "inference.explanation",
    "from_vw": "convert.vw.model",
    "kernels": "models.kernels",
    "load": "models.file",
    "merge": "models.merge",
    "plot_curves": "inference.curve_plot",
    "plot_explanation": "plotting",
    "plot_history": "plotting",
    "plot_importance": "plotting",
    "plot_precision_recall": "plotting",
    "plot_predictions": "plotting",
    "plot_reliability": "plotting",
    "plot_residuals": "plotting",
    "plot_roc": "plotting",
    "plot_sweep": "plotting",
    "rate_grid": "rates",
    "score": "inference.scoring",
    "sweep_rates": "training.sweep_rates",
    "to_json": "convert.export.coefficients",
    "to_onnx": "convert.export.onnx_graph",
    "to_sklearn": "convert.export.estimators",
    "train": "training.request",
}


def __getattr__(name: str) -> Any:
    if name in ("evaluate", "serve"):  # packages; the latter can be called
        return importlib.import_module(f".{name}", __name__)
    if name not in __all__:
        raise AttributeError(f"module 'unitless' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES.get(name, 'errors')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
