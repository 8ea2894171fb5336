"""`ul.merge`: merge several models that learned different rows.

All formulas use ratios of scales, so multiplying a feature by a power of two changes no bit of v, H, N or t. Merging is
commutative, and without a base also associative, to rounding; a model without rows changes nothing. Curves with more
cuts than they may have leaves are an exception.

Slots of linear models, of which there may be millions, are merged inside the core (core/learner/merging.cpp).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from .. import _core
from ..errors import MergeError
from ..models.model import Model
from ..models.one_vs_all import OneVsAll
from ..models.sweep import Sweep
from ..options import Options
from .engine import Engine, Kind
from .gathered import Gathered, Merge
from .information import is_second_order

M = TypeVar("M", bound=Model)

_TRIES = 3  # attempts before models that other threads change are copied


def merge(learners: Iterable[M], *, bounded: bool = False, base: M | None = None) -> M:
    """Merge models that learned different parts of the data into one model.

    Weights are averaged, weighted by the accumulated squared gradients G (NG and GD: by the sum of z²); G, N and t add
    up, and the scale is the largest ("snag": the sums of squares add up).

    With `learning_rate="auto"` every rate is merged separately, and the losses add up. If a model has dropped a rate,
    its next lower rate is used instead, or its lowest. If a model does not know a class, the class has the state in
    which it would have joined. Means of centered columns and the target's offset become those of all data, and the
    models' biases are corrected. Averages of the weights are merged like the weights; they are in use if all models
    that have learned use them.

    The result does not depend on the order of the models, to rounding. Without a base, it also does not matter whether
    models are merged at once or in steps.

    For models with `sparsity` or `l2` the sums of gradients add up, so a feature with too little evidence in every
    model may get a weight in the merged one. With `center` or `target` such models cannot be merged.

    A merged curve has the cuts of all models, and is merged leaf by leaf as far as there is room for all leaves. Trees
    that grew in different models cannot be averaged: each merged tree is taken from one model, drawn with a probability
    proportional to its leaves, with the averaged weights of all models.

    Members of an ensemble (`ensemble=True`) are merged one by one, and all models must have the same ones. The
    information (inverse covariance) of second-order members, and of `rule="newton"` alone, adds up: with squared loss,
    apart from lanes that forget, the merged model is the one that would have learned all rows.

    Models that `train` made must agree on columns and labels. The merged model has them too, and predicts frames.

    Args:
        learners: models of one kind, with the same options and the same kind of features.
        bounded: average the dimensionless v = w·s instead of w, as if all updates had used the common scale. This keeps
            |prediction| within the largest bound of the parts; on random partitions the default is more accurate.
            Default: False.
        base: the model that all of `learners` were continued from, as in the synchronization rounds of distributed
            training: its rows are counted once. Default: None, the models have no rows in common.

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
    if not isinstance(bounded, bool):
        raise MergeError(f"bounded is {bounded!r}; it must be True or False")
    named = [(f"model {number}", model) for number, model in enumerate(learners, 1)]
    return merge_named(named, bounded=bounded, base=None if base is None else ("the base", base))


def merge_named(learners: list[tuple[str, M]], *, bounded: bool, base: tuple[str, M] | None) -> M:
    """Merge models that have names for messages."""
    if not learners:
        raise MergeError("there is nothing to merge")
    everyone = [*learners, *([base] if base is not None else [])]
    for _, model in everyone:
        if getattr(model, "_predict_only", False):
            raise MergeError(
                "a model that only predicts cannot be merged", advice="merge the model files that train wrote"
            )
        if not isinstance(model, Model):
            raise MergeError(f"only learners can be merged, not {model!r}")
    training = None
    if any(model._training is not None for _, model in everyone):
        from .record import merged_training  # noqa: PLC0415  (it reads records of data, which other merges do not need)

        training = merged_training(learners, base)
    models, start = [model for _, model in learners], None if base is None else base[1]
    for _, model in everyone:
        _check_alike(models[0], model)
    _check_sums(models[0].options)
    merged = _merged_at_rest(models, start, bounded)
    merged._training = training
    return merged


def _merged_at_rest(models: list[M], base: M | None, bounded: bool) -> M:
    """Merge models while other threads may be changing them."""
    for _ in range(_TRIES):
        merged = _merged(models, base, bounded)
        if merged is not None:
            return merged
    copied = _merged([model.copy() for model in models], None if base is None else base.copy(), bounded)
    assert copied is not None, "no other thread can teach copies"
    return copied


def _merged(models: list[M], base: M | None, bounded: bool) -> M | None:
    """Merge models; returns None if a model has learned meanwhile."""
    first, everyone = models[0], [*models, *([base] if base is not None else [])]
    states = {id(model): model._state_and_labels(slots=False) for model in everyone}
    model_type, ensemble = _common_type([state for state, _ in states.values()])
    simple = model_type == "linear" and ensemble == "none" and not any(is_second_order(s) for s, _ in states.values())
    in_core = simple and base is None  # the core reads slots in place: there may be millions
    if not in_core:
        states = {id(model): model._state_and_labels() for model in everyone}
    before = 0 if base is None else states[id(base)][0]["examples"]
    if any(state["examples"] < before for state, _ in states.values()):
        raise MergeError("a model has learned from fewer examples than the base: it was not continued from it")
    kind = Kind.of(first.options, first._open_to_classes(), list(states.values()))
    learned = [model for model in models if states[id(model)][0]["examples"] > before] or [base or first]
    own = [states[id(model)] for model in learned]
    if len(learned) == 1 and kind.labels == own[0][1]:
        return learned[0].copy()
    merged: M = first._fresh(first.options.asdict(), kind.labels, kind.open, first._own_rates())  # type: ignore[assignment]
    if in_core:
        engine = Engine.of(kind, kind.layout(own), own, bounded=bounded, learners=learned)
        return merged if merged._load_merged(engine.snapshot(), engine.parts(), engine.how) else None
    start = states[id(base)] if base is not None else merged._state_and_labels()
    gathered = Gathered.together([Gathered.of(state) for state in own])
    merged._restore(Merge(kind, gathered, start, bounded=bounded).state())
    return merged


def _common_type(states: list[_core.Snapshot]) -> tuple[str | None, str | None]:
    """The model type and the members that are common to all models; None before the first row."""
    learned = [state for state in states if state["examples"]] or states[:1]
    types = list(dict.fromkeys(state["form"]["settled"] for state in learned))
    if len(types) > 1:
        raise MergeError(
            f"the models differ in model type: {types[0]!r} and {types[1]!r}; "
            'with model_type="auto" the first rows settle it: give the model type when the models are made'
        )
    members = list(dict.fromkeys(state["ensemble"] for state in learned))
    if len(members) > 1:
        raise MergeError(
            f"the models differ in the members of their ensembles: {members[0]!r} and {members[1]!r}; "
            "with ensemble=True the first rows settle it: give all models the same kind of rows, or use ensemble=False"
        )
    return types[0], members[0]


def _check_sums(options: Options) -> None:
    """Refuse sparse models with centering: they merge sums of gradients, so the biases cannot be corrected."""
    for name in ("center", "target"):
        if options.sparse and getattr(options, name):
            raise MergeError(
                f"models with sparsity or l2 cannot be merged if they learn the {name}'s offset: make them without"
            )


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
