"""Convert Vowpal Wabbit's models: the weights, and the state that further learning needs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ... import losses, rules
from ...data import ReadOptions, Schema, Target
from ...data.progress import Progress
from ...errors import Error, ModelFileError, Option, OptionError, Phrase
from ...inputs import Float64
from ...models import file as model_file
from ...models.foreign import is_vw_file
from ...models.learner import Learner
from ...models.model import Model
from ...models.one_vs_all import OneVsAll
from ...models.training_record import record
from ...options import Loss
from . import binary
from . import readable as vw_readable
from .feature_hash import CONSTANT, feature_hash
from .readable import Readable, Weight

SCORES = (-50.0, 50.0)  # the label range of losses that predict scores


def from_vw(
    path: str | os.PathLike[str],
    *,
    loss: Loss | None = None,
    quantile: float = 0.5,
    names: Iterable[str] | None = None,
) -> Learner | OneVsAll:
    """Load a model from a file of Vowpal Wabbit: `--invert_hash`, or with `names` `--readable_model` or `-f`.

    Predictions are equal to Vowpal Wabbit's, to the six digits of a text file, or to float32 rounding: linear, and
    limited to its range of labels. The learner also continues as Vowpal Wabbit would: same rule, same scales and sums
    of squares. It is a model like those that `train` makes from VW text, which `Predictor`, `evaluate` and
    `train(resume=...)` take.

    In two cases this is not possible, and the rule is "ag" or "gd", which need no scales: if the file has only weights
    (`--predict_only_model`), and with `--oaa`, whose classes have separate scales in Vowpal Wabbit and common scales
    here.

    Args:
        path: the file.
        loss: the loss, which Vowpal Wabbit does not store. Scores do not depend on it, only their meaning and further
            learning. Default: "logistic" where the range of labels is that of scores, otherwise "squared".
        quantile: the quantile for quantile loss. Default: 0.5.
        names: the features' names, if the file has only their hashes (`--readable_model`, `-f`): `x`, or `a^x` for x of
            namespace a. Every weight must belong to one of them. Default: the names in the file.

    Features have the same names as in `unitless train` on VW text. Where hashes collide in Vowpal Wabbit's table, only
    one name is left; more bits (`-b`) avoid that.

    Example:
        >>> import unitless as ul
        >>> m = ul.from_vw("clicks.txt", loss="logistic")  # doctest: +SKIP
        >>> m.predict_one({"ad^price": 3.0, "user^age": 31.0})  # doctest: +SKIP
    """
    data = model_file.read(path)
    try:
        found = binary.parse(data) if is_vw_file(data) else vw_readable.parse(data.decode())
        return _made(found, loss, quantile, names)
    except UnicodeError:
        raise ModelFileError(f"{os.fspath(path)} is not a model of Vowpal Wabbit") from None
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def _made(found: Readable, loss: Loss | None, quantile: float, names: Iterable[str] | None) -> Learner | OneVsAll:
    table = _Table(found, None if names is None else list(names))
    ranged = (found.label_min, found.label_max) == SCORES
    options: dict[str, Any] = {
        "loss": loss or losses.DEFAULTS["binary" if ranged else "regression"],
        "quantile": quantile,
        "learning_rate": found.number("--learning_rate", 0.5 if found.adaptive and found.normalized else 10.0),
        "importance_aware": found.invariant,
        "bias": "--noconstant" not in found.flags,
    }
    if table.pairs:
        options["interactions"] = [(table.names[a - 1], table.names[b - 1]) for a, b in table.pairs]
    unscaled = not found.normalized or not found.resumable or table.classes > 1
    options["rule"] = rules.like(unit_free=not unscaled, adaptive=found.adaptive).name
    if table.classes > 1:
        model: Learner | OneVsAll = OneVsAll(table.classes, **options)
    else:
        model = Learner(**options, order="vw", clip="vw")
    _fill(model, found, table, unscaled)
    model._training = _record(model, found)
    return model


def _record(model: Learner | OneVsAll, found: Readable) -> dict[str, Any]:
    """The training record that `train` would have made: a finished training on VW text, with its labels."""
    target = Target(model.task, ["-1", "1"] if model.task == "binary" else [])
    ignore, only = (
        [letter for one in found.values.get(option, []) for letter in one] for option in ("--ignore", "--keep")
    )
    rows = model.examples
    reading = ReadOptions(ignore=tuple(ignore), only=tuple(only)).kept("named")
    return record(Schema("named"), target, reading, Progress(rows=rows, learned=rows, passes=1, done=True))


class _Table:
    """Weights by feature (names and pairs of names), with one weight per class."""

    def __init__(self, found: Readable, names: list[str] | None) -> None:
        self.classes = int(found.number("--oaa", 1))
        if not 1 <= self.classes <= 2**16 or ("--oaa" in found.values and self.classes < 2):
            raise ModelFileError(f"--oaa {self.classes} is not a valid number of classes")
        stride = 1 << (self.classes - 1).bit_length()  # one place for each class
        mask = 2**found.bits - 1
        self._paired = _has_pairs(found)
        if names is not None or any(weight.name is None for weight in found.weights):
            found.weights = self._named(found, names, stride, mask)
        constant = None if "--noconstant" in found.flags else (CONSTANT * stride) & mask
        self.bias: dict[int, Weight] = {}
        self._rows: dict[str, dict[int, Weight]] = {}
        for weight in found.weights:
            assert weight.name is not None
            head = weight.place % stride
            if head >= self.classes:
                raise ModelFileError(f"{weight.where} is a weight of class {head + 1}; there are {self.classes}")
            if weight.place - head == constant:
                self.bias[head] = weight
            name = re.sub(rf"\[{head}\]$", "", weight.name) if head else weight.name
            if name == "Constant" and weight.place - head == constant:
                continue
            if head in self._rows.setdefault(name, {}):
                raise ModelFileError(f"{weight.where}: {name!r} has two weights; the text is damaged")
            self._rows[name][head] = weight
        self._tell_apart()

    def _named(self, found: Readable, names: list[str] | None, stride: int, mask: int) -> list[Weight]:
        """Add names to weights that are identified only by their hashes."""
        if names is None:
            raise OptionError(
                Phrase(
                    "this model has hashes instead of names: write its text with vw --invert_hash, or give the names "
                    "of the features (",
                    Option("names"),
                    ")",
                )
            )
        if self._paired:
            raise OptionError("products cannot be found by their features' names; write the text with vw --invert_hash")
        seed, digits_too = int(found.number("--hash_seed", 0)), "all" in found.values.get("--hash", [])
        by_place: dict[int, list[str]] = {}  # names with the same hash share a weight
        for name in dict.fromkeys(names):
            if not isinstance(name, str):
                raise OptionError(f"names has {name!r}; features' names are text")
            by_place.setdefault((feature_hash(name, seed, digits_too=digits_too) * stride) & mask, []).append(name)
        by_place.setdefault((CONSTANT * stride) & mask, ["Constant"])
        named = []
        for weight in found.weights:
            head = weight.place % stride
            if weight.place - head not in by_place:
                raise OptionError(f"{weight.where} has a weight that belongs to none of the names given")
            suffix = f"[{head}]" if head else ""
            named += [replace(weight, name=name + suffix) for name in by_place[weight.place - head]]
        return named

    def _tell_apart(self) -> None:
        """Separate names from products of names."""
        factors: dict[str, tuple[str, str]] = {}
        for name in self._rows:
            if self._paired and (pair := self._factors(name)):
                factors[name] = pair
        found = [name for name in self._rows if name not in factors]
        self.names = list(dict.fromkeys([*found, *(factor for pair in factors.values() for factor in pair)]))
        number = {name: k for k, name in enumerate(self.names, 1)}
        self.weights = [self._rows.get(name, {}) for name in self.names]
        self.pairs: list[tuple[int, int]] = []
        for name, (left, right) in factors.items():
            ordered = (min(number[left], number[right]), max(number[left], number[right]))
            if ordered in self.pairs:
                raise ModelFileError(f"the product {name!r} is there in both orders, which unitless cannot represent")
            self.pairs.append(ordered)
            self.weights.append(self._rows[name])

    def _factors(self, name: str) -> tuple[str, str] | None:
        """The two features of a product; a name may contain a *."""
        splits = [(name[: star.start()], name[star.end() :]) for star in re.finditer(r"\*", name)]
        known = [pair for pair in splits if all(factor in self._rows for factor in pair)]
        if len(known) == 1 or len(splits) == 1:
            return (known or splits)[0]
        if splits:
            raise ModelFileError(f"{name!r} may be a product of different features; a name with * in it is ambiguous")
        return None


def _has_pairs(found: Readable) -> bool:
    """Whether there are products of two features. Products of more features are an error."""
    listed = [*found.values.get("--quadratic", []), *found.values.get("--interactions", [])]
    for one in listed:
        if len(one) != 2:
            raise ModelFileError(f"it has products {one!r}; only products of two features can be read")
    return bool(listed)


def _fill(model: Model, found: Readable, table: _Table, unscaled: bool) -> None:
    state = model._snapshot()
    rows = [table.bias, *table.weights] if model.options.bias else [{}, *table.weights]
    shape = (len(rows), table.classes)
    w: Float64 = np.zeros(shape)
    G: Float64 = np.zeros(shape)
    s: Float64 = np.ones(shape)
    gravity, contraction = found.totals.get("l1_state", 0.0), found.totals.get("l2_state", 1.0)
    for row, by_class in enumerate(rows):
        for head, weight in by_class.items():
            # Vowpal Wabbit applies regularization to the weights when they are used.
            value = np.copysign(max(abs(weight.value) - gravity, 0.0), weight.value) * contraction
            w[row, head] = value
            G[row, head] = weight.state[0] if weight.state and found.adaptive else 0.0
            s[row, head] = weight.state[-1] if weight.state and found.normalized else 1.0
            if not s[row, head] > 0:
                raise ModelFileError(
                    f"{weight.where} has a weight without a scale; write the text with --predict_only_model"
                )
    used = [row for row, by_class in enumerate(rows) if by_class]
    w, G, scale = w[used], G[used], s[used].max(axis=1, initial=0.0)
    state["names"], state["columns"] = table.names, None
    state["slots"], state["scale"] = np.array(used, np.uint32), scale
    by = np.ones((len(used), 1)) if unscaled else scale[:, None]
    with np.errstate(over="ignore"):
        state["v"], state["H"] = (w * by).ravel(), (G / by / by).ravel()
    products = [(left, right, len(table.names) + k) for k, (left, right) in enumerate(table.pairs, 1)]
    state["products"] = np.array(products, np.uint32).ravel()
    state["t"], state["N"] = found.totals.get("t", 0.0), found.totals.get("norm normalizer", 0.0)
    state["T"] = found.totals.get("total_weight", 0.0)
    state["examples"] = int(found.totals.get("example_number", 0.0))
    state["label_min"], state["label_max"] = found.label_min, found.label_max
    _restored(model, state)


def _restored(model: Model, state: Any) -> None:
    """Check the state like that of a model file, and load it."""
    if not (np.isfinite(state["v"]).all() and np.isfinite(state["H"]).all()):
        raise ModelFileError("a weight or a sum of squares is beyond the range of float64; the text is damaged")
    low, high = state["label_min"], state["label_max"]
    if low > high or min(state["t"], state["N"], state["T"]) < 0 or not 0 <= state["examples"] < 2**63:
        raise ModelFileError("its totals are impossible; the text is damaged")
    try:
        model._restore(state)
    except Error as error:
        raise ModelFileError(str(error)) from None
