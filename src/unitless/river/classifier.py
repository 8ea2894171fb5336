"""A classifier for River, for two classes or many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp
from typing import Any

import numpy as np
from river import base
from river.utils import dataframe

from .. import inputs, losses
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
    """Logistic regression, with trees or linear, for two classes or many, that does not depend on the features' units.

    It is used like `preprocessing.StandardScaler() | linear_model.LogisticRegression()`, without the scaler and without
    a learning rate to choose. By default it learns the rate (`learning_rate="auto"`) and the features' offsets
    (`center="auto"`) on the way.

    Labels can be of any kind. Booleans, and any two labels that are named in `classes`, are one model (`Learner`), the
    fastest. With any other labels nobody knows how many classes will come; then each has a model of its own, one more
    waits for those to come, and all learn in one pass (`OneVsAll`). A class that comes up late has the model that
    it would have had if it had been known from the beginning: exactly if it is linear, about that with trees.
    Probabilities of more than two classes are those of each class against the rest, scaled to add up to 1.

    What values can be, and what is centered: see `UnitlessRegressor`.

    Args:
        classes: all labels, if they are known; any other is then an error. With two the first is the negative one.
        rule: see `unitless.Learner`; as all options whose meaning is not said here.
        loss: "logistic"; "softmax", one model of all classes instead of one for each; or "hinge", which gives no
            probabilities.
        learning_rate: a number, or "auto"; each class finds its own.
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
        >>> from unitless.river import UnitlessClassifier
        >>> evaluate.progressive_val_score(datasets.Phishing(), UnitlessClassifier(), metrics.Accuracy())
        Accuracy: 90.95%
        >>> model = UnitlessClassifier()  # more than two classes
        >>> evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.MacroF1())
        MacroF1: 94.48%
        >>> sorted(model.weights)
        ['brickface', 'cement', 'foliage', 'grass', 'path', 'sky', 'window']
    """

    def __init__(
        self,
        classes: Sequence[Any] | None = None,
        rule: Rule = "nag",
        loss: ClassLoss | ManyClassesLoss = "logistic",
        learning_rate: float | Auto = "auto",
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
        if loss not in (known := losses.names(for_classes=True)):
            raise OptionError(f"is {loss!r}; it must be one of {', '.join(map(repr, known))}", option="loss")
        self._begin(
            "binary",
            rule=rule,
            loss=loss,
            learning_rate=learning_rate,
            importance_aware=importance_aware,
            bias=bias,
            schedule=schedule,
            order=order,
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
        self._gives_shares = LOSSES[loss].link.gives_probabilities
        self._two: tuple[Label, Label] | None = None  # the negative label and the positive one
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
                model: Any = self._model
                if self._two:
                    many = learn_side(model, x, y, w, self._side, self._pending.rows)
                else:
                    many = learn_class_noting(model, x, y, w, model._classes.by_label, self._pending.rows)
                    if many is None:  # a class that joins, or a label of another kind
                        self._note(model, model.learn_one(x, y, w), y, w)
                if many:
                    self._follow_errors(model)
                return
            except (InputError, KeyError, TypeError):  # looked at below: it can be learned, or the error explained
                pass
        two = self._pair(y)
        self._learn_row(self._model or self._new(two), x, _side_of(y, two) if two else y, w)
        if self._model and two:
            self._tell_apart(*two)

    def predict_one(self, x: Row) -> Any:  # type: ignore[override]
        """The likelier label; None before the first example, if the classes are not known. Changes nothing."""
        if not self._two:
            scores = self._scores_of(x)
            return self._labels[scores.index(max(scores))] if scores else None
        if self._direct:
            try:
                return self._two[predict_one(self._model, x) > 0]
            except InputError:  # it may be text
                pass
        return self._two[self._score_of(x) > 0]

    def predict_proba_one(self, x: Row) -> dict[Any, float]:  # type: ignore[override]
        """The probability of each label; none before the first example, if the classes are not known."""
        if self._direct and self._gives_shares:
            try:
                model: Any = self._model
                if self._two:
                    return predict_shares(model, x, self._two)  # type: ignore[no-any-return]
                return predict_class_shares(model, x, model._classes.labels)  # type: ignore[no-any-return]
            except (InputError, TypeError):  # it may be text
                pass
        if not self._gives_shares:
            raise NotImplementedError(f"{self.loss} loss gives no probabilities; loss='logistic' does")
        if not self._two:
            scores = self._scores_of(x)
            return dict(zip(self._labels, _shares(scores), strict=True)) if scores else {}
        p = _logistic(self._score_of(x))
        return {self._two[0]: 1.0 - p, self._two[1]: p}

    def predict_set_one(self, x: Row, level: float = USUAL_LEVEL) -> list[Any]:
        """The labels among which that of a row is, with this probability, likeliest first; changes nothing.

        A label is among them if 1 - its probability is no larger than it was lately for the true ones, in predictions
        made before rows were learned. The likeliest always is; while there are too few rows to say, all are.
        """
        reach, shares = self._reach(level), self.predict_proba_one(x)
        ranked = sorted(shares, key=lambda label: -shares[label])
        return [label for place, label in enumerate(ranked) if place == 0 or 1.0 - shares[label] <= reach]

    def _score_of(self, x: Row) -> Any:
        """The score of a row that has to be looked at, for the second of two classes."""
        return (self._model or self._new(self._two)).predict_one(rows.numbers(x, self.missing))

    def _scores_of(self, x: Row) -> list[float]:
        """One score for each class."""
        model: Any = self._model
        if self._direct:
            try:
                return list(model.predict_one(x).tolist())
            except InputError:  # it may be text
                pass
        row = rows.numbers(x, self.missing)
        if model is None:
            if self.classes is None:
                return []
            model = self._new(None)
        return list(model.predict_one(row).tolist())

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
        """The likelier label of each row of a frame, as a series of the same library."""
        frame, scores = self._scores(X)
        if scores is None:
            labels: Any = [None] * len(frame)
        elif self._two:
            labels = [self._two[score > 0] for score in scores]
        else:
            labels = [self._labels[score.index(max(score))] for score in scores]
        return dataframe.to_native_series(labels, name=self._y_name, like=frame)

    def predict_proba_many(self, X: Any) -> Any:
        """The probability of each label, one column each, for the rows of a frame; as a frame of the same library."""
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
        """The frame under one interface, and a list of what `_score` gives."""
        frame, data = self._table(X)
        if self._model is None and self.classes is None:
            return frame, None
        return frame, (self._model or self._new(self._two)).predict(data).tolist()

    # ------------------------------------------------------------------------------------------------------- labels

    @property
    def _labels(self) -> list[Label]:
        model = self._model or self._new(None)
        assert isinstance(model, OneVsAll)
        return model._classes.labels

    def _new(self, two: tuple[Label, Label] | None) -> Learner | OneVsAll:
        return self._new_model("binary") if two else self._new_model("classes", self.classes)

    def _pair(self, y: Any) -> tuple[Label, Label] | None:
        """The two labels, if there are no more; y is the first label, if there was none before."""
        starts_with_boolean = self._model is None and self.classes is None and isinstance(y, bool | np.bool_)
        return (False, True) if starts_with_boolean else self._two


def _side_of(label: Any, two: tuple[Label, Label], row: int | None = None) -> bool:
    """Whether it is the positive one of two labels."""
    if label in two:
        return bool(label == two[1])
    where = "" if row is None else f" at row {row}"
    raise InputError(
        f"the label{where} is {label!r}; it must be {two[0]!r} or {two[1]!r}. If there are more classes, name them in "
        "classes, or give labels that are not booleans"
    )


def _logistic(score: float) -> float:
    """1 / (1 + exp(-score)), which does not overflow: far below 0 it is exp(score), to the last bit."""
    return 1.0 / (1.0 + exp(-score)) if score > -700.0 else exp(score)


def _shares(scores: list[float]) -> list[float]:
    """Each class's probability against the rest, scaled so that they add up to 1."""
    each = [_logistic(max(score, -700.0)) for score in scores]  # so that one is not 0
    total = 0.0
    for p in each:  # `sum` is more exact from Python 3.12 on, and the core adds up as this does
        total += p
    return [p / total for p in each]
