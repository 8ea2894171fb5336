"""Columns that have one value in the learned rows of a stream, and others in its last rows.

A status that is only filled in later, or a sensor that was installed later: the model cannot know what the new values
mean, and a held-out end of the data shows how badly it then predicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data import Batch
from ..data.columns import batch_columns
from ..data.columns.feature_columns import FeatureColumns
from ..data.columns.schema import DATES
from ..errors import Option, Phrase

if TYPE_CHECKING:
    from .training import Training

FEW = 50  # rows: fewer do not tell
MANY = 0.1  # the share of the last rows that have another value


def no_longer_constant(training: Training, learned: Batch, last: Sequence[Batch]) -> Phrase | None:
    """A note about columns that are constant in learned rows, but not in the last rows, which were held out.

    Args:
        training: a stream that has learned all rows but the last ones.
        learned: a sample of the learned rows.
        last: the held-out rows.
    """
    rows = sum(batch.rows for batch in last)
    if min(learned.rows, rows) < FEW:
        return None
    source = FeatureColumns(training.schema.columns)
    found = [name for name in batch_columns.names(learned.data) or () if _changes(name, learned, last)]
    columns = [name for name in dict.fromkeys(map(source.of, found)) if source.kinds.get(str(name)) not in DATES]
    if not columns:
        return None
    which = f"column {columns[0]!r} has" if len(columns) == 1 else f"columns {', '.join(map(repr, columns))} have"
    return Phrase(
        f"{which} one value in the learned rows and others in the last {rows:,} rows: the model could not learn what "
        "they mean. If new rows have such values, the model has to learn more rows with them; to leave out a column: ",
        Option("ignore", str(columns[0])),
    )


def _changes(name: str, learned: Batch, last: Sequence[Batch]) -> bool:
    """Whether a column has one value in the learned rows, and other ones in many of the last rows."""
    before, after = batch_columns.values([learned], name), batch_columns.values(last, name)
    if before is None or after is None or not _equal(before, before[0]).all():
        return False
    return float(np.mean(~_equal(after, before[0]))) >= MANY


def _equal(values: NDArray[Any], one: Any) -> NDArray[np.bool_]:
    """Which values equal one value; missing ones equal each other."""
    equal: NDArray[np.bool_] = values == one
    return np.isnan(values) if values.dtype.kind == "f" and np.isnan(one) else equal
