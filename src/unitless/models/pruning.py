"""Pruning: a sparse model keeps the features with nonzero weights, and all others are removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import InputError, Option, OptionError, Phrase
from .by_feature import leading_lane, name_slots, sparse_weights
from .model import Model


def prune(model: Model) -> None:
    """Prune a model; see `Learner.prune`."""
    if not model.options.sparse:
        raise OptionError(
            Phrase("only linear models with a penalty can be pruned; make one with ", Option("sparsity", "auto"))
        )
    if model._earlier is not None:
        raise InputError("training of this model was interrupted", advice="let it come to its end before pruning")
    with model._locked():
        model._restore_state(_pruned(model, model._snapshot()))


def _pruned(model: Model, state: _core.Snapshot) -> _core.Snapshot:
    """Return a state with the leading lane of each head and the features with a nonzero weight in one of them."""
    heads = int(state["lane_heads"].max(initial=0)) + 1
    leaders = [leading_lane(state, head) for head in range(heads)]
    v = sparse_weights(model.options, model._candidates, state)[:, leaders]
    rows = np.flatnonzero((v != 0).any(axis=1) | (state["slots"] == 0))
    layout = _Layout.of(state, state["slots"][rows])

    def numbers(name: str) -> NDArray[np.float64]:
        array: NDArray[np.float64] = state[name].reshape(-1, len(state["lane_heads"]))  # type: ignore[literal-required]
        return np.ascontiguousarray(array[rows][:, leaders]).ravel()

    pruned = state.copy()
    pruned.update(layout.features(state))  # type: ignore[typeddict-item]
    pruned["slots"] = layout.place[state["slots"][rows]]
    pruned["scale"] = state["scale"][rows]
    pruned["v"], pruned["H"] = numbers("v"), numbers("H")
    pruned["lane_heads"] = np.arange(heads, dtype=np.uint32)
    pruned["lane_rates"] = state["lane_rates"][leaders]
    pruned["scores"] = state["scores"].reshape(-1, 6)[leaders].ravel()
    pruned["slopes"] = np.zeros(0)
    return pruned


@dataclass(frozen=True)
class _Layout:
    """The new places of the slots and features that a pruned model keeps."""

    place: NDArray[np.uint32]  # by slot: the new slot
    number: NDArray[np.uint32]  # by feature: the new number; 0 if the feature is removed
    # By feature: whether it keeps its scale (a feature that is needed only for its products does not).
    scaled: NDArray[np.bool_]
    products: NDArray[np.uint32]  # the products that are kept, [product][left, right, slot]

    @classmethod
    def of(cls, state: _core.Snapshot, kept: NDArray[np.uint32]) -> _Layout:
        """Return the layout in which only these slots are kept.

        Columns keep their places. Names and products are renumbered without gaps.
        """
        products = state["products"].reshape(-1, 3)
        products = products[np.isin(products[:, 2], kept)]
        if state["names"] is None:
            slots = np.arange(1 + (state["columns"] or 0))  # by feature
            place = np.arange(1 + int(state["slots"].max(initial=0)), dtype=np.uint32)
            if state["columns"] is not None:
                place = _ranks(np.concatenate([slots, products[:, 2]]))
            return cls(place, slots.astype(np.uint32), np.isin(slots, kept), products)
        slots = np.concatenate([[0], name_slots(state)])
        scaled = np.isin(slots, kept)
        there = scaled.copy()
        there[0] = True
        there[products[:, :2].ravel()] = True  # the factors of products
        number = np.where(there, np.cumsum(there) - 1, 0).astype(np.uint32)
        return cls(_ranks(np.concatenate([slots[there], products[:, 2]])), number, scaled, products)

    def features(self, state: _core.Snapshot) -> dict[str, Any]:
        """Return the arrays of the features, as a state has them."""
        products = self.products.copy()
        products[:, :2] = self.number[products[:, :2]]
        products[:, 2] = self.place[products[:, 2]]
        centered, watched = state["center_features"], state["window_features"]
        kept, windows = np.flatnonzero(self.number[centered]), np.flatnonzero(self.scaled[watched])
        each = len(state["windows"]) // max(1, len(watched))  # numbers per window
        found: dict[str, Any] = {
            "products": products.ravel(),
            "center_features": self.number[centered][kept],
            "center_kinds": state["center_kinds"][kept],
            "center_means": state["center_means"].reshape(-1, 2)[kept].ravel(),
            "window_features": self.number[watched][windows],
            "windows": state["windows"].reshape(len(watched), each)[windows].ravel(),
            "proven_scales": np.where(self.scaled[centered], state["proven_scales"], 0.0)[kept],
        }
        if state["names"] is not None:
            found["names"] = [state["names"][feature - 1] for feature in np.flatnonzero(self.number).tolist()]
        return found


def _ranks(slots: NDArray[Any]) -> NDArray[np.uint32]:
    """Return for each slot its place among these slots, which need not be sorted."""
    ranks = np.zeros(1 + int(slots.max(initial=0)), np.uint32)
    ranks[np.sort(slots.astype(np.int64))] = np.arange(len(slots))
    return ranks
