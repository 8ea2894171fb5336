"""The progress of a training run: its counts, and the position from which it can continue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import ModelFileError
from .reader import Batch
from .sources.located_rows import Bad, Position

SHOWN_BAD = 20


@dataclass
class Progress:
    """The progress of a training run: its counts, and the position from which it can continue."""

    rows: int = 0  # read in this pass, learned or not
    learned: int = 0  # each row is counted once, even if it is learned in several passes
    skipped: int = 0  # could not be read, or had no usable label
    unlabeled: int = 0  # without a label; not learned
    held: int = 0  # held out
    passes: int = 0  # completed passes
    consumed: int = 0  # bytes of the source in this pass
    seconds: float = 0.0  # since this run began; not stored
    position: Position = field(default_factory=Position)
    within: int = 0  # processed rows of the chunk at `position`
    missing: Counter[str] = field(default_factory=Counter)
    # For each column: the number of invalid values, the place of the first one, and its value.
    invalid_values: dict[str, list[Any]] = field(default_factory=dict)
    bad: list[Bad] = field(default_factory=list)
    done: bool = False

    def read_in(self, batch: Batch) -> None:
        """Count the rows and values of a batch that could not be read."""
        self.skipped += batch.bad_count
        self.missing.update(batch.missing)
        for name, invalid in batch.invalid_values.items():
            self._count_invalid(name, invalid.count, batch.place.at(invalid.row), invalid.value)
        self.bad += batch.bad[: SHOWN_BAD - len(self.bad)]

    def _count_invalid(self, name: str, count: int, place: dict[str, Any], value: str) -> None:
        self.invalid_values.setdefault(name, [0, place, value])[0] += count

    def absorb(self, other: Progress) -> None:
        """Add the counts of another part of the same pass; time, passes and position stay as they are."""
        for name in ("rows", "learned", "skipped", "unlabeled", "held", "consumed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.missing.update(other.missing)
        for name, (count, place, value) in other.invalid_values.items():
            self._count_invalid(name, count, place, value)
        self.bad += other.bad[: SHOWN_BAD - len(self.bad)]

    def begin_pass(self) -> None:
        """Go back to the beginning of the data for the next pass. Rows are held out in the first pass only."""
        self.rows, self.position, self.consumed, self.within = 0, Position(), 0, 0
        self.skipped = self.unlabeled = 0
        self.missing, self.invalid_values, self.bad = Counter(), {}, []

    def renamed(self, names: Mapping[str, str]) -> Progress:
        """Return the progress with other names of the files in which invalid rows and values were found."""
        invalid = {
            column: [count, {**place, "file": names.get(place["file"], place["file"])}, value]
            for column, (count, place, value) in self.invalid_values.items()
        }
        return replace(self, invalid_values=invalid, bad=[bad.renamed(names) for bad in self.bad])

    def plain(self) -> dict[str, Any]:
        """Return the progress in the form in which a model file stores it."""
        numbers = {name: getattr(self, name) for name in _COUNTS}
        return {
            **numbers,
            "position": self.position.plain(),
            "missing": dict(self.missing),
            "invalid_values": {name: list(one) for name, one in self.invalid_values.items()},
            "bad": [[bad.where, bad.problem] for bad in self.bad],
            "done": self.done,
        }

    @classmethod
    def read(cls, plain: Any) -> Progress:
        """Read the progress from a model file and check it."""
        progress: Progress | None
        try:
            file, offset, count = plain["position"]
            progress = cls(
                **{name: _count(plain[name]) for name in _COUNTS},
                position=Position(_count(file), _count(offset), _count(count)),
                missing=Counter({str(name): _count(count) for name, count in plain["missing"].items()}),
                invalid_values={str(name): _read_invalid(one) for name, one in plain["invalid_values"].items()},
                bad=[Bad(str(where), str(problem)) for where, problem in plain["bad"]],
                done=plain["done"],
            )
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
            progress = None
        if progress is None or type(progress.done) is not bool:
            raise ModelFileError("this is not a valid model file: its record of the training is impossible")
        return progress


def _read_invalid(plain: Any) -> list[Any]:
    """Check an entry of `invalid_values` from a model file."""
    count, place, value = plain
    unit = "row" if "row" in place else "line"
    return [_count(count), {"file": str(place["file"]), unit: _count(place[unit])}, str(value)]


def _count(value: Any) -> int:
    """Check a number of rows, bytes or files from a model file."""
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"{value!r} is not a count")
    return value


_COUNTS = ("rows", "learned", "skipped", "unlabeled", "held", "passes", "consumed", "within")
