"""A model as one of scikit-learn's own estimators, fitted."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ... import losses
from ...errors import OptionError
from ...inputs import Float64
from ...losses import LOSSES, Loss
from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll, label_array
from ...models.sweep import Sweep
from .linear import Linear, exportable, linear


def to_sklearn(model: Learner | OneVsAll | Sweep) -> Any:
    """The model as a fitted estimator of scikit-learn, which predicts as `predict(X, extrapolate=True)` does.

    Numbers are predicted by a `LinearRegression`, or by the regressor of scikit-learn that has the model's loss, if
    that is not squared error. Two classes are told apart by a `LogisticRegression`, or, with another loss than
    logistic, by a `LinearSVC` (which has no probabilities); many classes by a `OneVsRestClassifier` of such, whose
    probabilities are the model's `shares`. A `Softmax` is one `LogisticRegression`, with the same probabilities; its
    `decision_function` has what the softmax is taken of, not the logarithms of odds.

    Classes are sorted, as everywhere in scikit-learn: `classes_` has them. Columns are the model's features in its
    order: `feature_names_in_` has their names, if it knows any. Limits to the range of the labels seen are left out.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(500, 2)) * [0.001, 1000]
        >>> m = ul.Learner(loss="logistic")
        >>> _ = m.learn(X, X[:, 0] > 0)
        >>> estimator = ul.to_sklearn(m)
        >>> estimator
        LogisticRegression()
        >>> bool(np.allclose(estimator.decision_function(X), m.predict(X, extrapolate=True)))
        True
    """
    _part("linear_model")
    exported = exportable(model)
    exported._check_linear("exported to scikit-learn")
    plain = linear(exported, extrapolate=True)
    if len(plain.factors):
        raise OptionError("scikit-learn's linear models have no products of features; export to ONNX or JSON instead")
    intercepts = plain.intercepts - plain.means @ plain.weights
    if plain.task == "classes":
        return _multinomial(plain, intercepts) if plain.loss.coupled else _one_vs_rest(plain, intercepts)
    if plain.task == "binary":
        return _classifier(plain, plain.weights[:, 0], float(intercepts[0]), label_array(plain.labels))
    return _regressor(plain, float(intercepts[0]), exported.options.quantile)


def _part(name: str) -> Any:
    """A module of scikit-learn, which need not be installed."""
    try:
        return importlib.import_module(f"sklearn.{name}")
    except ImportError:
        raise OptionError("this needs scikit-learn: pip install scikit-learn") from None


def _estimator(loss: Loss, **parameters: Any) -> Any:
    """The estimator of scikit-learn that goes with a loss, not fitted."""
    module, _, name = loss.scikit_learn.partition(".")
    return getattr(_part(module), name)(**parameters)


def _regressor(plain: Linear, intercept: float, quantile: float) -> Any:
    regressor = _estimator(plain.loss, **({"quantile": quantile} if plain.loss.has_quantile else {}))
    if plain.loss.link is not losses.IDENTITY:
        regressor._base_loss = regressor._get_loss()  # where its `fit` leaves the link
    regressor.coef_, regressor.intercept_ = plain.weights[:, 0].copy(), intercept
    return _with_features(regressor, plain)


def _classifier(plain: Linear, weights: Float64, intercept: float, classes: Any) -> Any:
    """Of two classes, the second one for scores above 0."""
    # Classes that were learned with a loss for numbers have scores, as a support vector machine's, and no more.
    classifier = _estimator(plain.loss if plain.loss.for_classes else LOSSES["hinge"])
    if classes[0] > classes[1]:  # the positive class is the second of the sorted ones
        weights, intercept, classes = -weights, -intercept, classes[::-1]
    classifier.coef_, classifier.intercept_ = weights[None, :].copy(), np.array([intercept])
    classifier.classes_ = classes
    return _with_features(classifier, plain)


def _sorted_heads(plain: Linear) -> list[int]:
    if len({type(label) for label in plain.labels}) > 1:
        raise OptionError("scikit-learn sorts classes: they must be all text or all numbers; export to ONNX or JSON")
    return sorted(range(len(plain.labels)), key=lambda head: plain.labels[head])


def _multinomial(plain: Linear, intercepts: Float64) -> Any:
    """One model of all classes; of two, how they differ."""
    order = _sorted_heads(plain)
    if len(order) < 2:
        raise OptionError("scikit-learn has no model of a single class; let the model learn rows of another one")
    weights, offsets = plain.weights.T[order], intercepts[order]
    if len(order) == 2:
        weights, offsets = weights[1:] - weights[:1], offsets[1:] - offsets[:1]
    classifier = _estimator(plain.loss)
    classifier.coef_, classifier.intercept_ = weights.copy(), offsets.copy()
    classifier.classes_ = label_array([plain.labels[head] for head in order])
    return _with_features(classifier, plain)


def _one_vs_rest(plain: Linear, intercepts: Float64) -> Any:
    order = _sorted_heads(plain)
    of_two = [_classifier(plain, plain.weights[:, head], float(intercepts[head]), np.array([0, 1])) for head in order]
    whole = _part("multiclass").OneVsRestClassifier(type(of_two[0])())
    whole.estimators_, whole.classes_ = of_two, label_array([plain.labels[head] for head in order])
    binarizer = _part("preprocessing").LabelBinarizer(sparse_output=True)
    binarizer.classes_, binarizer.y_type_, binarizer.sparse_input_ = whole.classes_, "multiclass", False
    whole.label_binarizer_ = binarizer
    return _with_features(whole, plain)


def _with_features(estimator: Any, plain: Linear) -> Any:
    estimator.n_features_in_ = len(plain.names)
    if isinstance(plain.names[0], str):
        estimator.feature_names_in_ = np.array(plain.names, dtype=object)
    return estimator
