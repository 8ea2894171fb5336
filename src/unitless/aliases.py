"""Public names of modules whose home is a room: whichever name they are imported by, they are the same modules."""

from __future__ import annotations

import importlib
import pkgutil
import sys


def stand_for(name: str, home: str) -> None:
    """Let the module called `name` be the module `home`, and so for each module in it if it is a package."""
    sys.modules[name] = module = importlib.import_module(home)
    for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
        sys.modules[f"{name}.{inner.name}"] = importlib.import_module(f"{home}.{inner.name}")
