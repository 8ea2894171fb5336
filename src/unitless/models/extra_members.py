"""The members that `ensemble=True` adds to a model. The state of each can be read as that of a separate model.

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

MET = "classes.met"  # the number of classes that had rows, in models with such members
_ARRAYS = ("v", "H", "scores", "followed", "scale", "average", "average_scale", "errors")
_NUMBERS = ("lane_heads", "lane_rates", "slots")
_TOTALS = ("t", "T", "N", "examples", "label_min", "label_max", "averaged_t", "next_look", "missed")
_COUNTS = ("examples", "next_look")
_SUSPENDED = "suspended_at"  # present only if rates are no longer compared
_MARK = ".examples"  # every member has an array whose name ends so


@dataclass(frozen=True)
class ExtraMember:
    """A member that an ensemble adds to the linear model."""

    name: str  # its name in the core
    called: str  # its name in texts for people
    rule: Rule  # the rule, which defines how it treats values
    coupled: bool  # for several classes: its heads form a softmax


_RECORDS = (
    ExtraMember("softmax", "softmax", RULES["nag"], coupled=True),
    ExtraMember("newton", "second order", RULES["newton"], coupled=True),
    ExtraMember("forgetting", "forgetting second order", RULES["newton"], coupled=True),
    ExtraMember("snag", "sNAG", RULES["snag"], coupled=False),
)
EXTRA_MEMBERS: dict[str, ExtraMember] = {one.name: one for one in _RECORDS}
"""The members by name, in the order of the mixture."""


def shares_shown(shares: Mapping[str, float]) -> str:
    """Return the share of each member of an ensemble as text; empty for a single member.

    Members whose share would be printed as 0.0% are left out.

    >>> shares_shown({"linear": 0.25, "newton": 0.75, "snag": 0.0001})
    'second order 75.0%, linear 25.0%'
    """
    called = {"trees": "curves and trees"} | {one.name: one.called for one in _RECORDS}
    ranked = sorted(shares.items(), key=lambda item: -item[1]) if len(shares) > 1 else []
    return ", ".join(f"{called.get(name, name)} {share:.1%}" for name, share in ranked if share >= 0.0005)


def extra_members(state: _core.Snapshot) -> list[str]:
    """Return the names of a state's added members, in the order of the mixture."""
    return [key.removesuffix(_MARK) for key in state["form"] if key.endswith(_MARK)]


def extra_options(options: Options, name: str) -> Options:
    """Return the options of a model that consists of one added member alone."""
    own = EXTRA_MEMBERS[name].rule
    rule = options.rule if own.second_order else own.name  # second order is recognized by the state, and has no average
    return replace(
        options, rule=rule, average=options.average and not own.second_order, model_type="linear", ensemble=False
    )


def extra_state(state: _core.Snapshot, name: str) -> _core.Snapshot:
    """Return the state of a model that consists of one added member alone."""
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
    """Return the arrays of a member under their names in the whole state: the inverse of `extra_state`."""
    own: Any = state
    numbers = {key: np.asarray(own[key], np.float64) for key in (*_ARRAYS, *_NUMBERS)}
    totals = {key: np.array([own[key]], np.float64) for key in (*_TOTALS, _SUSPENDED) if own[key] is not None}
    further = {key: value for key, value in own["form"].items() if key != "settled"}
    return {f"{name}.{key}": value for key, value in (totals | numbers | further).items()}
