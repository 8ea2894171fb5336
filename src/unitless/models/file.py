"""Model files: safetensors, written completely or not at all, and fully checked when they are read.

This is version 1 of the format. A file has arrays with one entry for each feature that was ever other than zero,

    slots          uint32   the feature's place: 0 the bias, 1 + column, 1 + position among the names, or hashed
    scale          float64  s ("snag": √Σx²)
    v              float64  w·s, without the feature's unit, for each rate and class; of sparse models the sums u behind
                            them (core/engine/lanes/proximal_rows.hpp)
    H              float64  G/s², for each rate and class
    average        float64  the average of v, for each rate and class
    average_scale  float64  the scale in whose unit that average is

(the last two are empty without `average`), and these, most of which are short or empty:

    lane_heads       uint32   the head (class) of each lane of v and H
    lane_rates       uint32   the place of each lane's rate among the rates
    scores           float64  six sums of losses for each lane: loss, recent, gap, square, total_gap, total_square
    followed         float64  for each head, the loss of the predictions made
    errors           float64  for each rate of a sweep, the weight of wrong classes
    target           float64  what is known of the labels' unit (target_state.py)
    products         uint32   left, right (features, from 1) and slot of each product
    center_features  uint32   features (from 1) for which it is decided whether they are centered
    center_kinds     uint32   1 for each of them that is centered, otherwise 0
    center_means     float64  mean and weight of each of them
    proven_scales    float64  their scales when a window last confirmed them; 0 without `falling_scales`
    window_features  uint32   features whose scales may fall soon (core/encoding/window.hpp)
    windows          float64  scale, limit, low, high, first, sum, square, weight and count of each of those
    slopes           float64  how weights depend on the means; only in merged models with centered columns
                              (merged_means.py)

Two kinds of arrays are present only in models that need them:

    form.NAME        float64  curves, trees, added members, the mixture and second order; NAME is the core's name
                              of the array; softmax.classes is the number of classes, where some had no rows
    earlier          uint8    of an interrupted training: a model file with the best weights so far

The header has one JSON text under "unitless": an object with exactly these fields. Numbers that must be exact are
hexadecimal.

    version               1
    kind                  "Learner", "OneVsAll", "Softmax" or "Sweep"
    options               all options of a learner, by name
    labels, open          the classes, or null; whether new classes may join
    rates                 the rates of a sweep; otherwise null
    columns, names        the number of columns or the names of the features; one of them or both are null
    examples, negative    how many examples were learned; how the negative label is written
    t, T, N               totals of the stream (core/algorithm/state.hpp)
    label_min, label_max  the range of the labels
    kept                  which weights are used for predictions: "last" or "averaged"
    averaged_t, next_look when the average was last updated, and when it will be (0 without `average`)
    suspended_at, missed  the total weight when rates were no longer compared, or null; the weight that was not compared
    settled, ensemble     the model type, and the added members; null before the first row determines them
    errors                how large the model's errors are (error_quantiles.py), or null
    training              how `train` made the model (training_record.py), or null
    predict_only          whether it lacks the state that only learning needs (predict_only.py)
    digest                SHA-256 of the rest of the file

A file of a model with curves or trees, and one of `Predictor.save`, has one array, `compressed`, which
is a compressed model file. Its header has only the version, the size, and the compression: "zstd", or for
`Predictor.save` "xz", which is slower and smaller.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import json
import lzma
import math
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, get_args

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from .. import _core, whole_file
from ..errors import Error, ModelFileError
from ..losses import LOSSES
from ..options import EnsembleKind, Kept, Options
from ..rules import RULES
from . import target_state
from .foreign import is_vw_model
from .kernels import chosen_kernel

if TYPE_CHECKING:
    from .error_quantiles import KnownErrors
    from .model import Model, Remembered

VERSION = 1
BANDIT = "Bandit"  # the kind in the files of bandits, which are not models
Kind: TypeAlias = Literal["Learner", "OneVsAll", "Softmax", "Sweep"]
# The module of each kind. These modules import this one, so this one imports them only when it reads a file.
_KINDS: dict[Kind, str] = {"Learner": "learner", "OneVsAll": "one_vs_all", "Softmax": "softmax", "Sweep": "sweep"}
_KEY = "unitless"
_ARRAYS = {
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
_COMPRESSED = "compressed"  # the array with a whole compressed model file
_MOST_DECOMPRESSED = 1 << 34
_XZ = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 3, "pb": 3}]  # values of 8 bytes: they take 5% less
_EARLIER = "earlier"  # the best weights so far of an interrupted training
_FORM = "form."  # the prefix of the arrays that belong to a model type
_FORM_NAME = re.compile(r"form\.[A-Za-z0-9_.]{1,64}")
_MOST_OF_FORM = 1024  # arrays
_ANNOUNCED = "form.softmax.classes"  # the number of classes of a softmax with classes that had no rows
_TOTALS = ("t", "T", "N", "label_min", "label_max", "averaged_t", "missed")
_PLAIN = ("columns", "names", "examples", "negative", "kept", "next_look", "ensemble")
_ABOUT = (
    *("version", "kind", "options", "labels", "open", "rates"),
    *("suspended_at", "settled", "errors", "training", "predict_only"),
)
_LONGEST = 256  # characters in the names of products, for each byte of the file
_Arrays: TypeAlias = dict[str, NDArray[Any]]


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, completely or not at all."""
    try:
        data = to_bytes(model)
        whole_file.write(path, data if model.model_type in (None, "linear") else _packed(data, "zstd"))
    except (OSError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"cannot write the model to {path!r}: {reason}") from error


