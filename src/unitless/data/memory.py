"""How much memory may be used: a size that the user gives, or a quarter of the machine's memory."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import OptionError

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGTP", start=1):
    _UNITS |= {_letter: 1024**_power, f"{_letter}IB": 1024**_power, f"{_letter}B": 1000**_power}
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*")
FALLBACK = 1 << 30
LEAST = 1 << 20


def memory_size(size: int | str | None) -> int:
    """Return a number of bytes; the size may be a text with a unit.

    Args:
        size: a whole number of bytes, or a text such as "512MB" (millions of bytes) or "2 GiB" (powers of 1024). None
            stands for a quarter of the machine's memory.

    Example:
        >>> memory_size("2GB"), memory_size("512 MiB"), memory_size(1_000_000)
        (2000000000, 536870912, 1000000)
    """
    if size is None:
        return default_memory()
    count = byte_count(size)
    if count is None:
        raise OptionError(f"is {size!r}; write it like '2GB', '512MB' or '4 GiB', or as a number", option="memory")
    if count < LEAST:
        raise OptionError(f"is {size!r}, which is {count:,} bytes; it must be at least 1 MiB", option="memory")
    return count


def byte_count(size: int | str) -> int | None:
    """Return a size in bytes, which may be a text with a unit; None if it is not a size."""
    if isinstance(size, str):
        found = _SIZE.fullmatch(size.strip())
        unit = _UNITS.get(found[2].upper()) if found else None
        return None if found is None or unit is None else int(float(found[1]) * unit)
    return size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None


def default_memory() -> int:
    """Return a quarter of the memory that is available to this process."""
    known = [size for size in (_machine(), _container(), _limit()) if size is not None]
    return max(LEAST, min(known) // 4) if known else FALLBACK


def _machine() -> int | None:
    """Return the size of the machine's memory; None if it is unknown."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # on Windows, the code below is used
        return _windows()
    return size if size > 0 else None


def _windows() -> int | None:
    try:
        import ctypes  # noqa: PLC0415  (used on Windows only)

        class Status(ctypes.Structure):
            _fields_ = (
                ("length", ctypes.c_ulong),
                ("load", ctypes.c_ulong),
                *((name, ctypes.c_ulonglong) for name in ("total", "free", "a", "b", "c", "d", "e")),
            )

        status = Status(length=ctypes.sizeof(Status))
        known = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    except (ImportError, AttributeError, OSError):
        return None
    return int(status.total) if known else None


def _container(root: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup") -> int | None:
    """Return the limit of the Linux control groups of this process, its parents included; None without a limit."""
    found = []
    try:
        groups = [line.strip().split(":", 2) for line in Path(own).read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        groups = []
    paths = {Path(root): "memory.max", Path(root) / "memory": "memory.limit_in_bytes"}
    for _, kinds, path in (group for group in groups if len(group) == 3):
        if kinds and "memory" not in kinds.split(","):
            continue
        top, name = (Path(root) / "memory", "memory.limit_in_bytes") if kinds else (Path(root), "memory.max")
        here = top / path.lstrip("/")
        paths |= {folder: name for folder in (here, *here.parents) if folder.is_relative_to(top)}
    for folder, name in paths.items():
        try:
            found.append(int((folder / name).read_text(encoding="ascii")))
        except (OSError, ValueError):  # "max" means no limit
            continue
    return min((size for size in found if 0 < size < 1 << 60), default=None)


def _limit() -> int | None:
    """Return the limit of `ulimit -v`; None without a limit."""
    try:
        import resource  # noqa: PLC0415  (not available on Windows)

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError, ValueError):
        return None
    return soft if 0 < soft < 1 << 60 else None
