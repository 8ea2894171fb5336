"""The members that `ensemble=True` adds to a model, each read as the state of a model of its own.

In the core's state, the names of a member's arrays begin with the member's name (core/engine/state_fields.hpp).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from .. import _core
from ..options import Options
from ..rules import RULES, Rule

MET = "classes.met"  # how many of the classes were met, of a model with such engines
_ARRAYS = ("v", "H", "scores", "followed", "scale", "average", "average_scale", "errors")
_NUMBERS = ("lane_heads", "lane_rates", "slots")
_TOTALS = ("t", "T", "N", "examples", "label_min", "label_max", "averaged_t", "next_look", "missed")
_COUNTS = ("examples", "next_look")
_SUSPENDED = "suspended_at"  # only where rates are not chosen any more
_MARK = ".examples"  # what every one of them has


@dataclass(frozen=True)
class ExtraMember:
    """A member that an ensemble adds to the linear model."""

    name: str  # as the core calls it
    called: str  # as people read it
    rule: Rule  # by which it sees values
    coupled: bool  # of several classes, its heads share a softmax


_RECORDS = (
    ExtraMember("softmax", "softmax", RULES["nag"], coupled=True),
    ExtraMember("newton", "second order", RULES["newton"], coupled=True),
    ExtraMember("forgetting", "forgetting second order", RULES["newton"], coupled=True),
    ExtraMember("snag", "sNAG", RULES["snag"], coupled=False),
)
EXTRA_MEMBERS: dict[str, ExtraMember] = {one.name: one for one in _RECORDS}
"""By name, in their order under the mixture."""


def shares_shown(shares: Mapping[str, float]) -> str:
    """The share of each member of an ensemble in its predictions, in words; empty for a single member.

    Members whose share would be printed as 0.0% are left out.

    >>> shares_shown({"linear": 0.25, "newton": 0.75, "snag": 0.0001})
    'second order 75.0%, linear 25.0%'
    """
    called = {"trees": "curves and trees"} | {one.name: one.called for one in _RECORDS}
    ranked = sorted(shares.items(), key=lambda item: -item[1]) if len(shares) > 1 else []
    return ", ".join(f"{called.get(name, name)} {share:.1%}" for name, share in ranked if share >= 0.0005)


def extra_members(state: _core.Snapshot) -> list[str]:
    """The names of the added members, in the order of the mixture."""
    return [key.removesuffix(_MARK) for key in state["form"] if key.endswith(_MARK)]


def extra_options(options: Options, name: str) -> Options:
    """The options of a model that consists of this member alone."""
    own = EXTRA_MEMBERS[name].rule
    rule = options.rule if own.second_order else own.name  # second order is told by its state, and has no average
    return replace(
        options, rule=rule, average=options.average and not own.second_order, model_type="linear", ensemble=False
    )


def extra_state(state: _core.Snapshot, name: str) -> _core.Snapshot:
    """The state of a model that consists of this member alone."""
    form = {
        key.removeprefix(f"{name}."): numbers for key, numbers in state["form"].items() if key.startswith(f"{name}.")
    }
    known = (*_ARRAYS, *_NUMBERS, *_TOTALS, _SUSPENDED)
    suspended_at = form.get(_SUSPENDED)
    own: dict[str, Any] = {
        **state,
        **{key: form[key] for key in _ARRAYS},
        **{key: form[key].astype(np.uint32) for key in _NUMBERS},
        **{key: (int if key in _COUNTS else float)(form[key][0]) for key in _TOTALS},
        "kept": state["kept"] if len(form["average"]) else "last",
        _SUSPENDED: None if suspended_at is None else float(suspended_at[0]),
        "ensemble": "none",
        "form": {"settled": "linear", **{key: numbers for key, numbers in form.items() if key not in known}},
    }
    return cast("_core.Snapshot", own)


def extra_arrays(name: str, state: _core.Snapshot) -> dict[str, Any]:
    """The arrays of a member under their names in the whole state: the inverse of `extra_state`."""
    own: Any = state
    numbers = {key: np.asarray(own[key], np.float64) for key in (*_ARRAYS, *_NUMBERS)}
    totals = {key: np.array([own[key]], np.float64) for key in (*_TOTALS, _SUSPENDED) if own[key] is not None}
    further = {key: value for key, value in own["form"].items() if key != "settled"}
    return {f"{name}.{key}": value for key, value in (totals | numbers | further).items()}
