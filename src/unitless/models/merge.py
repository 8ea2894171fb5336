"""Merging models that were trained apart.

Every formula is made of ratios of scales, so that a merged model has no more units than its parts: multiplying a
feature by a power of two changes no bit of v, H, N or t. Merging is commutative to rounding, and a fresh learner is
its neutral element. It is associative to rounding as well, except where columns are centred or the target's offset is
learned: there biases are averaged at the common means, which depend on what is merged first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from ..errors import MergeError
from .classes import Label
from .merged_state import Lanes, Layout, Part, combine, common_offsets, lanes_by_label
from .model import Model
from .one_vs_all import OneVsAll
from .sweep import Sweep

M = TypeVar("M", bound=Model)


def merge(learners: Iterable[M], *, bounded: bool = False, base: M | None = None) -> M:
    """One model from several that learned from different parts of the data.

    Weights are averaged, each weight counting by its accumulated squared gradients G (NG and GD: by the sum of z²);
    G, N and t add up, and the scale is the largest ("snag": the sums of squares add up).

    With `learning_rate="auto"` this is done rate by rate, and the losses add up; for a rate that one of the models has
    dropped, the nearest one that it still runs stands in. Classes that one of the models has not met are there in the
    state in which they would have joined. Means of centred columns and the target's offset become those of all data,
    each model's bias taking up the difference. Averages of the weights are merged as the weights are; the averaged ones
    are kept if all models that have learned keep them.

    Args:
        learners: models of one kind, with the same options and the same kind of features.
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
    everyone = [*models, *([base] if base is not None else [])]
    for model in everyone:
        if not isinstance(model, Model):
            raise MergeError(f"only learners can be merged, not {model!r}")
        _check_alike(models[0], model)
        model._check_linear("merged", MergeError)
    taken = {id(model): model._state_and_labels() for model in everyone}
    states = {key: state for key, (state, _) in taken.items()}
    own = {key: labels for key, (_, labels) in taken.items()}
    if base is not None and any(states[id(m)]["examples"] < states[id(base)]["examples"] for m in models):
        raise MergeError("a model has learned from fewer examples than the base: it was not continued from it")
    labels = _all_labels(list(own.values()))
    ordered = models[0].options.interactions == "ordered"
    layout = Layout.of([states[id(model)] for model in everyone], ordered)
    seen = [model for model in everyone if states[id(model)]["examples"]] or everyone[:1]
    lanes = Lanes.of([lanes_by_label(model, states[id(model)], own[id(model)], labels) for model in seen])
    parts = {id(model): Part.of(model, states[id(model)], own[id(model)], layout, lanes, labels) for model in everyone}
    options = models[0].options
    means, target = common_offsets(
        [parts[id(m)] for m in models], parts[id(base)] if base is not None else None, options
    )
    shifted = {key: part.shifted(means, target, options, layout) for key, part in parts.items()}
    start = shifted[id(base)] if base is not None else None
    merged_part = combine(options, [shifted[id(m)] for m in models], start, bounded)
    merged: M = models[0]._fresh(options.asdict(), labels, models[0]._open_to_classes(), models[0]._own_rates())  # type: ignore[assignment]
    shapes = [shape for model in everyone if (shape := model.settled_shape) is not None]
    merged._restore(layout.snapshot(merged_part, lanes, list(states.values()), shapes[0] if shapes else None))
    return merged


def _check_alike(a: Model, b: Model) -> None:
    if type(a) is not type(b):
        raise MergeError(f"the models are of different kinds: {type(a).__name__} and {type(b).__name__}")
    for name, value in a.options.asdict().items():
        other = b.options.asdict()[name]
        if value != other:
            raise MergeError(f"the models differ in {name}: {value!r} and {other!r}")
    if isinstance(a, Sweep) and isinstance(b, Sweep) and a._rates != b._rates:
        raise MergeError("the sweeps differ in their rates")
    if isinstance(a, OneVsAll | Sweep) and isinstance(b, OneVsAll | Sweep):
        settled = a._classes is not None and not a._classes.open
        if a.classes != b.classes and (settled or (b._classes is not None and not b._classes.open)):
            raise MergeError(f"the models differ in their classes: {a.classes} and {b.classes}")


def _all_labels(known: list[list[Label] | None]) -> list[Label] | None:
    """The classes of all models together."""
    if not known or known[0] is None:
        return None
    return list(dict.fromkeys(label for labels in known if labels is not None for label in labels))
