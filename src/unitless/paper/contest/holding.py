"""The contest as a section of a report."""

from __future__ import annotations

import csv
import dataclasses
import io
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..experiments.lab import Lab
from ..experiments.section import Section, Table
from . import pictures
from .learners import CHANGES, OURS, Contestant, Kind, contestants
from .ranking import CLOSE, Standing, critical_difference, relative_losses, relative_to, standings
from .results import Missing, Result, results
from .scale_lines import TASKS, Line, lines, microseconds
from .sources import TABLES

DEFAULT = next(iter(OURS))
GOAL_SHARE, GOAL_RELATIVE = 0.9, 0.95
NO_ERROR = 1e-5
"""The report shows a smaller loss of the best linear predictor as 0: it is rounding, or the penalty of the solver."""
PACKAGES = ("scikit-learn", "river", "statsmodels")
"""The packages whose tables are used, and whose versions therefore matter."""

TITLE = "A contest of scale-free online learners"
OPENING = [
    "All learners read the same rows once and predict each before they learn it. Nothing is tuned, except where a "
    "column says so: then each learner has the best value of its parameter in hindsight."
]


def steps() -> int:
    """The number of progress reports."""
    learners = len(contestants())
    return learners * (len(TABLES) + len(TASKS))


def contest(lab: Lab) -> Section:
    """Hold the contest on all tables that are there."""
    start = time.perf_counter()
    learners = contestants()
    found, missing = results(lab, TABLES, learners)
    drawn = lines(lab, learners)
    ranked = standings(found, {one.name: microseconds(one) for one in learners})
    kinds: dict[str, Kind] = {one.name: one.kind for one in learners}
    difference = critical_difference(len(learners), len({one.table for one in found}))
    goals = goal(found, learners)
    against = [goal(found, learners, one.name) for one in learners if one.kind == "ours"]
    section = Section(
        "contest",
        "Scale-free online learners, side by side",
        {
            "goal": goals,
            "ours": against,
            "standings": [one.asdict() for one in ranked],
            "critical_difference": difference,
            "results": [one.asdict() for one in found],
            "lines": [one.asdict() for one in drawn],
            "cpu_seconds": _cpu_seconds(found, drawn),
            "missing": {one.table: one.why for one in missing},
        },
        text=_text(found, goals),
        tables=[
            _standings(ranked, kinds),
            _against(against),
            _by_table(found, learners),
            _relative_losses(found, ranked),
            _changes(learners, drawn),
        ],
        figures={
            "contest-means": pictures.means(ranked, kinds),
            "contest-ranks": pictures.ranks(ranked, kinds, difference),
            "contest-tables": pictures.tables(*relative_losses(found, [one.learner for one in ranked])),
            "contest-scales": pictures.scales(drawn, kinds, tuned=False),
            "contest-figure1": pictures.scales(drawn, kinds, tuned=True),
        },
        captions={
            "contest-means": "Losses relative to the best, geometric means.",
            "contest-ranks": "Mean ranks, and the difference that is significant.",
            "contest-tables": "The untuned loss of each learner over the least of the table.",
            "contest-scales": "Loss against the scale of one feature, untuned.",
            "contest-figure1": "The paper's figure 1 with all learners: the best parameter at each scale.",
        },
        files={"contest-results.csv": as_csv(found)},
        notes=_notes(missing, _cpu_seconds(found, drawn)),
    )
    section.seconds = time.perf_counter() - start
    return section


def goal(found: Sequence[Result], learners: Sequence[Contestant], ours: str = DEFAULT) -> dict[str, Any]:
    """How one of ours stands against all rivals, and whether that reaches the goal for our default."""
    rivals = [one.name for one in learners if one.kind != "ours"]
    untuned = relative_to(found, ours, rivals)
    tuned = relative_to(found, ours, rivals, tuned=True)
    each = {name: float(np.exp(np.log(relative_to(found, ours, [name])).mean())) for name in rivals}
    best = max(each, key=lambda name: each[name])
    return {
        "learner": ours,
        "best_or_within_1%": float(np.mean(untuned <= 1 + CLOSE)),
        "best_or_within_1%_of_tuned": float(np.mean(tuned <= 1 + CLOSE)),
        "best_rival": best,
        "relative_to_best_rival": each[best],
        "reached": bool(np.mean(untuned <= 1 + CLOSE) >= GOAL_SHARE and each[best] <= GOAL_RELATIVE),
    }


