"""The losses, one record each. Other code asks the record for what it needs to know and does not compare names.

To add a loss: its formulas in `core/` (loss.hpp), its record here, and its oracle in `paper/algorithms.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .inputs import Float64

# For type checkers only, which cannot read records; a test compares these names with the records.
NumberLoss: TypeAlias = Literal["squared", "quantile", "poisson"]
ClassLoss: TypeAlias = Literal["logistic", "hinge"]
ManyClassesLoss: TypeAlias = Literal["softmax"]
LossName: TypeAlias = Literal[NumberLoss, ClassLoss, ManyClassesLoss]

LossTask: TypeAlias = Literal["regression", "binary", "classes"]
LinkName: TypeAlias = Literal["identity", "logistic", "exp"]


# NumPy is imported where it is used: the command line reads the losses' names before it needs NumPy.


@dataclass(frozen=True)
class Link:
    """How a score becomes what it stands for."""

    name: LinkName
    function: Callable[[Float64], Float64]
    onnx: str  # the ONNX operator that computes it
    inverse: Callable[[Float64], Float64]  # the scores that stand for something; finite, also those of 0 and 1

    @property
    def gives_probabilities(self) -> bool:
        """Whether the score of a class stands for the class's probability."""
        return self.name == "logistic"


def _identity(scores: Float64) -> Float64:
    return scores


def _logistic(scores: Float64) -> Float64:
    import numpy as np  # noqa: PLC0415

    odds = np.exp(np.minimum(scores, 0.0))  # both ways of writing it, each where it does not overflow
    return np.asarray(odds / (1.0 + np.exp(-np.abs(scores))))


def _exp(scores: Float64) -> Float64:
    import numpy as np  # noqa: PLC0415

    return np.asarray(np.exp(scores))


_LARGEST = 700.0  # a score whose exponential is still a number


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
    """What there is to know about a loss, apart from its formulas, which are in the core."""

    name: LossName
    about: str  # one sentence for help texts
    # "regression": labels are numbers; "binary": they are the signs of two classes; "classes": they are several
    # classes, which one model tells apart. (A loss of two does for several as well: a model for each, `OneVsAll`.)
    task: LossTask
    link: Link
    scikit_learn: str  # the estimator of scikit-learn that predicts as a model with this loss does
    best_constant: Literal["mean", "quantile", "majority"] = "mean"  # of the labels, what minimises it
    in_label_unit: bool = False  # scores are in the label's unit, so that clip="labels" and target="auto" apply
    is_squared_error: bool = False  # then its mean is the square of the RMSE
    has_quantile: bool = False  # whether the option `quantile` says which loss it is
    smallest_label: float | None = None  # of numbers: None if they may be negative
    rounds_below_zero: bool = False  # a loss of 0 may be computed as slightly less, from terms that cancel
    curvature: float = 0.0  # the largest second derivative; 0: there is none that would say how far to go
    second_order: bool = False  # a rule of second order takes it
    other_class: float = -1.0  # in one-vs-all, the label of rows of the other classes; that of its own is 1
    of_one_class: LossName | None = None  # of several classes: the loss of the score of one

    @property
    def for_classes(self) -> bool:
        """Whether its labels are classes, not numbers."""
        return self.task != "regression"

    @property
    def coupled(self) -> bool:
        """Whether the scores of several classes have one loss together: `Softmax`."""
        return self.of_one_class is not None

    @property
    def of_a_score(self) -> LossName:
        """The loss of a single score: itself, or that of one class among several."""
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
"""By name."""

DEFAULTS: dict[str, LossName] = {"regression": "squared", "binary": "logistic", "classes": "logistic"}
"""By task, the loss if none is asked for."""


def names(**facts: Any) -> tuple[str, ...]:
    """The losses whose records say so: `names(task="binary")`."""
    return tuple(loss.name for loss in _RECORDS if all(getattr(loss, field) == value for field, value in facts.items()))


def listed(found: Iterable[str], last: str = "or", shown: Callable[[str], str] = repr) -> str:
    """Names for a message: 'a', 'b' or 'c'."""
    texts = [shown(name) for name in found]
    return f" {last} ".join([*([", ".join(texts[:-1])] if texts[1:] else []), *texts[-1:]])
