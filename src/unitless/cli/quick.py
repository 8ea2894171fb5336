"""Arguments of `unitless train` that can be read at first sight.

The library that reads command lines takes longer to import than many files take to learn. So what is plain is read
here; for all else (help, mistakes, other commands) there is nothing here, and the library is asked, which has the last
word on what is allowed. A test holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("target", "task", "positive", "loss", "rule", "rate", "interactions", "bits", "quantile")),
    **dict.fromkeys(("resume", "checkpoint", "weight", "format", "delimiter", "encoding", "model", "plot")),
    **dict.fromkeys(("ignore", "only", "text", "numbers", "metrics")),
    **dict.fromkeys(("no_centre", "no_header", "zero_based", "as_json", "quiet"), False),
    "passes": 1,
    "holdout": 0.0,
    "seed": 0,
    "dates": "error",
    "missing": "absent",
    "on_error": "fail",
}
LISTS = ("ignore", "only", "text", "numbers", "metrics")
NUMBERS: dict[str, tuple[Callable[[str], Any], str]] = {
    **dict.fromkeys(("bits", "passes", "seed", "checkpoint"), (int, r"\d{1,9}")),
    **dict.fromkeys(("quantile", "holdout"), (float, r"\d{0,9}\.?\d{1,9}")),
}
SHORT = {"-t": "target", "-b": "bits", "-m": "model", "-q": "quiet"}
NAMES = {f"--{name.removeprefix('as_').replace('_', '-')}": name for name in DEFAULTS} | SHORT


def read(words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments by name, or None."""
    if not words or words[0] != "train":
        return None
    given: dict[str, Any] = {}
    data: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-") or word == "-":
            data.append(word)
            continue
        option, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        name = NAMES.get(option, "")
        flag = DEFAULTS.get(name) is False
        if not name or (flag and equals) or (name in given and name not in LISTS):
            return None
        if flag:
            given[name] = True
            continue
        value = value if equals else next(rest, "")
        if not value or value.startswith("-"):
            return None
        if name in NUMBERS:
            kind, form = NUMBERS[name]
            if not re.fullmatch(form, value, re.ASCII):
                return None
            given[name] = kind(value)
        elif name in LISTS:
            given.setdefault(name, []).append(value)
        else:
            given[name] = value
    return {**DEFAULTS, **given, "data": data} if data and "" not in data else None
