"""A model as arrays: the computation of `predict` in a few steps that other formats can express.

    z       = (x - mean) / scale                  for each feature
    z[l·r]  = z[l] · z[r] · ratio                 for each product
    score   = intercept + Σ coefficient · held(z)
    score   = offset + (score - offset) · certainty       for second-order models
    score   = min(max(score, low), high)          where there are limits

where `held` is the rule's treatment of values beyond the training range:

    linear    z                     "gd", "ag"; and every rule when it extrapolates
    hold      min(max(z, -1), 1)    "nag" (Algorithm 2's squash)
    shrink    z / max(1, z²)        "ng": 1/z beyond the scale
    squash    z / √(1 + z²)         "snag", whose scale includes x itself

and the certainty follows from the variance of the score, held(z)' · covariance · held(z), the bias being part of z:

    1 / √(1 + π/8 · variance)       for classes
    1 / (1 + variance)              for numbers
    1                               where it extrapolates

z has no unit and a magnitude of about 1, so float32 is enough for data of any scale. The mean is subtracted first, so
that no digits are lost by cancellation later.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.labels import Task
from ..errors import OptionError
from ..inference.predictor import Predictor
from ..inputs import Float64
from ..losses import LOSSES, Loss
from ..models.any_model import model_of
from ..models.by_feature import StateReading
from ..models.classes import Label
from ..models.learner import Learner
from ..models.model import Feature
from ..models.one_vs_all import OneVsAll
from ..models.sweep import Sweep
from ..models.terms import Terms
from ..rules import Beyond

_FEW = 1 << 17  # columns that can be exported whether they are in use or not


@dataclass(frozen=True)
class Variance:
    """The variance of a score, from a second-order model's covariance of its weights."""

    covariance: Float64  # by feature and then by product, twice
    with_bias: Float64  # by feature and then by product
    of_bias: float
    of_odds: bool  # whether the score is one of classes; otherwise it is a number
    offset: float  # the part of the intercept that has no variance


@dataclass(frozen=True)
class Linear:
    """A model's arrays. A head is one score: there is one for each class, or a single one."""

    names: list[Feature]  # text, or the numbers of columns
    centered: NDArray[np.bool_]  # by feature: whether a mean is subtracted
    means: Float64  # by feature
    scales: Float64  # by feature
    coefficients: Float64  # by feature and head
    factors: NDArray[np.intp]  # by product: the indices of its two features
    product_names: list[Feature]
    product_scales: Float64
    ratios: Float64  # by product: the product of its two features' scales, divided by its own scale
    product_coefficients: Float64  # by product and head
    intercepts: Float64  # by head
    limits: tuple[float, float] | None
    held: Beyond
    task: Task
    labels: list[Label]  # by head; binary: the negative, then the positive label; regression: empty
    loss: Loss
    variance: Variance | None  # None if the variance does not change the score

    @property
    def weights(self) -> Float64:
        """The weights in the data's units, by feature and head."""
        return self._in_units(self.coefficients, self.scales)

    @property
    def product_weights(self) -> Float64:
        """The weights of products in the data's units, by product and head."""
        return self._in_units(self.product_coefficients, self.product_scales)

    def _in_units(self, coefficients: Float64, scales: Float64) -> Float64:
        with np.errstate(over="ignore"):
            weights = coefficients / scales[:, None]
        if not np.isfinite(weights).all():
            row = int(np.flatnonzero(~np.isfinite(weights).all(axis=1))[0])
            names = self.names if coefficients is self.coefficients else self.product_names
            raise OptionError(f"the weight of {names[row]!r} is beyond a float64's range in the data's unit")
        return np.asarray(weights)


def exportable(model: Any) -> Learner | OneVsAll:
    """The model to export: the model itself, the best one of a sweep, or of a result, predictor, estimator or file."""
    return model.best if isinstance(model, Sweep) else model_of(model)


