"""Parse the file that `vw -f` writes of a linear model. Numbers are little-endian, texts end with a zero byte.

text version, text id, the letter m, float range of labels (2), uint32 bits, lda, how many ngrams, how many skips,
text options, text checksum, then one byte, 1: the state for further learning comes next (_TOTALS); 0: only weights.
After that weights up to the end: uint32 place (uint64 from 31 bits on), float weight, G of adaptive and s of normalized
learning. It has places alone, and no names of features; --invert_hash writes them.
"""

from __future__ import annotations

import math
import struct

import numpy as np

from ...errors import ModelFileError
from ...models.foreign import is_vw_file
from . import readable
from .readable import Readable, Weight

# The totals that learning needs, by their names in the text format, with their types.
_TOTALS = (
    ("initial_t", "f"),
    ("norm normalizer", "d"),
    ("t", "d"),
    ("sum_loss", "d"),
    ("sum_loss_since_last_dump", "d"),
    ("dump_interval", "f"),
    ("min_label", "f"),
    ("max_label", "f"),
    ("weighted_labeled_examples", "d"),
    ("weighted_labels", "d"),
    ("weighted_unlabeled_examples", "d"),
    ("example_number", "Q"),
    ("total_features", "Q"),
    ("total_weight", "d"),
    ("sd::oec.weighted_labeled_examples", "d"),
    ("current_pass", "Q"),
    ("l1_state", "d"),
    ("l2_state", "d"),
)
_OLDEST = 9  # earlier versions store their totals in another order
_INSTEAD = "load it with vw -i, write its text with --invert_hash, and convert that"


def parse(data: bytes) -> Readable:
    """Parse the file; raises a ModelFileError that names the problem."""
    if not is_vw_file(data):
        raise ModelFileError("this is not a file of a Vowpal Wabbit model, which begins with its version")
    found, file = Readable(), _File(data)
    version = file.text()
    if int(version.partition(".")[0]) < _OLDEST:
        raise ModelFileError(
            f"it was written by Vowpal Wabbit {version}, whose files cannot be read directly; {_INSTEAD}"
        )
    file.text()  # the model's id
    if file.number("c") != b"m":
        raise ModelFileError("its header has no m after the version; the file is damaged")
    found.label_min, found.label_max = file.finite("f"), file.finite("f")
    found.bits = int(file.number("I"))
    if not 1 <= found.bits <= 61:
        raise ModelFileError(f"it gives {found.bits} as the number of bits; the file is damaged")
    for option in ("lda", "ngram", "skips"):
        if file.number("I"):
            raise ModelFileError(f"it was trained with --{option}, which unitless does not have")
    readable.read_options(found, file.text())
    file.skip(int(file.number("I")))  # the checksum of the options above
    found.resumable = file.number("B") == 1
    if found.resumable:
        found.totals = {name: file.finite(kind) for name, kind in _TOTALS}
        if (found.totals["min_label"], found.totals["max_label"]) != (found.label_min, found.label_max):
            raise ModelFileError(f"what it needs to continue is stored in another way than expected; {_INSTEAD}")
    _weights(found, file.rest())
    return found


def _weights(found: Readable, data: bytes) -> None:
    columns = found.resumable * (found.adaptive + found.normalized)
    record = np.dtype([("place", "<u4" if found.bits < 31 else "<u8"), ("weight", "<f4"), ("state", "<f4", (columns,))])
    if len(data) % record.itemsize:
        raise ModelFileError("it does not end with a whole weight; the file is damaged")
    weights = np.frombuffer(data, record)
    if (weights["place"] >= 2**found.bits).any():
        raise ModelFileError(f"it has a weight beyond its 2^{found.bits} places; the file is damaged")
    if not (np.isfinite(weights["weight"]).all() and np.isfinite(weights["state"]).all()):
        raise ModelFileError("it has a weight that is not a finite number")
    if (weights["state"] < 0).any():
        raise ModelFileError("it has a negative sum of squares or scale; the file is damaged")
    found.weights = [
        Weight(int(place), None, float(value), tuple(map(float, state)), f"weight {number}")
        for number, (place, value, state) in enumerate(weights.tolist(), 1)
    ]


class _File:
    """Reads the bytes of a file in order."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def skip(self, size: int) -> bytes:
        """Return the next bytes."""
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise ModelFileError("it ends within its header; the file is damaged")
        self._at += size
        return taken

    def number(self, kind: str) -> int | float | bytes:
        """Read a number, in a format of `struct`."""
        taken: int | float | bytes = struct.unpack(f"<{kind}", self.skip(struct.calcsize(f"<{kind}")))[0]
        return taken

    def finite(self, kind: str) -> float:
        """Read a number, which must be finite."""
        number = float(self.number(kind))
        if not math.isfinite(number):
            raise ModelFileError("its header has a number that is not finite; the file is damaged")
        return number

    def text(self) -> str:
        """Read a text."""
        try:
            return self.skip(int(self.number("I"))).removesuffix(b"\0").decode()
        except UnicodeError:
            raise ModelFileError("its header has a text that is not UTF-8; the file is damaged") from None

    def rest(self) -> bytes:
        """Return the remaining bytes."""
        return self._data[self._at :]
