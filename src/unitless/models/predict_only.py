"""Models that only predict. Their files lack what only learning needs; with trees, they are 3 to 13 times smaller.

The state that only learning needs (statistics for future cuts, evidence of leaves, weights of rates that are not the
best) is set to zero, and the file is compressed. Predictions stay the same, to the last bit; learning raises an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from ..errors import OptionError
from ..inputs import Float64
from .by_feature import leader

if TYPE_CHECKING:
    from .. import _core
    from .model import Model

# Arrays of curves, trees and their leaves that predictions do not need (core/engine/state_fields.hpp).
_UNREAD = ("curve.seen", "curve.values", "tree.random", "tree.facts", "tree.sums", "tree.watched")
_UNREAD_OF_MEMBERS = ("evidence", "N")


def stripped(model: Model) -> Any:
    """Return a copy of a model without the state that only learning needs."""
    copy = model.copy()
    copy._go_back((_without_learning(copy._snapshot(), copy.heads), getattr(copy, "classes", None)))
    copy._earlier = None
    refuse_learning(copy)
    return copy


def refuse_learning(model: Model) -> None:
    """Make all methods of this model that learn raise an error."""
    model._predict_only = True
    for name in dir(type(model)):
        if name.startswith(("learn", "_learn")) and name != "learning_rate":
            setattr(model, name, _refuse)


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise OptionError(
        "this model only predicts: its file has nothing that learning needs",
        advice="go on with the model file that train wrote",
    )


def _without_learning(state: _core.Snapshot, count: int) -> _core.Snapshot:
    """A state whose predictions are the same, with zeros for all that they do not need.

    Args:
        state: of a model.
        count: the number of its scores. A model that classes can join has one head more, for a class to come.
    """
    form: dict[str, Any] = dict(state["form"])
    for name in _UNREAD:
        if name in form:
            form[name] = np.zeros_like(form[name])
    for member in ("curves", "trees"):
        if f"{member}.lane_heads" not in form:
            continue
        for name in _UNREAD_OF_MEMBERS:
            form[f"{member}.{name}"] = np.zeros_like(form[f"{member}.{name}"])
        form[f"{member}.rows"] = _rounded(form[f"{member}.rows"])
        heads, scores = form[f"{member}.lane_heads"], form[f"{member}.scores"].reshape(-1, 6)
        leading = [leader(heads, scores, head) for head in range(min(count, int(heads.max(initial=0)) + 1))]
        weights = form[f"{member}.weights"].reshape(-1, len(heads))
        kept = np.zeros_like(weights)
        kept[:, leading] = weights[:, leading]
        form[f"{member}.weights"] = kept.ravel()
    return cast("_core.Snapshot", {**state, "form": form})


def _rounded(counts: Float64) -> Float64:
    """Round counts of rows to about three digits, which reduces their size in the file to a fifth.

    Only explanations use these counts, for means.
    """
    fraction, power = np.frexp(counts)
    return np.ldexp(np.round(fraction * 1024) / 1024, power)
