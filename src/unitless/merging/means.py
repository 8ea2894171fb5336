"""Change the weights of a model when the means of centered columns change, and change merged weights again later.

With x = (x - m) + m and other means m + d, predictions stay if each centered feature's weight times d goes to the
bias, and of a product's weight, because (x + d)(y + e) = xy + ex + dy + de, the parts that belong to its factors and
to the bias. Each of these is a *term*: a weight that changes, how fast it changes (its slope), and one or two means.

A merged bias is a mean of the models' biases by the evidence behind these, so that its slopes are means of the models'
slopes by the same evidence. They are not the merged weights, which are means by evidence of their own. A merged model
therefore keeps its slopes until it learns: merged again, it changes by what all of its parts would have changed by, and
it does not matter what is merged first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..inputs import Float64
from ..models.extra_members import extra_members
from ..options import Options
from ..rules import RULES
from .layout import Layout, Slots
from .slots import Numbers, Source
from .totals import Totals

Indices = NDArray[np.int64]
LINEAR = "linear"  # the model's own lanes
MEMBERS = ("curves", "trees")  # members whose linear terms use the model's own slots


@dataclass(frozen=True)
class Terms:
    """The weights that change with means; terms from single features to the bias come first, in order."""

    to: Indices  # the slot whose weight changes
    of: Indices  # the slot whose weight is the slope, before any merge
    by: Indices  # the feature whose mean changes
    also: Indices  # a second feature; 0: none

    @classmethod
    def of_model(cls, centered: NDArray[np.bool_], pairs: Indices) -> Terms:
        """The terms of a model. `centered`: by feature.

        `pairs`: the features of products, whose slots follow those of features.
        """
        features = np.flatnonzero(centered)
        left, right = pairs.T
        slots = len(centered) + np.arange(len(pairs))
        none = np.zeros(max(len(features), len(pairs)), np.int64)
        first, second = (np.flatnonzero(centered[side]) for side in (left, right))
        both = np.intersect1d(first, second)
        groups = (
            (none[: len(features)], features, features, none[: len(features)]),
            (left[second], slots[second], right[second], none[: len(second)]),
            (right[first], slots[first], left[first], none[: len(first)]),
            (none[: len(both)], slots[both], left[both], right[both]),
        )
        return cls(*(np.concatenate(columns) for columns in zip(*groups, strict=True)))

    @classmethod
    def of_state(cls, state: _core.Snapshot, layout: Layout) -> Terms:
        """The terms of one model, in its own order, with the slots of the merged model."""
        numbering = layout.feature_numbers(state)
        centered = np.zeros(len(numbering), bool)
        centered[state["center_features"][state["center_kinds"] == 1]] = True
        own = cls.of_model(centered, state["products"].reshape(-1, 3)[:, :2].astype(np.int64))
        slots = np.concatenate([numbering, 1 + layout.features + layout.product_numbers(state)])
        return cls(slots[own.to], slots[own.of], numbering[own.by], numbering[own.also])

    @classmethod
    def of_layout(cls, states: list[_core.Snapshot], layout: Layout) -> Terms:
        """The terms of the merged model."""
        if layout.means == 1:  # no feature is centered
            return cls(*(np.zeros((4, 0), np.int64)))
        return cls.of_model(layout.kinds(states) == 1, layout.pairs)

    def found_in(self, others: Terms) -> tuple[Indices, Indices]:
        """Match terms with another list, by their two slots: whether and where each is found."""
        keys, theirs = (one.to << 32 | one.of for one in (self, others))
        order = np.argsort(theirs)
        at = np.searchsorted(theirs[order], keys)
        known = np.flatnonzero(at < len(order))
        known = known[theirs[order[at[known]]] == keys[known]]
        return known, order[at[known]]


def slopes_of(state: _core.Snapshot) -> dict[str, Float64]:
    """The slopes that a model has stored since it was merged, for its own lanes and its members'."""
    slopes = state["slopes"]
    sizes = slope_sizes(state) if len(slopes) else {}
    if not sizes:
        return {}
    parts = np.split(slopes, np.cumsum(list(sizes.values()))[:-1])
    return dict(zip(sizes, parts, strict=True))


