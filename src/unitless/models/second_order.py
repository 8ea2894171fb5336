"""Reading what a second-order model keeps beside its weights (core/engine/second_order/engine.cpp, `save`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64
from .terms import Doubt

_STEADY = 3  # lanes, the first ones, whose weights do not walk (core/engine/second_order/lanes.hpp)


def doubt(
    numbers: Callable[[str], Float64],
    slots: NDArray[np.int64],
    variances: Float64,
    lane_rates: NDArray[Any],
    lane: int,
    of_odds: bool,
) -> Doubt | None:
    """What the lane that leads does not know, where what it says depends on it.

    Args:
        numbers: the arrays of the model, by name.
        slots: those in use.
        variances: of the lane's weights, by entry of the slots.
        lane_rates: by lane of one head.
        lane: the one that leads.
        of_odds: whether it says log odds.
    """
    recent = numbers("newton.recent")[2 * lane :][:2]
    if not of_odds and not (lane_rates[lane] < _STEADY and recent[1] < recent[0]):  # the plain sum has been better
        return None
    order = numbers("newton.order").astype(np.int64)
    size = len(order) * (len(order) + 1) // 2
    packed = numbers("newton.P")[lane * size : (lane + 1) * size]
    return Doubt(covariance(order, packed, slots, variances), of_odds)


def covariance(order: NDArray[np.int64], packed: Float64, slots: NDArray[np.int64], variances: Float64) -> Float64:
    """P of one lane, by entry of the slots. `order`: the features' slots as they were met, as `packed` has them."""
    entry = {slot: k for k, slot in enumerate(slots.tolist())}
    full = np.diag(variances)
    places = [entry[slot] for slot in order.tolist()]
    at = 0
    for i, place in enumerate(places):  # of each: with the bias, then with those before it
        own = packed[at : at + i + 1]
        at += i + 1
        if 0 in entry:
            full[place, entry[0]] = full[entry[0], place] = own[0]
        full[place, places[:i]] = full[places[:i], place] = own[1:]
    return full
