"""A trial on the first rows of a fit chooses between trees and a linear model where there are many classes.

Trees of many classes cost several times as much as a linear model, and do not always gain anything. So before the fit
begins, a model of each type learns the same first rows in random order. The type whose progressive loss is smaller is
chosen, and a new model of this type learns all rows. With few classes a fit takes no trial: there the ensemble, which
weights linear members and trees by their losses, costs little more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..data import Batch
from ..errors import Option, Phrase
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..options import ModelType
from .halves import steering_loss
from .session import Session

# With more classes than this, a trial costs less than it can save.
MANY_CLASSES = 20
# With more classes than this, even a trial of trees takes too long: the model is linear.
MOST_CLASSES = 500
ROWS = 4_000  # the rows of a trial


@dataclass(frozen=True)
class Trial:
    """The result of a trial.

    Args:
        model_type: the model type that was chosen.
        rows: how many rows both models learned.
        losses: the progressive loss of each model type on these rows.
        loss_name: what these losses are, in words.
    """

    model_type: ModelType
    rows: int
    losses: dict[ModelType, float]
    loss_name: str

    @property
    def note(self) -> Phrase:
        """What was chosen, and why."""
        loss, other = (self.losses[name] for name in sorted(self.losses, key=lambda name: name != self.model_type))
        rest = next(name for name in self.losses if name != self.model_type)
        return Phrase(
            Option("model_type", self.model_type),
            f" was chosen by a trial on the first {self.rows:,} rows: the progressive {self.loss_name} was {loss:.4g} "
            f"there, with ",
            Option("model_type", rest),
            f" {other:.4g}",
        )


def needs_trial(model: Learner | OneVsAll, classes: int) -> bool:
    """Whether a new model of so many classes has a model type that a trial can choose."""
    return classes > MANY_CLASSES and model.options.model_type == "auto" and model.model_type is None


def too_many(classes: int) -> Phrase:
    """The note that there are too many classes for trees."""
    return Phrase(
        *(Option("model_type", "linear"), f" was chosen because {classes:,} classes are too many for trees; to use "),
        *("them all the same: ", Option("model_type", "trees")),
    )


def take_trial(
    make: Callable[[ModelType], Learner | OneVsAll],
    batches: Iterable[Batch],
    session_of: Callable[[Learner | OneVsAll], Session],
) -> Trial | None:
    """Learn the first rows with both model types. None: the data allows only linear models.

    Args:
        make: makes a new model of a model type.
        batches: the rows of the fit, in the order in which it learns them.
        session_of: begins a session with a model.
    """
    names: tuple[ModelType, ModelType] = "auto", "linear"
    automatic, linear = sessions = [session_of(make(name)) for name in names]
    rows = 0
    for batch in batches:
        part = batch if rows + batch.rows <= ROWS else batch.part(0, ROWS - rows)
        rows += part.rows
        for session in sessions:
            session.learn(part)
        if automatic.model.model_type == "linear":
            return None
        if rows == ROWS:
            break
    found = automatic.model.model_type
    if found is None:  # no row had a weight
        return None
    losses = {found: steering_loss(automatic.evaluation.sums), "linear": steering_loss(linear.evaluation.sums)}
    name = "log loss" if "log_loss" in linear.evaluation.metrics else "loss"
    return Trial(found if losses[found] < losses["linear"] else "linear", rows, losses, name)
