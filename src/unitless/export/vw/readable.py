"""Parse the text that `vw --readable_model` and `vw --invert_hash` write.

Version 9.11.9          then a few lines of what the model is: its label's range, bits, options
options: --quadratic fb
Checksum: 1775731694
:1                      1: the state for further learning comes next; 0: only weights
norm normalizer 1309.1  N; also t, total_weight and others
foo^a:72148:1.5 31.7 3  name (--invert_hash alone), place, weight; then G of adaptive and s of normalized learning
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...errors import ModelFileError
from ...models.foreign import is_vw_text

# Options that change how Vowpal Wabbit learns or what it prints, but not what a weight means.
_HARMLESS = {"--link", "--power_t", "--initial_t", "--bit_precision", "--ignore", "--keep", "--random_seed"}
_FLAGS = {"--noconstant", "--adaptive", "--normalized", "--invariant", "--sgd"}
_VALUES = {"--quadratic", "--interactions", "--oaa", "--hash", "--hash_seed", "--learning_rate"}


@dataclass(frozen=True)
class Weight:
    """A weight of the model, from a line of text or a record of the binary file."""

    place: int
    name: str | None
    value: float
    state: tuple[float, ...]  # G if it is adaptive, s if it is normalized
    where: str  # its position in the file, for messages


@dataclass
class Readable:
    """A model of Vowpal Wabbit as stored in its file: range of labels, options, totals, weights."""

    label_min: float = math.nan
    label_max: float = math.nan
    bits: int = 0
    flags: set[str] = field(default_factory=set)
    values: dict[str, list[str]] = field(default_factory=dict)
    resumable: bool = False
    totals: dict[str, float] = field(default_factory=dict)
    weights: list[Weight] = field(default_factory=list)

    @property
    def adaptive(self) -> bool:
        """Whether each weight comes with its sum of squared gradients G (`--adaptive`)."""
        return "--adaptive" in self.flags or self._by_default

    @property
    def normalized(self) -> bool:
        """Whether each weight comes with its scale s (`--normalized`)."""
        return "--normalized" in self.flags or self._by_default

    @property
    def invariant(self) -> bool:
        """Whether steps are importance-aware."""
        return "--invariant" in self.flags or self._by_default

    @property
    def _by_default(self) -> bool:
        return not self.flags & {"--adaptive", "--normalized", "--invariant", "--sgd"}

    def number(self, option: str, default: float) -> float:
        """The numeric value of an option, or the default."""
        texts = self.values.get(option, [])
        if not texts:
            return default
        return _number(texts[-1], f"the option {option}")


def parse(text: str) -> Readable:
    """Parse the text of a model; raises a ModelFileError that names the problem and its position."""
    if not is_vw_text(text):
        raise ModelFileError("this is not the text of a Vowpal Wabbit model; vw --invert_hash FILE writes one")
    found = Readable()
    lines = ((number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1))
    _head(found, lines)
    if found.resumable:
        _totals(found, lines)
    columns = found.resumable * (found.adaptive + found.normalized)
    for number, line in lines:
        if line:
            found.weights.append(_weight(line, number, columns, 2**found.bits))
    return found


def _head(found: Readable, lines: Iterator[tuple[int, str]]) -> None:
    seen = set()
    for number, line in lines:
        at = f"line {number}"
        key, colon, value = line.partition(":")
        seen.add(key)
        if key == "Min label":
            found.label_min = _number(value, at)
        elif key == "Max label":
            found.label_max = _number(value, at)
        elif key == "bits":
            found.bits = _whole(value, at, 1, 61)
        elif key == "lda":
            if value.strip() != "0":
                raise ModelFileError("this is a topic model (--lda), not a linear one")
        elif match := re.fullmatch(r"(\d+) (ngram|skip)", key):
            if int(match[1]):
                raise ModelFileError(f"it was trained with --{match[2]}, which unitless does not have")
        elif key == "options":
            read_options(found, value)
        elif not key and colon:
            found.resumable = bool(_whole(value, at, 0, 1))
            missing = {"Min label", "Max label", "bits", "options"} - seen
            if missing:
                raise ModelFileError(f"its header has no {', '.join(sorted(missing))}; the text is damaged")
            return
    raise ModelFileError("it ends within its header; the text is damaged")


def read_options(found: Readable, text: str) -> None:
    """The options that a model was trained with, as it stores them."""
    try:
        words = shlex.split(text)
    except ValueError:
        raise ModelFileError("its options cannot be read; it is damaged") from None
    option = ""
    for word in words:
        if re.match(r"--?[a-zA-Z]", word):
            option, _, value = word.partition("=")
            if option in _FLAGS:
                found.flags.add(option)
            elif option not in _VALUES | _HARMLESS:
                raise ModelFileError(
                    f"it was trained with {option}, which unitless does not have; linear models of gradient descent, "
                    "--quadratic and --oaa can be read"
                )
            if value:
                found.values.setdefault(option, []).append(value)
        elif option:
            found.values.setdefault(option, []).append(word)
    for word in words:
        if word in _VALUES and word not in found.values:
            raise ModelFileError(f"its option {word} has no value; it is damaged")


def _totals(found: Readable, lines: Iterator[tuple[int, str]]) -> None:
    for number, line in lines:
        name, _, value = line.rpartition(" ")
        if not name:
            raise ModelFileError(f"line {number} is {line[:40]!r} instead of one of the totals; the text is damaged")
        found.totals[name] = _number(value, f"line {number}")
        if name == "l2_state":
            return
    raise ModelFileError("it ends within its totals; the text is damaged")


def _weight(line: str, number: int, columns: int, places: int) -> Weight:
    at = f"line {number}"
    match = re.fullmatch(r"(?:(.*):)?(\d+):(\S+)((?: \S+)*)", line)
    if match is None:
        raise ModelFileError(f"{at} is {line[:60]!r}, which is not a weight; the text is damaged")
    state = tuple(_number(text, at) for text in match[4].split())
    if len(state) != columns:
        raise ModelFileError(f"{at} has {len(state)} numbers after the weight, not {columns}; the text is damaged")
    if min(state, default=0.0) < 0:
        raise ModelFileError(f"{at} has a negative sum of squares or scale; the text is damaged")
    return Weight(_whole(match[2], at, 0, places - 1), match[1], _number(match[3], at), state, at)


def _number(text: str, where: str) -> float:
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelFileError(f"{where}: {text[:40]!r} is not a finite number")
    return value


def _whole(text: str, where: str, low: int, high: int) -> int:
    if not re.fullmatch(r" *[0-9]{1,19} *", text) or not low <= int(text) <= high:
        raise ModelFileError(f"{where}: {text[:40]!r} is not a whole number from {low} to {high}")
    return int(text)
