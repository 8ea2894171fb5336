"""The losses, one record each. Other code reads a loss's properties from its record and does not compare names.

To add a loss, add its formulas in `core/` (loss.hpp), its record here, and its oracle in `paper/algorithms.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from .inputs import Float64

# Type checkers cannot read the records. A test compares these names with the records.
NumberLoss: TypeAlias = Literal["squared", "quantile", "poisson"]
ClassLoss: TypeAlias = Literal["logistic", "hinge"]
ManyClassesLoss: TypeAlias = Literal["softmax"]
LossName: TypeAlias = Literal[NumberLoss, ClassLoss, ManyClassesLoss]

LossTask: TypeAlias = Literal["regression", "binary", "classes"]
LinkName: TypeAlias = Literal["identity", "logistic", "exp"]


# NumPy is imported inside functions, because the command line needs the names of the losses but not NumPy.


@dataclass(frozen=True)
class Link:
    """The function that turns a score into a prediction."""

    name: LinkName
    function: Callable[[Float64], Float64]
    onnx: str  # the ONNX operator that computes it
    inverse: Callable[[Float64], Float64]  # from predictions to scores; finite also for 0 and 1

    @property
    def gives_probabilities(self) -> bool:
        """Whether the link turns the score of a class into the probability of the class."""
        return self.name == "logistic"


def _identity(scores: Float64) -> Float64:
    return scores


def _logistic(scores: Float64) -> Float64:
    import numpy as np  # noqa: PLC0415

    odds = np.exp(np.minimum(scores, 0.0))  # exp(score) or 1: the two branches below use it so that nothing overflows
    return np.asarray(odds / (1.0 + np.exp(-np.abs(scores))))


def _exp(scores: Float64) -> Float64:
    import numpy as np  # noqa: PLC0415

    return np.asarray(np.exp(scores))


_LARGEST = 700.0  # the exponential of a larger score would overflow


def _log_odds(probabilities: Float64) -> Float64:
    import numpy as np  # noqa: PLC0415

    with np.errstate(divide="ignore"):
        odds = np.log(probabilities) - np.log1p(-np.asarray(probabilities))
    return np.asarray(np.clip(odds, -_LARGEST, _LARGEST))


def _log(means: Float64) -> Float64:
    import numpy as np  # noqa: PLC0415

    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(means), -_LARGEST))


IDENTITY = Link("identity", _identity, "Identity", _identity)
LOGISTIC = Link("logistic", _logistic, "Sigmoid", _log_odds)
EXP = Link("exp", _exp, "Exp", _log)


@dataclass(frozen=True)
class Loss:
    """The properties of a loss; its formulas are in the core."""

    name: LossName
    about: str  # one sentence for help texts
    # "regression": labels are numbers. "binary": labels are the signs of two classes. "classes": one model for several
    # classes. (`OneVsAll` uses a binary loss for several classes: one model for each class.)
    task: LossTask
    link: Link
    scikit_learn: str  # the estimator of scikit-learn that has this loss
    best_constant: Literal["mean", "quantile", "majority"] = "mean"  # which statistic of the labels minimizes it
    in_label_unit: bool = False  # scores are in the label's unit, so that clip="labels" and target="auto" apply
    is_squared_error: bool = False  # the mean loss is then the square of the RMSE
    has_quantile: bool = False  # the loss has the option `quantile`
    smallest_label: float | None = None  # the smallest valid label; None: labels may be negative
    rounds_below_zero: bool = False  # rounding may make a loss of 0 slightly negative, because terms cancel
    curvature: float = 0.0  # the largest second derivative; 0: it has no bound, or there is none
    second_order: bool = False  # rules of second order support this loss
    other_class: float = -1.0  # in one-vs-all: the label of rows of other classes (the label of the class itself is 1)
    of_one_class: LossName | None = None  # for a loss of several classes: the loss of the score of one class

    @property
    def for_classes(self) -> bool:
        """Whether the labels are classes, not numbers."""
        return self.task != "regression"

    @property
    def coupled(self) -> bool:
        """Whether the loss depends on the scores of all classes together, as in `Softmax`."""
        return self.of_one_class is not None

    @property
    def of_a_score(self) -> LossName:
        """The loss of a single score: this loss itself or, for a loss of several classes, that of one class's score."""
        return self.of_one_class or self.name


_RECORDS = (
    Loss(
        "squared",
        "Squared error: predicts the mean.",
        task="regression",
        link=IDENTITY,
        scikit_learn="linear_model.LinearRegression",
        in_label_unit=True,
        is_squared_error=True,
        curvature=2.0,
        second_order=True,
    ),
    Loss(
        "logistic",
        "Log loss of two classes: predicts the logarithm of the odds.",
        task="binary",
        link=LOGISTIC,
        scikit_learn="linear_model.LogisticRegression",
        curvature=0.25,
        second_order=True,
    ),
    Loss(
        "hinge",
        "Hinge loss of two classes: a margin, without probabilities.",
        task="binary",
        link=IDENTITY,
        scikit_learn="svm.LinearSVC",
        best_constant="majority",
    ),
    Loss(
        "quantile",
        "Pinball loss: predicts the quantile given by the option of that name.",
        task="regression",
        link=IDENTITY,
        scikit_learn="linear_model.QuantileRegressor",
        best_constant="quantile",
        in_label_unit=True,
        has_quantile=True,
    ),
    Loss(
        "poisson",
        "Half the Poisson deviance of counts: predicts the logarithm of their mean.",
        task="regression",
        link=EXP,
        scikit_learn="linear_model.PoissonRegressor",
        smallest_label=0.0,
        rounds_below_zero=True,
        other_class=0.0,
    ),
    Loss(
        "softmax",
        "Log loss of several classes, which one model tells apart: predicts the logarithm of each one's odds.",
        task="classes",
        link=LOGISTIC,
        scikit_learn="linear_model.LogisticRegression",
        curvature=0.25,
        of_one_class="logistic",
        second_order=True,
    ),
)

LOSSES: dict[str, Loss] = {loss.name: loss for loss in _RECORDS}
"""The losses by name."""

DEFAULTS: dict[str, LossName] = {"regression": "squared", "binary": "logistic", "classes": "logistic"}
"""The default loss of each task."""


def names(**facts: Any) -> tuple[str, ...]:
    """Return the names of the losses with these properties, such as `names(task="binary")`."""
    return tuple(loss.name for loss in _RECORDS if all(getattr(loss, field) == value for field, value in facts.items()))
