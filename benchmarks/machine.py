"""The machine of a run: processor, memory, compiler, and the versions of all packages that are compared."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import pathlib
import platform
import re

from unitless import _core
from unitless.models.kernels import kernels

PEERS = ("vowpalwabbit", "scikit-learn", "river", "numpy", "scipy", "pandas", "pyarrow", "lightgbm", "fastapi")


def compiler() -> str:
    """The compiler of the core, read from its binary; empty if this information was stripped."""
    binary = pathlib.Path(_core.__file__).read_bytes()
    found = re.search(rb"GCC: \([^)\0]*\) ([\d.]+)|clang version ([\d.]+)", binary)
    return "" if not found else f"GCC {found[1].decode()}" if found[1] else f"Clang {found[2].decode()}"


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    path = pathlib.Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", path.read_text(), re.MULTILINE) if path.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def _memory_gb() -> float | None:
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)


def versions() -> dict[str, str]:
    """The versions of those packages that are installed."""
    found = {}
    for name in PEERS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def describe() -> dict[str, object]:
    return {
        "date": datetime.date.today().isoformat(),
        "processor": _processor(),
        "cores": cores(),
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "compiler": compiler(),
        "kernel": kernels()[-1],
        "versions": versions(),
    }


def sentence(machine: dict) -> str:
    """The description of a machine as one sentence."""
    names = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    memory = f", {machine['memory_gb']:g} GB" if machine["memory_gb"] else ""
    compiled = f", compiled by {machine['compiler']}" if machine["compiler"] else ""
    return (
        f"{machine['cores']} cores of {machine['processor']}{memory}, {machine['system']}, Python {machine['python']}; "
        f"kernel {machine['kernel']}{compiled}; {names}; {machine['date']}."
    )
