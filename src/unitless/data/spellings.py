"""Finds labels that may be spellings of the same label: "Rad Flow" and "Radiator Flow"; "<=50K" and "<=50K."."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

MOST_COMPARED = 300  # all pairs of so many labels are compared
SHORTEST = 3  # letters of a word that can abbreviate a longer one
_BETWEEN = re.compile(r"(?<=[^\W_])[\s._\-/]+(?=[^\W_])")  # separators between letters or digits
_AFTER = re.compile(r"(?<=[^\W_])\.+$")


def spellings(counts: Counter[str]) -> list[tuple[str, str]]:
    """Return pairs of similar labels, the more frequent one first; the most frequent pairs come first."""
    by_form: dict[str, list[str]] = defaultdict(list)
    for value, _ in counts.most_common():
        by_form[_form(value)].append(value)
    pairs = [(values[0], other) for values in by_form.values() for other in values[1:]]
    if len(by_form) <= MOST_COMPARED:
        forms = [(form.split(), values[0]) for form, values in by_form.items()]
        for k, (words, value) in enumerate(forms):
            for other_words, other in forms[k + 1 :]:
                if _abbreviates(words, other_words) or _abbreviates(other_words, words):
                    pairs.append((value, other))
    return sorted(pairs, key=lambda pair: -counts[pair[0]])


def _form(value: str) -> str:
    """Return a label without case and separators, in which spellings often differ.

    A single letter or sign can change the meaning ("a" and "A", "<5" and ">5"), so such labels are returned unchanged.
    """
    return _AFTER.sub("", _BETWEEN.sub(" ", value)).casefold() if len(value) > 1 else value


def _abbreviates(short: list[str], long: list[str]) -> bool:
    """Return whether the short form abbreviates the long one: each word is equal, a prefix, or initials.

    "rad flow" abbreviates "radiator flow", and "fpv open" abbreviates "flow proportioning valve open".
    """
    return len(long) > 1 and short != long and len(set(short) & set(long)) > 0 and _fits(short, long)


def _fits(short: list[str], long: list[str]) -> bool:
    if not short or not long:
        return short == long
    word = short[0]
    if (word == long[0] or _begins(word, long[0])) and _fits(short[1:], long[1:]):
        return True
    initials = "".join(part[0] for part in long[: len(word)])
    return len(word) > 1 and word.isalpha() and word == initials and _fits(short[1:], long[len(word) :])


def _begins(word: str, longer: str) -> bool:
    return len(word) >= SHORTEST and word.isalpha() and longer.isalpha() and longer.startswith(word)
