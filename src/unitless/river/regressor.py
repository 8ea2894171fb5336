"""A regressor for River."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from river import base
from river.utils import dataframe

from ..errors import InputError
from ..losses import IDENTITY, LOSSES, NumberLoss
from ..models.prediction_errors import bounds
from ..options import (
    USUAL_LEVEL,
    Auto,
    Clip,
    ModelType,
    Order,
    Rule,
    Schedule,
)
from . import rows
from .linear import Linear, Row, learn_noting, predict_one, weights_of
from .rows import Missing


class UnitlessRegressor(Linear, base.MiniBatchRegressor):
    """A regressor that does not depend on the units of the features or of the target.

    It replaces `preprocessing.StandardScaler() | linear_model.LinearRegression()` and needs no scaler and no learning
    rate. By default it learns trees, the learning rate, the target's unit and offset, and the features' offsets.

    Values can be numbers, booleans (0 or 1) and text: `{"job": "clerk"}` becomes the feature `"job=clerk"`. From the
    numbers of the first row the running mean is subtracted, so that their offset (°C or K) does not matter; if such a
    feature is absent, it counts as its mean. Features that first appear in a later row are not centered: an absent
    feature counts as 0. If this should apply to all features, as with bags of words, use `center=False`.

    Do not use `ensemble=False` for data that drifts: without a forgetting member old rows count as much as new ones.
    Use `model_type="linear"` where speed matters most.

    Args:
        rule: how weights are updated; see `unitless.Learner`. Default: "nag".
        loss: "squared", or another loss for numbers: see `unitless.Learner`. Predictions of counts are their mean.
            Default: "squared".
        learning_rate: a number, or "auto", which chooses among 16 rates while learning. Default: None, which means
            "auto", but 0.5 if `order` is "vw".
        importance_aware: never step past the label, even if the rate or the weight of a row is large. Default: True.
        bias: add a constant feature. Default: True.
        quantile: the quantile that "quantile" loss predicts. Default: 0.5.
        schedule: for "gd" and "ng", how the rate changes: "sqrt" or "constant". Default: None, which means "sqrt".
        order: "paper" adapts the scales before it predicts a row; "vw" predicts first. Default: "paper".
        clip: "labels" limits predictions to the range of the labels seen before; "vw" to Vowpal Wabbit's range, for
            comparisons. Default: None.
        target: "auto" learns the unit and the offset of the target, if the loss is squared or quantile and there is no
            `clip`; None: the target is used as it is. Default: "auto".
        center: subtract the running mean from numbers. Default: None, which means True, but False if names are hashed
            (`bits`) or `order` is "vw", where centering is not supported.
        interactions: products of features; see `unitless.Learner`. Default: None.
        bits: a number b hashes feature names into 2**b slots, which limits memory. Default: None, no hashing.
        missing: how None and NaN are treated: "absent", as if the feature were not in the row; "indicator", as a
            feature `name=(missing)`; or "error". Default: "absent".
        model_type: what the model can express. Curves and trees take more time than a linear model. Default: "auto".

            - "linear": a weight for each feature; the fastest.
            - "curves": in addition, a curve for each number.
            - "trees": in addition to curves, trees over all features.
            - "auto": "linear" if names are hashed; otherwise "trees".
            - "curves only": see `unitless.Learner`.
        ensemble: combine several learners: second-order learners for dense columns, a softmax for more than two
            classes, a learner with the rule "snag" for wide and sparse data. Default: None, which means True, but False
            if `learning_rate` is a number.
        falling_scales: let the scale of a centered number fall when its values stay far smaller than before. Default:
            None, which means wherever numbers are centered.
        sparsity: a penalty that makes unimportant weights zero. It has no unit; 1 is a good value, "auto" chooses one.
            With a penalty `model_type="auto"` is linear; with curves and trees it is for the weights of leaves, where
            it is rarely needed and "auto" is 0. Default: 0.
        l2: a penalty without a unit that pulls weights toward zero, of the same weights as `sparsity`. Default: 0.
        n_trees: the number of trees; rarely needed. Default: 64.
        max_leaves: the largest number of leaves of a tree; rarely needed. Default: 256.
        tree_patience: how long a leaf of a tree collects evidence before it is split; rarely needed, see
            `unitless.Learner`. Default: 0.

    Example:
        >>> from river import datasets, evaluate, metrics
        >>> from unitless.river import UnitlessRegressor
        >>> model = UnitlessRegressor()
        >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
        MAE: 0.181182
        >>> print(f"{model.weights['gallup']:.2f} for each point of Gallup's")
        0.11 for each point of Gallup's
    """

    def __init__(
        self,
        rule: Rule = "nag",
        loss: NumberLoss = "squared",
        learning_rate: float | Auto | None = None,
        importance_aware: bool = True,
        bias: bool = True,
        quantile: float = 0.5,
        schedule: Schedule | None = None,
        order: Order = "paper",
        clip: Clip | None = None,
        target: Auto | None = "auto",
        center: bool | None = None,
        interactions: Any = None,
        bits: int | None = None,
        missing: Missing = "absent",
        model_type: ModelType = "auto",
        ensemble: bool | None = None,
        falling_scales: bool | None = None,
        sparsity: float | Auto = 0.0,
        l2: float = 0.0,
        n_trees: int = 64,
        max_leaves: int = 256,
        tree_patience: int = 0,
    ) -> None:
        self.rule = rule
        self.loss = loss
        self.learning_rate = learning_rate
        self.importance_aware = importance_aware
        self.bias = bias
        self.quantile = quantile
        self.schedule = schedule
        self.order = order
        self.clip = clip
        self.target = target
        self.center = center
        self.interactions = interactions
        self.bits = bits
        self.missing = missing
        self.model_type = model_type
        self.ensemble = ensemble
        self.falling_scales = falling_scales
        self.sparsity = sparsity
        self.l2 = l2
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.tree_patience = tree_patience
        self._begin("regression")
        self._predicts_scores = LOSSES[loss].link is IDENTITY

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"learning_rate": 0.5, "center": False}
        yield {"loss": "quantile"}

    def learn_one(self, x: Row, y: float, w: float = 1.0) -> None:
        """Learn from one row and its target; an example of weight 2 counts as two."""
        if self._direct:
            try:
                session = self._session
                if learn_noting(session.model, x, y, w, session.pending.rows):
                    session.count_pending("errors")
                return
            except (InputError, TypeError):  # handled below: the row is converted and learned, or an error is raised
                pass
        self._learn_row(self._model or self._new_model("regression"), x, y, w)

    def predict_one(self, x: Row) -> float:
        """Predict the target of one row; changes nothing."""
        if self._direct and self._predicts_scores:
            try:
                return predict_one(self._session.model, x)  # type: ignore[no-any-return]
            except InputError:  # the row may contain text
                pass
        model: Any = self._model or self._new_model("regression")
        return float(model._link(model.predict_one(rows.numbers(x, self.missing))))

    def predict_interval_one(self, x: Row, level: float = USUAL_LEVEL) -> tuple[float, float]:
        """Predict an interval that contains the target of a row with a given probability; changes nothing.

        The interval is as wide as recent errors of similar predictions, which were made before rows were learned; its
        lower limit is at least 0 if no target was negative. It is infinite while there are too few rows (9 for a level
        of 0.9, 99 for 0.99).

        Args:
            x: a row.
            level: the probability that the interval contains the target. Default: 0.9.
        """
        reach = self._reach(level)
        low, high = bounds(self._model, np.array([self.predict_one(x)]), reach)
        return float(low[0]), float(high[0])

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a pandas, polars or pyarrow frame in order, exactly as `learn_one` would one by one."""
        _, data = self._table(X)
        weight = weights_of(w, data.rows)
        self._learn_batch(self._model or self._new_model("regression"), data, y, weight)
        self._y_name = getattr(y, "name", None)

    def predict_many(self, X: Any) -> Any:
        """Predict the rows of a frame, as a series of the same library."""
        frame, data = self._table(X)
        model = self._model or self._new_model("regression")
        return dataframe.to_native_series(model._link(model.predict(data)), name=self._y_name, like=frame)
