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

from .. import losses
from ..data import Target
from ..data.labels import Numbers, RawLabels, Texts, number_text
from ..errors import InputError, OptionError
from ..inputs import Float64
from ..losses import LOSSES, ClassLoss, ManyClassesLoss
from ..models.classes import label_array
from ..models.learner import Learner
from ..models.model import BIAS, Feature
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import sets_of
from ..models.scored import Scored
from ..options import USUAL_LEVEL, Auto, ModelType, Rule
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
    """Only loss="logistic" has such a method."""

    def has(estimator: UnitlessClassifier) -> bool:
        fitted = hasattr(estimator, "model_")  # which keeps its loss, whatever parameters are set afterwards
        loss = estimator.model_.options.loss if fitted else estimator.loss
        if loss not in LOSSES or not LOSSES[loss].link.gives_probabilities:
            raise AttributeError(f"loss={loss!r} has no probabilities; loss='logistic' has")
        return True

    return available_if(has)(method)  # type: ignore[no-any-return]


class UnitlessClassifier(ClassifierMixin, UnitlessEstimator):  # type: ignore[misc]
    """A classifier that does not care about the features' units: trees for tables, linear for wide or sparse data.

    It takes the place of `make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss"))`, with nothing to scale and
    nothing to tune. Two classes are one `unitless.Learner`, more are a `unitless.OneVsAll`; it is in `model_`.

    Do not use it for data so small that a solver which looks at everything at once takes no time; and where speed or
    weights to read count more than the last percent, use `model_type="linear"`.

    Args:
        rule: how weights are updated; see `unitless.Learner`.
        loss: "logistic"; "softmax", one model of all classes instead of one for each; or "hinge", which has no
            probabilities.
        learning_rate: a number, or "auto": 16 rates run at once and the best is followed.
        model_type: "linear"; "curves", a curve for each numeric column, at 3 to 4 times the time; "trees", curves and
            trees over all columns, at 10 to 20 times the time, about as good as boosted trees; "auto", "trees" where X
            is neither sparse nor wider than 1,000 columns; or "curves only"; see `unitless.Learner`. "linear" alone
            keeps averages of the weights.
        ensemble: combine several learners: second order for dense columns, softmax for more than two classes, "snag"
            for wide and sparse data. Default: True, but False where `learning_rate` is a number.
        sparsity: a penalty that makes weights that matter little zero: a number without a unit (1 is a good value) or
            "auto"; 0 is off. Then the model is linear. See `unitless.Learner`.
        l2: a penalty that pulls weights towards zero, likewise.
        n_trees: the number of trees; rarely needed.
        max_leaves: the largest number of leaves of a tree; rarely needed.
        max_iter: how many passes `fit` makes. "auto": until the loss on rows held back (a tenth, at most 20,000) falls
            no more; the best weights are kept, and these rows are learned last.
        shuffle: `fit` goes through the rows in a random order: files are often sorted. Then it keeps the last weights
            or their average, whichever do better on the rows held back. `partial_fit` always keeps the order, and the
            latest weights.
        random_state: of that order. With a number, the default, the same data give the same model to the bit.
        center: subtract the running mean from dense columns, so that offsets do not matter. Default: True.
        falling_scales: let the scale of a column fall when its values become far smaller for good, as they do when
            millimeters become meters. Default: wherever columns are centered.
        interactions: products of features; see `unitless.Learner`.
        bias: add an intercept.
        extrapolate: beyond the largest value that a feature has shown in training, go on linearly instead of holding
            it there; then `decision_function(X)` of a linear model alone is `X @ coef_.T + intercept_` everywhere.
        class_weight: a dictionary of classes and weights, or "balanced".
        new_classes: what a class does that was not there before, in a later `partial_fit`: "error", or "allow", and it
            joins, in the state that it would have had if it had been named from the beginning. With "allow" two classes
            are two models as well.
        warm_start: `fit` goes on with the model of the last one.
        infer_columns: `fit` reads frames as `train` does: dates, numbers that are written as text, free text and
            identifiers are recognized, and `partial_fit` goes on with these columns. False, and in a model that begins
            with `partial_fit`: columns are what their types say.

    After fitting, beside what every classifier has:

    - `coef_`, `intercept_`: in the data's units. The columns of `coef_` belong to `features_`: the columns of X, then
      the values of its text columns and products, if there are any. Of several
      members they are those of the linear one.
    - `feature_importances_`: |w|·s of these features, the largest among classes: how far a feature can move a score.
      It has no unit, so it can be compared.
    - `progressive_score_`: accuracy of the predictions that were made for each row before it was learned, in the first
      pass: an out-of-sample score, for free.
    - `model_`: the model itself, with all that it can do.

    Example:
        >>> import numpy as np
        >>> from unitless.sklearn import UnitlessClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(3000, 3)) * [1e-6, 1, 1e6]  # three units
        >>> y = np.where(X @ [2e6, 1.0, -3e-6] > 1, "yes", "no")
        >>> m = UnitlessClassifier().fit(X, y)
        >>> print(f"{m.progressive_score_:.2f}, {m.score(X, y):.2f}")
        0.98, 1.00
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
        learning_rate: float | Auto = "auto",
        model_type: ModelType = "auto",
        ensemble: bool | None = None,
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
        self.sparsity = sparsity
        self.l2 = l2
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.extrapolate = extrapolate
        self.class_weight = class_weight
        self.new_classes = new_classes
        self.warm_start = warm_start
        self.infer_columns = infer_columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows, in a random order."""
        go_on = self._goes_on()
        data = rows.read(self, X, first=not go_on, infer=self.infer_columns)
        given, weight = labels.read(y, data.rows), weights_of(sample_weight, data)
        if go_on:
            model = self._taking(self.model_.copy(), data)  # so that bad data leaves the old one as it was
        else:
            self.classes_, self._right_and_all = given.classes, (0.0, 0.0)
            model = self._new_model(data)
        model = self._learn_passes(model, data, *self._prepared(model, given, weight))
        self._keep(model, data, not go_on)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, in their order.

        The first call must be told all `classes`, unless `new_classes="allow"`: then `classes_` are those that have
        been met.
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
        model = self._new_model(data) if first else self._taking(self.model_, data)
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

    def _new_model(self, data: Rows, model_type: ModelType | None = None) -> Learner | OneVsAll:
        if self.loss not in (known := losses.names(for_classes=True)):
            raise OptionError(
                f"is {self.loss!r}; a classifier's is one of {', '.join(map(repr, known))}", option="loss"
            )
        count = len(self.classes_)
        if not self._open and count < 2:
            raise InputError(f"there is one class only, {self.classes_.tolist()[0]!r}; two or more can be told apart")
        task = "binary" if count == 2 and not self._open else "classes"
        return new_model(self._resolved(task, data, model_type), task, None if self._open else self.classes_.tolist())

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
        """Labels as a session takes them, and what the rows weigh."""
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
            return  # rows without weight bring no classes
        if truth.dtype == bool:
            right = (scores[:, 0] > 0) == truth
        else:  # before the first class is met there is no prediction
            right = (scores.argmax(axis=1) == truth) & np.isfinite(scores.max(axis=1))
        count, total = self._right_and_all
        self._right_and_all = (
            count + float(right.sum() if weight is None else weight @ right),
            total + float(len(scored) if weight is None else weight.sum()),
        )

    @property
    def progressive_score_(self) -> float:
        """Accuracy of the predictions made before each row was learned, in `fit`'s first pass or all `partial_fit`s."""
        check_is_fitted(self)
        right, total = self._right_and_all
        return right / total if total else math.nan

    def decision_function(self, X: Any) -> Float64:
        """Scores: of the second of two classes, which is predicted above 0; or one column for each class."""
        scores = self._class_scores(X)
        if scores.ndim == 1 or scores.shape[1] > 2:
            return scores
        return np.asarray(scores[:, -1] - scores[:, 0] if scores.shape[1] == 2 else scores[:, 0])

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row: a NumPy array, whatever X is."""
        scores = self._class_scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)])

    @_with_probabilities
    def predict_proba(self, X: Any) -> Float64:
        """Probabilities, a column for each of `classes_`; of several, `OneVsAll.predict_proba`."""
        scores = self._class_scores(X)  # which refuses an estimator that is not fitted
        return self.model_._shares(scores)

    @_with_probabilities
    def predict_log_proba(self, X: Any) -> Float64:
        """The logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @_with_probabilities
    def predict_set(self, X: Any, level: float = USUAL_LEVEL) -> NDArray[np.bool_]:
        """For each row the classes among which the true one is with this probability: a boolean array, a column for
        each of `classes_`.

        A class is in the set if 1 - its probability is at most a quantile of what that was for the true classes of rows
        that had not been learned (see `UnitlessRegressor.predict`). The likeliest class always is.
        """
        reach = self._reach(level, "level")
        scores = self._class_scores(X)
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return sets_of(self.model_._shares(scores), best, reach)

    def _class_scores(self, X: Any) -> Float64:
        """A column for each of `classes_`; one score for each row if there is one model for two classes."""
        scores = self._scores(X)
        return scores[:, self._columns()] if scores.ndim == 2 else scores

    def _columns(self) -> NDArray[np.intp] | slice:
        """Where the model has the scores of `classes_`: classes that join on the way come in any order."""
        open_to_classes = self.model_._open_to_classes()
        return np.argsort(label_array(self.model_._class_labels)) if open_to_classes else slice(None)

    @property
    def coef_(self) -> Float64:
        """Weights in the data's units: one row if there are two classes, otherwise a row for each class."""
        return self._by_class(self._by_feature(self._of_classes("weights")))

    @property
    def intercept_(self) -> Float64:
        """What the score is where all features are 0."""
        return self._by_class(np.array([weights.get(BIAS, 0.0) for weights in self._of_classes("weights")]))

    @property
    def feature_importances_(self) -> Float64:
        """|w|·s by feature, the largest among the classes: how far it can move a score. It has no unit."""
        return np.asarray(self._by_feature(self._of_classes("importance")).max(axis=0))

    def _of_classes(self, what: str) -> list[dict[Feature, float]]:
        check_is_fitted(self)
        return self.model_._of_heads(what)

    def _by_class(self, values: Float64) -> Float64:
        """In the order of `classes_`; of two models for two classes, how they differ."""
        if self.model_.task == "binary":
            return values
        values = values[self._columns()]
        return values[1:] - values[:1] if len(values) == 2 else values
