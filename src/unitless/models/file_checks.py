"""Checks what a model file has: every name, size and number, before and after memory is allocated for them.

The digest protects against accidents, but not against forged files. `file.py` describes the format.
"""

from __future__ import annotations

import importlib
import math
import re
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import ModelFileError
from ..losses import LOSSES
from ..options import EnsembleKind, Kept, Options
from ..rules import RULES
from . import target_state

if TYPE_CHECKING:
    from .model import Model

Arrays: TypeAlias = dict[str, NDArray[Any]]

ARRAYS = {
    "slots": np.uint32,
    "scale": np.float64,
    "v": np.float64,
    "H": np.float64,
    "lane_heads": np.uint32,
    "lane_rates": np.uint32,
    "scores": np.float64,
    "followed": np.float64,
    "errors": np.float64,
    "target": np.float64,
    "products": np.uint32,
    "center_features": np.uint32,
    "center_kinds": np.uint32,
    "center_means": np.float64,
    "average": np.float64,
    "average_scale": np.float64,
    "proven_scales": np.float64,
    "window_features": np.uint32,
    "windows": np.float64,
    "slopes": np.float64,
}
EARLIER = "earlier"  # the best weights so far of an interrupted training
FORM = "form."  # the prefix of the arrays that belong to a model type
_FORM_NAME = re.compile(r"form\.[A-Za-z0-9_.]{1,64}")
_MOST_OF_FORM = 1024  # arrays
_ANNOUNCED = "form.softmax.classes"  # the number of classes of a softmax with classes that had no rows
TOTALS = ("t", "T", "N", "label_min", "label_max", "averaged_t", "missed")
PLAIN = ("columns", "names", "examples", "negative", "kept", "next_look", "ensemble")
_ABOUT = (
    *("version", "kind", "options", "labels", "open", "rates"),
    *("suspended_at", "settled", "errors", "training", "predict_only"),
)
_LONGEST = 256  # characters in the names of products, for each byte of the file


def require(condition: object, problem: str) -> None:
    """Raise an error with the problem, unless the condition is true."""
    if not condition:
        raise ModelFileError(f"this is not a valid model file: {problem}")


def check_names(header: dict[str, Any], arrays: Arrays) -> None:
    """Check that the file has exactly the fields and arrays of the format."""
    require(set(header) == {*_ABOUT, *PLAIN, *TOTALS, "digest"}, "other fields than a header has")
    require(set(arrays) - {EARLIER, *_form_names(arrays)} == set(ARRAYS), "other arrays than a model has")


def check_sizes(header: dict[str, Any], arrays: Arrays, size: int) -> None:
    """Check that the arrays have the sizes that the header states, before memory is allocated for them."""
    labels, rates, names, columns = header["labels"], header["rates"], header["names"], header["columns"]
    require(all(array.ndim == 1 for array in arrays.values()), "arrays of the wrong type")
    lanes = len(arrays["lane_heads"])
    if header["kind"] == "Sweep":
        require(type(rates) is list and lanes == len(rates) * len(labels or [None]), "other lanes than its rates have")
    require(labels is None or type(labels) is list, "classes that are not a list")
    some_unmet = header["open"] is True and _ANNOUNCED in arrays
    require(len(labels or ()) <= lanes or some_unmet, "more classes than lanes")
    require(
        names is None or (type(names) is list and all(type(name) is str for name in names)),
        "feature names that are not text",
    )
    require(columns is None or (type(columns) is int and 0 <= columns < 2**32 - 2), "an impossible number of columns")
    require(columns is None or names is None, "both columns and names")
    features, products = (columns if columns is not None else len(names or ())), arrays["products"]
    require(len(products) % 3 == 0 and len(arrays["slots"]) == len(arrays["scale"]), "arrays of different lengths")
    left, right, slot = (products[k::3].astype(np.int64) for k in range(3))
    if len(slot):
        require(min(left.min(), right.min()) >= 1, "a product of features that it does not have")
        require(max(left.max(), right.max()) <= features, "a product of features that it does not have")
        require(len(np.unique(slot)) == len(slot), "two products in one place")
        # Columns have the first slots. Names and products get slots when they are first seen.
        first = 1 + features if columns is not None else 1
        require(first <= slot.min() and slot.max() <= features + len(slot), "a product in an impossible place")
    if names is not None:
        # Even a small file can list so many products that their names would fill the memory.
        length = np.array([len(name) for name in names], dtype=np.int64)
        total = int(length[left - 1].sum() + length[right - 1].sum()) if len(slot) else 0
        require(total <= max(1 << 20, _LONGEST * size), "names of products that are longer than all the rest")
    centered = arrays["center_features"]
    if len(centered):
        require(int(centered.min()) > 0 and int(centered.max()) <= features, "a mean is outside the features")
        # All columns of an array are decided when the first row is learned.
        require(columns is None or len(centered) == columns, "means of some columns only")


