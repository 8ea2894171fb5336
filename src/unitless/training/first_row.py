"""The first row of a model of named features: its numbers become columns, in the order of their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import inputs
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..options import Options


def orders_names(options: Options) -> bool:
    """Whether the columns of a model are numbered by their names, so that their order in the first row does not matter:
    trees draw columns by their numbers, and second-order learners sum in that order.
    """
    return options.known_model_type != "linear" or options.ensemble


def first_row(row: Mapping[str, Any], sort: bool) -> inputs.Frame:
    """A row of named features as a table, whose columns of numbers can be centered.

    Features that are first met later cannot: they were absent in the rows before, and absent counts as 0.

    Args:
        row: numbers or booleans by name.
        sort: whether the columns are numbered by their names; see `orders_names`.
    """
    columns: list[inputs.FrameColumn] = []
    names = sorted(row) if sort else list(row)
    for name in names:
        column = np.array([float(row[name])])
        columns.append(inputs.FlagColumn(column) if isinstance(row[name], bool | np.bool_) else column)
    return inputs.Frame(names, columns, 1)


def learn_first_row(model: Learner | OneVsAll, row: Mapping[str, Any], label: Any, weight: float) -> Any:
    """Learn the first row of a model; returns the score that was made before, or one score for each class.

    Args:
        model: the empty model.
        row: numbers or booleans by name. A row that the model refuses changes nothing.
        label: the label in the form that the model takes.
        weight: the sample weight.
    """
    if not model.options.center:
        return model._learn_features(row, label, weight)
    model._predict_features(row)  # so that an invalid row is refused with the same message as later ones
    with model._locked():
        number, new = model._class_number(label, weight)
        with model._joining(new):
            scores = model._feed(first_row(row, False), inputs.vector([number], "y", 1), [weight], len(new))
    return scores if model.task == "classes" else float(scores[0])
