"""Gives the columns of an array names, because the indicator of a missing value needs the name of its column."""

from __future__ import annotations

from .learner import Learner
from .one_vs_all import OneVsAll


def column_names(columns: int) -> list[str]:
    """Return the names of an array's columns, which are their numbers as text."""
    return [str(column) for column in range(columns)]


def named(model: Learner | OneVsAll) -> Learner | OneVsAll:
    """Return a copy of a model in which array columns have names, so that it can learn frames with the same results."""
    state, labels = model._state_and_labels()
    columns = state["columns"]
    assert columns is not None
    other = model._fresh(model.options.asdict(), labels, model._open_to_classes(), None)
    state["columns"], state["names"] = None, column_names(columns)
    other._go_back((state, labels))
    return other