def slope_sizes(state: _core.Snapshot) -> dict[str, int]:
    """The numbers of slopes that a model has stored."""
    terms = _term_count(state)
    form = state["form"]
    averaged = 2 if state["next_look"] else 1
    sizes = {LINEAR: terms * len(state["lane_heads"]) * averaged}
    sizes |= {name: terms * len(form[f"{name}.lane_heads"]) for name in MEMBERS if f"{name}.lane_heads" in form}
    # Members with a covariance need no slopes (information.py).
    others = [name for name in extra_members(state) if f"{name}.newton.P" not in form]
    return sizes | {name: terms * len(form[f"{name}.lane_heads"]) * averaged for name in others}


def _term_count(state: _core.Snapshot) -> int:
    features = len(state["names"]) if state["names"] is not None else state["columns"] or 0
    centered = np.zeros(1 + features, bool)
    centered[state["center_features"][state["center_kinds"] == 1]] = True
    return len(Terms.of_model(centered, state["products"].reshape(-1, 3)[:, :2].astype(np.int64)).to)


@dataclass(frozen=True)
class Moved:
    """The change of a model's weights when means change, and its slopes afterwards."""

    slots: Slots
    numbers: Numbers  # the numbers of these slots before the change
    by: Float64  # [slot][value]
    slopes: Float64  # [term][value]: the weight's v by the means
    to: Indices  # by term: the position of the changing weight among the slots

    @classmethod
    def of(
        cls,
        options: Options,
        part: Totals,
        source: Source,
        terms: Terms,
        stored: Float64,
        means: Float64,
        target: Float64,
    ) -> Moved:
        """Compute the change. `stored`: the slopes that a merged model has stored.

        Otherwise its weights are the slopes.
        """
        slots = np.unique(np.concatenate([[0], terms.to, terms.of])).astype(np.uint32)
        scale, H, values = source.read(slots)
        to, of = np.searchsorted(slots, terms.to), np.searchsorted(slots, terms.of)
        rule = RULES[options.rule]
        unit = (scale / np.sqrt(part.t) if rule.sums_squares and part.t > 0 else scale) if rule.unit_free else scale > 0
        slopes = stored
        if not len(stored):
            ratio = np.divide(unit[to], unit[of], out=np.zeros(len(to)), where=unit[of] > 0)
            slopes = values[of] * ratio[:, None]
        by = np.zeros_like(values)
        if not options.bias or scale[0] == 0:  # there is no bias that could compensate a change
            return cls(slots, (scale, H, values), by, slopes, to)
        drift = part.drift(means)
        drift[0] = 1.0  # so that a term without a second mean is multiplied by 1
        factor = drift[terms.by] * drift[terms.also]
        moving = np.flatnonzero(factor)  # only weights that change; a weight that has diverged may be infinite
        np.add.at(by, to[moving], slopes[moving] * factor[moving, None])
        by[0] += part.offset(target) * unit[0]
        features = terms.of[: np.count_nonzero(terms.of == terms.by)]
        both = np.flatnonzero(terms.also)
        after = slopes.copy()
        for mean, other in ((terms.by, terms.also), (terms.also, terms.by)):
            here = both[drift[other[both]] != 0]
            np.add.at(after, np.searchsorted(features, mean[here]), slopes[here] * drift[other[here], None])
        return cls(slots, (scale, H, values), by, after, to)

    def rows(self) -> Numbers:
        """The slopes as weights of the slots that they belong to."""
        scale, H, _ = self.numbers
        return scale[self.to], H[self.to], self.slopes


def stored_slopes(
    slopes: Float64, state: _core.Snapshot, layout: Layout, terms: Terms, lanes: list[int], averaged: bool
) -> Float64:
    """A model's stored slopes, by the terms and lanes of the merged model; None if it has not stored any."""
    if not len(slopes):
        return np.zeros((0, 0))
    count = len(state["lane_heads"])
    columns = [*lanes, *(count + lane for lane in lanes if averaged)]
    own = slopes.reshape(-1, count * (2 if averaged else 1))
    found = np.zeros((len(terms.to), len(columns)))
    known, at = terms.found_in(Terms.of_state(state, layout))
    found[known] = own[at][:, columns]
    return found
