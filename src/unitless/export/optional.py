"""Import the libraries that exported models are made with."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import OptionError

# By library: its name for people, and what to install, where they differ from the name of the module.
_INSTALLED_AS = {"sklearn": ("scikit-learn", "scikit-learn"), "onnx": ("onnx", "'unitless[onnx]'")}


def library(module: str) -> Any:
    """A module of an optional library; if it is missing, the error tells how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        title, package = _INSTALLED_AS.get(name, (name, name))
        raise OptionError(f"this needs {title}: pip install {package}") from None
