"""The first row of a model of named features: its numbers become columns, in the order of their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import inputs
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll


def learn_first_row(
    model: Learner | OneVsAll, row: Mapping[str, Any], label: Any, weight: float, sort: bool = True
) -> Any:
    """Learn the first row of a model; returns the score that was made before, or one score for each class.

    The features of this row become columns, which can be centered. Features that are first met later cannot: they were
    absent in the rows before, and absent counts as 0.

    Args:
        model: the empty model.
        row: numbers or booleans by name. A row that the model refuses changes nothing.
        label: the label in the form that the model takes.
        weight: the sample weight.
        sort: number the columns by name, so that the order of the names in the row does not matter. (Trees draw columns
            by their numbers, and second-order learners sum in that order.)
    """
    row = dict(sorted(row.items())) if sort else dict(row)
    if not model.options.center:
        return model.learn_one(row, label, weight)
    model.predict_one(row)  # so that an invalid row is refused with the same message as later ones
    columns: list[inputs.FrameColumn] = []
    for value in row.values():
        column = np.array([float(value)])
        columns.append(inputs.FlagColumn(column) if isinstance(value, bool | np.bool_) else column)
    score = model.learn(inputs.Frame(list(row), columns, 1), [label], [weight])[0]
    return score if np.ndim(score) else float(score)
