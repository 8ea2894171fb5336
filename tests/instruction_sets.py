"""The instruction sets that this machine can run, and the digests of models with each of them and with more threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from unitless.models.kernels import kernels

KERNELS = kernels()
"""The instruction sets, slowest first; the environment variable UNITLESS_KERNEL chooses one."""


def digests_by_kernel(digest: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What a function returns with each instruction set."""
    found = set()
    for kernel in KERNELS:
        monkeypatch.setenv("UNITLESS_KERNEL", kernel)
        found.add(digest())
    return found


def digests_by_threads(digest: Callable[[], str], counts: tuple[str, ...] = ("1", "2", "4")) -> set[str]:
    """What a function of a test module prints in processes with each number of threads."""
    file = Path(digest.__code__.co_filename)
    folders = [str(file.parent), str(Path(__file__).parent)]
    program = f"import sys; sys.path[:0] = {folders!r}; import {file.stem} as t; print(t.{digest.__name__}())"
    return {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "UNITLESS_THREADS": threads},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for threads in counts
    }
