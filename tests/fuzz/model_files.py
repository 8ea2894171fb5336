"""Change model files at random: each is refused with a ModelFileError, or is a model that can be used.

    python tests/fuzz/model_files.py SECONDS [SEED]

Bytes are changed anywhere; numbers, texts and arrays are changed with a digest that matches, so that only validation
can refuse them. A file with any other result is stored in build/fuzz, and the program ends with 1.
"""

from __future__ import annotations

import copy
import json
import pathlib
import random
import struct
import sys
import time
import warnings
from typing import Any

import numpy as np
import safetensors.numpy

import unitless as ul
from unitless.models import file as model_file

NUMBERS = [0, -1, 1, 2, 3, 7, 255, 65536, 2**31, 2**63, 2**64, 0.5, -0.0, 1e-320, 1e300, -1e308, None, True, "x"]
HEXADECIMAL = ["nan", "inf", "-inf", "0x0p+0", "-0x1p+0", "0x1p-1074", "0x1p+1023", "0x1p+3", "", "1e5"]
FLOATS = [0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e154, 1.7e308, np.inf, -np.inf, np.nan]
DEEPEST = 40  # limit of nesting, far beyond any good header


def models() -> list[Any]:
    """One of each kind, small."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)) * [1e-6, 1, 1e9], rng.normal(size=40)
    words = np.array(["red", "green", "blue"])[np.arange(40) % 3]
    named = [dict(zip("abc", row, strict=True)) for row in X.tolist()]
    made = [
        ul.Learner(),
        ul.Learner(rule="snag", center=True),
        ul.Learner(learning_rate="auto", target="auto"),
        ul.Learner(interactions=2),
        ul.Learner(bits=3),
        ul.Learner(model_type="trees", learning_rate="auto"),
        ul.Learner(model_type="auto"),
        ul.Learner(model_type="curves only"),
        ul.Sweep([0.1, 0.5, 2.0]),
    ]
    for model in made:
        model.learn(X, y)
    by_name = ul.Learner(loss="logistic", interactions=[("a", "b")])
    by_name.learn(named, y > 0)
    closed, open_ = ul.OneVsAll(["red", "green", "blue"]), ul.OneVsAll()
    for model in (closed, open_):
        model.learn(X, words)
    return [*made, by_name, closed, open_]


def taken_apart(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file."""
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["unitless"])
    return header, dict(safetensors.numpy.load(data))


def put_together(header: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """A file with this content and a digest that matches it."""
    header = {key: value for key, value in header.items() if key != "digest"}
    header["digest"] = model_file._digest(header, arrays)
    return safetensors.numpy.save(arrays, {"unitless": json.dumps(header)})


def change_header(rng: random.Random, node: Any, depth: int = 0) -> Any:
    """Change one value anywhere in the header."""
    if isinstance(node, dict) and node and depth < DEEPEST and rng.random() < 0.9:
        key = rng.choice(list(node))
        if rng.random() < 0.1:
            del node[key]
        else:
            node[key] = change_header(rng, node[key], depth + 1)
        return node
    if isinstance(node, list) and node and depth < DEEPEST and rng.random() < 0.8:
        at = rng.randrange(len(node))
        if rng.random() < 0.2:
            node.insert(at, node[rng.randrange(len(node))])
        else:
            node[at] = change_header(rng, node[at], depth + 1)
        return node
    if isinstance(node, str) and rng.random() < 0.6:
        return rng.choice(HEXADECIMAL)
    return copy.deepcopy(rng.choice([*NUMBERS, *HEXADECIMAL, [], {}, [1.0], {"a": None}]))


def change_array(rng: random.Random, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Give an array another value, length, type or shape."""
    array = array.copy()
    what = rng.random()
    if what < 0.6 and array.size:
        at = rng.randrange(array.size)
        flat = array.reshape(-1)
        with np.errstate(over="ignore"):
            flat[at] = (
                rng.choice(FLOATS) if array.dtype.kind == "f" else rng.choice([0, 1, 2, 3, 9, 64, 2**31, 2**32 - 1])
            )
        return array
    if what < 0.75:
        return array[: rng.randrange(array.size + 1)] if array.ndim == 1 else array[:0]
    if what < 0.9:
        return np.concatenate([array, array])
    return rng.choice([array.astype(np.float32), array.astype(np.int64), array.reshape(-1, 1), array.astype(np.uint8)])


def changed(rng: random.Random, data: bytes) -> bytes:
    """The file with one or more changes."""
    if rng.random() < 0.25:
        raw = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        return bytes(raw[: rng.randrange(len(raw))] if rng.random() < 0.3 else raw)
    header, arrays = taken_apart(data)
    for _ in range(rng.randrange(1, 4)):
        if rng.random() < 0.5:
            key = rng.choice(list(header))
            header[key] = change_header(rng, header[key])
        else:
            name = rng.choice(list(arrays))
            arrays[name] = change_array(rng, arrays[name])
    return put_together(header, arrays)


def use(data: bytes) -> str:
    """Read the file and use the model; return the outcome."""
    try:
        model = model_file.from_bytes(data)
    except ul.ModelFileError:
        return "refused"
    again = model_file.to_bytes(model)
    assert model_file.to_bytes(model_file.from_bytes(again)) == again, "a model that was read can be saved and read"
    repr(model)
    for rows in ([[1.0, -2.0, 0.5]] * 3, [{"a": 1.0, "c": 2.0}] * 3):
        for action in (lambda X=rows: model.predict(X), lambda X=rows: model.learn(X, [1, 0, 1])):
            try:
                action()
            except ul.Error:
                continue
    return "accepted"


def main(seconds: float, seed: int) -> int:
    """Changes files until the time is up."""
    rng = random.Random(seed)
    files = [model_file.to_bytes(model) for model in models()]
    for data in files:
        assert use(data) == "accepted"
        assert use(put_together(*taken_apart(data))) == "accepted"
    counts = {"refused": 0, "accepted": 0}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            data = changed(rng, rng.choice(files))
        except (ValueError, TypeError, OverflowError):  # values that the format itself cannot represent
            continue
        started = time.monotonic()
        try:
            counts[use(data)] += 1
            assert time.monotonic() - started < 20, "a small file takes little time"
        except Exception as error:
            kept = pathlib.Path("build/fuzz/model-file-that-fails")
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data)
            print(f"{type(error).__name__}: {error}\nThe file is kept as {kept}; the seed was {seed}.")
            return 1
    print(f"Changed model files: {counts['refused']} were refused, {counts['accepted']} gave models that can be used.")
    return 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # warnings about overflow, in models that would not occur in training
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
