"""The losses of all learners on all tables; stored as they are computed, so that an interrupted contest continues."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import pathlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import DatasetError
from ..experiments.kept_results import Kept
from ..experiments.lab import Lab
from ..experiments.section import Record
from .best_linear import best_linear_loss
from .judge import judge
from .learners import Contestant
from .table import Rows, Source, Table, Task


@dataclasses.dataclass(frozen=True)
class Result(Record):
    """The losses of one learner on one table.

    Attributes:
        table, source, task: the table.
        rows, features: its size, as it was learned.
        learner: the learner's name.
        loss: the progressive loss without tuning: log loss, or squared error over the squared range of labels.
        error: the share of wrong classes; for numbers the loss.
        tuned_loss: the loss with the best value of the parameter in hindsight.
        tuned_value: that value; None if there is no parameter.
        best_linear: the loss of the best linear predictor in hindsight.
        seconds: the CPU time of all values of the parameter, when they were computed.
    """

    table: str
    source: Source
    task: Task
    rows: int
    features: int
    learner: str
    loss: float
    error: float
    tuned_loss: float
    tuned_value: float | None
    best_linear: float
    seconds: float

    @property
    def regret(self) -> float:
        """The loss per row above that of the best linear predictor in hindsight."""
        return self.loss - self.best_linear


@dataclasses.dataclass(frozen=True)
class Missing:
    """A table that is not there, and why."""

    table: str
    why: str


def results(lab: Lab, tables: Sequence[Table], learners: Sequence[Contestant]) -> tuple[list[Result], list[Missing]]:
    """All results, and the tables that are not there."""
    found: list[Result] = []
    missing: list[Missing] = []
    for table in tables:
        try:
            rows = table.rows(lab.directory)
        except DatasetError as error:
            missing.append(Missing(table.name, str(error)))
            for learner in learners:
                _tell(lab, table, learner)
            continue
        rows = Rows(rows.X[: lab.comparison_rows], rows.y[: lab.comparison_rows], rows.task)
        found += _of_table(lab, table, rows, learners)
    return found, missing


def _of_table(lab: Lab, table: Table, rows: Rows, learners: Sequence[Contestant]) -> list[Result]:
    content = _digest(rows)
    best = kept(lab.kept, {"table": content, "best linear": True}, lambda: best_linear_loss(rows))
    found = []
    for learner in learners:
        compute = functools.partial(_losses, rows, learner)
        answer = kept(lab.kept, {"table": content, "learner": learner.name, "grid": list(learner.grid)}, compute)
        found.append(
            Result(
                table.name,
                table.source,
                table.task,
                len(rows.y),
                rows.X.shape[1],
                learner.name,
                **answer,
                best_linear=best,
            )
        )
        _tell(lab, table, learner)
    return found


def _losses(rows: Rows, learner: Contestant) -> dict[str, Any]:
    start = time.process_time()
    judged = judge(rows, learner.scores(rows, learner.grid))
    seconds = time.process_time() - start
    best = int(np.argmin(judged.losses))
    return {
        "loss": float(judged.losses[learner.default_place]),
        "error": float(judged.errors[learner.default_place]),
        "tuned_loss": float(judged.losses[best]),
        "tuned_value": learner.grid[best] if learner.grid else None,
        "seconds": seconds,
    }


def kept(store: Kept, question: dict[str, Any], compute: Any) -> Any:
    """A stored result, or a new one; it depends on the program of the contest as well."""
    return store.get({"contest": _program(), **question}, compute)


PACKAGE = pathlib.Path(__file__).parents[2]
PROGRAM = (
    *("inputs.py", "locks.py", "losses.py", "options.py", "rules.py", "models/*.py", "training/defaults.py"),
    *(f"paper/contest/{name}.py" for name in ("best_linear", "judge", "learners", "results", "scale_lines", "table")),
    "paper/experiments/figure1.py",  # the rows of the lines
)
"""The files of the package that results depend on, besides those that every stored result depends on (the core and
`paper/baselines`). The rows of tables count by their content.
"""


def program_files() -> list[pathlib.Path]:
    """The files that `PROGRAM` names."""
    return [path for name in PROGRAM for path in sorted(PACKAGE.glob(name))]


@functools.cache
def _program() -> str:
    content = hashlib.sha256()
    for path in program_files():
        content.update(path.read_bytes())
    return content.hexdigest()


def _digest(rows: Rows) -> str:
    content = hashlib.sha256(repr((rows.X.shape, rows.task)).encode())
    content.update(np.ascontiguousarray(rows.X).tobytes())
    content.update(np.ascontiguousarray(rows.y).tobytes())
    return content.hexdigest()


def _tell(lab: Lab, table: Table, learner: Contestant) -> None:
    if lab.told is not None:
        lab.told(f"{table.name}: {learner.name}")
