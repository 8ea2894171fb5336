"""A regressor for scikit-learn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .. import inputs
from ..data import Target
from ..data.labels import Numbers
from ..inputs import Float64
from ..losses import LOSSES, NumberLoss
from ..models.learner import Learner
from ..models.model import BIAS
from ..models.prediction_errors import bounds
from ..models.scored import Scored
from ..options import USUAL_LEVEL, Auto, Clip, ModelType, Order, Rule, Schedule
from ..training.defaults import new_model
from . import rows
from .estimator import UnitlessEstimator, weights_of

if TYPE_CHECKING:
    from typing_extensions import Self


class UnitlessRegressor(RegressorMixin, UnitlessEstimator):  # type: ignore[misc]
    """A regressor that does not depend on the units of the features or of the target.

    It replaces `make_pipeline(StandardScaler(), SGDRegressor())` and needs no scaling of features or target and no
    tuning. By default it learns trees for tables, and a linear model for wide or sparse data.

    Do not use it for small data on which `LinearRegression` is fast enough, unless more data will follow.

    Args:
        rule: how weights are updated; see `unitless.Learner`. Default: "nag".
        loss: "squared", or another loss for numbers: see `unitless.Learner`. Default: "squared".
        quantile: the quantile that "quantile" loss predicts. Default: 0.5.
        learning_rate: a number, or "auto": 16 rates run at once, and the rate whose progressive loss is smallest so far
            predicts. Default: None, which means "auto", but 0.5 if `order` is "vw".
        model_type: what the model can express. Curves and trees take more time than a linear model. Default: "auto".

            - "linear": a weight for each feature. It is the fastest, and the only type that averages its weights.
            - "curves": in addition, a curve for each numeric column.
            - "trees": in addition to curves, trees over all columns; about as good as boosted trees.
            - "auto": "linear" if X is sparse or has more than 1,000 columns; otherwise "trees".
            - "curves only": see `unitless.Learner`.
        ensemble: combine several learners: second-order learners for dense columns, a softmax for more than two
            classes, a learner with the rule "snag" for wide and sparse data. Default: None, which means True, but False
            if `learning_rate` is a number.
        target: "auto" learns the unit and the offset of y: if y is replaced by a·y + b, so are the predictions, and
            they stay within the range of the training labels. It applies to losses whose scores have the unit of y.
            None: y is used as it is. Default: "auto".
        max_iter: the number of passes of `fit`. "auto": as long as another pass is expected to lower the loss on
            held-out rows (see `unitless.train`) by 0.5%, with curves or trees by 1%; the best weights are selected,
            and then the held-out rows are learned too. Default: "auto".
        shuffle: whether `fit` learns the rows in random order, because files are often sorted. It then selects the last
            weights or their average, whichever have the smaller loss on the held-out rows. `partial_fit` always learns
            the rows in order and predicts with the last weights. Default: True.
        random_state: the random seed of the order and the hold-out. With a number, the same data give the same model,
            to the bit. Default: 0.
        center: subtract the running mean from dense columns, so that their offset does not matter. Default: None, which
            means True.
        falling_scales: let the scale of a centered column fall when its values stay far smaller than before, for
            example because meters replaced millimeters. Default: None, which means wherever columns are centered.
        interactions: products of features; see `unitless.Learner`. Default: None.
        bias: add an intercept. Default: True.
        importance_aware: never step past the label, even if the rate or the weight of a row is large. Default: True.
        schedule: for "gd" and "ng", how the rate changes: "sqrt" or "constant". Default: None, which means "sqrt".
        order: "paper" adapts the scales before it predicts a row; "vw" predicts first. Default: "paper".
        clip: "labels" limits predictions to the range of the labels seen before; "vw" to Vowpal Wabbit's range, for
            comparisons. Default: None.
        bits: a number b hashes feature names into 2**b slots, which limits memory. Default: None, no hashing.
        average: keep the average of the weights too; `fit` selects it if its loss on the held-out rows is smaller.
            Default: None, which means True for linear models and `shuffle=True`.
        sparsity: a penalty that makes unimportant weights zero. It has no unit; 1 is a good value, "auto" chooses one.
            With a penalty `model_type="auto"` is linear; with curves and trees it is for the weights of leaves, where
            it is rarely needed and "auto" is 0. Default: 0.
        l2: a penalty without a unit that pulls weights toward zero, of the same weights as `sparsity`. Default: 0.
        n_trees: the number of trees; rarely needed. Default: 64.
        max_leaves: the largest number of leaves of a tree; rarely needed. Default: None, which means 256, but 1,024
            for a `fit` of 50,000 rows or more.
        tree_patience: how long a leaf of a tree collects evidence before it is split; rarely needed, see
            `unitless.Learner`. Default: None, which means 32, but 0 for a model that begins with `partial_fit`.
        extrapolate: predict linearly beyond the range of the training values, instead of limiting values to that range.
            It also removes the limits to the range of the labels. Then `predict(X)` of a linear model without an
            ensemble is `X @ coef_ + intercept_` everywhere (for counts, its logarithm). Default: False.
        warm_start: whether `fit` continues with the previous model. Default: False.
        infer_columns: whether `fit` infers column types of frames as `train` does: it recognizes dates, numbers written
            as text, free text and identifiers, and `partial_fit` continues with these types. If it is False, and for a
            model that begins with `partial_fit`, the types of the frame decide. Default: True.

    Attributes:
        coef_: the weights of the linear terms in the data's units, for `features_`.
        intercept_: the intercept in the data's units.
        features_: the columns of X, followed by the values of its text columns and by products, if there are any.
        feature_importances_: |w|·s of these features: how far a feature can move a prediction.
        progressive_score_: R² of the predictions made before each row was learned, in the first pass of `fit`, without
            the first row, for which no label is known. It is an out-of-sample R².
        model_: the model, a `unitless.Learner`.

    Example:
        >>> import numpy as np
        >>> from unitless.sklearn import UnitlessRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(20_000, 2)) * [0.1, 1000] + [293, 50_000]  # kelvin, dollars
        >>> y = 1000 * (X - [293, 50_000]) @ [4, 0.002] + 250_000  # in cents
        >>> m = UnitlessRegressor().fit(X, y)
        >>> print(f"{m.progressive_score_:.3f}, {m.score(X, y):.3f}")
        1.000, 1.000
        >>> [float(f"{w:.3g}") for w in m.coef_]
        [4000.0, 2.0]
    """

    # statistics of y: weight, mean, squares about the mean; and the squared errors
    _spread: tuple[float, float, float, float] | None

    def __init__(
        self,
        *,
        rule: Rule = "nag",
        loss: NumberLoss = "squared",
        quantile: float = 0.5,
        learning_rate: float | Auto | None = None,
        model_type: ModelType = "auto",
        ensemble: bool | None = None,
        target: Auto | None = "auto",
        max_iter: int | Auto = "auto",
        shuffle: bool = True,
        random_state: Any = 0,
        center: bool | None = None,
        falling_scales: bool | None = None,
        interactions: Any = None,
        bias: bool = True,
        importance_aware: bool = True,
        schedule: Schedule | None = None,
        order: Order = "paper",
        clip: Clip | None = None,
        bits: int | None = None,
        average: bool | None = None,
        sparsity: float | Auto = 0.0,
        l2: float = 0.0,
        n_trees: int = 64,
        max_leaves: int | None = None,
        tree_patience: int | None = None,
        extrapolate: bool = False,
        warm_start: bool = False,
        infer_columns: bool = True,
    ) -> None:
        self.rule = rule
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.model_type = model_type
        self.ensemble = ensemble
        self.target = target
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.center = center
        self.falling_scales = falling_scales
        self.interactions = interactions
        self.bias = bias
        self.importance_aware = importance_aware
        self.schedule = schedule
        self.order = order
        self.clip = clip
        self.bits = bits
        self.average = average
        self.sparsity = sparsity
        self.l2 = l2
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.tree_patience = tree_patience
        self.extrapolate = extrapolate
        self.warm_start = warm_start
        self.infer_columns = infer_columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a new model to all rows, in random order."""
        go_on = self._goes_on()
        data = rows.read(self, X, first=not go_on, infer=self.infer_columns, y=y)
        numbers = inputs.vector(column_or_1d(y, warn=True), "y", data.rows)
        weight = weights_of(sample_weight, data)
        if go_on:
            model = self._taking(self.model_.copy(), data)  # a copy, so that invalid data does not change the model
        else:
            model, self._spread = self._new_model(data), None
        model = self._learn_passes(model, data, Numbers(numbers), weight)
        self._keep_model(model, data, not go_on)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn further rows, in their order."""
        first = self._begins()
        data = rows.read(self, X, first=first)
        numbers = inputs.vector(column_or_1d(y, warn=True), "y", data.rows)
        weight = weights_of(sample_weight, data)
        if first:
            self._spread = None
        model = self._new_model(data, stream=True) if first else self._taking(self.model_, data)
        self._learn_batch(model, data, Numbers(numbers), weight)
        self._keep_model(model, data, first)
        return self

    def _new_model(self, data: rows.Rows, model_type: ModelType | None = None, stream: bool = False) -> Learner:
        model = new_model(self._resolved("regression", data, model_type, stream), "regression")
        assert isinstance(model, Learner)
        return model

    def _target(self) -> Target:
        return Target("regression")

    def _note(self, scored: Scored) -> None:
        y, counted = scored.truth, np.ones(len(scored)) if scored.weight is None else scored.weight.copy()
        if self._spread is None and counted.any():
            counted[np.argmax(counted > 0)] = 0.0  # the first prediction knows no label
            self._spread = (0.0, 0.0, 0.0, 0.0)
        total = float(counted.sum())
        if self._spread is None or not total:
            return
        mean = float(counted @ y) / total
        squares = float(counted @ (y - mean) ** 2)
        errors = float(counted @ (LOSSES[self.loss].link.function(scored.scores[:, 0]) - y) ** 2)
        # combine the sums of two parts, each about its own mean
        total_before, mean_before, squares_before, errors_before = self._spread
        both = total + total_before
        squares += squares_before + (mean - mean_before) ** 2 * total * total_before / both
        mean += (mean_before - mean) * total_before / both
        self._spread = (both, mean, squares, errors + errors_before)

    @property
    def progressive_score_(self) -> float:
        """R² of the predictions made before each row was learned, in `fit`'s first pass or in `partial_fit`."""
        check_is_fitted(self)
        if self._spread is None or not self._spread[2]:
            return math.nan
        return 1.0 - self._spread[3] / self._spread[2]

    def predict(self, X: Any) -> Float64:
        """Predict the number for each row; returns a NumPy array."""
        scores = self._scores(X)  # this also raises an error for an estimator that is not fitted
        return self.model_._link(scores)

    def predict_interval(self, X: Any, level: float = USUAL_LEVEL) -> Float64:
        """Predict an interval for each row: an array with two columns, low and high.

        An interval is as wide as the errors of similar predictions; its lower limit is at least 0 if no target was
        negative. After `fit` these are the errors on the held-out rows,
        before the rows were added to training. With fewer than 20 held-out rows, or with `shuffle=False`, they are
        errors of progressive predictions, late in the first pass. `partial_fit` updates the quantiles with the errors
        of progressive predictions.

        Args:
            X: rows.
            level: the probability that the interval contains the truth, such as 0.9; at most 0.999. Default: 0.9.
        """
        reach = self._reach(level, "level")
        return np.stack(bounds(self.model_, self.predict(X), reach), axis=1)

    @property
    def coef_(self) -> Float64:
        """The weights of the linear terms in the data's units."""
        return np.asarray(self._by_feature([self._model.weights])[0])

    @property
    def intercept_(self) -> float:
        """The prediction where all features are 0."""
        return self._model.weights.get(BIAS, 0.0)

    @property
    def feature_importances_(self) -> Float64:
        """|w|·s by feature: how far it can move a prediction. It does not depend on the feature's unit."""
        return np.asarray(self._by_feature([self._model.importance])[0])

    @property
    def _model(self) -> Learner:
        check_is_fitted(self)
        assert isinstance(self.model_, Learner)
        return self.model_
