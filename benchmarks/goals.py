"""The goals for speed, relative to a contender of the same run with the same or a lower progressive loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from threads import called

SAME_LOSS = 1.005  # a loss that is higher by this factor or less counts as the same


@dataclass(frozen=True)
class Goal:
    """`ours` should be `at_least` times as fast as `other`, or take `at_most` times its time."""

    workload: str
    ours: str
    other: str
    at_least: float | None = None
    at_most: float | None = None
    same_rows: bool = True  # otherwise their losses cannot be compared

    def check(self, contenders: dict[str, Any]) -> dict[str, Any] | None:
        """Whether the goal was reached, from the results of its workload; None if a contender was not measured."""
        if not {self.ours, self.other} <= contenders.keys():
            return None
        mine, theirs = contenders[self.ours], contenders[self.other]
        best, median = (self._ratio(mine[key], theirs[key]) for key in ("best_ns_a_row", "median_ns_a_row"))
        losses = (mine["loss"], theirs["loss"]) if self.same_rows else (None, None)
        as_good = None in losses or losses[0] <= losses[1] * SAME_LOSS
        fast = best >= self.at_least if self.at_least is not None else best <= self.at_most
        return {
            "workload": self.workload,
            "ours": self.ours,
            "other": self.other,
            "at_least": self.at_least,
            "at_most": self.at_most,
            "best": best,
            "median": median,
            "losses": losses,
            "fast": bool(fast),
            "reached": bool(fast and as_good),
        }

    def _ratio(self, mine: float, theirs: float) -> float:
        return theirs / mine if self.at_least is not None else mine / theirs


def _twice(task: str, at_least: float) -> Goal:
    """Two threads, compared with one."""
    return Goal("threads", called(task, 2), called(task, 1), at_least=at_least)


def _product(count: int) -> Goal:
    """Predictions compared with NumPy with as many threads."""
    return Goal("threads", called("predict, dense", count), called("NumPy X @ w", count), at_most=1.5)


ALL = (
    Goal("dense", "unitless", "Vowpal Wabbit, cache", at_least=12),
    Goal("dense", "unitless", "scikit-learn SGD, pre-scaled", at_least=5),
    Goal("dense", "unitless", "unitless, predictions only", at_most=3),
    Goal("stream", "unitless, bits=20", "Vowpal Wabbit -b 20, cache", at_least=3.5),
    Goal("vw_file", "unitless, one rate", "Vowpal Wabbit", at_least=10),
    Goal("vw_file", "unitless, one rate", "pandas + scaler + SGD, CSV", at_least=15, same_rows=False),
    Goal("tables", "unitless, CSV, one rate", "Vowpal Wabbit --csv", at_least=10),
    Goal("tables", "unitless, CSV, one rate", "pandas + scaler + SGD, CSV", at_least=15),
    Goal("tables", "unitless, Parquet, one rate", "Vowpal Wabbit --csv", at_least=10),
    Goal("tables", "unitless, Parquet, one rate", "pandas + scaler + SGD, CSV", at_least=15),
    Goal("named", "unitless.Learner, one rate", "River logistic, no scaler", at_least=12),
    *(
        Goal("named", f"unitless.Learner, {kind}", f"River logistic, no scaler, {kind}", at_least=12)
        for kind in ("NumPy's scalars", "names in any order")
    ),
    *(
        Goal("named", f"unitless.Learner, {kind}", "unitless.Learner, one rate", at_most=1.5, same_rows=False)
        for kind in ("names missing", "new names")
    ),
    Goal("named", "unitless.river, automatic rate", "River scaler | logistic", at_least=20),
    Goal("predict", "unitless", "NumPy X @ w", at_most=1.5),
    Goal("rates", "automatic rate, 2 threads", "one rate", at_most=2.5),
    Goal("rates", "16 rates, 2 threads", "one rate", at_most=5),
    _twice("predict, dense", 1.8),
    _twice("predict, sparse", 1.8),
    _twice("predict, 7 classes", 1.8),
    _product(1),
    _product(2),
    _twice("predict, one model for all threads", 1.8),
    _twice("learn, 64 rates", 1.85),
    _twice("learn, 7 classes, automatic rates", 1.85),
    _twice("learn, 7 classes", 1.7),
)


def check(workloads: list[dict[str, Any]], tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Check all goals that this run can decide: of its workloads, and of its tasks with several threads."""
    together = {"name": "threads", "contenders": [one for task in tasks for one in task["contenders"]]}
    found = []
    for workload in [*workloads, together]:
        contenders = {one["name"]: one for one in workload["contenders"]}
        results = (goal.check(contenders) for goal in ALL if goal.workload == workload["name"])
        found += [result for result in results if result is not None]
    return found