def _text(found: Sequence[Result], goals: dict[str, Any]) -> list[str]:
    tables = len({one.table for one in found})
    return [
        f"{tables} tables with up to {max(one.rows for one in found):,} rows in raw units. The loss is the progressive "
        "log loss, or for numbers the squared error over the squared range of labels. All learners but ours get a "
        "constant feature, and labels that are numbers in a range that is known from all labels.",
        f"**Goal**: `{DEFAULT}` best or within 1% of the best on {GOAL_SHARE:.0%} of the tables, and its losses at "
        f"most {GOAL_RELATIVE} times those of the best rival without tuning (geometric mean). **Result**: "
        f"{goals['best_or_within_1%']:.0%} of the tables ({goals['best_or_within_1%_of_tuned']:.0%} when the rivals "
        f"are tuned in hindsight); {goals['relative_to_best_rival']:.3f} times those of {goals['best_rival']}. "
        f"{'Reached.' if goals['reached'] else 'Not reached.'}",
        "The paper's test of significance bounds the mean of numbers between 0 and 1, such as errors of classes. The "
        "squared errors of numbers are small shares of the squared range, so the test finds few differences there.",
    ]


def _standings(ranked: Sequence[Standing], kinds: dict[str, Kind]) -> Table:
    cells = [
        [
            one.learner,
            kinds[one.learner],
            f"{one.relative:.3f}",
            f"{one.tuned_relative:.3f}",
            f"{one.rank:.1f}",
            f"{one.best:.0%}",
            f"{one.better} / {one.worse}",
            f"{one.regret:.4f}",
            f"{one.microseconds:.1f}",
        ]
        for one in ranked
    ]
    header = [
        "learner",
        "kind",
        "loss over the least",
        "tuned",
        "mean rank",
        "best or within 1%",
        f"better / worse than {DEFAULT}",
        "median regret",
        "µs per row",
    ]
    return Table(header, cells, "Standings", left=2)


def _against(against: Sequence[dict[str, Any]]) -> Table:
    cells = [
        [
            one["learner"],
            f"{one['best_or_within_1%']:.0%}",
            f"{one['best_or_within_1%_of_tuned']:.0%}",
            f"{one['relative_to_best_rival']:.3f}",
            one["best_rival"],
        ]
        for one in against
    ]
    header = ["ours", "best or within 1% of all rivals", "of tuned rivals", "loss over the best rival's", ""]
    return Table(header, cells, "Ours against all rivals")


def _by_table(found: Sequence[Result], learners: Sequence[Contestant]) -> Table:
    """For each table our default, the best of the others, and the best linear predictor in hindsight."""
    ours = {one.name for one in learners if one.kind == "ours"}
    cells = []
    for table in dict.fromkeys(one.table for one in found):
        some = [one for one in found if one.table == table]
        default = next(one for one in some if one.learner == DEFAULT)
        rival = min((one for one in some if one.learner not in ours), key=lambda one: one.loss)
        tuned = min((one for one in some if one.learner not in ours), key=lambda one: one.tuned_loss)
        cells.append(
            [
                table,
                default.source,
                default.task,
                f"{default.rows:,} × {default.features}",
                f"{default.loss:.4g}",
                f"{rival.loss:.4g}",
                rival.learner,
                f"{tuned.tuned_loss:.4g}",
                tuned.learner,
                f"{default.best_linear:.4g}" if default.best_linear > NO_ERROR else "0",
            ]
        )
    header = ["table", "source", "task", "size", DEFAULT, "best rival", "", "best tuned rival", "", "best linear"]
    return Table(header, cells, "Tables", left=3)


def _changes(learners: Sequence[Contestant], drawn: Sequence[Line]) -> Table:
    """What each learner is invariant to, and whether its lines were flat."""
    flat = {name: all(line.flat for line in drawn if line.learner == name) for name in {one.learner for one in drawn}}
    cells = [
        [one.name, *(one.changes(change) for change in CHANGES), "to the last bit" if flat[one.name] else "no"]
        for one in learners
    ]
    return Table(["learner", *CHANGES, "flat over scales"], cells, "Predictions that do not change", left=6)


def _relative_losses(found: Sequence[Result], ranked: Sequence[Standing]) -> Table:
    names = [one.learner for one in ranked]
    tables, ratios = relative_losses(found, names)[::2]
    cells = [[table, *(f"{ratio:.2f}" for ratio in row)] for table, row in zip(tables, ratios.tolist(), strict=True)]
    return Table(["table", *names], cells, "The untuned loss of each learner over the least of the table", wide=True)


def as_csv(found: Sequence[Result]) -> str:
    """All results, a line for each table and learner; without times, so that equal results give equal files."""
    text = io.StringIO()
    names = [field.name for field in dataclasses.fields(Result) if field.name != "seconds"]
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(names)
    for one in found:
        values = [getattr(one, name) for name in names]
        lines.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in values])
    return text.getvalue()


def _cpu_seconds(found: Sequence[Result], drawn: Sequence[Line]) -> float:
    return sum(one.seconds for one in found) + sum(one.seconds for one in drawn)


def _notes(missing: Sequence[Missing], seconds: float) -> list[str]:
    return [
        *(f"Left out: {one.table}: {one.why}." for one in missing),
        f"All learners together took {seconds:.0f} s of CPU time. This includes results that an earlier run stored; "
        "the times below are those of this run alone.",
    ]
