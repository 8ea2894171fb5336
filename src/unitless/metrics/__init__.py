"""Metrics of predictions: one record per metric, progressive validation, baselines, and confidence intervals."""

from .evaluation import Evaluation
from .history import Moment
from .intervals import CONFIDENCE, chernoff_interval, relative_entropy
from .progressive_validation import Progressive, progressive
from .ranking import Ranking

__all__ = [
    "CONFIDENCE",
    "Evaluation",
    "Moment",
    "Progressive",
    "Ranking",
    "chernoff_interval",
    "progressive",
    "relative_entropy",
]
