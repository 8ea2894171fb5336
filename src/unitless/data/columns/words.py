"""Columns of words: a comment, a title, a message. Each word, and each pair of neighbouring words, is a feature.

Words are what scikit-learn's vectorizers take for words: two or more letters, digits or underscores, in lower case. The
core finds them in ASCII text; of any other text it gets the words alone, because Python knows the letters.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np

from ...inputs import TextColumn, WordsColumn

_WORD = re.compile(r"\b\w\w+\b")
_LETTERS = re.compile(r"[^\W\d_]{2}")

# A column looks like words if most of its texts have several, ...
_SEVERAL = 3
# ... most of what stands between blanks are words, and not numbers or codes, ...
_MOSTLY = 0.6
# ... and there are more texts than a column of categories would have: fewer will do if they are long.
_MANY, _FEW, _LONG = 100, 10, 8
_ENOUGH = 500  # texts that are looked at


def looks_like_words(texts: Sequence[str], rows: int | None = None) -> bool:
    """Whether a column holds words, and not names of categories or ids.

    Args:
        texts: the different texts of its first rows.
        rows: how many rows these are, where that is known.

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
    """The words and pairs of words of a text, each once.

    Example:
        >>> from unitless.data.columns.words import found_in
        >>> found_in("Not great, not bad: a 7!")
        ['not', 'great', 'bad', 'not great', 'great not', 'not bad']
    """
    words = _WORD.findall(text.lower())
    return list(dict.fromkeys([*words, *map(" ".join, itertools.pairwise(words))]))


def plain(text: str) -> str:
    """A text in which the core finds the words."""
    return text if text.isascii() else " ".join(_WORD.findall(text.lower()))


def words_column(column: TextColumn) -> WordsColumn:
    """A column of text as one of words."""
    codes, ends, letters = column
    beyond = np.flatnonzero(letters >= 128)
    places = np.unique(np.searchsorted(ends, beyond, "right") - 1)
    changed = places[(places >= 0) & (places < len(ends) - 1)].tolist()
    if not changed:
        return WordsColumn(column)
    raw = letters.tobytes()
    texts = [raw[a:b] for a, b in itertools.pairwise(ends.tolist())]
    for k in changed:
        texts[k] = plain(texts[k].decode()).encode()
    new_ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return WordsColumn(TextColumn(codes, new_ends, np.frombuffer(b"".join(texts), np.uint8)))
