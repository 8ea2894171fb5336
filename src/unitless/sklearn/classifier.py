"""A classifier for scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..data import Target
from ..data.labels import Numbers, RawLabels, Texts, number_text
from ..errors import InputError, OptionError
from ..inputs import Float64
from ..losses import LOSSES, ClassLoss, ManyClassesLoss
from ..models.classes import label_array
from ..models.learner import Learner
from ..models.model import BIAS, Feature
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import label_sets
from ..models.scored import Scored
from ..options import USUAL_LEVEL, Auto, ModelType, Order, Rule, Schedule
from ..training.defaults import new_model
from . import labels, rows
from .estimator import UnitlessEstimator, weights_of
from .labels import Labels
from .rows import Rows

if TYPE_CHECKING:
    from typing_extensions import Self

NewClasses = Literal["error", "allow"]


Method = TypeVar("Method", bound=Callable[..., Any])


def _with_probabilities(method: Method) -> Method:
    """Make a method available only with probabilities: for other losses the attribute does not exist."""

    def has(estimator: UnitlessClassifier) -> bool:
        fitted = hasattr(estimator, "model_")  # a fitted model keeps its loss, whatever parameters are set afterwards
        loss = estimator.model_.options.loss if fitted else estimator.loss
        if loss not in LOSSES or not LOSSES[loss].link.gives_probabilities:
            raise AttributeError(f"loss={loss!r} has no probabilities; loss='logistic' has")
        return True

    return available_if(has)(method)  # type: ignore[no-any-return]


class UnitlessClassifier(ClassifierMixin, UnitlessEstimator):  # type: ignore[misc]
    """A classifier that does not depend on the units of the features.

    It replaces `make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss"))` and needs no scaling and no tuning. By
    default it learns trees for tables, and a linear model for wide or sparse data.

    Do not use it for small data on which a batch solver is fast enough. Use `model_type="linear"` where speed or
    readable weights matter more than the best accuracy.

    Args:
        rule: how weights are updated; see `unitless.Learner`. Default: "nag".
        loss: "logistic"; "softmax", one model of all classes instead of one for each class; or "hinge", which has no
            probabilities. Default: "logistic".
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
            Then `decision_function(X)` of a linear model without an ensemble is `X @ coef_.T + intercept_` everywhere.
            Default: False.
        class_weight: a dictionary of classes and weights, or "balanced". Default: None, all weights are 1.
        new_classes: how a later `partial_fit` treats a class that was not known before: "error" raises an error;
            "allow" adds the class, in the state that it would have if it had been known from the beginning. With
            "allow", two classes also have one model each. Default: "error".
        warm_start: whether `fit` continues with the previous model. Default: False.
        infer_columns: whether `fit` infers column types of frames as `train` does: it recognizes dates, numbers written
            as text, free text and identifiers, and `partial_fit` continues with these types. If it is False, and for a
            model that begins with `partial_fit`, the types of the frame decide. Default: True.

    Attributes:
        coef_: the weights of the linear terms in the data's units; the columns belong to `features_`.
        intercept_: the intercepts in the data's units.
        features_: the columns of X, followed by the values of its text columns and by products, if there are any.
        feature_importances_: |w|·s of these features, the largest among classes: how far a feature can move a score. It
            has no unit, so features can be compared.
        progressive_score_: the accuracy of predictions made before each row was learned, in the first pass of `fit`. It
            is an out-of-sample accuracy.
        model_: the model: a `unitless.Learner` for two classes, a `unitless.OneVsAll` or `unitless.Softmax` for more.

    Example:
        >>> import numpy as np
        >>> from unitless.sklearn import UnitlessClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(3000, 3)) * [1e-6, 1, 1e6]  # three units
        >>> y = np.where(X @ [2e6, 1.0, -3e-6] > 1, "yes", "no")
        >>> m = UnitlessClassifier().fit(X, y)
        >>> print(f"{m.progressive_score_:.2f}, {m.score(X, y):.2f}")
        0.99, 1.00
        >>> m.predict_proba(X[:2]).round(2).tolist()
        [[1.0, 0.0], [1.0, 0.0]]
    """

    classes_: NDArray[Any]
    _right_and_all: tuple[float, float]

    def __init__(
        self,
        *,
        rule: Rule = "nag",
        loss: ClassLoss | ManyClassesLoss = "logistic",
        learning_rate: float | Auto | None = None,
        model_type: ModelType = "auto",
        ensemble: bool | None = None,
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
        bits: int | None = None,
        average: bool | None = None,
        sparsity: float | Auto = 0.0,
        l2: float = 0.0,
        n_trees: int = 64,
        max_leaves: int | None = None,
        tree_patience: int | None = None,
        extrapolate: bool = False,
        class_weight: Any = None,
        new_classes: NewClasses = "error",
        warm_start: bool = False,
        infer_columns: bool = True,
    ) -> None:
        self.rule = rule
        self.loss = loss
        self.learning_rate = learning_rate
        self.model_type = model_type
        self.ensemble = ensemble
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
        self.bits = bits
        self.average = average
        self.sparsity = sparsity
        self.l2 = l2
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.tree_patience = tree_patience
        self.extrapolate = extrapolate
        self.class_weight = class_weight
        self.new_classes = new_classes
        self.warm_start = warm_start
        self.infer_columns = infer_columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a new model to all rows, in random order."""
        go_on = self._goes_on()
        data = rows.read(self, X, first=not go_on, infer=self.infer_columns, y=y)
        given, weight = labels.read(y, data.rows), weights_of(sample_weight, data)
        if go_on:
            model = self._taking(self.model_.copy(), data)  # a copy, so that invalid data does not change the model
        else:
            self.classes_, self._right_and_all = given.classes, (0.0, 0.0)
            model = self._new_model(data)
        model = self._learn_passes(model, data, *self._prepared(model, given, weight))
        self._keep(model, data, not go_on)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn further rows, in their order.

        The first call needs all `classes`, unless `new_classes="allow"`: then `classes_` are the classes seen so far.
        """
        if isinstance(self.class_weight, str):
            raise OptionError(
                f"class_weight={self.class_weight!r} is not supported for partial_fit, which does not see all labels; "
                "give it a dictionary of weights, such as sklearn.utils.compute_class_weight computes"
            )
        first = self._begins()
        data = rows.read(self, X, first=first)
        given, weight = labels.read(y, data.rows), weights_of(sample_weight, data)
        self._check_classes(classes, first)
        if first:
            self.classes_ = given.classes if self._open else labels.sorted_classes(np.asarray(classes))[0]
            self._right_and_all = (0.0, 0.0)
        model = self._new_model(data, stream=True) if first else self._taking(self.model_, data)
        self._learn_batch(model, data, *self._prepared(model, given, weight))
        self._keep(model, data, first)
        return self

    def _check_classes(self, classes: Any, first: bool) -> None:
        if first and classes is None and not self._open:
            raise InputError("classes must be passed on the first call to partial_fit, or new_classes must be 'allow'")
        if classes is not None and not first and not self._open:
            named = labels.sorted_classes(np.asarray(classes))[0]
            if not np.array_equal(named, self.classes_):
                raise InputError(
                    f"classes are {named.tolist()}, which is not the same as on the first call to partial_fit: "
                    f"{self.classes_.tolist()}"
                )

    @property
    def _open(self) -> bool:
        if self.new_classes not in get_args(NewClasses):
            raise OptionError(f"new_classes is {self.new_classes!r}; it must be one of 'error', 'allow'")
        return self.new_classes == "allow"

    def _new_model(self, data: Rows, model_type: ModelType | None = None, stream: bool = False) -> Learner | OneVsAll:
        count = len(self.classes_)
        if not self._open and count < 2:
            raise InputError(f"there is only one class, {self.classes_.tolist()[0]!r}; a classifier needs at least two")
        task = "binary" if count == 2 and not self._open else "classes"
        return new_model(
            self._resolved(task, data, model_type, stream), task, None if self._open else self.classes_.tolist()
        )

    def _target(self) -> Target:
        if len(self.classes_) > 2 or self._open:
            return Target("classes", number=self.classes_.dtype.kind in "iuf")
        if self.classes_.dtype.kind == "b":
            return Target("binary", ["false", "true"], False)
        number = self.classes_.dtype.kind in "iuf"
        return Target("binary", [number_text(one) if number else str(one) for one in self.classes_.tolist()], number)

    def _prepared(
        self, model: Learner | OneVsAll, given: Labels, weight: Float64 | None
    ) -> tuple[RawLabels, Float64 | None]:
        """Convert labels and weights for a session."""
        if model._open_to_classes():
            known = given.joined(self.classes_)
        else:
            known = self.classes_
            given.check_known(known)
        of_class = given.weights(self.class_weight, known)
        if of_class is not None:
            weight = of_class if weight is None else weight * of_class
        if model.task == "classes":
            return Texts(given.places.astype(np.int32), given.classes.tolist()), weight
        return Numbers((given.values == self.classes_[1]).astype(np.float64)), weight

    def _keep(self, model: Learner | OneVsAll, data: Rows, first: bool) -> None:
        self._keep_model(model, data, first)
        if model._open_to_classes():
            self.classes_ = labels.sorted_classes(label_array(model._class_labels))[0]

    def _note(self, scored: Scored) -> None:
        scores, truth, weight = scored.scores, scored.truth, scored.weight
        if not scores.shape[1]:
            return  # rows without weight add no classes
        if truth.dtype == bool:
            right = (scores[:, 0] > 0) == truth
        else:  # there is no prediction before the first class
            right = (scores.argmax(axis=1) == truth) & np.isfinite(scores.max(axis=1))
        count, total = self._right_and_all
        self._right_and_all = (
            count + float(right.sum() if weight is None else weight @ right),
            total + float(len(scored) if weight is None else weight.sum()),
        )

    @property
    def progressive_score_(self) -> float:
        """The accuracy of predictions made before each row was learned, in `fit`'s first pass or in `partial_fit`."""
        check_is_fitted(self)
        right, total = self._right_and_all
        return right / total if total else math.nan

    def decision_function(self, X: Any) -> Float64:
        """The scores: for two classes one, positive for the second class; otherwise one column for each class."""
        scores = self._class_scores(X)
        if scores.ndim == 1 or scores.shape[1] > 2:
            return scores
        return np.asarray(scores[:, -1] - scores[:, 0] if scores.shape[1] == 2 else scores[:, 0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row; returns a NumPy array."""
        scores = self._class_scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)])

    @_with_probabilities
    def predict_proba(self, X: Any) -> Float64:
        """Predict probabilities, a column for each of `classes_`; for several classes see `OneVsAll.predict_proba`."""
        scores = self._class_scores(X)  # this also raises an error for an estimator that is not fitted
        return self.model_._shares(scores)

    @_with_probabilities
    def predict_log_proba(self, X: Any) -> Float64:
        """The logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @_with_probabilities
    def predict_interval(self, X: Any, level: float = USUAL_LEVEL) -> list[list[Any]]:
        """Predict a set of classes for each row: a list, most likely first.

        A class is in the set if 1 - its probability is at most a quantile of 1 - the probability of the true class,
        over rows that had not been learned (see `UnitlessRegressor.predict_interval`). The most likely class is always
        in the set.

        Args:
            X: rows.
            level: the probability that the set contains the true class, such as 0.9; at most 0.999. Default: 0.9.
        """
        reach = self._reach(level, "level")
        scores = self._class_scores(X)
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return label_sets(self.model_._shares(scores), best, reach, self.classes_.tolist())

    def _class_scores(self, X: Any) -> Float64:
        """The scores for each of `classes_`; a single score for each row if one model separates two classes."""
        scores = self._scores(X)
        return scores[:, self._columns()] if scores.ndim == 2 else scores

    def _columns(self) -> NDArray[np.intp] | slice:
        """The model's positions of `classes_`: classes that join later have any order."""
        open_to_classes = self.model_._open_to_classes()
        return np.argsort(label_array(self.model_._class_labels)) if open_to_classes else slice(None)

    @property
    def coef_(self) -> Float64:
        """The weights in the data's units: one row for two classes, otherwise a row for each class."""
        return self._by_class(self._by_feature(self._of_classes("weights")))

    @property
    def intercept_(self) -> Float64:
        """The score where all features are 0."""
        return self._by_class(np.array([weights.get(BIAS, 0.0) for weights in self._of_classes("weights")]))

    @property
    def feature_importances_(self) -> Float64:
        """|w|·s by feature, the largest among the classes: how far a feature can move a score. It has no unit."""
        return np.asarray(self._by_feature(self._of_classes("importance")).max(axis=0))

    def _of_classes(self, what: str) -> list[dict[Feature, float]]:
        check_is_fitted(self)
        return self.model_._of_heads(what)

    def _by_class(self, values: Float64) -> Float64:
        """Values in the order of `classes_`; for two classes with two models, their difference."""
        if self.model_.task == "binary":
            return values
        values = values[self._columns()]
        return values[1:] - values[:1] if len(values) == 2 else values
