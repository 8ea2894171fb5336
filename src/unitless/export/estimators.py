"""A model as a fitted estimator of scikit-learn."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .. import losses
from ..data.columns.schema import Schema
from ..data.read_options import ReadOptions
from ..errors import OptionError
from ..inputs import Float64
from ..losses import LOSSES, Loss
from ..models.classes import label_array
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.sweep import Sweep
from .linear import Linear, exportable, linear
from .onnx_graph import Inputs
from .sklearn_input import Prepared, of_columns, of_matrix


def to_sklearn(model: Learner | OneVsAll | Sweep, *, inputs: Inputs | None = None) -> Any:
    """Convert a model to a fitted estimator of scikit-learn, which predicts like `predict(X, extrapolate=True)`.

    Args:
        model: a linear model.
        inputs: "columns": a frame with the columns of the training table; "matrix": the model's features in its order.
            Default: "columns" for models that `train` made from a table, "matrix" for others.

    Missing values (NaN, None) count as in the model. If they must be replaced, the estimator is the last step of a
    `Pipeline`. A text value that the model does not know counts as none of its values.

    Numbers are predicted by a `LinearRegression`, or by the scikit-learn regressor with the model's loss if that is not
    squared error. Two classes are predicted by a `LogisticRegression`, or for losses other than logistic by a
    `LinearSVC` (which has no probabilities); more classes by a `OneVsRestClassifier` of these, whose probabilities are
    the model's `predict_proba`. A `Softmax` becomes one `LogisticRegression` with the same probabilities; its
    `decision_function` returns the inputs of the softmax, not log odds.

    `classes_` is sorted, as in all scikit-learn estimators. `feature_names_in_` has the names of the columns or
    features, if there are any. The limits to the range of the training labels are left out.

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
    if inputs not in (None, "matrix", "columns"):
        raise OptionError(f"is {inputs!r}; it must be 'matrix' or 'columns'", option="inputs")
    _part("linear_model")
    exported = exportable(model)
    exported._check_linear("exported to scikit-learn")
    plain = linear(exported, extrapolate=True)
    if len(plain.factors):
        raise OptionError("scikit-learn's linear models have no products of features; export to ONNX or JSON instead")
    prepared = _prepared(exported, plain, inputs)
    estimator = _final(plain, prepared, exported.options.quantile)
    if prepared.step is None:
        return estimator
    return _part("pipeline").Pipeline([("input", prepared.step), ("model", estimator)])


def _prepared(model: Learner | OneVsAll, plain: Linear, inputs: Inputs | None) -> Prepared:
    record = model._training
    schema = None if record is None else Schema.read(record["schema"])
    if record is None or schema is None or schema.family != "table":
        if inputs == "columns":
            raise OptionError("columns are those of a table that train has read; leave it out", option="inputs")
        return of_matrix(plain)
    if inputs == "matrix":
        return of_matrix(plain)
    marks = ("", *ReadOptions.settled(record["reading"]).policy.marks)
    return of_columns(plain, list(schema.columns), marks)


def _final(plain: Linear, prepared: Prepared, quantile: float) -> Any:
    """Build the estimator."""
    if plain.task == "classes":
        return _multinomial(plain, prepared) if plain.loss.coupled else _one_vs_rest(plain, prepared)
    weights, intercept = prepared.weights[:, 0], float(prepared.intercepts[0])
    if plain.task == "binary":
        return _classifier(plain, prepared, weights, intercept, label_array(plain.labels))
    return _regressor(plain, prepared, weights, intercept, quantile)


def _part(name: str) -> Any:
    """Import a module of scikit-learn, which is an optional dependency."""
    try:
        return importlib.import_module(f"sklearn.{name}")
    except ImportError:
        raise OptionError("this needs scikit-learn: pip install scikit-learn") from None


def _estimator(loss: Loss, **parameters: Any) -> Any:
    """The unfitted scikit-learn estimator for a loss."""
    module, _, name = loss.scikit_learn.partition(".")
    return getattr(_part(module), name)(**parameters)


def _regressor(plain: Linear, prepared: Prepared, weights: Float64, intercept: float, quantile: float) -> Any:
    regressor = _estimator(plain.loss, **({"quantile": quantile} if plain.loss.has_quantile else {}))
    if plain.loss.link is not losses.IDENTITY:
        regressor._base_loss = regressor._get_loss()  # its `fit` stores the link here
    regressor.coef_, regressor.intercept_ = weights.copy(), intercept
    return _with_features(regressor, prepared)


def _classifier(plain: Linear, prepared: Prepared, weights: Float64, intercept: float, classes: Any) -> Any:
    """Build a classifier for two classes; positive scores stand for the second one."""
    # Classes that were learned with a loss for numbers have scores without probabilities, like a support vector
    # machine.
    classifier = _estimator(plain.loss if plain.loss.for_classes else LOSSES["hinge"])
    if classes[0] > classes[1]:  # the positive class of scikit-learn is the second in sorted order
        weights, intercept, classes = -weights, -intercept, classes[::-1]
    classifier.coef_, classifier.intercept_ = weights[None, :].copy(), np.array([intercept])
    classifier.classes_ = classes
    return _with_features(classifier, prepared)


def _sorted_heads(plain: Linear) -> list[int]:
    if len({type(label) for label in plain.labels}) > 1:
        raise OptionError("scikit-learn sorts classes: they must be all text or all numbers; export to ONNX or JSON")
    return sorted(range(len(plain.labels)), key=lambda head: plain.labels[head])


def _multinomial(plain: Linear, prepared: Prepared) -> Any:
    """Build one model of all classes; for two classes, from the difference of their weights."""
    order = _sorted_heads(plain)
    if len(order) < 2:
        raise OptionError("scikit-learn has no model of a single class; let the model learn rows of another one")
    weights, offsets = prepared.weights.T[order], prepared.intercepts[order]
    if len(order) == 2:
        weights, offsets = weights[1:] - weights[:1], offsets[1:] - offsets[:1]
    classifier = _estimator(plain.loss)
    classifier.coef_, classifier.intercept_ = weights.copy(), offsets.copy()
    classifier.classes_ = label_array([plain.labels[head] for head in order])
    return _with_features(classifier, prepared)


def _one_vs_rest(plain: Linear, prepared: Prepared) -> Any:
    order = _sorted_heads(plain)
    heads = [(prepared.weights[:, head], float(prepared.intercepts[head])) for head in order]
    of_two = [_classifier(plain, prepared, *head, np.array([0, 1])) for head in heads]
    whole = _part("multiclass").OneVsRestClassifier(type(of_two[0])())
    whole.estimators_, whole.classes_ = of_two, label_array([plain.labels[head] for head in order])
    binarizer = _part("preprocessing").LabelBinarizer(sparse_output=True)
    binarizer.classes_, binarizer.y_type_, binarizer.sparse_input_ = whole.classes_, "multiclass", False
    whole.label_binarizer_ = binarizer
    return _with_features(whole, prepared)


def _with_features(estimator: Any, prepared: Prepared) -> Any:
    """Store the names of the columns in a pipeline's first step."""
    estimator.n_features_in_ = len(prepared.weights)
    if prepared.step is None and isinstance(prepared.names[0], str):
        estimator.feature_names_in_ = np.array(prepared.names, dtype=object)
    return estimator
