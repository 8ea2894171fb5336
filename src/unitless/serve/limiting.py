"""How large models may become: what the settings allow, and what the memory that a model takes leaves of that.

A limit of bytes cannot stand in a log: how many bytes a model takes depends on how it came to its state. So the bytes
are measured here, and what goes to the log is how many features and classes they leave room for.
"""

from __future__ import annotations

from ..rules import RULES
from .problems import Problem
from .served import Limits, ServedModel
from .settings import Settings
from .streams import Stream

_CELL = 2048  # bytes of a feature for one class, in the largest models that are made by default
_PAIR = 32  # bytes of a pair of features


def initial(settings: Settings) -> Limits:
    """The limits of a stream that begins."""
    return Limits(settings.max_features, settings.max_classes)


def renewed(stream: Stream, settings: Settings) -> Limits | None:
    """Limits that are to replace those of a stream; None if those are good enough."""
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


def _left_by_bytes(served: ServedModel, settings: Settings) -> tuple[int, int]:
    """How many features and classes a model may have because of its bytes; 0 where other limits come first."""
    model = served.model
    if model is None:
        return 0, 0
    several = served.task == "classes"
    classes = max(1, len(served.classes or ())) if several else 1
    room = max(0, settings.max_model_bytes - model.nbytes)
    more_classes = room * classes // max(1, model.nbytes) if several else settings.max_classes
    cell = _CELL * classes
    pairs = model.options.interactions is not None or RULES[model.options.rule].second_order
    if pairs or room // cell < settings.max_features:
        known = served.growth.features
        more_features = room // (cell + pairs * _PAIR * classes * (known + settings.max_row_features))
    else:
        known, more_features = 0, settings.max_features
    return (
        max(1, known + more_features) if known + more_features < settings.max_features else 0,
        classes + more_classes if classes + more_classes < settings.max_classes else 0,
    )


def _rounded(before: int, now: int, known: int) -> int:
    """The limit to be written: the one of before while it is right within a factor of two, so that few are written."""
    if before and now and 0.5 <= (now - known + 1) / (max(before - known, 0) + 1) <= 2:
        return before
    return now


def check(served: ServedModel, settings: Settings) -> None:
    """See that a new model is within the limits.

    Raises:
        Problem: 422 if it is not.
    """
    hashed = served.model is not None and served.model.options.bits is not None
    sizes = {
        "max_features": 0 if hashed else served.growth.features,
        "max_classes": len(served.classes or ()) if served.task == "classes" else 0,
        "max_model_bytes": served.nbytes,
    }
    for setting, size in sizes.items():
        most = getattr(settings, setting)
        if size > most:
            what = setting.removeprefix("max_").replace("model_", "")
            detail = (
                f"it has {size:,} {what}; a model can have {most:,} ({setting}): raise the setting, or make it smaller"
            )
            raise Problem(422, "the model is too large", detail)
