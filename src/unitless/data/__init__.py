"""Reads data of any kind in batches: files, frames, matrices, mappings."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .columns.schema import Schema
    from .labels import Target
    from .read_options import ReadOptions
    from .reader import Batch, Reader
    from .sources.located_rows import Bad, Position
    from .sources.open_data import open_source
    from .sources.source import Source

__all__ = ["Bad", "Batch", "Position", "ReadOptions", "Reader", "Schema", "Source", "Target", "open_source"]

# The module that defines each name. A module is imported when one of its names is first used, because help texts list
# the formats and need nothing else.
_HOMES = {
    "Bad": "sources.located_rows",
    "Batch": "reader",
    "Position": "sources.located_rows",
    "ReadOptions": "read_options",
    "Reader": "reader",
    "Schema": "columns.schema",
    "Source": "sources.source",
    "Target": "labels",
    "open_source": "sources.open_data",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unitless.data' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
