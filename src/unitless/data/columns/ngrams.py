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

SHORTEST, LONGEST = 2, 5  # characters of an n-gram

# A column has names, codes or addresses if nearly all of its texts are short and of one or two words, ...
_SHORT, _WORDS, _NEARLY_ALL = 100, 2, 0.9
# ... and if these have something in common, apart from their digits. Either, without digits, they are a few different
# texts, each of which occurs so often. Or the letters depend on their neighbors; how sure this must be:
_OFTEN = 10
_SURE = 2.0
_ENOUGH = 500  # examined texts
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
