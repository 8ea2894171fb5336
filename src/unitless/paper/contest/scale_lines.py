"""The loss of each learner against the scale of one feature: the paper's figure 1, and from 10⁻¹² to 10¹²."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Sequence

import numpy as np

from ..experiments.figure1 import data
from ..experiments.lab import Lab
from ..experiments.section import Record
from .judge import judge
from .learners import Contestant
from .results import kept
from .table import Rows, Task

TASKS: tuple[Task, ...] = ("regression", "binary")
EXPONENTS = tuple(range(-40, 41, 4))
"""The first of two features is multiplied by 2^k: from 9·10⁻¹³ to 10¹²."""
ROWS = 1500
TIMED_ROWS, TIMED_FEATURES = 1000, 20


@dataclasses.dataclass(frozen=True)
class Line(Record):
    """The loss of one learner at each scale.

    Attributes:
        task: the task.
        learner: its name.
        losses: without tuning.
        tuned_losses: with the best parameter at each scale.
        flat: whether its untuned predictions are the same at every scale, to the last bit.
        seconds: the CPU time of all scales and values of the parameter, when they were computed.
    """

    task: Task
    learner: str
    losses: tuple[float, ...]
    tuned_losses: tuple[float, ...]
    flat: bool
    seconds: float


def lines(lab: Lab, learners: Sequence[Contestant]) -> list[Line]:
    """The lines of all learners, for both tasks."""
    found = []
    rows = min(ROWS, lab.comparison_rows)
    for task in TASKS:
        for learner in learners:
            question = {"line": learner.name, "task": task, "rows": rows, "grid": list(learner.grid)}
            answer = kept(lab.kept, question, functools.partial(_line, task, learner, rows))
            losses, tuned = tuple(answer["losses"]), tuple(answer["tuned"])
            found.append(Line(task, learner.name, losses, tuned, answer["flat"], answer["seconds"]))
            if lab.told is not None:
                lab.told(f"scales, {task}: {learner.name}")
    return found


def _line(task: Task, learner: Contestant, rows: int) -> dict[str, object]:
    X, y = data("regression" if task == "regression" else "classification", rows, 1)
    losses, tuned, bits, start = [], [], set(), time.process_time()
    for k in EXPONENTS:
        scaled = Rows(X * [2.0**k, 1.0], np.asarray(y, dtype=np.float64), task)
        scores = learner.scores(scaled, learner.grid)
        judged = judge(scaled, scores)
        losses.append(float(judged.losses[learner.default_place]))
        tuned.append(float(judged.losses.min()))
        bits.add(scores[:, learner.default_place].tobytes())
    return {"losses": losses, "tuned": tuned, "flat": len(bits) == 1, "seconds": time.process_time() - start}


def microseconds(learner: Contestant, repeats: int = 3) -> float:
    """The CPU time for a row of 20 features and two classes, without tuning; the least of several measurements."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(TIMED_ROWS, TIMED_FEATURES))
    rows = Rows(X, (X @ rng.normal(size=TIMED_FEATURES) > 0).astype(np.float64), "binary")
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        learner.untuned(rows)
        best = min(best, time.process_time() - start)
    return float(best / TIMED_ROWS * 1e6)
