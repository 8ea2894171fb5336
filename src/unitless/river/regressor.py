"""A regressor for River."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from river import base
from river.utils import dataframe

from .. import inputs, losses
from ..errors import InputError, OptionError
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
    """Regression, with trees or linear, that depends neither on the features' units nor on the target's.

    It is used like `preprocessing.StandardScaler() | linear_model.LinearRegression()`, without the scaler and without a
    learning rate to choose. By default it learns the rate (`learning_rate="auto"`), the target's unit and offset
    (`target="auto"`) and the features' offsets (`center="auto"`) on the way.

    Values can be numbers; booleans, which count 0 or 1; and text, of which `{"job": "clerk"}` becomes the feature
    `"job=clerk"`. Numbers of the first row learned are used as x minus their running mean, so that their offset (°C or
    K) does not matter, and such a feature counts as its mean where it is absent. Features that come up later are used
    as they are: they were absent before, and absent counts as 0. Where that holds for all features, as with bags of
    words, say `center=False`.

    What it is not for: it weighs all its past, so what drifts needs a model that forgets. Where every microsecond
    counts, say `model_type="linear"`.

    Args:
        rule: see `unitless.Learner`; as all options whose meaning is not said here.
        loss: "squared", or another loss for numbers: see `unitless.Learner`. Predictions of counts are their mean.
        learning_rate: a number, or "auto".
        target: "auto" learns the unit and the offset of the target, if the loss is squared or quantile and there is no
            `clip`; None leaves them to the learning rate.
        center: "auto" does, unless names are hashed (`bits`) or `order` is "vw", where there is no centering.
        falling_scales: "auto" follows numbers that become far smaller wherever they are centered.
        missing: what None and not-a-number are: "absent", as if the feature were not in the row; "indicator", a
            feature of its own, `name=(missing)`; or an "error".
        model_type: "linear"; "curves", a curve for each number, at 3 to 4 times the time; "trees", curves and trees
            over all features, at 10 to 20 times the time; "auto", "trees" unless names are hashed; or "curves only".
        ensemble: combine several learners: second order for dense columns, softmax for more than two classes, "snag"
            for wide and sparse data. Default: True, but False where `learning_rate` is a number.
        sparsity: a penalty that makes weights that matter little zero: a number without a unit (1 is a good value) or
            "auto"; 0 is off. Then the model is linear.
        l2: a penalty that pulls weights towards zero, likewise.
        n_trees: the number of trees; rarely needed.
        max_leaves: the largest number of leaves of a tree; rarely needed.

    Example:
        >>> from river import datasets, evaluate, metrics
        >>> from unitless.river import UnitlessRegressor
        >>> model = UnitlessRegressor()
        >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
        MAE: 0.180799
        >>> print(f"{model.weights['gallup']:.2f} for each point of Gallup's")
        0.11 for each point of Gallup's
    """

    def __init__(
        self,
        rule: Rule = "nag",
        loss: NumberLoss = "squared",
        learning_rate: float | Auto = "auto",
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
        if loss in losses.names(for_classes=True):
            raise OptionError(f"{loss} loss is for classes; use UnitlessClassifier")
        self._begin(
            "regression",
            rule=rule,
            loss=loss,
            learning_rate=learning_rate,
            importance_aware=importance_aware,
            bias=bias,
            quantile=quantile,
            schedule=schedule,
            order=order,
            clip=clip,
            **({} if target == "auto" else {"target": target}),
            center=center,
            falling_scales=falling_scales,
            interactions=interactions,
            bits=bits,
            model_type=model_type,
            ensemble=ensemble,
            sparsity=sparsity,
            l2=l2,
            n_trees=n_trees,
            max_leaves=max_leaves,
        )
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
                if learn_noting(self._model, x, y, w, self._pending.rows):
                    self._follow_errors(self._model)  # type: ignore[arg-type]
                return
            except (InputError, TypeError):  # looked at below: it can be learned, or the error explained
                pass
        self._learn_row(self._model or self._new_model("regression"), x, y, w)

    def predict_one(self, x: Row) -> float:
        """The prediction for one row; changes nothing."""
        if self._direct and self._predicts_scores:
            try:
                return predict_one(self._model, x)  # type: ignore[no-any-return]
            except InputError:  # it may be text
                pass
        model: Any = self._model or self._new_model("regression")
        return float(model._link(model.predict_one(rows.numbers(x, self.missing))))

    def predict_interval_one(self, x: Row, level: float = USUAL_LEVEL) -> tuple[float, float]:
        """Between which numbers the target of a row lies, with this probability; changes nothing.

        They are the prediction ± how large errors were lately: of the predictions that were made before rows were
        learned. While there are too few rows to say (9 for a level of 0.9, 99 for 0.99), they are infinite.
        """
        reach = self._reach(level)
        low, high = bounds(np.array([self.predict_one(x)]), reach, LOSSES[self.loss].smallest_label)
        return float(low[0]), float(high[0])

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a pandas, polars or pyarrow frame in order, exactly as `learn_one` would one by one."""
        _, data = self._table(X)
        weight = weights_of(w, data.rows)
        labels = inputs.vector(y, "y", data.rows)
        self._learn_batch(self._model or self._new_model("regression"), data, labels, weight)
        self._y_name = getattr(y, "name", None)

    def predict_many(self, X: Any) -> Any:
        """The predictions for the rows of a frame, as a series of the same library."""
        frame, data = self._table(X)
        model = self._model or self._new_model("regression")
        return dataframe.to_native_series(model._link(model.predict(data)), name=self._y_name, like=frame)
