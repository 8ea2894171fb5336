"""The instruction sets that the core was compiled for, and which one new learners use."""

from __future__ import annotations

import os

from .. import _core
from ..errors import OptionError


def kernels() -> list[str]:
    """The instruction sets that this machine can run, slowest first. All give the same bits.

    The environment variable UNITLESS_KERNEL chooses one; otherwise it is the last.
    """
    return _core.kernels()


def chosen_kernel() -> str:
    """The instruction set for new learners."""
    name = os.environ.get("UNITLESS_KERNEL") or kernels()[-1]
    if name not in kernels():
        raise OptionError(f"UNITLESS_KERNEL is {name!r}; this machine runs {', '.join(kernels())}")
    return name
