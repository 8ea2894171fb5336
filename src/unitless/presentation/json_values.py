"""Results as values that JSON has: what `asdict` of results and the answers of the server are made with."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Return a value as JSON has it, also inside of lists and mappings.

    NaN and infinite numbers become None, keys become text, and records become mappings of their fields.

    Example:
        >>> plain({"rmse": float("nan"), 3: (1.5, "high")})
        {'rmse': None, '3': [1.5, 'high']}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if dataclasses.is_dataclass(value):
        return named(value, *(field.name for field in dataclasses.fields(value)))
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def named(source: Any, *names: str) -> dict[str, Any]:
    """Return attributes by name, as JSON has their values."""
    return {name: plain(getattr(source, name)) for name in names}
