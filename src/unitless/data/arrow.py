"""pyarrow, imported when it is needed."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import OptionError


def pyarrow(part: str = "") -> Any:
    """The library or a part of it, or an error that says how to get it."""
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError:
        raise OptionError("this needs pyarrow: pip install 'unitless[cli]'") from None
