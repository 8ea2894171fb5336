"""Predictions of models that are more than linear, taken apart by feature.

An expert is a sum: of linear terms, of one step of each column's curve, and of what each question on the way through a
tree changes in the mean of the leaves below it. All of them count from their mean over what the model has seen, so that
the base is about what the expert says on average. What the mixture makes of the experts is not a sum; it is shared out
by integrated gradients, on the straight way from the bases to the scores.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..inputs import Float64
from ..losses import LOSSES
from ..models.model import Feature
from ..models.shape_reading import Expert, ShapeReading
from ..models.softmax import log_odds

_POINTS = 16  # on the way, of which there are fewer if there are many classes
_STEPS = 1024  # about so many questions to the mixture, at most


class Linear(Protocol):
    """The linear terms of a row, of any weights v, [slot][head]."""

    def terms(self, v: Float64) -> tuple[list[tuple[Feature, Float64]], Float64]:
        """By feature of the row, and the bias: by head."""

    def term(self, number: int, x: float, v: Float64) -> Float64:
        """Of a feature, by its number, if its value were x: by head."""


@dataclass(frozen=True)
class Parts:
    """A score: `base` and all contributions add up to it."""

    contributions: dict[Feature, float]
    base: float
    score: float


def taken_apart(
    shaped: ShapeReading,
    raw: Float64,
    active: dict[int, Feature],
    linear: Linear,
    head: int,
    heads: int,
    offset: float = 0.0,
) -> Parts:
    """What each feature adds to the score of a head.

    Args:
        shaped: the model.
        raw: the row's values by raw column; what is not there is not-a-number.
        active: by column of text, the feature that the row has.
        linear: the row's linear terms.
        head: whose score it is.
        heads: how many are predicted.
        offset: of the row's score; no part of what is given here.
    """
    bases, found = zip(*(_of_expert(shaped, expert, raw, active, linear) for expert in shaped.experts), strict=True)
    features = list(dict.fromkeys(feature for one in found for feature in one))
    nothing = np.zeros(shaped.heads)
    shares = np.array([[one.get(feature, nothing)[:heads] for one in found] for feature in features])
    base = np.array([one[:heads] for one in bases])
    moved = shares.sum(axis=0) if features else np.zeros_like(base)
    said = _said(shaped, head, offset)
    first, last = said(base), said(base + moved)
    slopes = mean_slopes(said, base, moved, float(np.abs(shares).max(initial=0.0)), last - first)
    amounts = [float((share * slopes).sum()) for share in shares]
    return Parts(dict(zip(features, amounts, strict=True)), first, last)


def raw_row(shaped: ShapeReading, given: list[tuple[Feature, int, float]]) -> tuple[Float64, dict[int, Feature]]:
    """Features with their numbers and values, as values by raw column; and which feature a column of text has."""
    raw = np.full(len(shaped.columns), math.nan)
    active: dict[int, Feature] = {}
    for name, number, x in given:
        column = shaped.column_of.get(number)
        if column is None:
            continue
        if not shaped.columns[column].text:
            raw[column] = x if math.isnan(raw[column]) else raw[column] + x
        elif x != 0 and not raw[column] >= number:
            raw[column], active[column] = number, name
    return raw, active


def _of_expert(
    shaped: ShapeReading,
    expert: Expert,
    raw: Float64,
    active: dict[int, Feature],
    linear: Linear,
) -> tuple[Float64, dict[Feature, Float64]]:
    """By head: what an expert says on average, and what each feature adds to that."""
    terms, base = linear.terms(expert.v)
    found: dict[Feature, Float64] = {}

    def add(feature: Feature, amount: Float64) -> None:
        found[feature] = found.get(feature, 0.0) + amount

    for feature, amount in terms:
        add(feature, amount)
    for column, mean in _linear_means(shaped, expert, linear).items():
        base = base + mean
        add(active.get(column, shaped.columns[column].name), -mean)
    for column, curve in expert.curves.items():
        mean = curve.mean()
        base = base + mean
        add(shaped.columns[column].name, curve.at(float(raw[column])) - mean)
    for tree in expert.trees:
        means, _ = tree.below()
        path = tree.path(raw)
        base = base + means[0]
        for node, child in itertools.pairwise(path):
            column = int(tree.column[node])
            add(active.get(column, shaped.columns[column].name), means[child] - means[node])
    return base, found


def _linear_means(shaped: ShapeReading, expert: Expert, linear: Linear) -> dict[int, Float64]:
    """By raw column and head: about what its linear terms have added on average.

    Of numbers, where they have been is known from their curves. How often a text was there is told by its gradients,
    compared with those of the bias.
    """
    means: dict[int, Float64] = {}
    curved = shaped.expert("curves")
    curves = curved.curves if curved is not None else {}
    at = {slot: k for k, slot in enumerate(shaped.state["slots"].tolist())}
    often = (expert.H * shaped.state["scale"][:, None] ** 2).sum(axis=1)
    of_text: dict[int, list[tuple[float, Float64]]] = {}
    for number, column in shaped.column_of.items():
        k = at.get(shaped.linear.slot(number))
        if k is None:
            continue
        if shaped.columns[column].text:
            of_text.setdefault(column, []).append((float(often[k]), linear.term(number, 1.0, expert.v)))
        elif column in curves:
            values, shares = curves[column].typical()
            terms = [share * linear.term(number, x, expert.v) for x, share in zip(values, shares, strict=True)]
            means[column] = np.sum(terms, axis=0)
    always = float(often[at[0]]) if 0 in at else 0.0
    for column, texts in of_text.items():
        total = max(always, sum(often for often, _ in texts))
        if total > 0:
            means[column] = np.sum([often / total * term for often, term in texts], axis=0)
    return means


def _said(shaped: ShapeReading, head: int, offset: float) -> Callable[[Float64], float]:
    """What is predicted for a head, beside the offset, where the experts' sums are so and so."""
    options, state, mixture = shaped.options, shaped.state, shaped.mixture
    limited = bool(options.clip or options.target) and state["label_min"] <= state["label_max"]

    def said(scores: Float64) -> float:
        if LOSSES[options.loss].coupled:
            scores = log_odds(scores)
        if limited:
            scores = np.clip(scores, state["label_min"], state["label_max"])
        if mixture is None:
            return float(scores[0, head])
        if offset == 0 or LOSSES[options.loss].in_label_unit:  # then the mixture does not see it
            return float(mixture.say(np.ascontiguousarray(scores))[head])
        return float(mixture.say(np.ascontiguousarray(scores + offset), offset)[head]) - offset

    return said


def mean_slopes(
    said: Callable[[Float64], float], base: Float64, moved: Float64, largest: float, change: float
) -> Float64:
    """The mean slope of what is said, by expert and head, on the way from `base` to `base + moved`.

    What the points on the way do not see of the change is added along the way.
    """
    slopes = np.zeros_like(base)
    step = 1e-3 * largest
    if step == 0:
        return slopes
    points = max(2, min(_POINTS, _STEPS // (2 * base.size)))
    if len(base) == 1 and base.shape[1] == 1:
        points = 1
    for k in range(points):
        here = base + (k + 0.5) / points * moved
        for place in np.ndindex(*base.shape):
            before = here[place]
            here[place] = before + step
            up = said(here)
            here[place] = before - step
            slopes[place] += (up - said(here)) / (2 * step * points)
            here[place] = before
    length = float((moved * moved).sum())
    if length > 0:
        slopes += (change - float((slopes * moved).sum())) / length * moved
    return slopes
