"""Arguments of `unitless train` that can be read at first sight.

The library that reads command lines takes longer to import than many files take to learn. So what is plain is read
here, by the records of the command's options; for everything else (help, mistakes, other commands) the answer is None,
and that library is asked, which decides what is allowed. A test compares the two.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from .train import NAME, OPTIONS

DEFAULTS: dict[str, Any] = {option.name: option.default for option in OPTIONS if not option.argument}
NAMES = {name: option for option in OPTIONS if not option.argument for name in option.names}
FORMS = {int: r"\d{1,9}", float: r"\d{0,9}\.?\d{1,9}"}


def read(words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments by name, or None."""
    if not words or words[0] != NAME:
        return None
    given: dict[str, Any] = {}
    data: list[str] = []
    if any(before == "-q" and len(word) == 2 and word[0] != "-" for before, word in itertools.pairwise(words)):
        return None  # products as Vowpal Wabbit writes them, perhaps
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-") or word == "-":
            data.append(word)
            continue
        written, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = NAMES.get(written)
        if option is None or (option.kind is bool and equals) or (option.name in given and not option.many):
            return None
        if option.kind is bool:
            given[option.name] = written != option.off
            continue
        value = value if equals else next(rest, "")
        if not value or value.startswith("-"):
            return None
        if option.kind in FORMS:
            if not re.fullmatch(FORMS[option.kind], value, re.ASCII):
                return None
            given[option.name] = option.kind(value)
        elif option.many:
            given.setdefault(option.name, []).append(value)
        else:
            given[option.name] = value
    return {**DEFAULTS, **given, "data": data} if data and "" not in data else None
