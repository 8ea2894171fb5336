"""Reading what a second-order model keeps beside its weights (core/engine/newton/engine.cpp, `save`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..inputs import Float64
from ..losses import Loss
from ..rates import Walk
from .terms import Doubt, Terms


def with_doubt(terms: Terms, numbers: Callable[[str], Float64], lane: int, walk: Walk, loss: Loss) -> Terms:
    """The terms of the lane that leads with what it does not know, if what it says depends on that.

    Args:
        terms: they have variances for H.
        numbers: the arrays of the model, by name.
        lane: the one that leads, among those of the first head.
        walk: how that one begins and forgets.
        loss: that of the model.
    """
    plain, shrunk = numbers("newton.recent")[2 * lane :][:2]
    if not loss.for_classes and (walk.walk > 0 or not shrunk < plain):  # the plain sum speaks
        return terms
    places = [terms.entry[slot] for slot in numbers("newton.order").astype(np.int64).tolist()]
    size = len(places) * (len(places) + 1) // 2
    packed = numbers("newton.P")[lane * size : (lane + 1) * size]
    known = covariance(places, packed, terms.entry.get(0), terms.H[:, 0])
    return replace(terms, doubt=Doubt(known, loss.for_classes))


def covariance(places: Sequence[int], packed: Float64, bias: int | None, variances: Float64) -> Float64:
    """P of one lane.

    Args:
        places: where the features stand in it, in the order in which they were met.
        packed: of each: with the bias, then with those before it.
        bias: where that stands.
        variances: what is on the diagonal.
    """
    full, at = np.diag(variances), 0
    for i, place in enumerate(places):
        own = packed[at : at + i + 1]
        at += i + 1
        if bias is not None:
            full[place, bias] = full[bias, place] = own[0]
        full[place, places[:i]] = full[places[:i], place] = own[1:]
    return full
