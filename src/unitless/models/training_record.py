"""The record of a model's training in its model file, which is checked before other code uses it.

`train` writes the record (`training/checkpoint.py`): columns, task, progress and, if it was interrupted, the
counts so far. Servers, `merge` and `from_vw` also write one for their models. Because a file can be forged, every value
is checked when the file is loaded. Code that uses the record later (`predict`, `train --resume`, `inspect`, `merge`,
exports) can therefore rely on it that all fields exist.
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
from ..options import Kept
from .file_checks import require
from .model import Model

DEEPEST = 8  # levels of nested lists and mappings; `train` writes five
LARGEST = 2**63  # for whole numbers
# Fields that are null unless `train` made the model; most of them are null again when the training is done.
_KINDS = {"source": list, "before": list, "known": bool, "plan": dict, "importance": dict}
_KINDS |= {"best": dict, "rounds": dict, "evaluation": dict, "baseline": dict, "last_label": dict, "running_mean": dict}
_ALWAYS = ("schema", "target", "reading", "progress")


def record(
    schema: Schema, target: Target, reading: Mapping[str, Any], progress: Progress, **further: Any
) -> dict[str, Any]:
    """Return the record of a training, as a model file stores it.

    Args:
        schema: the columns.
        target: the task.
        reading: the options for reading data; see `ReadOptions.kept`.
        progress: the progress of the training.
        further: what `train` needs to continue.
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
    """Raise an error for a record that `train` cannot have written for this model."""
    require(type(training) is dict, "its record of the training is not a mapping")
    require(_plain(training, DEEPEST), "its record of the training has values that are not plain")
    require(set(training) == {*_ALWAYS, *_KINDS, "content"}, "its record of the training has other fields")
    Schema.read(training["schema"])
    Progress.read(training["progress"])
    target = Target.read(training["target"])
    # Data cannot have names that are not valid Unicode. Such a name raises a ValueError here, like other bad values.
    json.dumps([training["schema"], training["target"]], ensure_ascii=False).encode()
    require(_plain(model._class_labels, 1), "its classes are not text and numbers as data has them")
    require(target.task == model.task, f"its task is {target.task}, which a model of this kind does not have")
    for name, kind in _KINDS.items():
        given = training[name]
        require(given is None or type(given) is kind, f"the {name} of its training is not a {kind.__name__}")
    require(training["importance"] is None or _is_importance(training["importance"]), "an impossible importance")
    best = training["best"]
    if best is not None:
        require(
            set(best) == {"loss", "best", "kept", "stale", "gain", "halves"} and best["kept"] in get_args(Kept),
            "impossible passes",
        )
        counts = (best["best"], best["stale"])
        require(all(type(count) is int and count >= 0 for count in counts), "impossible passes")
        numbers = (float.fromhex(best["loss"]), float.fromhex(best["gain"]))
        require(not any(map(math.isnan, numbers)), "a loss that is not a number")
        require(type(best["halves"]) is dict, "impossible predictions for held-out rows")
    rounds = training["rounds"]
    if rounds is not None:
        counts = (rounds.get("done"), rounds.get("examples", 0))
        require(all(type(count) is int and count >= 0 for count in counts), "impossible rounds")
        require(all(type(rounds.get(name, [])) is list for name in ("after", "told", "asked")), "impossible rounds")
        asked = rounds.get("asked", [])
        require(len(asked) == 2 and all(type(one) is int and one > 0 for one in asked), "impossible rounds")
    _check_reading(training["reading"])


def _is_importance(found: dict[str, Any]) -> bool:
    """Return whether `inference.importance.Importance.asdict` can have returned this."""
    if set(found) != {"metric", "on", "in_sample", "among", "columns"} or type(found["columns"]) is not list:
        return False
    kinds = (("metric", str), ("on", str), ("in_sample", bool), ("among", int))
    return all(type(found[name]) is kind for name, kind in kinds) and all(
        type(one) is dict
        and set(one) == {"column", "value", "low", "high"}
        and type(one["column"]) is str
        and all(type(one[name]) in (float, int, type(None)) for name in ("value", "low", "high"))
        for one in found["columns"]
    )


def _check_reading(reading: Any) -> None:
    require(type(reading) is dict, "the reading of its training is not a dict")
    require(reading["dates"] in DATES, "an unknown way of reading dates")
    require(reading["missing"] in MISSING, "an unknown way of reading missing values")
    require(type(reading["as_written"]) is bool, "as_written is neither true nor false")
    require(type(reading.get("header", False)) is bool, "header is neither true nor false")
    require(text_columns.check(reading.get("texts", {})), "impossible columns of text")
    for name in ("delimiter", "encoding", "decimal", "thousands"):
        require(type(reading.get(name, "")) is str, f"{name} is not text")
    for name in ("ignore", "only", "text", "na"):
        names = reading.get(name, [])
        require(type(names) is list and all(type(one) is str for one in names), f"{name} is not a list of names")


def _plain(value: Any, deep: int) -> bool:
    """Return whether a value consists of text, finite numbers and the like, in lists and mappings of limited depth."""
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
