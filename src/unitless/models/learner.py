"""`Learner`: one model for one number or two classes, which learns rows one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..errors import InputError, OptionError
from ..inputs import Float64
from ..losses import LOSSES
from ..options import USUAL_LEVEL, Auto, Clip, Loss, ModelType, Options, Order, Rule, Schedule, check_names
from ..presentation import html, shown
from . import pruning
from .by_feature import ByFeature, StateReading, ranked
from .classes import Label, label_array
from .error_quantiles import checked_level
from .model import BIAS, LARGE, Model
from .rates import Walk


class Learner(Model):
    """A model that learns rows one by one, in one pass, and does not depend on the units of the features.

    By default it is linear: Algorithm 2 (NAG) of *Normalized Online Learning* (Ross, Mineiro, Langford 2013) with
    importance-aware steps. With `importance_aware=False` it is exactly the paper's algorithm. With `model_type` it also
    learns curves and trees. It predicts a number or one of two classes; `OneVsAll` and `Softmax` are for more classes.
    `ul.train` chooses the options from the data; here each option has a fixed default.

    Args:
        rule: how weights are updated. Default: "nag".

            - "nag": normalized adaptive gradient.
            - "snag": "nag" with scales from second moments, which outliers influence less.
            - "ng": normalized gradient.
            - "ag" (adaptive gradient, AdaGrad) and "gd" (gradient descent): baselines that depend on units.
            - "newton": second order. It learns from few rows and from correlated features. It takes at most 100
              features, supports squared and logistic loss, and has no learning rate.
        loss: "squared" (mean), "quantile" (the quantile given by `quantile`), "poisson" (counts; the score is the
            logarithm of the rate), "logistic" or "hinge" (two classes; labels {-1, +1}, {0, 1} or booleans). Default:
            "squared".
        learning_rate: the step size η. For "nag", "snag" and "ng", good values are near 1 in any units. "auto" runs 16
            rates at once and predicts with the rate whose progressive loss is smallest so far; rates that are clearly
            worse are dropped. Default: 0.5.
        importance_aware: never step past the label, even if the rate or the weight of a row is large. Default: True.
        bias: add a constant feature. Default: True.
        quantile: the quantile that "quantile" loss estimates. Default: 0.5, the median.
        schedule: for "gd" and "ng", how the rate changes: "sqrt" (η/√t) or "constant". Default: "sqrt".
        order: "paper" adapts the scales before it predicts a row; "vw" predicts first, as Vowpal Wabbit does. Default:
            "paper".
        clip: "labels" limits predictions to the range of the labels seen before. "vw" limits them to Vowpal Wabbit's
            range, which includes the label that is predicted; it is for comparisons only, because its progressive loss
            is too good. Default: None, no limit.
        target: "auto" also learns the unit and the offset of the label, for squared and quantile loss: if y is replaced
            by a·y + b, so are the predictions. Predictions stay in the range of the labels seen before. A single wrong
            label does little harm: a label that lies outside the range of all n labels before it (n ≥ 3) by more than
            16 + 1024/n times that range is learned as the nearest label of the range, unless another label that far
            outside came within the last 100 rows. `limited_labels` counts such labels. Default: None.
        center: subtract the running mean from numeric columns of arrays and frames, so that their offset does not
            matter either. Booleans, sparse matrices and mappings are not centered. Default: False.
        falling_scales: let the scale of a centered column fall when its values have become at least 30 times smaller,
            for example because meters replaced millimeters. Scales are checked every 4,000 rows. Without it, scales
            only grow. Default: False.
        interactions: products of features, computed for each row. 2: all pairs, with squares. "ordered": i·j and j·i
            are two features. Or a list of pairs: [("age", "income"), ("job=*", "city=*"), (["a", "b"], ["c", "d"])]. A
            name that ends with * stands for all features whose names begin so; columns of arrays are named by their
            number. Default: None.
        bits: a number b hashes feature names into 2**b slots of 32 bytes, which limits memory. Default: None, every
            feature name has its own slot.
        average: also compute the average of the weights, in units of the scales, where the weights at time t count t
            times. `keep` chooses whether the last or the averaged weights predict. Default: False.
        model_type: what the model can express. Curves and trees cost more time per row (see docs/internals/benchmarks).
            Default: "linear".

            - "linear": a weight for each feature. This is the fastest, and the only one for sparse and hashed data.
            - "curves": in addition, a curve for each numeric column.
            - "trees": in addition to curves, trees over all columns, for effects of several columns together. The
              quality is about that of boosted trees.
            - "auto": the first row decides. "trees" for arrays, tables and rows of names with at most 1,000 columns;
              "linear" for more columns, sparse matrices and `bits`.
            - "curves only": curves, but no linear terms for numbers. Predictions stay the same if a column is replaced
              by its logarithm or by any other increasing function of it.

            "curves" and "trees" combine the predictions of a linear model, one with curves and (for "trees") one with
            trees.
        ensemble: True adds members that learn the same rows, and combines the predictions of all members. It applies to
            squared and logistic loss with the rule "nag". The first row decides which members are added. Default:
            False.

            - For arrays, tables and rows of names with at most 1,000 columns: second-order learners (`rule="newton"`)
              of the first 100 features, one of which discounts the past.
            - For more columns, sparse and hashed data: a learner with the rule "snag".
        sparsity: how large the sum of gradients of a weight must be for the weight to be nonzero. The larger it is, the
            fewer weights are nonzero; 1 is a good value, 0 means no penalty. It has no unit, so that one number suits
            all features. "auto" runs several values from 0 to 30 and predicts with the one whose loss is smallest so
            far. A linear model with a penalty is FTRL-Proximal in normalized form. It takes plain gradients
            (`importance_aware` has no effect), and learning_rate="auto" chooses among 3 rates. `prune` removes the
            features whose weights are zero. With curves and trees the weights of their leaves are penalized, and no
            others: each step is followed by a proximal one; there "auto" is 0, and 0.1 is much. Default: 0.
        l2: a penalty that pulls weights toward zero without making them zero, of the same weights as `sparsity`; it has
            no unit either. Default: 0.
        n_trees: the number of trees; rarely needed. Fewer trees take less time and memory. Default: 64.
        max_leaves: the largest number of leaves of a tree; rarely needed. Fewer leaves take less memory. Default: 256.
        tree_patience: how long a leaf of a tree with n leaves collects evidence before it is split: for 16 rows, and
            this number times the square root of n more. A fit, which learns rows several times, takes 32; in a stream
            each row counts, so that trees begin early. Default: 0.
        further: accepts no options; an unknown name raises an `OptionError` that suggests a similar option.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3)) * [1e-6, 1, 1e6]  # three units
        >>> y = X @ [2e6, 1.0, -3e-6] + 1
        >>> m = ul.Learner()
        >>> p = m.learn(X, y)  # predictions made before each update
        >>> bool(np.mean((p[1000:] - y[1000:]) ** 2) < 0.01 * np.var(y))
        True
        >>> {name: float(f"{w:.2g}") for name, w in m.weights.items()}
        {'(bias)': 1.0, 0: 2000000.0, 1: 1.0, 2: -3e-06}
    """

    _kind = "Learner"

    def __init__(
        self,
        rule: Rule = "nag",
        loss: Loss = "squared",
        learning_rate: float | Auto = 0.5,
        *,
        importance_aware: bool = True,
        bias: bool = True,
        quantile: float = 0.5,
        schedule: Schedule | None = None,
        order: Order = "paper",
        clip: Clip | None = None,
        target: Auto | None = None,
        center: bool = False,
        falling_scales: bool = False,
        interactions: Any = None,
        bits: int | None = None,
        average: bool = False,
        model_type: ModelType = "linear",
        ensemble: bool = False,
        sparsity: float | Auto = 0.0,
        l2: float = 0.0,
        n_trees: int = 64,
        max_leaves: int = 256,
        tree_patience: int = 0,
        **further: Any,
    ) -> None:
        check_names(further)
        options = Options(
            rule=rule,
            loss=loss,
            learning_rate=learning_rate,
            importance_aware=importance_aware,
            bias=bias,
            quantile=quantile,
            schedule=schedule,
            order=order,
            clip=clip,
            target=target,
            center=center,
            falling_scales=falling_scales,
            interactions=interactions,
            bits=bits,
            average=average,
            model_type=model_type,
            ensemble=ensemble,
            sparsity=sparsity,
            l2=l2,
            n_trees=n_trees,
            max_leaves=max_leaves,
            tree_patience=tree_patience,
            **further,
        )
        if LOSSES[options.loss].coupled:
            raise OptionError(f"is {loss!r}, which is for several classes: use ul.Softmax", option="loss")
        super().__init__(options)

    @classmethod
    def _fresh(
        cls, options: dict[str, Any], labels: list[Label] | None, open: bool, rates: Sequence[float] | None
    ) -> Learner:
        return Learner(**options)

    def _has_one_lane(self) -> bool:
        return len(self._candidates.rates) == 1 and not self._options.several_lanes

    def learn(self, X: Any, y: Any, weight: Any = None, offset: Any = None) -> Float64:
        """Learn from rows in order. Returns the prediction for each row, made before the row was learned.

        The result does not depend on how the data is given, to the last bit: in one call or many, row by row, dense,
        sparse or by name. There is one exception: with `bits`, features are hashed by name, so that an array, whose
        columns have numbers, and a frame, whose columns have names, give different models.

        Args:
            X: a 2-D array (any numeric type and strides), a SciPy sparse matrix, a pandas, polars or pyarrow frame
                (features by column name), or a list of mappings of names to numbers.
            y: one label per row.
            weight: one sample weight per row; a row of weight 2 counts as two rows. Default: None, all 1.
            offset: one number per row that is added to the score, such as an earlier prediction or, for counts
                (poisson), the logarithm of the exposure. It is like a feature whose weight is fixed at 1. Squared and
                quantile loss then use labels minus offsets, also for the unit of the label and for the range of
                predictions. Default: None, all 0.
        """
        data, own = self._data_and_offset(X)
        return self._feed(data, self._labels(y, data.rows), weight, offset=own if offset is None else offset)

    def _labels(self, y: Any, rows: int) -> Float64:
        """Labels as the core takes them. A model that `train` made takes them as the data had them."""
        return inputs.vector(y, "y", rows) if self._rows is None else self._rows.numbers(y, rows)

    def predict(self, X: Any, offset: Any = None, *, extrapolate: bool = False) -> Float64:
        """Return the predictions for rows. The model does not change.

        A prediction is the one that `learn` would make before it learns the row.

        Args:
            X: rows, as in `learn`.
            offset: one number per row that is added to the score; see `learn`. Default: None, all 0.
            extrapolate: if True, the prediction is linear in all values. If False, "nag" treats a value beyond the
                largest one seen so far as if it were that largest value (the squash of Algorithm 2). Default: False.
        """
        data, own = self._data_and_offset(X)
        return self._ask(data, extrapolate, own if offset is None else offset)

    def predict_label(self, X: Any, offset: Any = None) -> np.ndarray[Any, Any]:
        """Return the label of each row: for two classes the one with the higher score, otherwise the predicted number.

        For two classes, a model that `train` made returns the labels of its data; other models return booleans, True
        for the positive class.

        Args:
            X: rows, as in `learn`.
            offset: one number per row that is added to the score; see `learn`. Default: None, all 0.

        Example:
            >>> import numpy as np, unitless as ul
            >>> m = ul.Learner(loss="logistic")
            >>> _ = m.learn([[1.0], [-1.0]] * 100, [True, False] * 100)
            >>> m.predict_label([[2.0], [-2.0]]).tolist()
            [True, False]
        """
        scores = self.predict(X, offset)
        if not LOSSES[self._options.loss].for_classes:
            return self._link(scores)
        if self._training is None:
            return np.asarray(scores > 0)
        return label_array(self.predictor.classes)[(scores > 0).astype(np.intp)]

    def predict_proba(self, X: Any, offset: Any = None) -> Float64:
        """Return two columns: the probabilities of the negative and of the positive class. Only for logistic loss.

        Args:
            X: rows, as in `learn`.
            offset: one number per row that is added to the score; see `learn`. Default: None, all 0.
        """
        if not LOSSES[self._options.loss].link.gives_probabilities:
            raise OptionError(f"probabilities are for logistic loss; this model's is {self._options.loss!r}")
        return self._shares(self.predict(X, offset))

    def predict_interval(self, X: Any, level: float = USUAL_LEVEL, offset: Any = None) -> Any:
        """Return the prediction interval of each row (two columns, low and high); for two classes a list of label sets.

        This needs a model that measures its errors, such as the models of `train`.

        Args:
            X: rows, as in `learn`.
            level: the probability that the truth is in the interval or set. Default: 0.9.
            offset: one number per row that is added to the score; see `learn`. Default: None, all 0.
        """
        from .prediction_errors import bounds, label_sets, quantiles_of  # noqa: PLC0415  (an import cycle: this module reads models)

        reach = quantiles_of(self).known_reach(checked_level(level))
        if not LOSSES[self._options.loss].for_classes:
            return np.stack(bounds(self, self._link(self.predict(X, offset)), reach), axis=1)
        shares = self.predict_proba(X, offset)
        labels = [False, True] if self._training is None else self.predictor.classes
        return label_sets(shares, shares.argmax(axis=1), reach, labels)

    def _shares(self, scores: Float64) -> Float64:
        """Convert scores to two columns: the probabilities of the negative and of the positive class."""
        positive = self._link(scores.reshape(-1))
        return np.stack([1.0 - positive, positive], axis=1)

    def _scores_and_truth(self, scores: Float64, y: Any, weight: Float64 | None) -> tuple[Float64, NDArray[Any]]:
        """Check predictions and labels that a user wants to compare; return them as scores and truth, see `Scored`."""
        if scores.ndim != 1:
            raise InputError(f"predictions have {scores.ndim} dimensions; a Learner makes one per row")
        labels = inputs.vector(y, "y", len(scores), "predictions")
        self.losses(scores, labels)  # raises an error that names an invalid label and its row
        return scores.reshape(-1, 1), labels == 1 if self.task == "binary" else labels

    def losses(self, predictions: Any, y: Any) -> Float64:
        """Return the loss of each prediction; for the predictions of `learn` this is the progressive loss.

        Args:
            predictions: as `learn` and `predict` return them.
            y: one label per row.
        """
        scores = inputs.vector(predictions, "predictions", len(predictions))
        return self._loss(0, scores, inputs.vector(y, "y", len(scores), "predictions"), np.zeros(0))

    @property
    def rates(self) -> dict[float | Walk, float]:
        """The mean progressive loss of each learning rate that is running; without "auto" there is one rate.

        With rule "newton", the keys are the `Walk` of each running lane (its prior and forgetting).
        """
        return self._reading().rates(0)

    @property
    def learning_rate(self) -> float:
        """The learning rate in use: with "auto", the best one so far; NaN with "newton", which has no learning rate."""
        reading = self._reading()
        return reading.rate(reading.leader(0))

    @property
    def sparsity(self) -> float:
        """The sparsity in use: with "auto", the best one so far."""
        reading = self._reading()
        return reading.penalty(reading.leader(0))

    def prune(self) -> None:
        """Remove all features whose weight is zero, so that a sparse model becomes as small as possible.

        Predictions stay the same, to the last bit. Among the rates and penalties that were compared, the best ones
        remain. A pruned model can learn more: a removed feature starts again when it is seen again, and the neighbors
        of the best rate and penalty are compared again. Only for models with `sparsity`. Example:
            >>> import numpy as np, unitless as ul
            >>> rng = np.random.default_rng(0)
            >>> X = rng.normal(size=(2000, 50))
            >>> m = ul.Learner(loss="logistic", sparsity=10)
            >>> _ = m.learn(X, X[:, 3] > X[:, 5])
            >>> m.prune()
            >>> sorted(name for name in m.weights if name != "(bias)")
            [3, 5]
        """
        pruning.prune(self)

    @property
    def weights(self) -> ByFeature:
        """The weight w of each feature, in the data's units. Of an ensemble: those of the member with the model's rule.

        With `model_type="linear"` and `ensemble=False`, `predict(X, extrapolate=True)` is Σ w·x plus the weight of
        "(bias)".
        """
        reading = self._reading()
        return reading.weights(reading.leader(0))

    @property
    def scales(self) -> ByFeature:
        """The scale s of each feature: the largest |x| ("snag": root mean square). Of an ensemble: see `weights`."""
        return self._reading().scales()

    @property
    def importance(self) -> ByFeature:
        """The importance |w|·s of each feature, which is how far the feature moves the score, in the unit of the score.

        It does not depend on the unit of the feature. Curves and trees add to it: half the difference between the
        highest and the lowest step of the feature's curve, and for each split of a tree on the feature, half the
        difference between its two sides, times the share of rows that reach the split. For several members, it is their
        mean, weighted by `members`.
        """
        if self._mixes():
            return {feature: float(by_head[0]) for feature, by_head in self._form_reading().importance().items()}
        reading = self._reading()
        return reading.importance(reading.leader(0))

    def _reading(self) -> StateReading:
        return StateReading(self._options, self._candidates, self._snapshot())

    def _facts(self) -> list[tuple[str, str]]:
        if self.nbytes >= LARGE:
            return []
        reading = self._reading()
        found = reading.candidate(reading.leader(0))
        return [("lane", str(found)) if isinstance(found, Walk) else ("learning rate", f"{found:.4g}")]

    def _tables(self) -> list[html.Html]:
        weights, importance, scales = self.weights, self.importance, self.scales
        top = ranked(importance, 12)
        rows = [
            [
                html.name(name),
                shown.number(weights[name]) if name in weights else "",
                shown.number(scales[name]) if name in scales else "",
                shown.number(value),
                html.share_bar(value, top[0][1]),
            ]
            for name, value in top
        ]
        more = len(importance) - (BIAS in importance) - len(rows)
        return [
            html.table(["feature", "weight", "scale", "effect", ""], rows),
            *([html.note(f"and {more:,} features of less effect")] if more else []),
            *([html.note(self._of_weights)] if self._of_weights else []),
        ]

    def __repr__(self) -> str:
        return f"<Learner({self._changed_options()}): {self._counted()}>"
