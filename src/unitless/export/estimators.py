"""A model as one of scikit-learn's own estimators, fitted."""

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
    """The model as a fitted estimator of scikit-learn, which predicts as `predict(X, extrapolate=True)` does.

    Args:
        model: a linear one.
        inputs: "columns": a frame with the columns of the table, as `train` took them; "matrix": the model's features
            in its order. If it is not given: "columns" of models that `train` made of a table, "matrix" of others.

    What is missing (NaN, None) counts as in the model: where there is something to be replaced, the estimator is the
    last step of a `Pipeline`. A value of text that the model has never met counts as none of its values.

    Numbers are predicted by a `LinearRegression`, or by the regressor of scikit-learn that has the model's loss, if
    that is not squared error. Two classes are told apart by a `LogisticRegression`, or, with another loss than
    logistic, by a `LinearSVC` (which has no probabilities); many classes by a `OneVsRestClassifier` of such, whose
    probabilities are the model's `shares`. A `Softmax` is one `LogisticRegression`, with the same probabilities; its
    `decision_function` has what the softmax is taken of, not the logarithms of odds.

    Classes are sorted, as everywhere in scikit-learn: `classes_` has them. `feature_names_in_` has the names of the
    columns or features, if there are any. Limits to the range of the labels seen are left out.

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
    """The estimator itself."""
    if plain.task == "classes":
        return _multinomial(plain, prepared) if plain.loss.coupled else _one_vs_rest(plain, prepared)
    weights, intercept = prepared.weights[:, 0], float(prepared.intercepts[0])
    if plain.task == "binary":
        return _classifier(plain, prepared, weights, intercept, label_array(plain.labels))
    return _regressor(plain, prepared, weights, intercept, quantile)


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


def _regressor(plain: Linear, prepared: Prepared, weights: Float64, intercept: float, quantile: float) -> Any:
    regressor = _estimator(plain.loss, **({"quantile": quantile} if plain.loss.has_quantile else {}))
    if plain.loss.link is not losses.IDENTITY:
        regressor._base_loss = regressor._get_loss()  # where its `fit` leaves the link
    regressor.coef_, regressor.intercept_ = weights.copy(), intercept
    return _with_features(regressor, prepared)


def _classifier(plain: Linear, prepared: Prepared, weights: Float64, intercept: float, classes: Any) -> Any:
    """Of two classes, the second one for scores above 0."""
    # Classes that were learned with a loss for numbers have scores, as a support vector machine's, and no more.
    classifier = _estimator(plain.loss if plain.loss.for_classes else LOSSES["hinge"])
    if classes[0] > classes[1]:  # the positive class is the second of the sorted ones
        weights, intercept, classes = -weights, -intercept, classes[::-1]
    classifier.coef_, classifier.intercept_ = weights[None, :].copy(), np.array([intercept])
    classifier.classes_ = classes
    return _with_features(classifier, prepared)


def _sorted_heads(plain: Linear) -> list[int]:
    if len({type(label) for label in plain.labels}) > 1:
        raise OptionError("scikit-learn sorts classes: they must be all text or all numbers; export to ONNX or JSON")
    return sorted(range(len(plain.labels)), key=lambda head: plain.labels[head])


def _multinomial(plain: Linear, prepared: Prepared) -> Any:
    """One model of all classes; of two, how they differ."""
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
    """A pipeline's first step knows the names of the columns."""
    estimator.n_features_in_ = len(prepared.weights)
    if prepared.step is None and isinstance(prepared.names[0], str):
        estimator.feature_names_in_ = np.array(prepared.names, dtype=object)
    return estimator
