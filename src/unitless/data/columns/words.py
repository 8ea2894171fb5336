"""Columns of words: comments, titles, messages. Each word and each pair of neighboring words is a feature.

Words are defined as in scikit-learn's vectorizers: two or more letters, digits or underscores, in lower case. The core
finds the words of ASCII text. For other text, Python finds the words, because it knows all letters.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np

from ...inputs import TextColumn, WordsColumn
from .ngrams import plain as ngrams_plain

_WORD = re.compile(r"\b\w\w+\b")
_LETTERS = re.compile(r"[^\W\d_]{2}")

# A column has words if most of its texts have several of them, ...
_SEVERAL = 3
# ... most parts between blanks are words, not numbers or codes, ...
_MOSTLY = 0.6
# ... and there are more different texts than a column of categories would have; long texts may be fewer.
_MANY, _FEW, _LONG = 100, 10, 8
_ENOUGH = 500  # examined texts


def looks_like_words(texts: Sequence[str], rows: int | None = None) -> bool:
    """Return whether a column has words, and not categories or identifiers.

    Args:
        texts: the different texts of its first rows.
        rows: the number of these rows. Default: None, unknown.

    Example:
        >>> from unitless.data.columns.words import looks_like_words
        >>> looks_like_words(["Never married", "Divorced", "Widowed", "Married, spouse absent"] * 5)
        False
        >>> looks_like_words([f"the room on floor {i} was clean and the staff was kind" for i in range(20)])
        True
    """
    different = list(dict.fromkeys(texts))
    if len(different) < _FEW:
        return False
    looked_at = different[:: max(1, len(different) // _ENOUGH)]
    pieces = [text.split() for text in looked_at]
    counts = [sum(_LETTERS.search(piece) is not None for piece in of_text) for of_text in pieces]
    several = sum(count >= _SEVERAL for count in counts) >= 0.5 * len(counts)
    mostly = sum(counts) >= _MOSTLY * sum(map(len, pieces))
    if not (several and mostly):
        return False
    nearly_all_differ = rows is not None and 2 * len(different) >= rows
    return len(different) >= _MANY or nearly_all_differ or sorted(counts)[len(counts) // 2] >= _LONG


def found_in(text: str) -> list[str]:
    """Return the words and pairs of words of a text, each once.

    Example:
        >>> from unitless.data.columns.words import found_in
        >>> found_in("Not great, not bad: a 7!")
        ['not', 'great', 'bad', 'not great', 'great not', 'not bad']
    """
    words = _WORD.findall(text.lower())
    return list(dict.fromkeys([*words, *map(" ".join, itertools.pairwise(words))]))


def plain(text: str) -> str:
    """Return a text in ASCII in which the core finds the same words."""
    return text if text.isascii() else " ".join(_WORD.findall(text.lower()))


def words_column(column: TextColumn, ngrams: bool = False) -> WordsColumn:
    """Convert a column of text to a column of words or n-grams.

    Args:
        column: the text.
        ngrams: whether n-grams are features. Default: False, words are.
    """
    plain_text = ngrams_plain if ngrams else plain
    codes, ends, letters = column
    beyond = np.flatnonzero(letters >= 128)
    places = np.unique(np.searchsorted(ends, beyond, "right") - 1)
    changed = places[(places >= 0) & (places < len(ends) - 1)].tolist()
    if not changed:
        return WordsColumn(column, ngrams)
    raw = letters.tobytes()
    texts = [raw[a:b] for a, b in itertools.pairwise(ends.tolist())]
    for k in changed:
        texts[k] = plain_text(texts[k].decode()).encode()
    new_ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return WordsColumn(TextColumn(codes, new_ends, np.frombuffer(b"".join(texts), np.uint8)), ngrams)