def linear(model: Learner | OneVsAll, extrapolate: bool, terms: Terms | None = None) -> Linear:
    """The arrays that compute `model.predict(X, extrapolate=extrapolate)`.

    Args:
        terms: for a model of several members, the terms of one of them. Then the limits are those of its whole score.
    """
    options = model.options
    if options.bits is not None:
        raise OptionError("a model with bits has hashed its features' names away; train without bits to export it")
    reading = model._reading()
    state = reading.state
    columns = state["columns"] or 0
    if columns > max(_FEW, 64 * len(state["slots"])):
        raise OptionError(
            f"this model has {columns:,} columns, of which only {len(state['slots']):,} were ever other than zero; an "
            "export would have all of them. Train on the columns that are in use, or with names"
        )
    names: list[Feature] = list(range(columns)) if state["names"] is None else [*state["names"]]
    task, labels = _labels(model, state["negative"])
    if not names:
        raise OptionError("this model has not learned any features yet; there is nothing to export")
    if task == "classes" and not labels:
        raise OptionError("this model has not learned any class yet; there is nothing to export")
    heads = model.heads
    if terms is None:
        terms = reading.terms(range(heads))
    rule, v = terms.rule, terms.v[:, :heads]
    plain = extrapolate or options.order == "vw"  # Vowpal Wabbit's learner predicts linearly
    held: Beyond = "linear" if plain else rule.beyond
    scale: Float64 = np.ones(len(v))
    if rule.unit_free:
        scale = terms.unit if plain else terms.scale
    if held == "squash":
        v = v * math.sqrt(terms.t + 1.0)

    row_of = terms.entry
    rows = [row_of.get(reading.slot(number), -1) for number in range(1, len(names) + 1)]
    scales, coefficients = _rows(scale, v, rows)
    means, masses = np.zeros(len(names)), np.full(len(names), np.inf)
    settled = zip(state["center_features"], state["center_kinds"], state["center_means"].reshape(-1, 2), strict=True)
    for feature, kind, (mean, mass) in settled:
        if kind:
            means[feature - 1], masses[feature - 1] = mean, mass
    products = {slot: pair for slot, pair in reading.products.items() if slot in row_of}
    factors = np.array(list(products.values()), np.intp).reshape(-1, 2) - 1
    own, product_coefficients = _rows(scale, v, [row_of[slot] for slot in products])
    ratios = scales[factors[:, 0]] / own * scales[factors[:, 1]]
    if not plain:  # a prediction uses the mean that includes x itself
        with np.errstate(divide="ignore"):
            scales = scales * (1.0 + 1.0 / masses)
        coefficients = np.where(np.isfinite(scales)[:, None], coefficients, 0.0)
        scales = np.where(np.isfinite(scales), scales, 1.0)

    intercepts, limits = _intercepts(reading, held, scale, v, row_of, plain)
    return Linear(
        names=names,
        centered=np.isfinite(masses),
        means=means,
        scales=scales,
        coefficients=coefficients,
        factors=factors,
        product_names=[reading.feature(slot) for slot in products],
        product_scales=own,
        ratios=ratios,
        product_coefficients=product_coefficients,
        intercepts=intercepts,
        limits=limits,
        held=held,
        task=task,
        labels=labels,
        loss=LOSSES[options.loss],
        variance=None if plain else _variance(terms, [*rows, *(row_of[slot] for slot in products)], reading.offset),
    )


def _variance(terms: Terms, rows: list[int], offset: float) -> Variance | None:
    """The covariances of features and products by their row numbers; -1 stands for unknown ones."""
    if terms.doubt is None:
        return None
    # Row and column -1 are zeros, for unknown features.
    covariance = np.pad(terms.doubt.covariance, (0, 1))
    bias = terms.entry.get(0, -1)
    return Variance(
        covariance[np.ix_(rows, rows)],
        covariance[bias, rows],
        float(covariance[bias, bias]),
        terms.doubt.of_odds,
        offset,
    )


def _rows(scale: Float64, v: Float64, rows: list[int]) -> tuple[Float64, Float64]:
    """The scales and coefficients of features by their row numbers; -1 stands for features that were always zero."""
    at = np.array(rows, np.intp)
    known = at >= 0
    scales, coefficients = np.ones(len(at)), np.zeros((len(at), v.shape[1]))
    scales[known], coefficients[known] = scale[at[known]], v[at[known]]
    return scales, coefficients


def _intercepts(
    reading: StateReading, held: Beyond, scale: Float64, v: Float64, row_of: dict[int, int], plain: bool
) -> tuple[Float64, tuple[float, float] | None]:
    """The bias, including the target's offset, and the limits of the scores."""
    options, state = reading.options, reading.state
    intercepts = np.zeros(v.shape[1])
    if options.bias and 0 in row_of:
        s = float(scale[row_of[0]])
        intercepts = v[row_of[0]] * (1.0 / math.hypot(s, 1.0) if held == "squash" else 1.0 / s)
    offset = reading.offset
    limited = (options.clip or options.target) and not (plain and options.order == "paper")
    if not limited or state["label_min"] > state["label_max"]:
        return intercepts + offset, None
    return intercepts + offset, (state["label_min"] + offset, state["label_max"] + offset)


def _labels(model: Learner | OneVsAll, negative: int) -> tuple[Task, list[Label]]:
    """The task, and the labels as in the data."""
    if model._training is not None:
        predictor = Predictor(model)
        return predictor.target.task, predictor.labels
    return model.task, [-1 if negative == 2 else 0, 1] if model.task == "binary" else model._class_labels
