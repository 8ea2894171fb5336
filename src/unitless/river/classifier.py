"""A classifier for River, for two classes or many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp
from typing import Any

import numpy as np
from river import base
from river.utils import dataframe

from .. import inputs
from ..errors import InputError, OptionError
from ..losses import LOSSES, ClassLoss, ManyClassesLoss
from ..models.classes import Classes, Label
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..options import USUAL_LEVEL, Auto, ModelType, Order, Rule, Schedule
from . import rows
from .linear import (
    Linear,
    Row,
    learn_class_noting,
    learn_side,
    predict_class_shares,
    predict_one,
    predict_shares,
    weights_of,
)
from .rows import Missing


class UnitlessClassifier(Linear, base.MiniBatchClassifier):
    """A classifier for two or more classes that does not depend on the units of the features.

    It replaces `preprocessing.StandardScaler() | linear_model.LogisticRegression()` and needs no scaler and no learning
    rate. By default it learns trees, the learning rate and the features' offsets.

    Labels can be of any type. Booleans, and two labels that are given as `classes`, are learned by one model
    (`Learner`), which is fastest. For other labels the number of classes is not known in advance: each class has a
    model of its own, and all models learn in one pass (`OneVsAll`). A class that appears late has the same state as if
    it had been known from the beginning: exactly for linear models, approximately for trees. The probabilities of more
    than two classes are those of each class against the rest, divided by their sum.

    For the types of values and for centering, see `UnitlessRegressor`.

    Args:
        classes: all labels, if they are known; any other label is then an error. The first of two is the negative
            one. Default: None, classes are added when they appear.
        rule: how weights are updated; see `unitless.Learner`. Default: "nag".
        loss: "logistic"; "softmax", one model of all classes instead of one for each class; or "hinge", which has no
            probabilities. Default: "logistic".
        learning_rate: a number, or "auto", which chooses among 16 rates while learning, for each class. Default: None,
            which means "auto", but 0.5 if `order` is "vw".
        importance_aware: never step past the label, even if the rate or the weight of a row is large. Default: True.
        bias: add a constant feature. Default: True.
        schedule: for "gd" and "ng", how the rate changes: "sqrt" or "constant". Default: None, which means "sqrt".
        order: "paper" adapts the scales before it predicts a row; "vw" predicts first. Default: "paper".
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
        >>> from unitless.river import UnitlessClassifier
        >>> evaluate.progressive_val_score(datasets.Phishing(), UnitlessClassifier(), metrics.Accuracy())
        Accuracy: 91.03%
        >>> model = UnitlessClassifier()  # more than two classes
        >>> evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.MacroF1())
        MacroF1: 94.42%
        >>> sorted(model.weights)
        ['brickface', 'cement', 'foliage', 'grass', 'path', 'sky', 'window']
    """

    def __init__(
        self,
        classes: Sequence[Any] | None = None,
        rule: Rule = "nag",
        loss: ClassLoss | ManyClassesLoss = "logistic",
        learning_rate: float | Auto | None = None,
        importance_aware: bool = True,
        bias: bool = True,
        schedule: Schedule | None = None,
        order: Order = "paper",
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
        self.classes = classes
        self.rule = rule
        self.loss = loss
        self.learning_rate = learning_rate
        self.importance_aware = importance_aware
        self.bias = bias
        self.schedule = schedule
        self.order = order
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
        self._begin("binary")
        self._gives_shares = LOSSES[loss].link.gives_probabilities
        self._two: tuple[Label, Label] | None = None  # the negative and the positive label
        self._side: dict[Label, bool] = {}
        if classes is not None:
            named = Classes(classes, open=False).labels
            if len(named) < 2:
                raise OptionError("classes must be at least two, or None to let them join when they are first met")
            if len(named) == 2:
                self._tell_apart(named[0], named[1])

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"learning_rate": 0.5, "center": False}
        yield {"loss": "hinge"}

    @property
    def _multiclass(self) -> bool:
        return True

    def _tell_apart(self, negative: Label, positive: Label) -> None:
        self._two = negative, positive
        self._side = {negative: False, positive: True}

    # ----------------------------------------------------------------------------------------------- one at a time

    def learn_one(self, x: Row, y: Label, w: float = 1.0) -> None:
        """Learn from one row and its label; an example of weight 2 counts as two."""
        if self._direct:
            try:
                session = self._session
                model = session.model
                if self._two:
                    many = learn_side(model, x, y, w, self._side, session.pending.rows)
                else:
                    many = learn_class_noting(model, x, y, w, model._classes.by_label, session.pending.rows)
                    if many is None:  # a new class, or a label of another type
                        self._note(model.learn_one(x, y, w), y, w)
                if many:
                    session.count_pending("errors")
                return
            # handled below: the row is converted and learned, or an error is raised
            except (InputError, KeyError, TypeError):
                pass
        two = self._pair(y)
        self._learn_row(self._model or self._new(two), x, _side_of(y, two) if two else y, w)
        if self._model and two:
            self._tell_apart(*two)

    def predict_one(self, x: Row) -> Any:  # type: ignore[override]
        """Predict the most likely label; None before the first example, if the classes are not known.

        Changes nothing.
        """
        if not self._two:
            scores = self._scores_of(x)
            return self._labels[scores.index(max(scores))] if scores else None
        if self._direct:
            try:
                return self._two[predict_one(self._session.model, x) > 0]
            except InputError:  # the row may contain text
                pass
        model: Any = self._known_model()
        return self._two[model.predict_one(rows.numbers(x, self.missing)) > 0]

    def predict_proba_one(self, x: Row) -> dict[Any, float]:  # type: ignore[override]
        """Predict the probability of each label; empty before the first example, if the classes are not known."""
        if not self._gives_shares:
            raise NotImplementedError(f"{self.loss} loss gives no probabilities; loss='logistic' does")
        if self._direct:
            try:
                return self._shares_of(self._session.model, x)
            except (InputError, TypeError):  # the row may contain text
                pass
        model = self._known_model()
        return {} if model is None else self._shares_of(model, rows.numbers(x, self.missing))

    def _shares_of(self, model: Any, row: Row) -> dict[Any, float]:
        if self._two:
            return predict_shares(model, row, self._two)  # type: ignore[no-any-return]
        return predict_class_shares(model, row, model._classes.labels)  # type: ignore[no-any-return]

    def predict_interval_one(self, x: Row, level: float = USUAL_LEVEL) -> list[Any]:
        """Predict the set that contains a row's label with a given probability, most likely first; changes nothing.

        A label is in the set if 1 - its probability is at most a quantile of recent values for true labels, from
        predictions made before rows were learned. The most likely label is always in the set; with too few rows all
        labels are.

        Args:
            x: a row.
            level: the probability that the set contains the label. Default: 0.9.
        """
        reach, shares = self._reach(level), self.predict_proba_one(x)
        ranked = sorted(shares, key=lambda label: -shares[label])
        return [label for place, label in enumerate(ranked) if place == 0 or 1.0 - shares[label] <= reach]

    def _scores_of(self, x: Row) -> list[float]:
        """The scores of all classes."""
        model: Any = self._model
        if self._direct:
            try:
                return list(model.predict_one(x).tolist())
            except InputError:  # the row may contain text
                pass
        row, model = rows.numbers(x, self.missing), self._known_model()
        return [] if model is None else list(model.predict_one(row).tolist())

    # ------------------------------------------------------------------------------------------------------- frames

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a pandas, polars or pyarrow frame in order, exactly as `learn_one` would one by one."""
        _, data = self._table(X)
        labels: Any = inputs.as_array(y, "y")
        if labels.shape != (data.rows,):
            raise InputError(f"y has shape {labels.shape}, but X has {data.rows} rows; it must be one label per row")
        if not data.rows:
            return
        weight = weights_of(w, data.rows)
        two = self._pair(labels[0 if weight is None else int((weight != 0).argmax())])
        if two:
            labels = np.array(
                [_side_of(label, two, row) for row, label in enumerate(labels.tolist())], dtype=np.float64
            )
        self._learn_batch(self._model or self._new(two), data, labels, weight)
        self._y_name = getattr(y, "name", None)
        if self._model and two:
            self._tell_apart(*two)

    def predict_many(self, X: Any) -> Any:
        """Predict the most likely label of each row of a frame, as a series of the same library."""
        frame, scores = self._scores(X)
        if scores is None:
            labels: Any = [None] * len(frame)
        elif self._two:
            labels = [self._two[score > 0] for score in scores]
        else:
            known = self._labels
            labels = [known[score.index(max(score))] for score in scores]
        return dataframe.to_native_series(labels, name=self._y_name, like=frame)

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probability of each label, one column each, for the rows of a frame.

        As a frame of the same library.
        """
        if not self._gives_shares:
            raise NotImplementedError(f"{self.loss} loss gives no probabilities; loss='logistic' does")
        frame, scores = self._scores(X)
        columns: dict[Label, Any] = {}
        if scores is not None and self._two:
            p = np.array([_logistic(score) for score in scores])
            columns = {self._two[0]: 1.0 - p, self._two[1]: p}
        elif scores is not None:
            shares = np.array([_shares(score) for score in scores]).reshape(-1, len(self._labels))
            columns = {label: shares[:, k] for k, label in enumerate(self._labels)}
        return dataframe.to_native_frame(columns, like=frame)

    def _scores(self, X: Any) -> tuple[Any, Any]:
        """The frame as narwhals wraps it, and the score or scores of each row."""
        frame, data = self._table(X)
        model = self._known_model()
        return frame, None if model is None else model.predict(data).tolist()

    # ------------------------------------------------------------------------------------------------------- labels

    @property
    def _labels(self) -> list[Label]:
        return (self._model or self._new(None))._class_labels

    def _known_model(self) -> Learner | OneVsAll | None:
        """The model, or a new one; None before the first example, if the classes are not known."""
        unknown = self._model is None and self.classes is None
        return None if unknown else self._model or self._new(self._two)

    def _new(self, two: tuple[Label, Label] | None) -> Learner | OneVsAll:
        return self._new_model("binary") if two else self._new_model("classes", self.classes)

    def _pair(self, y: Any) -> tuple[Label, Label] | None:
        """The two labels if the task has two classes, otherwise None; y is the label of the first row."""
        starts_with_boolean = self._model is None and self.classes is None and isinstance(y, bool | np.bool_)
        return (False, True) if starts_with_boolean else self._two


def _side_of(label: Any, two: tuple[Label, Label], row: int | None = None) -> bool:
    """Whether a label is the positive one of two labels."""
    if label in two:
        return bool(label == two[1])
    where = "" if row is None else f" at row {row}"
    raise InputError(
        f"the label{where} is {label!r}; it must be {two[0]!r} or {two[1]!r}. If there are more classes, name them in "
        "classes, or give labels that are not booleans"
    )


def _logistic(score: float) -> float:
    """1 / (1 + exp(-score)) without overflow: far below 0 it is exp(score), to the last bit."""
    return 1.0 / (1.0 + exp(-score)) if score > -700.0 else exp(score)


def _shares(scores: list[float]) -> list[float]:
    """The probability of each class against the rest, divided by their sum."""
    each = [_logistic(max(score, -700.0)) for score in scores]  # so that no probability is 0
    total = 0.0
    for p in each:  # `sum` is more exact from Python 3.12 on; the core adds like this loop
        total += p
    return [p / total for p in each]
