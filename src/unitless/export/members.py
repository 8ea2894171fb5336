"""A model of several members as arrays: the terms of each member, and the mixture of their scores.

    score of a member = its linear terms + the weights of the curves' intervals + the weights of the trees' leaves;
                         for coupled classes: the log odds of each class by the softmax of these scores
    score              = the mixture of the members' scores; for a single member, its score

Scores have the unit of the data and include the target's offset. The mixtures are described in `coefficients`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..inputs import Float64
from ..models.by_feature import ByFeature
from ..models.form_reading import Curve, FormReading, RawColumn, Tree
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from .linear import Linear, linear

STACKERS = 2
LARGEST_SCORE = 30.0  # the limit of scores that are the input of a stacker


@dataclass(frozen=True)
class MemberArrays:
    """The arrays of one member."""

    name: str
    linear: Linear
    scales: ByFeature
    importance: list[ByFeature]  # by head: for linear terms
    curves: list[Curve]
    trees: list[Tree]
    coupled: bool


@dataclass(frozen=True)
class Stacker:
    """A second-level learner of the members' scores."""

    weights: Float64  # by member; for logistic loss and classes, also of the last label
    covariance: Float64 | None  # only for logistic loss and classes


@dataclass(frozen=True)
class MixtureArrays:
    """The mixture that combines the members' scores."""

    kind: str  # what is mixed: "odds" (for two classes), "numbers", "classes" or "scores"
    stackers: list[Stacker]
    top: Float64  # the weights of the members, followed by those of the stackers
    limits: tuple[float, float] | None  # for squared loss: limits of the stackers' scores
    last: float = 0.0  # the last label that was learned: for odds 1 or -1 (0: none), for classes its number (-1: none)


@dataclass(frozen=True)
class MixedModel:
    """The arrays of a model of several members."""

    model_type: str
    columns: list[RawColumn]
    members: list[MemberArrays]
    mixture: MixtureArrays | None


def mixed_model(model: Learner | OneVsAll, extrapolate: bool) -> MixedModel:
    """The arrays that compute `model.predict(X, extrapolate=extrapolate)`."""
    reading = FormReading(model.options, model._candidates, model._snapshot())
    heads = model.heads
    members = []
    for member in reading.members:
        curves = [
            replace(curve, weights=curve.weights[:, :heads], missing=curve.missing[:heads])
            for curve in member.curves.values()
            if len(curve.thresholds) or curve.missing.any()
        ]
        trees = [
            replace(tree, weights=tree.weights[:, :heads], evidence=tree.evidence[:, :heads])
            for tree in member.trees
            if len(tree.child) > 1
        ]
        terms = member.terms
        named = [reading.linear.feature(slot) for slot in terms.slots.tolist()]
        importance = [dict(zip(named, of_head.tolist(), strict=True)) for of_head in np.abs(terms.in_scales).T[:heads]]
        members.append(
            MemberArrays(
                member.name,
                linear(model, extrapolate, terms),
                dict(zip(named, terms.unit.tolist(), strict=True)),
                importance,
                curves,
                trees,
                member.coupled,
            )
        )
    numbers: Any = reading.state["form"].get("mixture")
    mixture = None if numbers is None else _mixture(np.asarray(numbers, np.float64), reading.linear.offset)
    return MixedModel(reading.model_type, reading.columns, members, mixture)


def _mixture(numbers: Float64, offset: float) -> MixtureArrays:
    """Build the mixture from the core's numbers (core/ensemble/mixture.hpp)."""
    kind = ("odds", "numbers", "classes", "scores")[int(numbers[0])]
    members, rows = int(numbers[1]), float(numbers[2])
    if kind in ("odds", "classes"):
        inputs = members + 1
        each = inputs * (1 + inputs)
        stackers = []
        for i in range(STACKERS):
            own = numbers[4 + i * each : 4 + (i + 1) * each].reshape(inputs, -1)
            weights = own[:, 0].copy()
            weights[:members] += 1.0 / members if kind == "odds" else 0.0
            stackers.append(Stacker(weights, own[:, 1:]))
        return MixtureArrays(kind, stackers, numbers[4 + STACKERS * each :], None, float(numbers[3]))
    if kind == "scores":
        return MixtureArrays(kind, [], _hedged(numbers[4:-1], numbers[-1], rows + 1), None)
    low, high = float(numbers[3]), float(numbers[4])
    each = members * (members + 1) + 2
    stackers = []
    for i in range(STACKERS):
        own = numbers[6 + i * each : 6 + (i + 1) * each]
        stackers.append(Stacker(_least_squares(own, members), None))
    losses = numbers[6 + STACKERS * each :]
    limits = (low + offset, high + offset) if low <= high else None
    return MixtureArrays(kind, stackers, _hedged(losses[:-1], losses[-1], rows + 1), limits)


def _least_squares(numbers: Float64, members: int) -> Float64:
    a, b = numbers[:-2].reshape(members, -1)[:, :members], numbers[:-2].reshape(members, -1)[:, members]
    square, rows = float(numbers[-2]), float(numbers[-1])
    if not rows > 0 or not square > 0:
        return np.zeros(members)
    matrix = a + np.diag(members * square / rows + 1e-12 * np.diag(a))
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.zeros(members)
    return np.asarray(np.linalg.solve(matrix, b))


def _hedged(losses: Float64, cost: float, t: float) -> Float64:
    """AdaHedge's weights for row t."""
    behind = losses - losses.min()
    weights = np.exp(-behind / cost * np.log(len(losses))) if cost > 0 else np.where(behind > 0, 0.0, 1.0)
    share = min(0.5, 1.0 / t)
    return np.asarray((1.0 - share) * weights / weights.sum() + share / len(losses))
