"""The numbers that the paper prints.

Best rates and losses of Tables 2 and 3, with the bold ones, and names of rules.
"""

from __future__ import annotations

from typing import NamedTuple

from ...rules import RULES

RULE_NAMES: dict[str, str] = {rule.name: rule.paper for rule in RULES.values()}


class Cell(NamedTuple):
    """A best rate and its loss, as printed."""

    rate: float
    loss: float


class Line(NamedTuple):
    """One line of a table: the normalized rule and AG.

    `bold` tells whether the normalized rule's loss is bold, or neither.
    """

    normalized: Cell
    ag: Cell
    bold: bool = False


# By dataset: the line for the raw data, and the line for the data with every feature divided by its scale.
TABLE2 = {
    "bank": (Line(Cell(0.55, 0.098), Cell(5.5e-5, 0.109), True), Line(Cell(0.55, 0.099), Cell(0.061, 0.099))),
    "census": (Line(Cell(0.2, 0.050), Cell(1.2e-6, 0.054), True), Line(Cell(0.25, 0.050), Cell(8.3e-3, 0.051))),
    "covertype": (Line(Cell(1.5, 0.27), Cell(5.6e-7, 0.32), True), Line(Cell(1.5, 0.27), Cell(0.2, 0.27))),
    "ctslice": (Line(Cell(2.7, 0.0023), Cell(0.022, 0.0023)), Line(Cell(2.7, 0.0023), Cell(0.022, 0.0023))),
    "msd": (Line(Cell(9.0, 0.0110), Cell(5.5e-7, 0.0130), True), Line(Cell(9.0, 0.0110), Cell(6.0, 0.0108))),
    "shuttle": (Line(Cell(7.4, 0.036), Cell(7.5e-4, 0.040)), Line(Cell(7.4, 0.036), Cell(16.4, 0.035))),
}
"""NAG against AG; pre-normalized by the largest absolute value of each feature."""

TABLE3 = {
    "bank": (Line(Cell(0.3, 0.098), Cell(5.5e-5, 0.109), True), Line(Cell(0.3, 0.098), Cell(0.033, 0.097))),
    "census": (Line(Cell(0.11, 0.050), Cell(1.2e-6, 0.054), True), Line(Cell(0.11, 0.050), Cell(1.6e-3, 0.048))),
    "covertype": (Line(Cell(2.2, 0.28), Cell(5.6e-7, 0.32), True), Line(Cell(2.7, 0.28), Cell(0.04, 0.28))),
    "ctslice": (Line(Cell(2.7, 0.0019), Cell(0.022, 0.0023), True), Line(Cell(2.7, 0.0019), Cell(0.0067, 0.0019))),
    "msd": (Line(Cell(7.4, 0.0119), Cell(5.5e-7, 0.0130)), Line(Cell(7.4, 0.0118), Cell(0.05, 0.0120))),
    "shuttle": (Line(Cell(11.0, 0.026), Cell(7.5e-4, 0.040), True), Line(Cell(9.0, 0.026), Cell(0.818, 0.026))),
}
"""sNAG against AG; pre-normalized by the root of each feature's second moment."""
