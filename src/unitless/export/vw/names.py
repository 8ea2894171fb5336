"""The feature names of VW text, which are needed to load a model that stores only hashes."""

from __future__ import annotations

from typing import Any

from ...data import ReadOptions, open_source
from ...errors import OptionError


def names_in(source: Any) -> list[str]:
    """All names in VW text, in the order of their first occurrence."""
    opened = open_source(source, ReadOptions())
    if not opened.chooses_features:
        raise OptionError(f"is {opened.name}, which is not VW text", option="names")
    found: dict[str, None] = {}
    for chunk in opened.open().chunks():
        found.update(dict.fromkeys(chunk.content.names))
    return list(found)
