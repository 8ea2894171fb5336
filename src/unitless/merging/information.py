"""What second-order learners (rule "newton") know together: information adds up.

A lane has means v and a covariance P, which began as I/λ and grows by a walk of q a row. Of the precision P⁻¹ the part
π(t) = 1/(1/λ + q·t) was there before any row; what the rows have told is A = P⁻¹ - π(t) and b = P⁻¹·v. Of models that
have learned apart, these add up, at common scales and means and labels told from a common center:

    P = (π(Σt) + ΣA)⁻¹    v = P·Σb

With squared loss and without a walk this is the model that one learner would be that had learned all rows, to rounding.
Of logistic loss and of classes, each model has weighed its rows by what it predicted itself. Of a lane with a walk, all
models count as if they stood at the same moment.

Other means of centered columns are another basis of the same rows: x - m - d is a sum of x - m and of the bias. So A
becomes N'·A·N and b becomes N'·b, which is exact, and nothing has to be remembered for the next merge. Labels that are
told from a center lower by o add o times the bias's column of A to b.

Models that went on from a common base add what they have learned since, A - A_base. A lane with a walk has also
forgotten meanwhile, each model by itself: there A and b are the models' means, by the weight of their new rows.

All of it is told in units of the scales: powers of two change no bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import MergeError
from ..inputs import Float64
from ..models.second_order import covariance
from ..rates import WALKS
from .means import Terms
from .state import Lanes, Layout, Slots

_COVARIANCE, _ORDER, _RECENT, _MET = "newton.P", "newton.order", "newton.recent", "newton.met"

Indices = NDArray[np.intp]


def is_second_order(state: _core.Snapshot) -> bool:
    """Whether what learns keeps a covariance."""
    return _COVARIANCE in state["form"]


@dataclass(frozen=True)
class Frame:
    """What several models' information is told in: features, their scales and means."""

    slots: Slots  # of the merged model, in order
    order: Slots  # those of features in the order in which they were met
    scale: Float64
    terms: tuple[Indices, Indices, Indices, Indices]  # of the means, as in `Terms`; the first two as places here

    @classmethod
    def of(cls, states: Sequence[_core.Snapshot], layout: Layout, most: int | None) -> Frame:
        """`most`: so many features may have a place, the first that were met; None: more than that are refused."""
        met = [slot for state in states for slot in _order(state, layout).tolist()]
        order = np.array(list(dict.fromkeys(met)), np.uint32)
        if most is None and len(order) > _core.most_second_order:
            raise MergeError(
                f'the models know {len(order):,} features together, and rule="newton" takes at most '
                f'{_core.most_second_order}; leave some out, or use rule="nag", which takes any number'
            )
        order = order[:most]
        biased = any(0 in state["slots"][:1] for state in states)
        slots = np.concatenate([np.zeros(int(biased), np.uint32), np.sort(order)])
        scale = np.zeros(len(slots))
        for state in states:
            at, own = _found(slots, layout.place(state))
            scale[at] = np.maximum(scale[at], state["scale"][own])
        terms = Terms.of_layout(list(states), layout)
        there = np.isin(terms.to, slots) & np.isin(terms.of, slots) & biased
        places = (np.searchsorted(slots, one[there]) for one in (terms.to, terms.of))
        return cls(slots, order, scale, (*places, terms.by[there], terms.also[there]))  # type: ignore[arg-type]

    @property
    def biased(self) -> bool:
        """Whether the bias is one of the features: then it is the first."""
        return len(self.slots) > 0 and self.slots[0] == 0

    def moved(self, known: Known, shift: Shift) -> Known:
        """The same rows, told by other means and from another center of the labels."""
        to, of, by, also = self.terms
        drift = -shift.drift
        drift[0] = 1.0  # where there is no second mean
        factor = drift[by] * drift[also]
        here = np.flatnonzero(factor)
        to, of = to[here], of[here]
        factor = factor[here] * (self.scale[to] / self.scale[of])
        A, b = known.A, known.b
        if len(here):
            across, b = A.copy(), b.copy()
            for i, j, by_how_much in zip(to, of, factor, strict=True):
                across[:, :, j] += A[:, :, i] * by_how_much
                b[:, :, j] += known.b[:, :, i] * by_how_much
            A = across.copy()
            for i, j, by_how_much in zip(to, of, factor, strict=True):
                A[:, j, :] += across[:, i, :] * by_how_much
            A = (A + A.transpose(0, 2, 1)) / 2
        if shift.offset and self.biased:
            b = b + shift.offset * self.scale[0] * A[:, None, 0, :]
        return replace(known, A=A, b=b)


