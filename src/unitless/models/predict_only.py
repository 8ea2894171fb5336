"""Models that only predict. Their files lack what only learning needs; with trees, they are about 12 times smaller.

The state that only learning needs (statistics for future cuts, evidence of leaves, sums of squared gradients, weights
of rates that are not the best) is set to zero, and the file is compressed. Predictions stay the same, to the last bit;
learning raises an error. What remains are the weights, the cuts and the names: with thousands of categories, a third to
a half of the model's file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from ..errors import OptionError
from ..inputs import Float64
from ..losses import LOSSES
from ..rules import RULES
from .by_feature import leader
from .extra_members import EXTRA_MEMBERS, extra_members
from .second_order import uses_covariance

if TYPE_CHECKING:
    from .. import _core
    from .model import Model

# Arrays of curves, trees and their leaves that predictions do not need (core/engine/state_fields.hpp).
_UNREAD = ("curve.seen", "curve.values", "tree.random", "tree.facts", "tree.sums", "tree.watched")
_UNREAD_OF_MEMBERS = ("evidence", "N")


def stripped(model: Model) -> Any:
    """Return a copy of a model without the state that only learning needs."""
    copy = model.copy()
    copy._go_back((_without_learning(copy), getattr(copy, "classes", None)))
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
        advice="continue with the model file that train wrote",
    )


def _without_learning(model: Model) -> _core.Snapshot:
    """The state of a model whose predictions are the same, with zeros for all that they do not need."""
    state: Any = model._snapshot()
    form: dict[str, Any] = dict(state["form"])
    for name in _UNREAD:
        if name in form:
            form[name] = np.zeros_like(form[name])
    for name in ("curves", "trees", *extra_members(state)):
        if f"{name}.lane_heads" in form:
            arrays = {key.removeprefix(f"{name}."): form[key] for key in form if key.startswith(f"{name}.")}
            form |= {f"{name}.{key}": array for key, array in _leading(arrays, name, model).items()}
    main = {key: state[key] for key in ("lane_heads", "lane_rates", "scores", "v", "H", "average")}
    of_newton = {key: form[key] for key in form if key.startswith("newton.") and RULES[model.options.rule].second_order}
    found = _leading(main | of_newton, "curves" if model.model_type == "curves only" else "linear", model)
    form |= {key: found.pop(key) for key in of_newton if key in found}
    return cast("_core.Snapshot", {**state, **found, "form": form})


def _leading(arrays: dict[str, Any], name: str, model: Model) -> dict[str, Any]:
    """The arrays of a member that change when only its leading lanes, which predict, keep their values.

    A lane has the weights of one class at one candidate rate.
    """
    extra, options = EXTRA_MEMBERS.get(name), model.options
    heads, rates, scores = arrays["lane_heads"], arrays["lane_rates"], arrays["scores"].reshape(-1, 6)
    count = min(model.heads, int(heads.max(initial=0)) + 1)  # a class to come has a head without predictions
    lanes = [leader(heads, scores, head) for head in range(count)]
    first = lanes[0]
    if LOSSES[options.loss].coupled or (extra is not None and extra.coupled):  # all classes have the same rate
        lanes = np.flatnonzero(rates == rates[first]).tolist()

    def kept(key: str) -> Float64:
        array = arrays[key].reshape(-1, len(heads))
        values: Float64 = np.zeros_like(array)
        values[:, lanes] = array[:, lanes]
        return values.ravel()

    found: dict[str, Any] = {key: kept(key) for key in ("v", "H", "average", "weights") if key in arrays}
    found |= {key: np.zeros_like(arrays[key]) for key in _UNREAD_OF_MEMBERS if key in arrays and extra is None}
    second_order = (RULES[options.rule] if extra is None else extra.rule).second_order
    if second_order:
        P = arrays["newton.P"].reshape(int((heads == 0).sum()), -1)  # of all classes
        used = (np.arange(len(P)) == first) & uses_covariance(arrays["newton.recent"], first, LOSSES[options.loss])
        found["newton.P"] = np.where(used[:, None], P, 0.0).ravel()
    elif not options.sparse:  # weights of sparse models are computed from H
        found["H"] = _rounded(found["H"]) if name in ("curves", "trees") else np.zeros_like(found["H"])
    if "rows" in arrays:
        found["rows"] = _rounded(arrays["rows"])
    return found


def _rounded(counts: Float64) -> Float64:
    """Round counts of rows to about three digits, which reduces their size in the file to a fifth.

    Only explanations use these counts, and the sums of squared gradients of curves and trees, for means.
    """
    fraction, power = np.frexp(counts)
    return np.ldexp(np.round(fraction * 1024) / 1024, power)
