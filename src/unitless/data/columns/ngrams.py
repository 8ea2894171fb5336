"""Columns of names, codes and addresses: character n-grams are features, 2 to 5 neighboring characters of a word each.

Up to the marks of a word's ends, these are the n-grams of scikit-learn's analyzer "char_wb"; a longer word is a feature
too. The core finds the n-grams of ASCII text. Other text gets its lower case from Python, which knows all letters.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from ...inputs import TextColumn
    from ..labels import RawLabels

SHORTEST, LONGEST = 2, 5  # characters of an n-gram

# A column has names, codes or addresses if nearly all of its texts are short and of one or two words, ...
_SHORT, _WORDS, _NEARLY_ALL = 100, 2, 0.9
# ... and if these have something in common, apart from their digits. Either, without digits, they are a few different
# texts, each of which occurs so often. Or the letters depend on their neighbors; how sure this must be:
_OFTEN = 10
_SURE = 2.0
_ENOUGH = 500  # examined texts

# N-grams predict labels if they remove this share of the squared error. Where they carry nothing, they increase it.
_SKILL = 0.2
_LEAST_ROWS, _MOST_ROWS = 500, 1000  # rows with which this is decided; on few rows other members predict better
_BUCKETS = 4096  # the n-grams of these rows share so many features
_MOST_CLASSES = 20  # numbers with more different values are not classes

_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")


def looks_like_names(texts: Sequence[str]) -> bool:
    """Return whether texts that nearly all differ are names, codes or addresses, and not identifiers.

    Identifiers, such as counters and UUIDs, differ in digits, or in letters that are independent of each other.

    Args:
        texts: the different texts of a column's first rows.

    Example:
        >>> from unitless.data.columns.ngrams import looks_like_names
        >>> looks_like_names([f"{kind}-{number}" for kind in ("LAMP", "CHAIR", "SOFA") for number in range(100, 120)])
        True
        >>> looks_like_names([f"C{number:05}" for number in range(1000)])
        False
    """
    different = list(dict.fromkeys(text.lower() for text in texts))
    examined = random.Random(0).sample(different, min(_ENOUGH, len(different)))
    fit = sum(len(text) <= _SHORT and 1 <= len(text.split()) <= _WORDS for text in examined)
    return fit > 0 and fit >= _NEARLY_ALL * len(examined) and (_stems_repeat(examined) or _letters_depend(examined))


def _stems_repeat(texts: list[str]) -> bool:
    """Return whether texts without their digits are a few different ones, such as codes of products that have kinds."""
    stems = Counter(_DIGITS.sub("0", text) for text in texts)
    often = [count for count in stems.values() if count >= _OFTEN]
    return len(often) > 1 and sum(often) >= _NEARLY_ALL * len(texts)


def _letters_depend(texts: list[str]) -> bool:
    """Return whether the letters of texts depend on their neighbors.

    Then runs of letters have fewer different parts than runs with the same letters at each position in random order.
    The difference is compared with the square root of the number of parts, which exceeds its standard deviation.
    """
    runs = [_LETTERS.findall(text) for text in texts]
    letters: dict[tuple[int, int], list[str]] = {}  # by the number of the run in its text, and the position in the run
    for of_text in runs:
        for i, run in enumerate(of_text):
            for k, letter in enumerate(run):
                letters.setdefault((i, k), []).append(letter)
    chance = random.Random(0)
    for at_position in letters.values():
        chance.shuffle(at_position)
    mixed = [["".join(letters[i, k].pop() for k in range(len(run))) for i, run in enumerate(one)] for one in runs]
    found, by_chance = _parts(runs), _parts(mixed)
    return by_chance > 0 and by_chance - found >= _SURE * math.sqrt(by_chance)


def _parts(runs: list[list[str]]) -> int:
    """Return the number of different sequences of two or three letters."""
    parts = {run[k : k + n] for of_text in runs for run in of_text for n in (2, 3) for k in range(len(run) - n + 1)}
    return len(parts)


def predict_labels(texts: TextColumn, labels: RawLabels) -> bool:
    """Return whether the n-grams of texts predict labels, judged on rows that are left out one at a time.

    This is ridge regression with rows of unit length, in its dual form: the residual of a row that is left out is the
    residual's multiplier divided by the diagonal of the inverse of K + I, where K has the products of the rows.

    Args:
        texts: a column of texts.
        labels: the label of each row.
    """
    from ..labels import Numbers  # noqa: PLC0415  (not needed to find n-grams)

    labeled = np.flatnonzero(labels.present() & ~labels.infinite() & (texts.codes >= 0))
    if len(labeled) < _LEAST_ROWS:
        return False
    rows = np.sort(np.random.default_rng(0).permutation(labeled)[:_MOST_ROWS])
    values = labels.values[rows] if isinstance(labels, Numbers) else labels.codes[rows]
    ranks, counts = np.unique(values, return_inverse=True, return_counts=True)[1:]
    if isinstance(labels, Numbers) and len(counts) > _MOST_CLASSES:
        goal = (np.cumsum(counts) - counts / 2)[ranks][:, None]  # the mean rank of equal labels
    else:
        goal = np.eye(len(counts))[ranks]
    goal = goal - goal.mean(axis=0)
    parts = np.zeros((len(rows), _BUCKETS), np.float32)
    for k, row in enumerate(rows.tolist()):
        buckets = [
            crc32(ngram.encode(errors="replace")) % _BUCKETS for ngram in found_in(texts.value(texts.codes[row]))
        ]
        parts[k, buckets] = len(buckets) ** -0.5
    inverse = np.linalg.inv((parts @ parts.T).astype(np.float64) + np.eye(len(rows)))
    residuals = (inverse @ goal) / np.diag(inverse)[:, None]
    return bool((residuals**2).sum() <= (1 - _SKILL) * (goal**2).sum() and len(counts) > 1)


def found_in(text: str) -> list[str]:
    """Return the n-grams of a text, each once. `<` and `>` mark the ends of its words.

    Example:
        >>> from unitless.data.columns.ngrams import found_in
        >>> found_in("Anna")
        ['<a', 'an', 'nn', 'na', 'a>', '<an', 'ann', 'nna', 'na>', '<ann', 'anna', 'nna>', '<anna', 'anna>', '<anna>']
    """
    found: dict[str, None] = {}
    for word in text.lower().split():
        marked = f"<{word}>"
        for n in range(SHORTEST, min(LONGEST, len(marked)) + 1):
            found |= dict.fromkeys(marked[k : k + n] for k in range(len(marked) - n + 1))
        found[marked] = None
    return list(found)


def plain(text: str) -> str:
    """Return a text in which the core finds the same n-grams."""
    return text if text.isascii() else " ".join(text.lower().split())