def check_values(header: dict[str, Any], totals: dict[str, float], arrays: Arrays, model: Model) -> None:
    """Check every number, with a new model of the same options."""
    options = model.options
    require(set(header["options"]) == set(options.written()), "it does not have exactly the options of a learner")
    for name, kind in ARRAYS.items():
        require(arrays[name].dtype == kind and arrays[name].ndim == 1, "arrays of the wrong type")
    slot, scale, v, H = (arrays[name] for name in ("slots", "scale", "v", "H"))
    lanes = len(arrays["lane_heads"])
    require(len(scale) == len(slot), "arrays of different lengths")
    require(len(v) == len(H) == lanes * len(slot), "arrays of different lengths")
    require(len(slot) < 2 or (np.diff(slot.astype(np.int64)) > 0).all(), "slots out of order")
    require((np.isfinite(scale) & (scale > 0)).all(), "a scale that is not positive")
    require(np.isfinite(v).all() and np.isfinite(H).all(), "a weight that is not finite")
    require(RULES[options.rule].second_order or (H >= 0).all(), "a sum of squares that is negative")
    scores = arrays["scores"]
    require(not (np.isnan(scores) | (scores == -math.inf)).any(), "scores that are not numbers")
    for name in ("followed", "errors"):
        require((np.isfinite(arrays[name]) & (arrays[name] >= 0)).all(), "scores that are not numbers")
    require(
        len(arrays["target"]) == len(target_state.FIELDS) and np.isfinite(arrays["target"]).all(),
        "a target that is not finite",
    )
    means = arrays["center_means"]
    require(np.isfinite(means).all() and (means[1::2] >= 0).all(), "a mean that is not finite")
    require(options.center or not len(arrays["center_features"]), "means of columns that are not centered")
    require((arrays["center_kinds"] <= 1).all(), "means of an unknown kind")
    require(arrays["target"][0] in (0, 1) and arrays["target"][2] >= 0, "an impossible target")
    require((arrays["target"][4:] >= 0).all(), "an impossible target")
    heads = int(arrays["lane_heads"].max(initial=0)) + 1
    classes = int(arrays[_ANNOUNCED].sum()) if _ANNOUNCED in arrays else heads - header["open"]
    require(header["labels"] is None or classes == len(header["labels"]), "other classes than it has")
    require(all(0 <= totals[key] < math.inf for key in ("t", "T", "N")), "totals that are not finite")
    low, high = totals["label_min"], totals["label_max"]
    require((low, high) == (math.inf, -math.inf) or -math.inf < low <= high < math.inf, "an impossible range of labels")
    require(type(header["examples"]) is int and 0 <= header["examples"] < 2**63, "an impossible number of examples")
    require(type(header["negative"]) is int and header["negative"] in (0, 1, 2), "an unknown coding of labels")
    columns, names = header["columns"], header["names"]
    require(options.bits is None or (columns is None and names is None), "names in a hashed model")
    slots = 1 + (2**options.bits if options.bits else columns if columns is not None else len(names or ()))
    slots += len(arrays["products"]) // 3
    require(not len(slot) or int(slot[-1]) < slots, "a slot outside its features")
    _check_lanes(arrays, model)
    _check_average(header, totals, arrays, model)
    _check_windows(arrays, options)
    if len(slot) and slot[0] == 0:
        require(options.bias, "a bias in a model without one")
        # The bias is 1 in every example, so its scale is known. Models of Vowpal Wabbit have their own scale of the
        # bias.
        known = math.sqrt(totals["t"]) if RULES[options.rule].sums_squares else 1.0
        require(options.order == "vw" or math.isclose(float(scale[0]), known, rel_tol=1e-3), "an impossible bias")


