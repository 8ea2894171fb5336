"""Estimators for River that need neither a scaler in front of them nor a learning rate."""

try:
    import river  # noqa: F401  (what all of this is for)
except ModuleNotFoundError as error:  # pragma: no cover
    raise ModuleNotFoundError("unitless.river needs River: pip install 'unitless[river]'", name=error.name) from None

from .classifier import UnitlessClassifier
from .regressor import UnitlessRegressor

__all__ = ["UnitlessClassifier", "UnitlessRegressor"]