@dataclass(frozen=True)
class Known:
    """What rows have told the lanes of a model."""

    A: Float64  # [rate][place][place]
    b: Float64  # [rate][head][place]
    t: float  # the weight of the rows
    recent: Float64  # [rate][2]: recent losses of what is said with and without shrinkage

    @classmethod
    def of(cls, state: _core.Snapshot, frame: Frame, layout: Layout, lanes: Lanes, source: list[int]) -> Known:
        """In units of the frame's scales. `source`: which of the model's lanes stand for the merged ones."""
        places, own = _found(frame.slots, layout.place(state))
        rho = state["scale"][own] / frame.scale[places]
        rates, heads, n = lanes.heads.count(0), max(lanes.heads) + 1, len(frame.slots)
        A, b = np.zeros((rates, n, n)), np.zeros((rates, heads, n))
        v = state["v"].reshape(-1, len(state["lane_heads"]))[:, source].reshape(-1, heads, rates)
        own_covariances = covariances(state)
        stand_ins = [lane % len(own_covariances) for lane in source[:rates]]
        for rate, lane in enumerate(stand_ins):
            precision, _ = _core.inverted(own_covariances[lane])
            told = precision - np.diag(_prior(int(state["lane_rates"][lane]), state["t"], state["slots"]))
            meant = _core.multiplied(precision, np.ascontiguousarray(v[:, :, rate].T))
            A[rate][np.ix_(places, places)] = told[np.ix_(own, own)] * rho[:, None] * rho
            b[rate][:, places] = meant[:, own] * rho
        recent = state["form"][_RECENT].reshape(-1, 2)[stand_ins]
        return cls(A, b, state["t"], recent)

    def since(self, base: Known) -> Known:
        """What was told after a base."""
        recent = np.maximum(self.recent - base.recent, 0.0)
        return Known(self.A - base.A, self.b - base.b, self.t - base.t, recent)


@dataclass(frozen=True)
class Shift:
    """To which means of columns and which center of the labels a model's rows are brought."""

    drift: Float64  # by feature: how much larger the means become
    offset: float  # how much larger the labels become


@dataclass(frozen=True)
class Merged:
    """A model that is merged: what it knows, and to what it is brought."""

    known: Known
    shift: Shift
    before: Known | None = None  # what the same lanes of the base knew, which it went on from


def told_to_all(frame: Frame, lanes: Lanes, models: Sequence[Merged], base: Merged | None, apart: bool) -> Known:
    """What all know, `t` being the sum. `apart`: they have followed different streams, so that walks do not matter."""
    gained = [model.known.t - (base.known.t if base else 0.0) for model in models]
    new = [(model, weight) for model, weight in zip(models, gained, strict=True) if weight > 0]
    start = None if base is None else frame.moved(base.known, base.shift)
    if not new:
        return start if start is not None else models[0].known
    first, total = models[0].known, sum(gained)
    first = start or Known(np.zeros_like(first.A), np.zeros_like(first.b), 0.0, np.zeros_like(first.recent))
    A, b, recent = first.A, first.b, first.recent
    mean_A, mean_b = np.zeros_like(A), np.zeros_like(b)
    for model, weight in new:
        told = model.known if model.before is None else model.known.since(model.before)
        recent = recent + told.recent
        moved, whole = frame.moved(told, model.shift), frame.moved(model.known, model.shift)
        A, b = A + moved.A, b + moved.b
        mean_A, mean_b = mean_A + whole.A * (weight / total), mean_b + whole.b * (weight / total)
    rates = lanes.rates[: len(A)]
    walking = np.array([WALKS[rate][1] > 0 for rate in rates])
    by_mean = np.zeros(len(rates), bool) if apart and base is None else walking
    t = total + (base.known.t if base else 0.0)
    # A lane that was dropped and taken up anew has gone on from another's state, whose prior was not its own.
    priors = [np.diag(_prior(rate, t, frame.slots)) for rate in rates]
    by_mean = by_mean | [not _core.inverted(one + prior)[1] for one, prior in zip(A, priors, strict=True)]
    A, b = (np.where(by_mean[:, None, None], one, other) for one, other in ((mean_A, A), (mean_b, b)))
    return Known(A, b, t, recent)


