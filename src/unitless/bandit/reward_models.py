"""Models of rewards: a learner for each action, or one for all actions with features, and how uncertain each is."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..inputs import Float64
from ..models.learner import Learner
from ..training.defaults import DataFacts, new_model, resolve
from ..training.first_row import learn_first_row
from .context import Row

CONTEXT, ACTION = "context.", "action."  # what names begin with in a model of contexts and actions


class RewardModel:
    """The rewards of an action, or of all actions by their features.

    Args:
        model: the learner; a new one has learned nothing.
        exact: the covariances P of the first features (core/bandit/uncertainty.hpp).
        rest: the variances of further features, if there are any.
    """

    def __init__(self, model: Learner, exact: Float64 | None = None, rest: Float64 | None = None) -> None:
        self.model, self.rest = model, rest
        self.exact = np.ones(1) if exact is None else exact
        self._places = round((2 * len(self.exact) + 0.25) ** 0.5 - 0.5)  # rows of the triangle

    def check(self) -> None:
        """Raise an error unless a bandit can have such a model; files may have others."""
        is_triangle = self._places * (self._places + 1) == 2 * len(self.exact) > 0
        is_rest = self.rest is None or (self.rest.shape == (_core.BUCKETS,) and self.rest.dtype == np.float64)
        if not (isinstance(self.model, Learner) and self.exact.dtype == np.float64 and is_triangle and is_rest):
            raise ValueError("a model of rewards is not valid")

    @classmethod
    def new(cls, model_type: str, with_actions: bool) -> RewardModel:
        """Return a model that has learned nothing.

        Args:
            model_type: as for `Learner`.
            with_actions: whether rows have features of actions too, whose products with the context are then learned.
        """
        given: dict[str, Any] = {"model_type": model_type}
        if with_actions:
            given["interactions"] = [(f"{CONTEXT}*", f"{ACTION}*")]
        learner = new_model(resolve("regression", DataFacts(), given), "regression")
        assert isinstance(learner, Learner)
        return cls(learner)

    @property
    def uncertainty(self) -> tuple[Float64, Float64 | None]:
        """P, as the core takes it."""
        return self.exact, self.rest

    def predict(self, row: Row) -> float:
        """Return the expected reward of a row."""
        return float(self.model._predict_features(row.features))

    def learn(self, row: Row, reward: float) -> None:
        """Learn the reward of a row."""
        if self.model.examples:
            self.model._learn_features(row.features, reward, 1.0)
        else:
            learn_first_row(self.model, self._first(row), reward, 1.0)
        exact = [slot for slot in row.slots if slot <= _core.MOST_EXACT]
        if len(exact) < len(row.slots) and self.rest is None:
            self.rest = np.ones(_core.BUCKETS)
        self._grow(max(exact) + 1)
        _core.reduce_variance(self.exact, self.rest, row.slots, row.z)

    def _first(self, row: Row) -> dict[str, float | bool]:
        """Return the features of the first row in order. Both factors of interactions must be in it: 0 adds nothing."""
        sides = () if self.model.options.interactions is None else (CONTEXT, ACTION)
        absent = [side for side in sides if not any(name.startswith(side) for name in row.features)]
        return dict(sorted({**row.features, **dict.fromkeys(absent, 0.0)}.items()))

    def _grow(self, places: int) -> None:
        """Give new features their place in P, where they are independent of the others, with variance 1."""
        if places > self._places:
            grown = np.zeros(places * (places + 1) // 2)
            grown[np.arange(1, places + 1).cumsum() - 1] = 1.0
            grown[: len(self.exact)] = self.exact
            self.exact, self._places = grown, places


NEW: tuple[Float64, None] = (np.ones(1), None)  # the uncertainty of an action without rewards
