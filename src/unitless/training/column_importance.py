"""The importance of the columns, measured on the rows that the metrics of a training describe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..data import Batch
from ..data.columns.feature_columns import FeatureColumns
from ..data.rows.sample import Sample
from ..inference.importance import FEWEST, ROWS, Importance, measure
from ..presentation import shown

if TYPE_CHECKING:
    from .training import Training

# Predictions for each row learned in each pass; with 20 columns they take about a tenth of the training's time.
SHARE = 0.2
AT_LEAST = 8_000  # predictions, however few rows were learned


def importance_of(training: Training, held: Iterable[Batch], learned: Iterable[Batch]) -> Importance | None:
    """Measure the importance of the columns for the model of a training; None if there are too few rows.

    Args:
        training: a training whose model is final.
        held: held-out rows.
        learned: rows that the model has learned, which are used if there are too few held-out rows.
    """
    session, progress = training.session, training.progress
    if session is None:
        return None
    seen = progress.learned * max(1, progress.passes)
    for batches, what, in_sample in ((held, "held-out row", False), (learned, "learned row", True)):
        rows = _sample(training, batches)
        if rows is None or rows.rows < FEWEST:
            continue
        after = " (in-sample)" if in_sample else ""
        return measure(
            session.model,
            rows,
            session.scored,
            FeatureColumns(training.schema.columns),
            on=lambda count, what=what, after=after: shown.count(count, what) + after,  # type: ignore[misc]
            seed=training.plan.random_state,
            predictions=max(AT_LEAST, SHARE * seen),
            in_sample=in_sample,
        )
    return None


def _sample(training: Training, batches: Iterable[Batch]) -> Batch | None:
    """A uniform sample of the rows that can be predicted and have a label; None if there are none."""
    sample, first = Sample(training.plan.random_state, ROWS), 0
    assert training.session is not None
    for batch in batches:
        sample.add_next(training.session._labeled(batch), first)
        first += batch.rows
    found = sample.rows()
    return None if found is None else found[0]
