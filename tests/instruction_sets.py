"""The instruction sets that this machine can run."""

from __future__ import annotations

from unitless.models.kernels import kernels

KERNELS = kernels()
"""The instruction sets, slowest first; the environment variable UNITLESS_KERNEL chooses one."""
