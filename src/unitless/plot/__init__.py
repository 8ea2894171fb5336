"""Pictures of results and models on an axis of matplotlib, one function for each: `ul.plot.history(result, ax=ax)`.

A function takes the object to draw (a result, a model, an estimator, a `Predictor` or a model file) and optionally an
axis of a larger picture; it returns the axis. Without an axis it makes a new figure, which a notebook shows by itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .curves_of_models import curves
    from .results import (
        explanation,
        history,
        importance,
        precision_recall,
        predictions,
        reliability,
        residuals,
        roc,
        sweep,
    )

__all__ = [
    "curves",
    "explanation",
    "history",
    "importance",
    "precision_recall",
    "predictions",
    "reliability",
    "residuals",
    "roc",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'unitless.plot' has no attribute {name!r}")
    # Both modules are imported here: otherwise the module `curves` would replace its function.
    results, curves_module = (importlib.import_module(f".{one}", __name__) for one in ("results", "curves_of_models"))
    return getattr(curves_module if name == "curves" else results, name)


def __dir__() -> list[str]:
    return sorted(__all__)
