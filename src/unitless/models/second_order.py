"""Reading what a second-order model keeps beside its weights (core/engine/second_order/engine.cpp, `save`)."""

from __future__ import annotations

from collections.abc import Callable
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
    covariance = np.diag(terms.H[:, 0])
    places = [terms.entry[slot] for slot in numbers("newton.order").astype(np.int64).tolist()]
    size = len(places) * (len(places) + 1) // 2
    packed = numbers("newton.P")[lane * size : (lane + 1) * size]
    at, bias = 0, terms.entry.get(0)
    for i, place in enumerate(places):  # of each: with the bias, then with those before it
        own = packed[at : at + i + 1]
        at += i + 1
        if bias is not None:
            covariance[place, bias] = covariance[bias, place] = own[0]
        covariance[place, places[:i]] = covariance[places[:i], place] = own[1:]
    return replace(terms, doubt=Doubt(covariance, loss.for_classes))
