"""How far a training run has come: counts, and where to go on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..data import Bad, Batch, Position
from ..errors import ModelFileError

SHOWN_BAD = 20


@dataclass
class Progress:
    """How far a run has come."""

    rows: int = 0  # read in this pass, whether learned or not
    learned: int = 0  # in all passes
    skipped: int = 0  # could not be read, or had no usable label
    unlabelled: int = 0  # VW text without label: predicted, not learned
    held: int = 0  # kept for the hold-out
    passes: int = 0  # finished ones
    consumed: int = 0  # bytes of the source in this pass
    seconds: float = 0.0
    position: Position = field(default_factory=Position)
    within: int = 0  # rows of the piece at `position` that are done
    missing: Counter[str] = field(default_factory=Counter)
    bad: list[Bad] = field(default_factory=list)
    done: bool = False

    def read_in(self, batch: Batch) -> None:
        """Count what could not be read."""
        self.skipped += batch.bad_count
        self.missing.update(batch.missing)
        self.bad += batch.bad[: SHOWN_BAD - len(self.bad)]

    def plain(self) -> dict[str, Any]:
        """For a model file."""
        numbers = {name: getattr(self, name) for name in _COUNTS}
        return {
            **numbers,
            "seconds": self.seconds,
            "position": self.position.plain(),
            "missing": dict(self.missing),
            "bad": [[bad.where, bad.problem] for bad in self.bad],
            "done": self.done,
        }

    @classmethod
    def read(cls, plain: Any) -> Progress:
        """From a model file, which is trusted in nothing."""
        try:
            progress = cls(
                **{name: int(plain[name]) for name in _COUNTS},
                seconds=float(plain["seconds"]),
                position=Position(*map(int, plain["position"])),
                missing=Counter({str(name): int(count) for name, count in plain["missing"].items()}),
                bad=[Bad(str(where), str(problem)) for where, problem in plain["bad"]],
                done=bool(plain["done"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ModelFileError("the file is no valid model: training that is none") from None
        if min(getattr(progress, name) for name in _COUNTS) < 0 or min(progress.position.plain()) < 0:
            raise ModelFileError("the file is no valid model: training that is none")
        return progress


_COUNTS = ("rows", "learned", "skipped", "unlabelled", "held", "passes", "consumed", "within")
