"""How the data is learned: as a fit or as a stream, in how many passes, with which hold-out, saved to which file."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from ..errors import Option, OptionError, Phrase
from ..models import file as model_file
from ..models.error_quantiles import checked_level
from ..options import USUAL_LEVEL

Holdout: TypeAlias = float | Literal["last"] | None
PassCount: TypeAlias = int | Literal["auto"] | None

HOLDOUT = 0.1  # the default fraction of the rows that are held out
MOST_HELD_OUT = 20_000  # the most rows that are held out by default
# A tenth of a small table tells little about a model: then up to so many rows are held out, at most this fraction.
LEAST_HELD_OUT, MOST_OF_SMALL = 100, 0.2
ENOUGH = 5  # with fewer held-out rows the weights cannot be compared
# passes="auto" makes at least as many passes as it takes to learn 10,000 rows, but never more than 20 for this reason.
SEEN, FIRST_PASSES = 10_000, 20
# It makes at most as many passes as it takes to learn 20 million rows, and at most 100.
MOST_LEARNED, MOST_PASSES = 20_000_000, 100
# For models with curves and trees it makes at most 20 passes.
MOST_NONLINEAR_PASSES = 20


@dataclass(frozen=True)
class Plan:
    """The arguments of `train` about passes, hold-out, order and output, checked.

    None stands for the default: for a fit, passes until they no longer help ("auto") and a tenth of the rows held out;
    for a stream, one pass and no hold-out.
    """

    passes: PassCount = None
    holdout: Holdout = None
    random_state: int = 0
    output: str | None = None
    checkpoint: int | None = None
    shuffle: bool = True
    memory: int | None = None
    learn_holdout: bool = True
    level: float = USUAL_LEVEL
    groups: Any = field(default=None, compare=False)  # the name of a column, or the group of each row

    def __post_init__(self) -> None:
        whole = isinstance(self.passes, int | np.integer) and not isinstance(self.passes, bool)
        if self.passes not in (None, "auto") and not (whole and int(self.passes) >= 1):
            raise OptionError(f"is {self.passes!r}; it must be a whole number, 1 or more, or auto", option="passes")
        if self.holdout not in (None, "last") and not _is_share(self.holdout):
            raise OptionError(
                f"is {self.holdout!r}; it must be a fraction of the rows, from 0 to less than 1, or last",
                option="holdout",
            )
        if type(self.random_state) is not int or not -(2**63) <= self.random_state < 2**63:
            raise OptionError(
                f"is {self.random_state!r}; it must be a whole number of at most 63 bits", option="random_state"
            )
        for name in ("shuffle", "learn_holdout"):
            if type(getattr(self, name)) is not bool:
                raise OptionError(f"is {getattr(self, name)!r}; it must be True or False", option=name)
        if self.checkpoint is not None and (type(self.checkpoint) is not int or self.checkpoint < 1):
            raise OptionError(f"is {self.checkpoint!r}; it must be a number of rows, 1 or more", option="checkpoint")
        if self.checkpoint is not None and self.output is None:
            raise OptionError(
                Phrase(Option("checkpoint"), " needs ", Option("output")), advice="give the file to save the model to"
            )
        checked_level(self.level)
        if self.output is not None:
            model_file.check_writable(self.output)
        self._check_together()

    def _check_together(self) -> None:
        """Refuse arguments that contradict each other."""
        if self.shuffle and self.holdout == "last":
            raise OptionError(
                Phrase(Option("holdout", "last"), " holds out the end of the data, so the rows must stay in order: ")
                + Phrase("give ", Option("shuffle", False), " as well")
            )
        if self.shuffle and self.passes == "auto" and self.holdout == 0:
            raise OptionError(
                Phrase(Option("passes", "auto"), " needs held-out rows, but ", Option("holdout"), " is 0")
                + Phrase(": give a number of passes, or leave out ", Option("holdout"))
            )
        if not self.shuffle and self.groups is not None:
            raise OptionError(
                Phrase(Option("groups"), " is for rows that are held out at random: leave it out, or leave out ")
                + Phrase(Option("shuffle", False))
            )
        if not self.shuffle and self.passes == "auto":
            raise OptionError(
                Phrase(Option("passes", "auto"), " is for rows in random order; give a number, or leave out ")
                + Phrase(Option("shuffle", False))
            )

    def held_rows(self, rows: int) -> int:
        """How many of `rows` rows are held out."""
        if self.holdout not in (None, "last"):
            return int(float(self.holdout) * rows)
        held = max(int(HOLDOUT * rows), min(LEAST_HELD_OUT, int(MOST_OF_SMALL * rows)))
        return 0 if held < ENOUGH else min(held, MOST_HELD_OUT)

    @property
    def is_auto(self) -> bool:
        """Whether a fit makes passes until they no longer help."""
        return self.passes == "auto" or self.passes is None

    def most_passes(self, rows: int) -> int:
        """The largest number of passes of a fit of `rows` rows."""
        if self.is_auto:
            return min(MOST_PASSES, max(1, MOST_LEARNED // max(1, rows)))
        return int(self.passes)  # type: ignore[arg-type]

    def least_passes(self, rows: int) -> int:
        """The smallest number of passes of a fit of `rows` rows."""
        return min(FIRST_PASSES, math.ceil(SEEN / max(1, rows))) if self.is_auto else self.most_passes(rows)

    def plain(self, fitted: bool) -> dict[str, Any]:
        """The settings that must be the same when training is resumed, as a model file stores them."""
        holdout = self.holdout
        return {
            "way": "fit" if fitted else "follow",
            "passes": self.passes if self.passes is None or self.passes == "auto" else int(self.passes),
            "holdout": float(holdout).hex() if isinstance(holdout, int | float | np.number) else holdout,
            "random_state": self.random_state,
            "learn_holdout": self.learn_holdout,
            "level": float(self.level).hex(),
            "groups": None
            if self.groups is None
            else str(self.groups)
            if isinstance(self.groups, str | int)
            else "given",
        }


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and 0 <= float(value) < 1