def _check_average(header: dict[str, Any], totals: dict[str, float], arrays: Arrays, model: Model) -> None:
    """Check the average of the weights, and the moment from which rates were no longer compared."""
    average, scale, kept, next_look = arrays["average"], arrays["average_scale"], header["kept"], header["next_look"]
    t, averaged_t, missed = totals["t"], totals["averaged_t"], totals["missed"]
    require(type(next_look) is int, "an impossible next look")
    if model.options.average:
        by_feature = importlib.import_module(".by_feature", __package__)  # it imports the module of files
        latest = by_feature.latest_look(model.options, header["examples"], len(scale))
        require(header["examples"] < next_look <= latest, "an impossible next look")
        require(average.shape == arrays["v"].shape and scale.shape == arrays["scale"].shape, "arrays of other lengths")
        require(np.isfinite(average).all(), "an average that is not finite")
        require((np.isfinite(scale) & (scale >= 0)).all(), "a scale that is not positive")
        require(0 <= averaged_t <= t and kept in get_args(Kept), "an impossible average")
    else:
        none = not len(average) and not len(scale) and (kept, averaged_t, next_look) == ("last", 0.0, 0)
        require(none, "an average that does not agree with the options")
    at = t if header["suspended_at"] is None else float.fromhex(header["suspended_at"])
    require(0 <= missed <= at <= t, "an impossible weight of examples whose losses counted")


def _check_windows(arrays: Arrays, options: Options) -> None:
    """Check the sizes of the windows; the core checks their content."""
    any_window = len(arrays["window_features"]) or len(arrays["windows"]) or arrays["proven_scales"].any()
    require(options.falling_scales or not any_window, "windows that do not agree with the options")


def _form_names(arrays: Arrays) -> list[str]:
    return sorted(name for name in arrays if name.startswith(FORM))


def taken_form(header: dict[str, Any], arrays: Arrays, options: Options) -> dict[str, Any]:
    """Remove the arrays of the model type from `arrays`, and return them as a state has them; the core checks them."""
    names, settled, ensemble = _form_names(arrays), header["settled"], header["ensemble"]
    unsettled = [] if header["examples"] else [None]  # before the first row, the model type of "auto" is open
    types = (
        ["linear", "curves", "trees", *unsettled] if options.known_model_type is None else [options.known_model_type]
    )
    require(settled in types, "an impossible model type")
    ensembles = ["none"] if not options.ensemble else [*get_args(EnsembleKind), *unsettled]
    require(ensemble in ensembles, "impossible members")
    alone = settled in (None, "linear") and ensemble in (None, "none") and not RULES[options.rule].second_order
    bent = set(names) - ({_ANNOUNCED} if LOSSES[options.loss].coupled else set())
    require(not alone or not bent, "curves, trees or members that a linear model does not have")
    require(len(names) <= _MOST_OF_FORM, "more arrays than a model type has")
    require(all(_FORM_NAME.fullmatch(name) for name in names), "arrays with impossible names")
    require("form.settled" not in names, "arrays with impossible names")
    taken = {name.removeprefix(FORM): arrays.pop(name) for name in names}
    require(all(one.dtype == np.float64 and one.ndim == 1 for one in taken.values()), "arrays of the wrong type")
    return {"settled": settled, **taken}


def check_slopes(state: _core.Snapshot) -> None:
    """Check the number of slopes: it depends on the other features of the state."""
    slopes = state["slopes"]
    if not len(slopes):
        return
    require(np.isfinite(slopes).all(), "slopes that are not numbers")
    require((state["center_kinds"] == 1).any(), "slopes of a model without centered columns")
    sizes = importlib.import_module("unitless.merging.means").slope_sizes(state)
    require(len(slopes) == sum(sizes.values()), "other slopes than those of its centered columns")


def _check_lanes(arrays: Arrays, model: Model) -> None:
    """Check that a plain learner has one lane without scores; the core checks models with several lanes."""
    if model._has_one_lane():
        fresh = model._snapshot()
        for name in ("lane_heads", "lane_rates"):
            require(arrays[name].tolist() == fresh[name].tolist(), "lanes that a plain learner does not have")
        for name in ("scores", "followed", "errors"):
            require(len(arrays[name]) == len(fresh[name]), "scores that a plain learner does not keep")  # type: ignore[literal-required]
