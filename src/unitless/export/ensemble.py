"""Curves and trees as one TreeEnsemble of ONNX, which adds up the weights of their leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..models.form_reading import Curve, Tree

_LEAF = True


class Ensemble:
    """Builds trees node by node. A node tests x <= split; the trees of the model test x > split."""

    def __init__(self, head: int) -> None:
        self._head = head  # the head that the weights of the leaves belong to
        self._roots: list[int] = []
        self._features: list[int] = []
        self._splits: list[float] = []
        self._missing: list[int] = []  # whether a missing value goes to the branch for true
        # the branches for true and for false: number, and whether it is a leaf's
        self._next: list[list[tuple[int, bool]]] = []
        self._weights: list[float] = []

    def _leaf(self, weight: float) -> tuple[int, bool]:
        self._weights.append(weight)
        return len(self._weights) - 1, _LEAF

    def _node(self, feature: int, split: float, missing: bool) -> int:
        self._features.append(feature)
        self._splits.append(split)
        self._missing.append(int(missing))
        self._next.append([])
        return len(self._features) - 1

    def add_curve(self, curve: Curve, feature: int) -> None:
        """Numbers satisfy x <= infinity, but missing values do not: this separates them."""
        root = self._node(feature, np.inf, False)
        self._roots.append(root)
        weights = curve.weights[:, self._head] if len(curve.thresholds) else np.zeros(1)

        def steps(first: int, last: int) -> tuple[int, bool]:
            if first == last:
                return self._leaf(float(weights[first]))
            middle = (first + last) // 2
            node = self._node(feature, float(curve.thresholds[middle]), True)
            self._next[node] = [steps(first, middle), steps(middle + 1, last)]
            return node, not _LEAF

        self._next[root] = [steps(0, len(curve.thresholds)), self._leaf(float(curve.missing[self._head]))]

    def add_tree(self, tree: Tree, features: dict[int, int], texts: set[int]) -> None:
        """Add a tree. `features`: the feature of each column.

        For a column in `texts`, the feature is 1 if there is any text. A value of text is a feature of its own, with
        the value 1.
        """
        inner = np.flatnonzero(tree.child != np.arange(len(tree.child))).tolist()
        made = {}
        for node in inner:
            column = int(tree.column[node])
            low = float(tree.low[node])
            if column not in texts:
                made[node] = self._node(features[column], low, True)
            else:
                made[node] = self._node(int(low + 0.5) - 1 if low > -np.inf else features[column], 0.5, True)
        for node in inner:
            child = int(tree.child[node])
            self._next[made[node]] = [
                (made[one], not _LEAF) if one in made else self._leaf(float(tree.weights[one, self._head]))
                for one in (child, child + 1)
            ]
        self._roots.append(made[0])

    def attributes(self, tensor: Callable[[Any, str], Any]) -> dict[str, Any]:
        """The attributes of the ONNX node."""
        yes, no = zip(*self._next, strict=True)
        return {
            "n_targets": 1,
            "aggregate_function": 1,  # the code for SUM
            "post_transform": 0,
            "tree_roots": self._roots,
            "nodes_modes": tensor(np.zeros(len(self._features), np.uint8), "modes"),  # the code for x <= split
            "nodes_featureids": self._features,
            "nodes_splits": tensor(np.array(self._splits, np.float64), "splits"),
            "nodes_missing_value_tracks_true": self._missing,
            "nodes_truenodeids": [number for number, _ in yes],
            "nodes_trueleafs": [int(leaf) for _, leaf in yes],
            "nodes_falsenodeids": [number for number, _ in no],
            "nodes_falseleafs": [int(leaf) for _, leaf in no],
            "leaf_targetids": [0] * len(self._weights),
            "leaf_weights": tensor(np.array(self._weights, np.float64), "weights"),
        }
