"""Merging models that were trained apart.

Every formula is made of ratios of scales, so that a merged model has no more units than its parts: multiplying a
feature by a power of two changes no bit of v, H, N or t. Merging is associative and commutative to rounding, and a
fresh learner is its neutral element.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from .errors import MergeError
from .inputs import Float64
from .learner import Learner


def merge(learners: Iterable[Learner], *, bounded: bool = False, base: Learner | None = None) -> Learner:
    """One model from several that learned from different parts of the data.

    Weights are averaged, each weight counting by its accumulated squared gradients G (NG and GD: by the sum of z²);
    G, N and t add up, and the scale is the largest ("snag": the sums of squares add up).

    Args:
        learners: models with the same options and the same kind of features.
        bounded: average the dimensionless v = w·s instead of w, as if all updates had used the common scale. Keeps
            |prediction| within the largest bound of the parts; on evenly drawn shards the default is more accurate.
        base: the model that all of `learners` were continued from, as in rounds of distributed training: then only
            what each has added since is merged.

    Example:
        >>> import numpy as np, unitless as ul
        >>> X = np.random.default_rng(0).normal(size=(1000, 2)) * [1, 1000]
        >>> y = X @ [1, 0.001]
        >>> a, b = ul.Learner(), ul.Learner()
        >>> _ = a.learn(X[:500], y[:500]), b.learn(X[500:], y[500:])
        >>> bool(np.mean((ul.merge([a, b]).predict(X) - y) ** 2) < 0.01)
        True
    """
    if not isinstance(learners, Iterable):
        raise MergeError("merge takes a list of learners")
    models = list(learners)
    if not models:
        raise MergeError("there is nothing to merge")
    for model in (*models, *([base] if base is not None else [])):
        if not isinstance(model, Learner):
            raise MergeError(f"only learners can be merged, not {model!r}")
    first = models[0]
    for other in (*models[1:], *([base] if base else [])):
        _check_alike(first, other)
    states = [model._snapshot() for model in models]
    base_state = base._snapshot() if base is not None else None
    if base_state is not None and any(state["examples"] < base_state["examples"] for state in states):
        raise MergeError("a model has seen less than the base: it cannot have been continued from it")
    layout = _Layout.of([*([base_state] if base_state else []), *states])
    merged = Learner(**first.options.asdict())
    parts = [layout.spread(state) for state in states]
    start = layout.spread(base_state) if base_state is not None else None
    merged._restore(layout.snapshot(_combine(first.options.rule, parts, start, bounded), states, base_state))
    return merged


def _check_alike(a: Learner, b: Learner) -> None:
    for name, value in a.options.asdict().items():
        other = b.options.asdict()[name]
        if value != other:
            raise MergeError(f"the models differ in {name}: {value!r} and {other!r}")


@dataclass(frozen=True)
class _Part:
    """One model's numbers, spread over the features of all."""

    scale: Float64
    v: Float64
    H: Float64
    t: float