def save_predict_only(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a compressed model file without the state that only learning needs, completely or not at all."""
    data = _packed(to_bytes(_module("predict_only").stripped(model)), "xz")
    try:
        whole_file.write(path, data)
    except (OSError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"cannot write the model to {path!r}: {reason}") from error


def check_writable(path: str) -> None:
    """Raise an error if a model cannot be written to this path; called before long work."""
    folder = os.path.dirname(os.path.realpath(path))
    reason = None
    if os.path.isdir(path) or path.endswith(os.sep):
        reason = "it is a directory"
    elif os.path.exists(path) and not os.path.isfile(path):
        reason = "it is a device or a pipe, not a file"
    elif not os.path.isdir(folder):
        reason = f"there is no directory {folder!r}"
    elif not os.access(folder, os.W_OK | os.X_OK):
        reason = "the directory cannot be written to"
    if reason:
        raise ModelFileError(f"cannot write the model to {path!r}: {reason}")


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model, which `Learner.save` and others wrote; see `unitless.load`."""
    try:
        with open(os.fspath(path), "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise ModelFileError(f"there is no file {os.fspath(path)!r}") from None
    except (OSError, TypeError, ValueError) as error:
        raise ModelFileError(f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}") from error
    try:
        return from_bytes(data)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def to_bytes(model: Model) -> bytes:
    """Return the content of a model's file. Equal models give equal bytes."""
    state, labels = model._state_and_labels()
    return _encoded(model, state, labels, model._training, model._earlier, model._errors)


def bytes_later(model: Model) -> Callable[[], bytes]:
    """Return a function that makes the content of a model's file, in any thread, while the model learns.

    The state of the core is read when that function is called, under the core's lock; everything else is read now.
    """
    training, errors = _copied(model._training), copy.deepcopy(model._errors)
    return lambda: _encoded(model, *model._state_and_labels(), training, model._earlier, errors)


def _copied(plain: Any) -> Any:
    """Return a copy of plain values; for long lists of numbers it is faster than `copy.deepcopy`."""
    if isinstance(plain, dict):
        return {key: _copied(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [_copied(value) for value in plain] if plain and isinstance(plain[0], dict | list) else plain[:]
    return plain


def _encoded(
    model: Model,
    state: _core.Snapshot,
    labels: list[Any] | None,
    training: dict[str, Any] | None,
    earlier: Remembered | None,
    errors: KnownErrors | None,
) -> bytes:
    arrays: _Arrays = {name: state[name] for name in _ARRAYS}  # type: ignore[literal-required]
    arrays |= {_FORM + name: array for name, array in state["form"].items() if name != "settled"}
    if earlier is not None:
        arrays[_EARLIER] = np.frombuffer(_encoded(model, earlier[0].fields(), earlier[1], None, None, None), np.uint8)
    header: dict[str, Any] = {
        "version": VERSION,
        "kind": model._kind,
        "options": model.options.written(),
        "labels": labels,
        "open": model._open_to_classes(),
        "rates": None if (rates := model._own_rates()) is None else [float.hex(rate) for rate in rates],
        **{key: state[key] for key in _PLAIN},  # type: ignore[literal-required]
        # Floats are hexadecimal: JSON has no infinity, and does not promise exact decimals.
        **{key: float.hex(state[key]) for key in _TOTALS},  # type: ignore[literal-required]
        "suspended_at": None if (at := state["suspended_at"]) is None else float.hex(at),
        "settled": state["form"]["settled"],
        "errors": None if errors is None else errors.plain(),
        "training": training,
        "predict_only": model._predict_only,
    }
    header["digest"] = _digest(header, arrays)
    return safetensors.numpy.save(arrays, {_KEY: json.dumps(header)})


def _packed(data: bytes, compression: Literal["zstd", "xz"]) -> bytes:
    """Return the content of a compressed model file."""
    packed = _zstd().compress(data, asbytes=True) if compression == "zstd" else lzma.compress(data, filters=_XZ)
    header = {"version": VERSION, "size": len(data), "compression": compression}
    return safetensors.numpy.save({_COMPRESSED: np.frombuffer(packed, np.uint8)}, {_KEY: json.dumps(header)})


def _zstd() -> Any:
    """Return the codec of Zstandard, which pyarrow has; imported when it is used, because that takes a while."""
    return importlib.import_module("pyarrow").Codec("zstd", compression_level=9)


def _decompressed(header: dict[str, Any], packed: NDArray[np.uint8]) -> bytes:
    """Return the model file within a compressed one; an error if it is longer than its header states."""
    size: Any = header.get("size")
    _require(type(size) is int and 0 < size <= _MOST_DECOMPRESSED, "an impossible size")
    _require(packed.dtype == np.uint8 and packed.ndim == 1, "arrays of the wrong type")
    try:
        if header.get("compression") == "zstd":
            data: bytes = _zstd().decompress(packed.tobytes(), size, asbytes=True)
        else:
            data = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 28).decompress(packed.tobytes(), size)
    except (OSError, MemoryError, lzma.LZMAError):  # pyarrow's errors are of the first two
        raise ModelFileError("the file is damaged: it cannot be decompressed") from None
    _require(len(data) == size, "another size than its header says")
    return data


def from_bytes(data: bytes) -> Any:
    """Return the model in the content of a file; anything else is a ModelFileError."""
    chosen_kernel()  # a wrong setting on this machine is not an error of the file
    header, arrays = _parse(data)
    if set(arrays) == {_COMPRESSED}:
        data = _decompressed(header, arrays[_COMPRESSED])
        header, arrays = _parse(data)
    try:
        if header.get("kind") == BANDIT:
            raise ModelFileError("this is a bandit, not a model; unitless.load in Python reads it")
        if (version := header.get("version")) != VERSION:
            known = f"this version of unitless reads format {VERSION}"
            raise ModelFileError(f"this is a model of format {version!r}; {known}")
        _check_names(header, arrays)
        if header.pop("digest") != _digest(header, arrays):
            raise ModelFileError("the file is damaged: its content does not match its digest")
        _check_sizes(header, arrays, len(data))
        model = _fresh(header)
        totals = {key: float.fromhex(header[key]) for key in _TOTALS}
        _check(header, totals, arrays, model)
        form = _taken_form(header, arrays, model.options)
        if (training := header["training"]) is not None:
            _module("training_record").check(training, model)
        model._training = training
        model._earlier = _earlier(arrays.pop(_EARLIER, None), header)
        if (errors := header["errors"]) is not None:
            model._errors = type(_module("prediction_errors").errors_known(model)).read(errors)
        plain = {key: header[key] for key in _PLAIN}
        suspended_at = None if (at := header["suspended_at"]) is None else float.fromhex(at)
        state = _core_snapshot(**arrays, form=form, suspended_at=suspended_at, **plain, **totals)
        _check_slopes(state)
        model._restore(state)
        _require(type(header["predict_only"]) is bool, "an impossible kind of file")
        if header["predict_only"]:
            _module("predict_only").refuse_learning(model)
    except ModelFileError:
        raise
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        MemoryError,
        RuntimeError,
        Error,
    ) as error:
        raise ModelFileError(f"this is not a valid model file: {error}") from None
    return model


def _earlier(data: NDArray[np.uint8] | None, header: dict[str, Any]) -> Remembered | None:
    """Return the earlier state that training may go back to; it must be that of a model of the same kind."""
    if data is None:
        return None
    _require(data.dtype == np.uint8 and data.ndim == 1, "arrays of the wrong type")
    within, arrays = _parse(data.tobytes())
    _require(_EARLIER not in arrays and within.get("training") is None, "an earlier state of an earlier state")
    same = ("kind", "options", "labels", "open", "rates", "columns", "settled", "ensemble")
    _require(all(within.get(name) == header[name] for name in same), "an earlier state of another model")
    model: Model = from_bytes(data.tobytes())
    return model._remember()


def _fresh(header: dict[str, Any]) -> Model:
    """Return a new model of the file's kind, with its options."""
    options, labels = header["options"], header["labels"]
    listed = type(labels) is list or (labels is None and header["kind"] in ("Learner", "Sweep"))
    if type(header["open"]) is not bool or not listed:
        raise ModelFileError("this is not a valid model file: classes that are not a list")
    kind, rates = header["kind"], header["rates"]
    if kind not in _KINDS:
        raise ModelFileError(f"this is not a valid model file: it is of an unknown kind, {kind!r}")
    rates = [float.fromhex(rate) for rate in rates] if kind == "Sweep" else None
    model: Model = getattr(_module(_KINDS[kind]), kind)._fresh(options, labels, header["open"], rates)
    return model


def _module(name: str) -> Any:
    """Import a module of this folder that itself imports this one."""
    return importlib.import_module(f".{name}", __package__)


def _core_snapshot(**fields: Any) -> _core.Snapshot:
    return fields  # type: ignore[return-value]


def _parse(data: bytes) -> tuple[dict[str, Any], _Arrays]:
    try:
        length = int.from_bytes(data[:8], "little")
        text = json.loads(data[8 : 8 + length])["__metadata__"][_KEY]
        header = json.loads(text, parse_constant=_refused, parse_float=_finite)
        arrays = safetensors.numpy.load(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, safetensors.SafetensorError):
        if is_vw_model(data):
            raise ModelFileError(
                "this is a model of Vowpal Wabbit; unitless convert (in Python ul.from_vw) makes one of unitless of it"
            ) from None
        raise ModelFileError("this is not a model file of unitless, or it is damaged") from None
    if not isinstance(header, dict):
        raise ModelFileError("this is not a model file of unitless, or it is damaged")
    return header, arrays


def _refused(constant: str) -> NoReturn:
    """Refuse Infinity and NaN, which Python's JSON allows and model files do not."""
    raise ValueError(f"{constant} is not a number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _refused(text)
    return value


def _digest(header: dict[str, Any], arrays: _Arrays) -> str:
    # The digest is of the text as it is stored: in JSON, numeric keys become text, which is sorted differently.
    digest = hashlib.sha256(json.dumps(header).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def _require(condition: object, problem: str) -> None:
    if not condition:
        raise ModelFileError(f"this is not a valid model file: {problem}")


def _check_names(header: dict[str, Any], arrays: _Arrays) -> None:
    """Check that the file has exactly the fields and arrays of the format."""
    _require(set(header) == {*_ABOUT, *_PLAIN, *_TOTALS, "digest"}, "other fields than a header has")
    _require(set(arrays) - {_EARLIER, *_form_names(arrays)} == set(_ARRAYS), "other arrays than a model has")


def _check_sizes(header: dict[str, Any], arrays: _Arrays, size: int) -> None:
    """Check that the arrays have the sizes that the header states, before memory is allocated for them."""
    labels, rates, names, columns = header["labels"], header["rates"], header["names"], header["columns"]
    _require(all(array.ndim == 1 for array in arrays.values()), "arrays of the wrong type")
    lanes = len(arrays["lane_heads"])
    if header["kind"] == "Sweep":
        _require(type(rates) is list and lanes == len(rates) * len(labels or [None]), "other lanes than its rates have")
    _require(labels is None or type(labels) is list, "classes that are not a list")
    some_unmet = header["open"] is True and _ANNOUNCED in arrays
    _require(len(labels or ()) <= lanes or some_unmet, "more classes than lanes")
    _require(
        names is None or (type(names) is list and all(type(name) is str for name in names)),
        "feature names that are not text",
    )
    _require(columns is None or (type(columns) is int and 0 <= columns < 2**32 - 2), "an impossible number of columns")
    _require(columns is None or names is None, "both columns and names")
    features, products = (columns if columns is not None else len(names or ())), arrays["products"]
    _require(len(products) % 3 == 0 and len(arrays["slots"]) == len(arrays["scale"]), "arrays of different lengths")
    left, right, slot = (products[k::3].astype(np.int64) for k in range(3))
    if len(slot):
        _require(min(left.min(), right.min()) >= 1, "a product of features that it does not have")
        _require(max(left.max(), right.max()) <= features, "a product of features that it does not have")
        _require(len(np.unique(slot)) == len(slot), "two products in one place")
        # Columns have the first slots. Names and products get slots when they are first seen.
        first = 1 + features if columns is not None else 1
        _require(first <= slot.min() and slot.max() <= features + len(slot), "a product in an impossible place")
    if names is not None:
        # Even a small file can list so many products that their names would fill the memory.
        length = np.array([len(name) for name in names], dtype=np.int64)
        total = int(length[left - 1].sum() + length[right - 1].sum()) if len(slot) else 0
        _require(total <= max(1 << 20, _LONGEST * size), "names of products that are longer than all the rest")
    centered = arrays["center_features"]
    if len(centered):
        _require(int(centered.min()) > 0 and int(centered.max()) <= features, "a mean is outside the features")
        # All columns of an array are decided when the first row is learned.
        _require(columns is None or len(centered) == columns, "means of some columns only")


def _check(header: dict[str, Any], totals: dict[str, float], arrays: _Arrays, model: Model) -> None:
    """Check every number: the digest protects against accidents, but not against forged files."""
    options, require = model.options, _require
    require(set(header["options"]) == set(options.written()), "it does not have exactly the options of a learner")
    for name, kind in _ARRAYS.items():
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


def _check_average(header: dict[str, Any], totals: dict[str, float], arrays: _Arrays, model: Model) -> None:
    """Check the average of the weights, and the moment from which rates were no longer compared."""
    average, scale, kept, next_look = arrays["average"], arrays["average_scale"], header["kept"], header["next_look"]
    t, averaged_t, missed = totals["t"], totals["averaged_t"], totals["missed"]
    _require(type(next_look) is int, "an impossible next look")
    if model.options.average:
        latest = _module("by_feature").latest_look(model.options, header["examples"], len(scale))
        _require(header["examples"] < next_look <= latest, "an impossible next look")
        _require(average.shape == arrays["v"].shape and scale.shape == arrays["scale"].shape, "arrays of other lengths")
        _require(np.isfinite(average).all(), "an average that is not finite")
        _require((np.isfinite(scale) & (scale >= 0)).all(), "a scale that is not positive")
        _require(0 <= averaged_t <= t and kept in get_args(Kept), "an impossible average")
    else:
        none = not len(average) and not len(scale) and (kept, averaged_t, next_look) == ("last", 0.0, 0)
        _require(none, "an average that does not agree with the options")
    at = t if header["suspended_at"] is None else float.fromhex(header["suspended_at"])
    _require(0 <= missed <= at <= t, "an impossible weight of examples whose losses counted")


def _check_windows(arrays: _Arrays, options: Options) -> None:
    """Check the sizes of the windows; the core checks their content."""
    any_window = len(arrays["window_features"]) or len(arrays["windows"]) or arrays["proven_scales"].any()
    _require(options.falling_scales or not any_window, "windows that do not agree with the options")


def _form_names(arrays: _Arrays) -> list[str]:
    return sorted(name for name in arrays if name.startswith(_FORM))


def _taken_form(header: dict[str, Any], arrays: _Arrays, options: Options) -> dict[str, Any]:
    """Remove the arrays of the model type from `arrays`, and return them as a state has them; the core checks them."""
    names, settled, ensemble = _form_names(arrays), header["settled"], header["ensemble"]
    unsettled = [] if header["examples"] else [None]  # before the first row, the model type of "auto" is open
    types = (
        ["linear", "curves", "trees", *unsettled] if options.known_model_type is None else [options.known_model_type]
    )
    _require(settled in types, "an impossible model type")
    ensembles = ["none"] if not options.ensemble else [*get_args(EnsembleKind), *unsettled]
    _require(ensemble in ensembles, "impossible members")
    alone = settled in (None, "linear") and ensemble in (None, "none") and not RULES[options.rule].second_order
    bent = set(names) - ({_ANNOUNCED} if LOSSES[options.loss].coupled else set())
    _require(not alone or not bent, "curves, trees or members that a linear model does not have")
    _require(len(names) <= _MOST_OF_FORM, "more arrays than a model type has")
    _require(all(_FORM_NAME.fullmatch(name) for name in names), "arrays with impossible names")
    _require("form.settled" not in names, "arrays with impossible names")
    taken = {name.removeprefix(_FORM): arrays.pop(name) for name in names}
    _require(all(one.dtype == np.float64 and one.ndim == 1 for one in taken.values()), "arrays of the wrong type")
    return {"settled": settled, **taken}


def _check_slopes(state: _core.Snapshot) -> None:
    slopes = state["slopes"]
    if not len(slopes):
        return
    _require(np.isfinite(slopes).all(), "slopes that are not numbers")
    _require((state["center_kinds"] == 1).any(), "slopes of a model without centered columns")
    sizes = importlib.import_module("unitless.merging.means").slope_sizes(state)
    _require(len(slopes) == sum(sizes.values()), "other slopes than those of its centered columns")


def _check_lanes(arrays: _Arrays, model: Model) -> None:
    """Check that a plain learner has one lane without scores; the core checks models with several lanes."""
    if model._has_one_lane():
        fresh = model._snapshot()
        for name in ("lane_heads", "lane_rates"):
            _require(arrays[name].tolist() == fresh[name].tolist(), "lanes that a plain learner does not have")
        for name in ("scores", "followed", "errors"):
            _require(len(arrays[name]) == len(fresh[name]), "scores that a plain learner does not keep")  # type: ignore[literal-required]
