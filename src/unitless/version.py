"""The version, from the installed package's metadata: it is written down in pyproject.toml alone."""

from importlib.metadata import version

__version__ = version("unitless")
