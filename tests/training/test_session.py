"""A session: the step that all forms of training repeat."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import unitless as ul
from unitless.data import Batch, Target
from unitless.data.labels import Numbers, RawLabels, Texts
from unitless.data.progress import Progress
from unitless.inputs import Dense
from unitless.training.session import Session

ROWS = 600
X = np.random.default_rng(0).normal(size=(ROWS, 3)) * [1e-3, 1.0, 1e3]
SCORE = X @ [1e3, -1.0, 1e-3]

TASKS = {
    "regression": (lambda: ul.Learner(target="auto"), Target("regression"), Numbers(SCORE)),
    "binary": (lambda: ul.Learner(loss="logistic"), Target("binary", ["0", "1"]), Numbers((SCORE > 0) * 1.0)),
    "classes": (
        lambda: ul.OneVsAll(None),
        Target("classes", number=False),
        Texts(np.digitize(SCORE, [-1, 1]).astype(np.int32), ["low", "middle", "high"]),
    ),
}


def batch(first: int, last: int, labels: RawLabels) -> Batch:
    rows = np.arange(first, last)
    return Batch(Dense(X[rows]), len(rows), labels.take(rows), np.where(rows % 5, 1.0, 2.0))


def learned(task: str, cuts: list[int], **options: Any) -> tuple[Session, np.ndarray[Any, Any]]:
    make, target, labels = TASKS[task]
    session = Session(make(), target, level=0.9, stream=True, **options)
    bounds = [0, *cuts, ROWS]
    found = [session.learn(batch(a, b, labels)) for a, b in itertools.pairwise(bounds)]
    session.close()
    return session, np.concatenate([one.scores.max(axis=1) for one in found])


@pytest.mark.parametrize("task", TASKS)
def test_metrics_and_scores_do_not_depend_on_how_rows_are_cut_into_batches(task: str) -> None:
    one, scores = learned(task, [])
    other, cut = learned(task, [1, 2, 3, 50, 51, 400])
    assert scores.tobytes() == cut.tobytes()
    assert one.metrics.state() == other.metrics.state()
    assert one.evaluation.metrics == other.evaluation.metrics


@pytest.mark.parametrize("task", TASKS)
def test_a_session_learns_as_the_model_itself(task: str) -> None:
    make, _, labels = TASKS[task]
    session, scores = learned(task, [100])
    model = make()
    y = labels.values if isinstance(labels, Numbers) else np.array(labels.values)[labels.codes]
    own = model.learn(X, y, np.where(np.arange(ROWS) % 5, 1.0, 2.0))
    assert session.model.predict(X).tobytes() == model.predict(X).tobytes()
    if task != "classes":  # there, classes have scores in rows before they joined
        assert scores.tobytes() == own.tobytes()


@pytest.mark.parametrize("task", TASKS)
def test_counting_in_the_background_counts_the_same(task: str) -> None:
    one, _ = learned(task, [100, 200, 300])
    other, _ = learned(task, [100, 200, 300], background=True)
    assert one.metrics.state() == other.metrics.state()


def test_an_error_of_the_counting_thread_is_raised() -> None:
    make, target, labels = TASKS["binary"]
    session = Session(make(), target, background=True)
    session.metrics.evaluation.count = lambda scored: 1 // 0  # type: ignore[assignment, method-assign, return-value]
    session.learn(batch(0, 10, labels))
    with pytest.raises(ZeroDivisionError):
        session.close()
    session.close()


@pytest.mark.parametrize("task", TASKS)
def test_rows_without_a_label_are_neither_learned_nor_counted(task: str) -> None:
    make, target, labels = TASKS[task]
    missing = np.arange(ROWS) % 3 == 1
    gaps: RawLabels
    if isinstance(labels, Numbers):
        gaps = Numbers(np.where(missing, np.nan, labels.values))
    else:
        gaps = Texts(np.where(missing, -1, labels.codes).astype(np.int32), labels.values)
    session, progress = Session(make(), target, on_error="fail", level=0.9), Progress()
    scored = session.learn(batch(0, ROWS, gaps), progress=progress)
    assert len(scored) == ROWS
    assert (progress.unlabeled, progress.learned) == (missing.sum(), (~missing).sum())
    without = Session(make(), target, on_error="fail", level=0.9)
    without.learn(batch(0, ROWS, labels).select(~missing))
    assert session.metrics.state() == without.metrics.state()
    assert session.model.predict(X).tobytes() == without.model.predict(X).tobytes()


def test_rows_that_were_learned_before_are_not_counted_again() -> None:
    make, target, labels = TASKS["regression"]
    session = Session(make(), target, level=0.9)
    session.learn(batch(0, ROWS, labels))
    before, errors = session.metrics.state(), session.model._errors
    assert errors is not None
    rows = errors.rows
    session.learn(batch(0, ROWS, labels), "nothing")
    assert (session.metrics.state(), errors.rows) == (before, rows)
    session.learn(batch(0, ROWS, labels), "errors")
    assert session.metrics.state()["baseline"] == before["baseline"]
    assert errors.rows > rows
