"""What a model file says about the training of its model, checked before anything relies on it.

`train` writes the record (see `Run._describe`): the columns, the task, how far it came, and, where it was interrupted,
what had been counted. A file can be forged, so every value is looked at when it is loaded. Whoever uses the record
later (`predict`, `train --resume`, `inspect`, `merge`, the exports) can take it as `train` wrote it.
"""

from __future__ import annotations

import json
import math
from typing import Any, get_args

from ..data import Schema, Target, text_columns
from ..data.progress import Progress
from ..data.read_options import DATES, MISSING
from ..errors import ModelFileError
from ..losses import LOSSES
from ..options import Kept
from .model import Model
from .one_vs_all import OneVsAll

DEEPEST = 8  # lists and mappings inside each other; `train` writes five
LARGEST = 2**63  # of whole numbers


def check(training: Any, model: Model) -> None:
    """Refuse what `train` cannot have written about this model."""
    _require(type(training) is dict, "its record of the training is not a mapping")
    _require(_plain(training, DEEPEST), "its record of the training has values that are not plain")
    Schema.read(training.get("schema"))
    Progress.read(training.get("progress"))
    target = Target.read(training.get("target"))
    task = "classes" if isinstance(model, OneVsAll) else LOSSES[model.options.loss].task
    # Names that are not valid Unicode cannot come from data: this raises a ValueError, as any other bad value does.
    json.dumps([training["schema"], training["target"]], ensure_ascii=False).encode()
    labels = model.classes if isinstance(model, OneVsAll) else []
    _require(_plain(labels, 1), "its classes are not text and numbers as data has them")
    _require(target.task == task, f"its task is {target.task}, which a model of this kind does not have")
    kinds = {"reading": dict, "source": list, "before": list, "known": bool, "plan": dict, "best": dict}
    kinds |= {"evaluation": dict, "baseline": dict, "last_label": dict, "running_mean": dict}
    kinds |= {"rounds": dict}
    for name, kind in kinds.items():
        given = training.get(name)
        _require(given is None or type(given) is kind, f"the {name} of its training is not a {kind.__name__}")
    best = training.get("best")
    if best is not None:
        _require(set(best) == {"loss", "best", "kept", "stale"} and best["kept"] in get_args(Kept), "impossible passes")
        counts = (best["best"], best["stale"])
        _require(all(type(count) is int and count >= 0 for count in counts), "impossible passes")
        _require(not math.isnan(float.fromhex(best["loss"])), "a loss that is not a number")
    rounds = training.get("rounds")
    if rounds is not None:
        counts = (rounds.get("done"), rounds.get("examples", 0))
        _require(all(type(count) is int and count >= 0 for count in counts), "impossible rounds")
        _require(all(type(rounds.get(name, [])) is list for name in ("after", "told", "asked")), "impossible rounds")
        asked = rounds.get("asked", [])
        _require(len(asked) == 2 and all(type(one) is int and one > 0 for one in asked), "impossible rounds")
    reading = training.get("reading") or {}
    _require(reading.get("dates", DATES[0]) in DATES, "an unknown way of reading dates")
    _require(reading.get("missing", MISSING[0]) in MISSING, "an unknown way of reading missing values")
    _require(text_columns.check(reading.get("texts", {})), "impossible columns of text")
    for name in ("header", "as_written"):
        _require(type(reading.get(name, False)) is bool, f"{name} is neither true nor false")
    for name in ("delimiter", "encoding", "decimal", "thousands"):
        _require(type(reading.get(name, "")) is str, f"{name} is not text")
    for name in ("ignore", "only", "text", "na"):
        names = reading.get(name, [])
        _require(type(names) is list and all(type(one) is str for one in names), f"{name} is not a list of names")


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ModelFileError(f"this is not a valid model file: {problem}")


def _plain(value: Any, deep: int) -> bool:
    """Whether this is text, finite numbers and the like, in lists and mappings that are not too deep."""
    if value is None or type(value) in (str, bool):
        return True
    if type(value) is int:
        return -LARGEST <= value < LARGEST
    if type(value) is float:
        return math.isfinite(value)
    if deep == 0:
        return False
    if type(value) is dict:
        return all(_plain(one, deep - 1) for one in value.values())
    return type(value) is list and all(_plain(one, deep - 1) for one in value)
