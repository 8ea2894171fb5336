"""Merge second-order engines (rule "newton"): their information matrices add up.

A lane has means v and a covariance P, which began as I/λ and grows by q for each row (its drift). The prior's part of
the precision P⁻¹ is π(t) = 1/(1/λ + q·t); the rows have added the information A = P⁻¹ - π(t) and b = P⁻¹·v. For models
that learned different rows, A and b add up, with common scales, means and center of the labels:

    P = (π(Σt) + ΣA)⁻¹    v = P·Σb

With squared loss and without drift this is the model that one learner would get from all rows, to rounding. With
logistic loss and classes, each model has weighted its rows by its own predictions. In a lane with drift, all models
count as if they had the same age.

Other means of centered columns are another basis of the same rows: x - m - d is a sum of x - m and of the bias. So A
becomes N'·A·N and b becomes N'·b, which is exact, and nothing has to be stored for the next merge. If labels are
measured from a center that is lower by o, b grows by o times the bias's column of A.

Models that were continued from a common base add what they have learned since, A - A_base, also in a synchronization
round. A lane with drift has meanwhile forgotten rows in each model separately: there A and b are the models' means,
weighted by their new rows.

Everything is in units of the scales: powers of two change no bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import MergeError
from ..inputs import Float64
from ..models.model import State
from ..models.rates import WALKS
from ..models.second_order import covariance
from .engine import Engine
from .layout import Lanes, Layout, Slots
from .means import Terms
from .totals import Totals

_COVARIANCE, _ORDER, _RECENT, _MET = "newton.P", "newton.order", "newton.recent", "newton.met"

Indices = NDArray[np.intp]


def is_second_order(state: _core.Snapshot) -> bool:
    """Whether the engine has a covariance."""
    return _COVARIANCE in state["form"]


@dataclass(frozen=True)
class Frame:
    """The features, scales and means in which the information of several models is expressed."""

    slots: Slots  # slots of the merged model, in order
    order: Slots  # slots of the features in the order of their first occurrence
    scale: Float64
    terms: tuple[Indices, Indices, Indices, Indices]  # terms of the means, as in `Terms`; the first two as places here

    @classmethod
    def of(cls, states: Sequence[_core.Snapshot], layout: Layout, most: int | None) -> Frame:
        """Build the frame. `most`: only the first `most` features have a place; None: a larger number is refused."""
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
        """Whether the bias is one of the features; then it is the first."""
        return len(self.slots) > 0 and self.slots[0] == 0

    def moved(self, known: Known, drift: Float64, offset: float) -> Known:
        """The information of the same rows after means grow by `drift` and labels by `offset`."""
        to, of, by, also = self.terms
        drift = -drift
        drift[0] = 1.0  # so that a term without a second mean is multiplied by 1
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
        if offset and self.biased:
            b = b + offset * self.scale[0] * A[:, None, 0, :]
        return replace(known, A=A, b=b)


@dataclass(frozen=True)
class Known:
    """The information A, b of a model's lanes."""

    A: Float64  # [rate][place][place]
    b: Float64  # [rate][head][place]
    t: float  # the weight of the rows
    recent: Float64  # [rate][2]: recent losses of predictions with and without shrinkage

    @classmethod
    def of(cls, state: _core.Snapshot, frame: Frame, layout: Layout, lanes: Lanes, source: list[int]) -> Known:
        """Read the information in units of the frame's scales. `source`: the model's lanes for the merged ones."""
        places, own = _found(frame.slots, layout.place(state))
        rho = state["scale"][own] / frame.scale[places]
        rates, heads, n = lanes.heads.count(0), max(lanes.heads) + 1, len(frame.slots)
        A, b = np.zeros((rates, n, n)), np.zeros((rates, heads, n))
        v = state["v"].reshape(-1, len(state["lane_heads"]))[:, source].reshape(-1, heads, rates)
        own_covariances = covariances(state)
        stand_ins = [lane % len(own_covariances) for lane in source[:rates]]
        for rate, lane in enumerate(stand_ins):
            precision, _ = _core.inverted(own_covariances[lane])
            taught = precision - np.diag(_prior(int(state["lane_rates"][lane]), state["t"], state["slots"]))
            meant = _core.multiplied(precision, np.ascontiguousarray(v[:, :, rate].T))
            A[rate][np.ix_(places, places)] = taught[np.ix_(own, own)] * rho[:, None] * rho
            b[rate][:, places] = meant[:, own] * rho
        recent = state["form"][_RECENT].reshape(-1, 2)[stand_ins]
        return cls(A, b, state["t"], recent)

    def plus(self, other: Known, times: float = 1.0) -> Known:
        """The sum of the information of both."""
        A, b, recent = self.A + other.A * times, self.b + other.b * times, self.recent + other.recent * times
        return Known(A, b, self.t + other.t * times, recent)