@dataclass(frozen=True)
class _Layout:
    """The features of all models together."""

    columns: int | None
    names: list[str] | None
    slots: np.ndarray[Any, np.dtype[np.uint32]]
    position: dict[str, int]

    @classmethod
    def of(cls, states: list[_core.Snapshot]) -> _Layout:
        columns = {state["columns"] for state in states} - {None}
        named = [state["names"] for state in states if state["names"] is not None]
        if len(columns) > 1:
            raise MergeError(f"the models differ in their number of columns: {sorted(map(str, columns))}")
        if columns and named:
            raise MergeError("some models know their features as columns, others by name")
        position: dict[str, int] = {}
        for names in named:
            for name in names:
                position.setdefault(name, 1 + len(position))
        layout = cls(next(iter(columns), None), list(position) if named else None, np.zeros(0, np.uint32), position)
        slots = [layout._slots(state) for state in states]
        union = np.unique(np.concatenate(slots)).astype(np.uint32)
        return cls(layout.columns, layout.names, union, position)

    def _slots(self, state: _core.Snapshot) -> np.ndarray[Any, np.dtype[np.uint32]]:
        names = state["names"]
        if names is None:
            return state["slots"]
        where = np.array([0, *(self.position[name] for name in names)], dtype=np.uint32)
        return where[state["slots"]]

    def spread(self, state: _core.Snapshot) -> _Part:
        at = np.searchsorted(self.slots, self._slots(state))

        def placed(values: Float64) -> Float64:
            array = np.zeros(len(self.slots))
            array[at] = values
            return array

        return _Part(placed(state["scale"]), placed(state["v"]), placed(state["H"]), state["t"])

    def snapshot(self, part: _Part, states: list[_core.Snapshot], base: _core.Snapshot | None) -> _core.Snapshot:
        seen = [state for state in (*states, *([base] if base else [])) if state["examples"]]
        negatives = {state["negative"] for state in seen} - {0}
        if len(negatives) > 1:
            raise MergeError("the models' negative labels differ: 0 and -1")

        def total(key: str) -> Any:
            values = [state[key] for state in states]  # type: ignore[literal-required]
            start = base[key] if base is not None else 0  # type: ignore[literal-required]
            return start + sum(value - start for value in values)

        return {
            "t": total("t"),
            "T": total("T"),
            "N": total("N"),
            "examples": total("examples"),
            "label_min": min(state["label_min"] for state in seen or states),
            "label_max": max(state["label_max"] for state in seen or states),
            "negative": next(iter(negatives), 0),
            "columns": self.columns,
            "names": self.names,
            "slots": self.slots,
            "scale": part.scale,
            "v": part.v,
            "H": part.H,
        }


def _ratio(a: Float64, b: Float64) -> Float64:
    """a/b, and 0 where b is 0."""
    with np.errstate(over="ignore"):
        return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _combine(rule: str, parts: list[_Part], base: _Part | None, bounded: bool) -> _Part:
    """The merged numbers. With rho = scale/common scale, G/(common scale)² is rho²·H."""
    everyone = [*parts, *([base] if base else [])]
    largest = np.max([part.scale for part in everyone], axis=0)
    if rule == "snag":  # sums of squares add up, in units of the largest
        start = np.zeros_like(largest) if base is None else _ratio(base.scale, largest) ** 2
        squares = start + sum(_ratio(part.scale, largest) ** 2 - start for part in parts)
        scale = largest * np.sqrt(
            np.maximum(squares, np.max([_ratio(p.scale, largest) ** 2 for p in everyone], axis=0))
        )
    else:
        scale = largest
    unscaled = rule in ("gd", "ag")  # their v is w itself, their H is G itself
    t = sum(part.t - (base.t if base else 0) for part in parts) + (base.t if base else 0)

    def rho(part: _Part) -> Float64:
        return np.where(part.scale > 0, 1.0, 0.0) if unscaled else _ratio(part.scale, scale)

    def carried(part: _Part) -> Float64:
        """The part's v in the common scale."""
        if bounded and not unscaled:
            return part.v * rho(part) if rule == "ng" else part.v
        moved = _ratio(part.v, rho(part)) if not unscaled else part.v
        return moved * np.sqrt(part.t / t) if rule == "snag" and t > 0 else moved

    H_base = np.zeros_like(scale) if base is None else base.H * rho(base) ** 2
    gains = [np.maximum(part.H * rho(part) ** 2 - H_base, 0) for part in parts]
    gained = sum(gains, np.zeros_like(scale))
    v_base = np.zeros_like(scale) if base is None else carried(base)
    weighted = np.zeros_like(scale)
    for gain, part in zip(gains, parts, strict=True):
        weighted += np.multiply(gain, carried(part), out=np.zeros_like(scale), where=gain > 0)  # 0 · ∞ is 0 here
    average = _ratio(weighted, gained)
    return _Part(scale, np.where(gained > 0, average, v_base), H_base + gained, t)