def standing_in(lanes: Lanes, state: _core.Snapshot, source: list[int]) -> Lanes:
    """The merged lanes at the rates of a model that stand for theirs: those at which a base is compared with it."""
    return Lanes(lanes.heads, [int(state["lane_rates"][lane]) for lane in source])


def second_order_state(
    snapshot: _core.Snapshot, frame: Frame, lanes: Lanes, known: Known, open: bool
) -> _core.Snapshot:
    """A state of lanes with what they know. `snapshot`: the state without slots; `open`: classes may join."""
    rates, heads, n = len(known.A), max(lanes.heads) + 1, len(frame.slots)
    v, H = np.zeros((n, heads, rates)), np.zeros((n, heads, rates))
    features = np.searchsorted(frame.slots, frame.order)
    packed = []
    for rate in range(rates):
        prior = _prior(lanes.rates[rate], snapshot["t"], frame.slots)
        P, _ = _core.inverted(known.A[rate] + np.diag(prior))
        v[:, :, rate] = _core.multiplied(P, known.b[rate]).T
        H[:, :, rate] = np.diag(P)[:, None]
        for i, place in enumerate(features):
            packed += [[P[place, 0] if frame.biased else 0.0], P[place, features[:i]]]
    form = {
        **snapshot["form"],
        _ORDER: frame.order.astype(np.float64),
        _COVARIANCE: np.concatenate([np.zeros(0), *packed]),
        _RECENT: known.recent.ravel(),
    }
    if open:
        form[_MET] = np.array([float(heads - 1)])
    snapshot |= {"slots": frame.slots, "scale": frame.scale, "v": v.ravel(), "H": H.ravel(), "form": form}
    if snapshot["next_look"]:  # what is last stands for the average (core/engine/newton/engine.cpp)
        snapshot |= {"average": v.ravel(), "average_scale": frame.scale, "next_look": snapshot["examples"] + 1}
    return snapshot


def _prior(rate: int, t: float, slots: Slots) -> Float64:
    """What of a precision was there before any row, after a walk of so many rows."""
    prior, walk, bias_walk = WALKS[rate]
    return np.where(slots == 0, *(1.0 / (1.0 / prior + own * t) if own else prior for own in (bias_walk, walk)))


def _order(state: _core.Snapshot, layout: Layout) -> Slots:
    """The features that have a place, in the order in which they were met, as the merged model numbers them."""
    at = np.searchsorted(state["slots"], state["form"][_ORDER].astype(np.uint32))
    return np.asarray(layout.place(state)[at])


def covariances(state: _core.Snapshot) -> list[Float64]:
    """P of each lane, by slot."""
    count = int(np.count_nonzero(state["lane_heads"] == 0))
    variances = state["H"].reshape(-1, len(state["lane_heads"]))
    places = np.searchsorted(state["slots"], state["form"][_ORDER].astype(np.uint32)).tolist()
    bias = 0 if 0 in state["slots"][:1] else None
    packed = state["form"][_COVARIANCE].reshape(count, -1)
    return [covariance(places, packed[lane], bias, variances[:, lane]) for lane in range(count)]


def _found(slots: Slots, places: Slots) -> tuple[Indices, Indices]:
    """Where some slots are among others, and which of them are there at all."""
    at = np.searchsorted(slots, places)
    own = np.flatnonzero(at < len(slots))
    own = own[slots[at[own]] == places[own]]
    return at[own], own
