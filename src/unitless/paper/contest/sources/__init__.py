"""All tables of the contest."""

from __future__ import annotations

from ..table import Table
from . import data_directory, packages, synthetic

TABLES: list[Table] = [*data_directory.TABLES, *packages.TABLES, *synthetic.TABLES]
