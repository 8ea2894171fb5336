"""Reads the covariance of a second-order model's weights from its state (core/engine/newton/engine.cpp, `save`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..inputs import Float64
from ..losses import Loss
from .rates import Walk
from .terms import Doubt, Terms


def with_doubt(terms: Terms, numbers: Callable[[str], Float64], lane: int, walk: Walk, loss: Loss) -> Terms:
    """Return the leading lane's terms with the covariance of the weights, if its predictions use the covariance.

    Args:
        terms: the terms; their H are variances.
        numbers: returns an array of the model by its name.
        lane: the leading lane, counted among the lanes of the first head.
        walk: the prior and forgetting of that lane.
        loss: the loss of the model.
    """
    if (walk.walk > 0 and not loss.for_classes) or not uses_covariance(numbers("newton.recent"), lane, loss):
        return terms
    places = [terms.entry[slot] for slot in numbers("newton.order").astype(np.int64).tolist()]
    size = len(places) * (len(places) + 1) // 2
    packed = numbers("newton.P")[lane * size : (lane + 1) * size]
    known = covariance(places, packed, terms.entry.get(0), terms.H[:, 0])
    return replace(terms, doubt=Doubt(known, loss.for_classes))


def uses_covariance(recent: Float64, lane: int, loss: Loss) -> bool:
    """Whether a lane's predictions depend on the covariance; numbers may be predicted with the plain sum.

    Args:
        recent: the recent losses of each lane's two predictions of a number: the plain sum, and the shrunk one.
        lane: the lane.
        loss: the loss of the model.
    """
    return loss.for_classes or bool(recent[2 * lane + 1] < recent[2 * lane])


def covariance(places: Sequence[int], packed: Float64, bias: int | None, variances: Float64) -> Float64:
    """Return the covariance matrix P of one lane.

    Args:
        places: the places of the features in the matrix, in the order in which they were first seen.
        packed: for each feature, its covariance with the bias and then with the features before it.
        bias: the place of the bias; None without a bias.
        variances: the diagonal.
    """
    full, at = np.diag(variances), 0
    for i, place in enumerate(places):
        own = packed[at : at + i + 1]
        at += i + 1
        if bias is not None:
            full[place, bias] = full[bias, place] = own[0]
        full[place, places[:i]] = full[places[:i], place] = own[1:]
    return full
