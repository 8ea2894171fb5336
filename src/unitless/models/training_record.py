"""What a model file says about the training of its model, checked before anything relies on it.

`train` writes the record (see `Run._describe`): the columns, the task, how far it came, and, where it was interrupted,
what had been counted. Servers, `merge` and `from_vw` write one for their models too. A file can be forged, so every
value is checked when the file is loaded. What uses the record later (`predict`, `train --resume`, `inspect`, `merge`,
the exports) can rely on it: all fields are there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, get_args

from ..data import Schema, Target
from ..data.columns import text_columns
from ..data.progress import Progress
from ..data.read_options import DATES, MISSING
from ..errors import ModelFileError
from ..options import Kept
from .model import Model

DEEPEST = 8  # lists and mappings inside each other; `train` writes five
LARGEST = 2**63  # of whole numbers
# The fields that are null where `train` did not make the model, and most of them also where its training is done.
_KINDS = {"source": list, "before": list, "known": bool, "plan": dict, "best": dict, "rounds": dict}
_KINDS |= {"evaluation": dict, "baseline": dict, "last_label": dict, "running_mean": dict}
_ALWAYS = ("schema", "target", "reading", "progress")


def record(
    schema: Schema, target: Target, reading: Mapping[str, Any], progress: Progress, **further: Any
) -> dict[str, Any]:
    """How a model was trained, as its file stores it.

    Args:
        schema: the columns.
        target: the task.
        reading: how data is read: see `ReadOptions.kept`.
        progress: how far the training has come.
        further: what `train` needs to go on.
    """
    return {
        "schema": schema.plain(),
        "target": target.plain(),
        "reading": reading,
        "progress": progress.plain(),
        **dict.fromkeys((*_KINDS, "content")),
        **further,
    }


def check(training: Any, model: Model) -> None:
    """Refuse what `train` cannot have written about this model."""
    _require(type(training) is dict, "its record of the training is not a mapping")
    _require(_plain(training, DEEPEST), "its record of the training has values that are not plain")
    _require(set(training) == {*_ALWAYS, *_KINDS, "content"}, "its record of the training has other fields")
    Schema.read(training["schema"])
    Progress.read(training["progress"])
    target = Target.read(training["target"])
    # Names that are not valid Unicode cannot come from data: this raises a ValueError, as any other bad value does.
    json.dumps([training["schema"], training["target"]], ensure_ascii=False).encode()
    _require(_plain(model._class_labels, 1), "its classes are not text and numbers as data has them")
    _require(target.task == model.task, f"its task is {target.task}, which a model of this kind does not have")
    for name, kind in _KINDS.items():
        given = training[name]
        _require(given is None or type(given) is kind, f"the {name} of its training is not a {kind.__name__}")
    best = training["best"]
    if best is not None:
        _require(
            set(best) == {"loss", "best", "kept", "stale", "gain", "halves"} and best["kept"] in get_args(Kept),
            "impossible passes",
        )
        counts = (best["best"], best["stale"])
        _require(all(type(count) is int and count >= 0 for count in counts), "impossible passes")
        numbers = (float.fromhex(best["loss"]), float.fromhex(best["gain"]))
        _require(not any(map(math.isnan, numbers)), "a loss that is not a number")
        _require(type(best["halves"]) is dict, "impossible predictions for held-out rows")
    rounds = training["rounds"]
    if rounds is not None:
        counts = (rounds.get("done"), rounds.get("examples", 0))
        _require(all(type(count) is int and count >= 0 for count in counts), "impossible rounds")
        _require(all(type(rounds.get(name, [])) is list for name in ("after", "told", "asked")), "impossible rounds")
        asked = rounds.get("asked", [])
        _require(len(asked) == 2 and all(type(one) is int and one > 0 for one in asked), "impossible rounds")
    _check_reading(training["reading"])


def _check_reading(reading: Any) -> None:
    _require(type(reading) is dict, "the reading of its training is not a dict")
    _require(reading["dates"] in DATES, "an unknown way of reading dates")
    _require(reading["missing"] in MISSING, "an unknown way of reading missing values")
    _require(type(reading["as_written"]) is bool, "as_written is neither true nor false")
    _require(type(reading.get("header", False)) is bool, "header is neither true nor false")
    _require(text_columns.check(reading.get("texts", {})), "impossible columns of text")
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
