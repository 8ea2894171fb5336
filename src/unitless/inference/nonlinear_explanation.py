"""Explain predictions of models with curves, trees or several members, by feature.

The score of a member is a sum: linear terms, one value of each column's curve, and, for each split on a row's path
through a tree, the change of the mean of the leaves below. All terms are relative to their means over the training
data, so the base is about the member's average score. The links of the members and the mixture of members are not sums;
their effect is divided among features by integrated gradients, along the straight line from the bases to the sums. The
certainty of a second-order member for the row is constant along this line.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..inputs import Float64
from ..losses import LOSSES
from ..models.form_reading import FormReading, Member
from ..models.model import Feature
from .model_row import ModelRow

_POINTS = 16  # points on the line; fewer if there are many classes
_STEPS = 1024  # about the largest number of evaluations of the mixture


@dataclass(frozen=True)
class Parts:
    """A score as the sum of `base` and all contributions."""

    contributions: dict[Feature, float]
    base: float
    score: float


def taken_apart(
    form: FormReading,
    raw: Float64,
    active: dict[int, Feature],
    row: ModelRow,
    head: int,
    heads: int,
    offset: float = 0.0,
) -> Parts:
    """The contribution of each feature to the score of a head.

    Args:
        form: the model.
        raw: the row's values by raw column; NaN where the row has no value.
        active: for each column of text, the feature that the row has.
        row: the linear terms of the row.
        head: the class or score to explain.
        heads: the number of predicted heads.
        offset: the row's offset, which is not among the contributions.
    """
    bases, found = zip(*(_of_member(form, member, raw, active, row) for member in form.members), strict=True)
    features = list(dict.fromkeys(feature for one in found for feature in one))
    nothing = np.zeros(form.heads)
    wide = max(heads, min(2, form.heads))  # a single class is explained relative to the class without rows
    shares = np.array([[one.get(feature, nothing)[:wide] for one in found] for feature in features])
    base = np.array([one[:wide] for one in bases])
    moved = shares.sum(axis=0) if features else np.zeros_like(base)
    score_of = _score_function(form, [row.certainty(member.terms) for member in form.members], head, heads, offset)
    first, last = score_of(base), score_of(base + moved)
    slopes = _slopes(score_of, base, moved, float(np.abs(shares).max(initial=0.0)), last - first)
    amounts = [float((share * slopes).sum()) for share in shares]
    return Parts(dict(zip(features, amounts, strict=True)), first, last)


def raw_row(form: FormReading, given: list[tuple[Feature, int, float]]) -> tuple[Float64, dict[int, Feature]]:
    """The values of features by raw column, and the active feature of each column of text."""
    raw = np.full(len(form.columns), math.nan)
    active: dict[int, Feature] = {}
    for name, number, x in given:
        column = form.column_of.get(number)
        if column is None:
            continue
        if not form.columns[column].text:
            raw[column] = x if math.isnan(raw[column]) else raw[column] + x
        elif x != 0 and not raw[column] >= number:
            raw[column], active[column] = number, name
    return raw, active


def _of_member(
    form: FormReading,
    member: Member,
    raw: Float64,
    active: dict[int, Feature],
    row: ModelRow,
) -> tuple[Float64, dict[Feature, Float64]]:
    """The average score of a member and the contribution of each feature to it, by head."""
    terms, base = row.terms(member.terms)
    found: dict[Feature, Float64] = {}

    def add(feature: Feature, amount: Float64) -> None:
        found[feature] = found.get(feature, 0.0) + amount

    for feature, amount in terms:
        add(feature, amount)
    for column, mean in _linear_means(form, member, row).items():
        base = base + mean
        add(active.get(column, form.columns[column].name), -mean)
    for column, curve in member.curves.items():
        mean = curve.mean()
        base = base + mean
        add(form.columns[column].name, curve.at(float(raw[column])) - mean)
    for tree in member.trees:
        means, _ = tree.below()
        path = tree.path(raw)
        base = base + means[0]
        for node, child in itertools.pairwise(path):
            column = int(tree.column[node])
            add(active.get(column, form.columns[column].name), means[child] - means[node])
    return base, found


def _linear_means(form: FormReading, member: Member, row: ModelRow) -> dict[int, Float64]:
    """The average of each linear term over the training data, by raw column and head, for models with curves or trees.

    For numbers, the curves contain the distribution of the values. For text, the frequency follows from the gradients
    of the feature, compared with those of the bias, in the member with curves. Missing values have a term of their own.
    """
    means: dict[int, Float64] = {}
    curved = form.member("curves")
    if curved is None:
        return means
    at, often = curved.terms.entry, curved.terms.evidence
    of_text: dict[int, list[tuple[float, Float64]]] = {}
    for number, column in form.column_of.items():
        k = at.get(form.linear.slot(number))
        if k is None:
            continue
        if form.columns[column].text:
            of_text.setdefault(column, []).append((float(often[k]), row.term(number, 1.0, member.terms)))
        elif column in curved.curves:
            values, shares = curved.curves[column].typical()
            terms = [share * row.term(number, x, member.terms) for x, share in zip(values, shares, strict=True)]
            means[column] = np.sum(terms, axis=0)
            if (missing_number := form.missing_of.get(column)) is not None:
                missing = max(0.0, 1 - float(np.sum(shares)))
                means[column] = means[column] + missing * row.term(missing_number, 1.0, member.terms)
    for column, texts in of_text.items():
        if (missing_number := form.missing_of.get(column)) is not None:
            k = at.get(form.linear.slot(missing_number))
            if k is not None:
                texts.append((float(often[k]), row.term(missing_number, 1.0, member.terms)))
    always = float(often[at[0]]) if 0 in at else 0.0
    for column, texts in of_text.items():
        total = max(always, sum(often for often, _ in texts))
        if total > 0:
            means[column] = np.sum([often / total * term for often, term in texts], axis=0)
    return means


def _score_function(
    form: FormReading, certainty: list[float], head: int, heads: int, offset: float
) -> Callable[[Float64], float]:
    """The score of a head, without the row's offset, as a function of the members' sums."""
    options, state, mixture = form.options, form.state, form.mixture
    limited = bool(options.clip or options.target) and state["label_min"] <= state["label_max"]

    def score_of(sums: Float64) -> float:
        members = zip(form.members, sums, certainty, strict=True)
        scores = np.array([member.scores(own, sure)[:heads] for member, own, sure in members])
        if limited:
            scores = np.clip(scores, state["label_min"], state["label_max"])
        if mixture is None:
            return float(scores[0, head])
        if offset == 0 or LOSSES[options.loss].in_label_unit:  # then the mixture does not depend on the offset
            return float(mixture.say(scores)[head])
        return float(mixture.say(scores + offset, offset)[head]) - offset

    return score_of


def _slopes(
    score_of: Callable[[Float64], float], base: Float64, moved: Float64, largest: float, change: float
) -> Float64:
    """The mean gradient of the score by member and head, along the line from `base` to `base + moved`.

    The rest of the change, which the points on the line do not cover, is attributed along the line.
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
            up = score_of(here)
            here[place] = before - step
            slopes[place] += (up - score_of(here)) / (2 * step * points)
            here[place] = before
    length = float((moved * moved).sum())
    if length > 0:
        slopes += (change - float((slopes * moved).sum())) / length * moved
    return slopes
