"""Labels that look like two spellings of one: "Rad Flow", "rad.flow" and "Radiator Flow"; "<=50K" and "<=50K."."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

MOST_COMPARED = 300  # labels of which all pairs are looked at
SHORTEST = 3  # letters of a word that can stand for a longer one
_BETWEEN = re.compile(r"(?<=[^\W_])[\s._\-/]+(?=[^\W_])")  # what stands between letters or digits
_AFTER = re.compile(r"(?<=[^\W_])\.+$")


def spellings(counts: Counter[str]) -> list[tuple[str, str]]:
    """Pairs of labels that look alike, each with the more frequent one first; the most frequent pairs first."""
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
    """The label without what spellings differ in: upper and lower case, and what stands between words.

    One letter or sign can make a difference ("a" and "A", "<5" and ">5"), so such labels stay as they are.
    """
    return _AFTER.sub("", _BETWEEN.sub(" ", value)).casefold() if len(value) > 1 else value


def _abbreviates(short: list[str], long: list[str]) -> bool:
    """Whether some words of the short form are beginnings or initials of those of the long one, and others the same.

    "rad flow" is short for "radiator flow", and "fpv open" for "flow proportioning valve open".
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
