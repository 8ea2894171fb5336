"""The version, read from the metadata of the installed package; it is written in pyproject.toml only."""

import re
from importlib.metadata import version

__version__ = version("unitless")


def is_newer(other: str) -> bool:
    """Return whether another version is newer than this one; suffixes such as "rc1" are ignored."""
    return _numbers(other) > _numbers(__version__)


def _numbers(text: str) -> tuple[int, ...]:
    found = re.match(r"\d+(?:\.\d+)*", text)
    return () if found is None else tuple(map(int, found[0].split(".")))
