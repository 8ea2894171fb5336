"""The state of a bandit as bytes: a safetensors file of plain values as JSON, arrays, and the files of its models."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from .. import limits
from ..errors import Error, ModelFileError
from ..models import file as model_file
from .context import Features, Slots
from .errors import Errors
from .events import Events
from .reward_models import RewardModel

if TYPE_CHECKING:
    from .learning import Bandit

_KEY, _VERSION = "unitless", 1
_OPTIONS = ("model_type", "random_state", "time_limit", "default_reward", "max_pending")
_NUMBERS = ("_time", "_rewards", "_expired", "_sum", "_first", "_learned", "_total")
_PLAIN = "plain"  # the array with the JSON, which may be longer than a header

B = TypeVar("B", bound="Bandit")


def to_bytes(bandit: Bandit) -> bytes:
    """Return the whole state. Equal bandits give equal bytes."""
    arrays: dict[str, NDArray[Any]] = {}
    features = {}
    for name, reader in (("context", bandit._context), ("action", bandit._action)):
        if reader is not None:
            features[name], arrays[name] = reader.state()
    for at, model in enumerate(bandit._models.values()):
        arrays[f"model.{at}"] = np.frombuffer(model_file.to_bytes(model.model), np.uint8)
        arrays[f"exact.{at}"] = model.exact
        if model.rest is not None:
            arrays[f"rest.{at}"] = model.rest
    plain = {
        "options": {name: getattr(bandit, name) for name in _OPTIONS},
        "numbers": {name: getattr(bandit, name) for name in _NUMBERS},
        "features": features,
        "products": list(bandit._products),
        "models": list(bandit._models),
        "errors": asdict(bandit._errors),
        "events": bandit._events.plain(),
    }
    arrays[_PLAIN] = np.frombuffer(json.dumps(plain).encode(), np.uint8)
    header = {"version": _VERSION, "kind": model_file.BANDIT, "digest": _digest(arrays)}
    return safetensors.numpy.save(arrays, {_KEY: json.dumps(header)})


def from_bytes(cls: type[B], data: bytes) -> B:
    """Return the bandit with this state; anything else is a ModelFileError."""
    try:
        header = _header(data)
        if header.get("kind") != model_file.BANDIT:
            raise ModelFileError("this is not the file of a bandit; unitless.load reads models")
        if header["version"] != _VERSION:
            raise ModelFileError(f"this is a bandit of format {header['version']!r}; this version reads {_VERSION}")
        arrays = safetensors.numpy.load(data)
        if header["digest"] != _digest(arrays):
            raise ModelFileError("the file is damaged: its content does not match its digest")
        plain = json.loads(arrays[_PLAIN].tobytes())
        bandit = cls(**plain["options"])
        vars(bandit).update({name: plain["numbers"][name] for name in _NUMBERS})
        readers = {name: Features.restored(one, arrays[name].copy()) for name, one in plain["features"].items()}
        bandit._context, bandit._action = readers.get("context"), readers.get("action")
        bandit._products = Slots(plain["products"])
        for at, name in enumerate(plain["models"]):
            model = model_file.from_bytes(arrays[f"model.{at}"].tobytes())
            rest = arrays.get(f"rest.{at}")
            exact = arrays[f"exact.{at}"].copy()
            bandit._models[name] = RewardModel(model, exact, None if rest is None else rest.copy())
            bandit._models[name].check()
        bandit._errors = Errors(**plain["errors"])
        bandit._events = Events.restored(bandit.max_pending, plain["events"])
        _check(bandit)
    except ModelFileError:
        raise
    except (
        *(KeyError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError),
        *(safetensors.SafetensorError, Error),
    ) as error:
        raise ModelFileError(f"this is not a valid file of a bandit: {error}") from None
    return bandit


def _check(bandit: Bandit) -> None:
    """Raise an error unless these numbers can be those of a bandit; its parts have checked theirs."""
    sums = [bandit._sum, bandit._total, bandit._errors.mean, bandit._errors.usual, bandit._errors.far]
    sums += [number for number in (bandit._time, bandit._first) if number is not None]
    counts = [bandit._rewards, bandit._expired, bandit._learned, bandit._errors.count]
    if (
        not all(map(limits.is_usable, sums))
        or not all(type(count) is int and count >= 0 for count in counts)
        or (bandit._first is None) != (bandit._learned == 0)
    ):
        raise ValueError("its numbers are not valid")


def is_bandit(path: str | os.PathLike[str]) -> bool:
    """Return whether this is the file of a bandit, which may be damaged."""
    try:
        with open(path, "rb") as file:
            start = file.read(8)
            length = int.from_bytes(start, "little")  # of the header; any number if this is another file
            return length < os.fstat(file.fileno()).st_size and holds_bandit(start + file.read(length))
    except (OSError, TypeError, ValueError):
        return False


def holds_bandit(data: bytes) -> bool:
    """Return whether a file with this content, or with this beginning of it, is that of a bandit."""
    try:
        return bool(_header(data)["kind"] == model_file.BANDIT)
    except (KeyError, ModelFileError):
        return False


def save(bandit: Bandit, path: str | os.PathLike[str]) -> None:
    """Write a bandit to a file, completely or not at all."""
    model_file.write(path, lambda: to_bytes(bandit), "bandit")


def load(cls: type[B], path: str | os.PathLike[str]) -> B:
    """Return the bandit in a file."""
    data = model_file.read(path)
    try:
        return from_bytes(cls, data)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def _header(data: bytes) -> dict[str, Any]:
    try:
        metadata = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
        return dict(json.loads(metadata[_KEY]))
    except (KeyError, TypeError, ValueError):
        raise ModelFileError("this is not a file of unitless, or it is damaged") from None


def _digest(arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
