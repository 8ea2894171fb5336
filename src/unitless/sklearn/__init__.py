"""Estimators for scikit-learn that need no scaler in front of them and no learning rate.

from unitless.sklearn import UnitlessClassifier, UnitlessRegressor
"""

try:
    import sklearn.utils.validation as _validation

    _validation.validate_data  # noqa: B018  (what scikit-learn has had since 1.6)
except (ImportError, AttributeError):
    raise ImportError("unitless.sklearn needs scikit-learn 1.6 or later: pip install 'unitless[sklearn]'") from None

from .classifier import UnitlessClassifier
from .regressor import UnitlessRegressor

__all__ = ["UnitlessClassifier", "UnitlessRegressor"]