def merged_information(engine: Engine, base: State, partitions: int | None, most: int | None) -> _core.Snapshot:
    """Build the merged state of a second-order engine.

    Args:
        engine: the lanes that are merged, with all their totals.
        base: the model that all were continued from, which may have learned nothing.
        partitions: for a synchronization round, the number of models; the merged one gets the age of one of them.
        most: see `Frame.of`.
    """
    kind, layout, lanes = engine.kind, engine.layout, engine.lanes
    start = base if is_second_order(base[0]) else None
    frame = Frame.of([state for state, _ in (*engine.states, *([start] if start else []))], layout, most)

    def known(state: State, at: Lanes) -> Known:
        return Known.of(state[0], frame, layout, lanes, at.source(kind.by_label(state)))

    def moved(state: State, its: Known) -> Known:
        own = Totals.of(state[0], kind.by_label(state), layout, lanes)
        return frame.moved(its, own.drift(engine.means), own.offset(engine.target))

    n, rates = len(frame.slots), lanes.rates[: lanes.heads.count(0)]
    nothing = Known(
        np.zeros((len(rates), n, n)), np.zeros((len(rates), max(lanes.heads) + 1, n)), 0.0, np.zeros((len(rates), 2))
    )
    added, mean = moved(start, known(start, lanes)) if start else nothing, nothing
    gained = [state["t"] - added.t for state, _ in engine.states]
    for state, weight in zip(engine.states, gained, strict=True):
        own = new = known(state, lanes)
        if start:  # the base has the rates of the model that stand for those of the merged one
            source = lanes.source(kind.by_label(state))
            same = Lanes(lanes.heads, [int(state[0]["lane_rates"][lane]) for lane in source])
            new = own.plus(known(start, same), -1.0)
        added = added.plus(moved(state, new))
        mean = mean.plus(moved(state, own), weight / sum(gained) if sum(gained) > 0 else 1.0 / len(gained))
    forgets = start is not None or partitions is not None
    by_mean = np.array([forgets and WALKS[rate][1] > 0 for rate in rates])
    # A lane that was dropped and restarted has continued from another lane's state, whose prior was different.
    priors = [np.diag(_prior(rate, added.t, frame.slots)) for rate in rates]
    by_mean = by_mean | [not _core.inverted(A + prior)[1] for A, prior in zip(added.A, priors, strict=True)]
    A, b = (np.where(by_mean[:, None, None], *both) for both in ((mean.A, added.A), (mean.b, added.b)))
    merged = Known(A, b, added.t, np.maximum(added.recent, 0.0))
    snapshot = engine.snapshot()
    return _filled(snapshot, frame, lanes, merged, kind.open, snapshot["t"] / (partitions or 1))


def _filled(
    snapshot: _core.Snapshot, frame: Frame, lanes: Lanes, known: Known, open: bool, age: float
) -> _core.Snapshot:
    """Build a state of lanes from their information. `snapshot`: the state without slots; `open`: classes may join."""
    rates, heads, n = len(known.A), max(lanes.heads) + 1, len(frame.slots)
    v, H = np.zeros((n, heads, rates)), np.zeros((n, heads, rates))
    features = np.searchsorted(frame.slots, frame.order)
    packed = []
    for rate in range(rates):
        prior = _prior(lanes.rates[rate], age, frame.slots)
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
    snapshot["slopes"] = np.zeros(0)
    if snapshot["next_look"]:  # the last weights stand for the average (core/engine/newton/engine.cpp)
        snapshot |= {"average": v.ravel(), "average_scale": frame.scale, "next_look": snapshot["examples"] + 1}
    return snapshot


def _prior(rate: int, t: float, slots: Slots) -> Float64:
    """The prior's part of a precision, after the drift of so many rows."""
    prior, walk, bias_walk = WALKS[rate]
    return np.where(slots == 0, *(1.0 / (1.0 / prior + own * t) if own else prior for own in (bias_walk, walk)))


def _order(state: _core.Snapshot, layout: Layout) -> Slots:
    """The features that have a place, in the order of their first occurrence, as numbered in the merged model."""
    at = np.searchsorted(state["slots"], state["form"][_ORDER].astype(np.uint32))
    return np.asarray(layout.place(state)[at])


def covariances(state: _core.Snapshot) -> list[Float64]:
    """The covariance P of each lane, by slot."""
    count = int(np.count_nonzero(state["lane_heads"] == 0))
    variances = state["H"].reshape(-1, len(state["lane_heads"]))
    places = np.searchsorted(state["slots"], state["form"][_ORDER].astype(np.uint32)).tolist()
    bias = 0 if 0 in state["slots"][:1] else None
    packed = state["form"][_COVARIANCE].reshape(count, -1)
    return [covariance(places, packed[lane], bias, variances[:, lane]) for lane in range(count)]


def _found(slots: Slots, places: Slots) -> tuple[Indices, Indices]:
    """The positions of slots among others, and whether each was found."""
    at = np.searchsorted(slots, places)
    own = np.flatnonzero(at < len(slots))
    own = own[slots[at[own]] == places[own]]
    return at[own], own
