"""A regressor for scikit-learn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .. import inputs, losses
from ..data import Target
from ..data.labels import Numbers
from ..errors import OptionError
from ..inputs import Float64
from ..losses import LOSSES, NumberLoss
from ..models.learner import Learner
from ..models.model import BIAS
from ..models.prediction_errors import bounds
from ..models.scored import Scored
from ..options import USUAL_LEVEL, Auto, ModelType, Rule
from ..training.defaults import new_model
from . import rows
from .estimator import UnitlessEstimator, weights_of

if TYPE_CHECKING:
    from typing_extensions import Self


class UnitlessRegressor(RegressorMixin, UnitlessEstimator):  # type: ignore[misc]
    """A regressor that does not care about units, the target's included: trees for tables, linear for sparse data.

    It takes the place of `make_pipeline(StandardScaler(), SGDRegressor())`, with nothing to scale and nothing to tune,
    for the features or for y. It is one `unitless.Learner`, in `model_`.

    Do not use it for data so small that `LinearRegression` takes no time, unless more data is to come.

    Args:
        rule: how weights are updated; see `unitless.Learner`.
        loss: "squared", or another loss for numbers: see `Learner`.
        quantile: which quantile "quantile" loss predicts.
        learning_rate: a number, or "auto": 16 rates run at once and the best is followed.
        model_type: "linear", "curves", "trees", "auto" or "curves only"; see `UnitlessClassifier`.
        ensemble: combine several learners: second order for dense columns, softmax for more than two classes, "snag"
            for wide and sparse data. Default: True, but False where `learning_rate` is a number.
        target: "auto" learns the unit and offset of y: y → a·y + b maps predictions the same way, and they stay within
            the range of the labels seen. Only for losses whose scores are in the unit of y. None: y as it is.
        sparsity: a penalty that makes weights that matter little zero: a number without a unit (1 is a good value) or
            "auto"; 0 is off. Then the model is linear. See `unitless.Learner`.
        l2: a penalty that pulls weights towards zero, likewise.
        n_trees: the number of trees; rarely needed.
        max_leaves: the largest number of leaves of a tree; rarely needed.
        max_iter: how many passes `fit` makes; see `UnitlessClassifier`, as for the next five.
        shuffle: `fit` goes through the rows in a random order.
        random_state: of that order.
        center: take dense columns as x minus their running mean.
        falling_scales: follow centered columns whose values become far smaller; see `UnitlessClassifier`.
        interactions: products of features.
        bias: add an intercept.
        warm_start: `fit` goes on with the model of the last one.
        infer_columns: `fit` reads frames as `train` does; see `UnitlessClassifier`.
        extrapolate: go on linearly beyond the largest value that a feature has shown in training, and beyond the range
            of the labels; then `predict(X)` of a linear model alone is `X @ coef_ + intercept_` everywhere (of counts,
            its logarithm).

    After fitting, beside what every regressor has:

    - `coef_`, `intercept_`: in the data's units. `coef_` belongs to `features_`: the columns of X, then the values of
      its text columns and products, if there are any. Of several
      members they are those of the linear one.
    - `feature_importances_`: |w|·s of these features: how far a feature can move a prediction.
    - `progressive_score_`: R² of the predictions that were made for each row before it was learned, in the first pass,
      without the very first, which knows no label: an out-of-sample score, for free.
    - `model_`: the model itself, with all that it can do.

    Example:
        >>> import numpy as np
        >>> from unitless.sklearn import UnitlessRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(20_000, 2)) * [0.1, 1000] + [293, 50_000]  # kelvin, dollars
        >>> y = 1000 * (X - [293, 50_000]) @ [4, 0.002] + 250_000  # in cents
        >>> m = UnitlessRegressor().fit(X, y)
        >>> print(f"{m.progressive_score_:.3f}, {m.score(X, y):.3f}")
        0.999, 1.000
        >>> [float(f"{w:.3g}") for w in m.coef_]
        [4000.0, 2.0]
    """

    _spread: tuple[float, float, float, float] | None  # of y: weight, mean, squares about it; squared errors

    def __init__(
        self,
        *,
        rule: Rule = "nag",
        loss: NumberLoss = "squared",
        quantile: float = 0.5,
        learning_rate: float | Auto = "auto",
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
        sparsity: float | Auto = 0.0,
        l2: float = 0.0,
        n_trees: int = 64,
        max_leaves: int = 256,
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
        self.sparsity = sparsity
        self.l2 = l2
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.extrapolate = extrapolate
        self.warm_start = warm_start
        self.infer_columns = infer_columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows, in a random order."""
        go_on = self._goes_on()
        data = rows.read(self, X, first=not go_on, infer=self.infer_columns)
        numbers = inputs.vector(column_or_1d(y, warn=True), "y", data.rows)
        weight = weights_of(sample_weight, data)
        if go_on:
            model = self._taking(self.model_.copy(), data)  # so that bad data leaves the old one as it was
        else:
            model, self._spread = self._new_model(data), None
        model = self._learn_passes(model, data, Numbers(numbers), weight)
        self._keep_model(model, data, not go_on)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from some more rows, in their order."""
        first = self._begins()
        data = rows.read(self, X, first=first)
        numbers = inputs.vector(column_or_1d(y, warn=True), "y", data.rows)
        weight = weights_of(sample_weight, data)
        if first:
            self._spread = None
        model = self._new_model(data) if first else self._taking(self.model_, data)
        self._learn_batch(model, data, Numbers(numbers), weight)
        self._keep_model(model, data, first)
        return self

    def _new_model(self, data: rows.Rows, model_type: ModelType | None = None) -> Learner:
        if self.loss not in (known := losses.names(task="regression")):
            raise OptionError(f"is {self.loss!r}; a regressor's is one of {', '.join(map(repr, known))}", option="loss")
        model = new_model(self._resolved("regression", data, model_type), "regression")
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
        # the sums of two parts, each about its own mean, as one
        total_before, mean_before, squares_before, errors_before = self._spread
        both = total + total_before
        squares += squares_before + (mean - mean_before) ** 2 * total * total_before / both
        mean += (mean_before - mean) * total_before / both
        self._spread = (both, mean, squares, errors + errors_before)

    @property
    def progressive_score_(self) -> float:
        """R² of the predictions made before each row was learned, in `fit`'s first pass or all `partial_fit`s."""
        check_is_fitted(self)
        if self._spread is None or not self._spread[2]:
            return math.nan
        return 1.0 - self._spread[3] / self._spread[2]

    def predict(self, X: Any) -> Float64:
        """The number for each row: a NumPy array, whatever X is."""
        scores = self._scores(X)  # which refuses an estimator that is not fitted
        return self.model_._link(scores)

    def predict_interval(self, X: Any, level: float = USUAL_LEVEL) -> Float64:
        """The prediction interval of each row: an array with two columns, low and high.

        An interval is the prediction ± a quantile of the errors: after `fit` of those on the held-out rows, a tenth,
        before they were added to training (where they are fewer than 20, and with `shuffle=False`, of progressive
        predictions, late in the first pass); `partial_fit` goes on with the errors of progressive predictions.

        Args:
            X: rows.
            level: how often the interval is to contain the truth, such as 0.9; at most 0.999.
        """
        reach = self._reach(level, "level")
        return np.stack(bounds(self.predict(X), reach, LOSSES[self.loss].smallest_label), axis=1)

    @property
    def coef_(self) -> Float64:
        """Weights in the data's units."""
        return np.asarray(self._by_feature([self._model.weights])[0])

    @property
    def intercept_(self) -> float:
        """What the prediction is where all features are 0."""
        return self._model.weights.get(BIAS, 0.0)

    @property
    def feature_importances_(self) -> Float64:
        """|w|·s by feature: how far it can move a prediction. It has no unit of the feature's."""
        return np.asarray(self._by_feature([self._model.importance])[0])

    @property
    def _model(self) -> Learner:
        check_is_fitted(self)
        assert isinstance(self.model_, Learner)
        return self.model_
