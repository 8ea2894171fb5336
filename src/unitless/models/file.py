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
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from .. import _core, whole_file
from ..errors import Error, ModelFileError
from .file_checks import (
    ARRAYS,
    EARLIER,
    FORM,
    PLAIN,
    TOTALS,
    Arrays,
    check_names,
    check_sizes,
    check_slopes,
    check_values,
    require,
    taken_form,
)
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
_COMPRESSED = "compressed"  # the array with a whole compressed model file
_MOST_DECOMPRESSED = 1 << 34
_XZ = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 3, "pb": 3}]  # values of 8 bytes: they take 5% less


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, completely or not at all."""
    compressed = model.model_type not in (None, "linear")
    write(path, lambda: _packed(to_bytes(model), "zstd") if compressed else to_bytes(model))


def read(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file of a model; an error of the system becomes a ModelFileError."""
    try:
        with open(os.fspath(path), "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise ModelFileError(f"there is no file {os.fspath(path)!r}") from None
    except (OSError, TypeError, ValueError) as error:
        raise ModelFileError(f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}") from error


def save_predict_only(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a compressed model file without the state that only learning needs, completely or not at all."""
    write(path, lambda: _packed(to_bytes(_module("predict_only").stripped(model)), "xz"))


def write(path: str | os.PathLike[str], content: Callable[[], bytes], what: str = "model") -> None:
    """Write a file, completely or not at all; an error becomes a ModelFileError."""
    try:
        whole_file.write(path, content())
    except (OSError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"cannot write the {what} to {path!r}: {reason}") from error


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
    data = read(path)
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
    arrays: Arrays = {name: state[name] for name in ARRAYS}  # type: ignore[literal-required]
    arrays |= {FORM + name: array for name, array in state["form"].items() if name != "settled"}
    if earlier is not None:
        arrays[EARLIER] = np.frombuffer(_encoded(model, earlier[0].fields(), earlier[1], None, None, None), np.uint8)
    header: dict[str, Any] = {
        "version": VERSION,
        "kind": model._kind,
        "options": model.options.written(),
        "labels": labels,
        "open": model._open_to_classes(),
        "rates": None if (rates := model._own_rates()) is None else [float.hex(rate) for rate in rates],
        **{key: state[key] for key in PLAIN},  # type: ignore[literal-required]
        # Floats are hexadecimal: JSON has no infinity, and does not promise exact decimals.
        **{key: float.hex(state[key]) for key in TOTALS},  # type: ignore[literal-required]
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
    require(type(size) is int and 0 < size <= _MOST_DECOMPRESSED, "an impossible size")
    require(packed.dtype == np.uint8 and packed.ndim == 1, "arrays of the wrong type")
    try:
        if header.get("compression") == "zstd":
            data: bytes = _zstd().decompress(packed.tobytes(), size, asbytes=True)
        else:
            data = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 28).decompress(packed.tobytes(), size)
    except (OSError, MemoryError, lzma.LZMAError):  # pyarrow's errors are of the first two
        raise ModelFileError("the file is damaged: it cannot be decompressed") from None
    require(len(data) == size, "another size than its header says")
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
        check_names(header, arrays)
        if header.pop("digest") != _digest(header, arrays):
            raise ModelFileError("the file is damaged: its content does not match its digest")
        check_sizes(header, arrays, len(data))
        model = _fresh(header)
        totals = {key: float.fromhex(header[key]) for key in TOTALS}
        check_values(header, totals, arrays, model)
        form = taken_form(header, arrays, model.options)
        if (training := header["training"]) is not None:
            _module("training_record").check(training, model)
        model._training = training
        model._earlier = _earlier(arrays.pop(EARLIER, None), header)
        if (errors := header["errors"]) is not None:
            model._errors = type(_module("prediction_errors").errors_known(model)).read(errors)
        plain = {key: header[key] for key in PLAIN}
        suspended_at = None if (at := header["suspended_at"]) is None else float.fromhex(at)
        state = _core_snapshot(**arrays, form=form, suspended_at=suspended_at, **plain, **totals)
        check_slopes(state)
        model._restore(state)
        require(type(header["predict_only"]) is bool, "an impossible kind of file")
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
    require(data.dtype == np.uint8 and data.ndim == 1, "arrays of the wrong type")
    within, arrays = _parse(data.tobytes())
    require(EARLIER not in arrays and within.get("training") is None, "an earlier state of an earlier state")
    same = ("kind", "options", "labels", "open", "rates", "columns", "settled", "ensemble")
    require(all(within.get(name) == header[name] for name in same), "an earlier state of another model")
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


def _parse(data: bytes) -> tuple[dict[str, Any], Arrays]:
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


def _digest(header: dict[str, Any], arrays: Arrays) -> str:
    # The digest is of the text as it is stored: in JSON, numeric keys become text, which is sorted differently.
    digest = hashlib.sha256(json.dumps(header).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()
