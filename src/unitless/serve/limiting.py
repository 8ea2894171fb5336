"""Limits of models: those of the settings, and those that follow from the memory that a model uses.

The log cannot contain a limit of bytes, because the size of a model depends on more than its rows. Bytes are therefore
measured here, and the log contains the numbers of features and classes for which there is still memory.
"""

from __future__ import annotations

from ..rules import RULES
from .problems import Problem
from .served import Limits, ServedBandit, ServedModel
from .settings import Settings
from .streams import Stream

_CELL = 2048  # bytes of a feature for one class, in the largest models that are made by default
_PAIR = 32  # bytes of a pair of features


def initial(settings: Settings) -> Limits:
    """The limits of a new stream."""
    return Limits(settings.max_features, settings.max_classes)


def renewed(stream: Stream, settings: Settings) -> Limits | None:
    """New limits of a stream; None if its limits need no change."""
    found, known = {}, stream.limits
    changed = (known.features, known.classes) != (settings.max_features, settings.max_classes)
    for name, model in stream.models.items():
        before = known.by_bytes.get(name, (0, 0))
        left = _left_by_bytes(model, settings)
        features = _rounded(before[0], left[0], model.growth.features if left[0] else 0)
        classes = _rounded(before[1], left[1], len(model.classes or ()))
        if features or classes:
            found[name] = features, classes
        changed |= before != (features, classes)
    return Limits(settings.max_features, settings.max_classes, found) if changed else None


def full(stream: Stream, settings: Settings) -> str | None:
    """Why the bandit of a stream takes no more decisions; rewards are still taken, because events wait for them."""
    if stream.bandit is None or (size := stream.bandit.nbytes) < settings.max_model_bytes:
        return None
    return (
        f"it takes {size:,} bytes, with {stream.bandit.bandit.pending:,} events that wait; a bandit can have "
        f"{settings.max_model_bytes:,} (max_model_bytes): send rewards, or create it with a time_limit"
    )


def _left_by_bytes(served: ServedModel, settings: Settings) -> tuple[int, int]:
    """The numbers of features and classes that memory allows a model; 0 where the settings allow fewer."""
    model = served.model
    if model is None:
        return 0, 0
    several = served.task == "classes"
    classes = max(1, len(served.classes or ())) if several else 1
    free = max(0, settings.max_model_bytes - model.nbytes)
    more_classes = free * classes // max(1, model.nbytes) if several else settings.max_classes
    cell = _CELL * classes
    pairs = model.options.interactions is not None or RULES[model.options.rule].second_order
    if pairs or free // cell < settings.max_features:
        known = served.growth.features
        more_features = free // (cell + pairs * _PAIR * classes * (known + settings.max_row_features))
    else:
        known, more_features = 0, settings.max_features
    return (
        max(1, known + more_features) if known + more_features < settings.max_features else 0,
        classes + more_classes if classes + more_classes < settings.max_classes else 0,
    )


def _rounded(before: int, now: int, known: int) -> int:
    """The old limit if it is right within a factor of two, so that few limits are written; else the new one."""
    if before and now and 0.5 <= (now - known + 1) / (max(before - known, 0) + 1) <= 2:
        return before
    return now


def check(served: ServedModel, settings: Settings) -> None:
    """Check that a new model is within the limits.

    Raises:
        Problem: 422 if it is not.
    """
    hashed = served.model is not None and served.model.options.bits is not None
    sizes = {
        "max_features": 0 if hashed else served.growth.features,
        "max_classes": len(served.classes or ()) if served.task == "classes" else 0,
        "max_model_bytes": served.nbytes,
    }
    if isinstance(served, ServedBandit):
        sizes["max_pending"] = served.bandit.max_pending
    for setting, size in sizes.items():
        most = getattr(settings, setting)
        if size > most:
            what = setting.removeprefix("max_").replace("model_", "").replace("pending", "places for events")
            detail = (
                f"it has {size:,} {what}; a model can have {most:,} ({setting}): raise the setting, or make it smaller"
            )
            raise Problem(422, "the model is too large", detail)
