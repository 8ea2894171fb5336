"""An extension of griffe, which reads the code for the site: examples are shown as code, and defaults as values.

The section in our docstrings is called "Example:"; griffe expects "Examples:". Where a default is a constant, griffe
would show its name.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from typing import Any

import griffe


class DocstringExamples(griffe.Extension):
    """Rename the section before docstrings are parsed, and put values into signatures."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change one docstring; griffe calls this for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Change the signature of one function. In modules that cannot be imported here, names remain."""
        for parameter in func.parameters:
            if re.fullmatch("[A-Z]+(_[A-Z]+)*", str(parameter.default)):
                with contextlib.suppress(ImportError):
                    value = getattr(importlib.import_module(func.module.path), str(parameter.default))
                    if isinstance(value, int | float | str | tuple):
                        parameter.default = repr(value)
