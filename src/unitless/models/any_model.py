"""Finds the model in an object that has one: a model, a result, a predictor, an estimator or a model file."""

from __future__ import annotations

import os
from typing import Any

from ..errors import OptionError
from .file import load
from .learner import Learner
from .one_vs_all import OneVsAll

# Where results and predictors, scikit-learn's estimators, and River's estimators have their model.
_HOLDERS = ("model", "model_", "_model")


def model_of(thing: Any) -> Learner | OneVsAll:
    """Return the model that an object has; if it has none, raise an error that lists what has a model.

    Example:
        >>> import unitless as ul
        >>> m = ul.Learner()
        >>> model_of(m) is m
        True
    """
    if isinstance(thing, str | os.PathLike):
        thing = load(thing)
    if isinstance(thing, Learner | OneVsAll):
        return thing
    for name in _HOLDERS:
        if isinstance(found := getattr(thing, name, None), Learner | OneVsAll):
            return found
    raise OptionError(
        f"{type(thing).__name__} has no model",
        advice="give a model, a model file, what train gave, a Predictor, or an estimator that is fitted",
    )
