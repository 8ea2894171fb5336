"""The version, from the installed package's metadata: it is written down in pyproject.toml alone."""

import re
from importlib.metadata import version

__version__ = version("unitless")


def is_newer(other: str) -> bool:
    """Whether another version was released after this one; what stands behind the numbers does not count."""
    return _numbers(other) > _numbers(__version__)


def _numbers(text: str) -> tuple[int, ...]:
    found = re.match(r"\d+(?:\.\d+)*", text)
    return () if found is None else tuple(map(int, found[0].split(".")))
