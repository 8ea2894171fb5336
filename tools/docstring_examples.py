"""An extension of griffe, which reads the docstrings for the site, so that examples are shown as code.

The section in our docstrings is called "Example:"; griffe expects "Examples:".
"""

from __future__ import annotations

import re
from typing import Any

import griffe


class DocstringExamples(griffe.Extension):
    """Rename the section before docstrings are parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change one docstring; griffe calls this for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
