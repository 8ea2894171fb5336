"""The names of features that VW text has: what a model that stores only hashes is read with."""

from __future__ import annotations

from typing import Any

from ...data import ReadOptions, open_source
from ...errors import OptionError


def names_in(source: Any) -> list[str]:
    """All names in VW text, in the order in which they are met."""
    opened = open_source(source, ReadOptions())
    if not opened.chooses_features:
        raise OptionError(f"is {opened.name}, which is not VW text", option="names")
    found: dict[str, None] = {}
    for chunk in opened.open().chunks():
        found.update(dict.fromkeys(chunk.content.names))
    return list(found)
