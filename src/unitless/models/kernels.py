"""The instruction sets that the core was compiled for, and the one that new learners use."""

from __future__ import annotations

import os

from .. import _core
from ..errors import OptionError


def kernels() -> list[str]:
    """Return the instruction sets that this machine supports, slowest first. All compute exactly the same results.

    New learners use the last one, unless the environment variable UNITLESS_KERNEL names another one.
    """
    return _core.kernels()


def chosen_kernel() -> str:
    """Return the instruction set that new learners use."""
    name = os.environ.get("UNITLESS_KERNEL") or kernels()[-1]
    if name not in kernels():
        raise OptionError(f"UNITLESS_KERNEL is {name!r}; this machine runs {', '.join(kernels())}")
    return name
