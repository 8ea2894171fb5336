"""A contest of scale-free and parameter-free online learners on many tables in raw units.

"A comparative analysis of empirical performance would be interesting to observe", says *Normalized Online Learning* of
its relatives. Since then more of them were published; `unitless paper contest` compares all of them.

A table is a record of `sources`, a learner one of `learners`; `results` computes their losses, `ranking` decides, and
`holding` reports.
"""

from .holding import OPENING, PACKAGES, TITLE, contest, steps
from .table import MOST_ROWS

__all__ = ["MOST_ROWS", "OPENING", "PACKAGES", "TITLE", "contest", "steps"]
