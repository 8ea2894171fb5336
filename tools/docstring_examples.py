"""An extension of griffe, which reads the docstrings for the site: examples are shown as code.

Our docstrings call the section "Example:", where griffe knows "Examples:".
"""

from __future__ import annotations

import re
from typing import Any

import griffe


class DocstringExamples(griffe.Extension):
    """Renames the section before docstrings are parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
