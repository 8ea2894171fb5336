"""The columns of an array under names: an array has only numbers, but what is missing in it needs a name of its own."""

from __future__ import annotations

from .learner import Learner
from .one_vs_all import OneVsAll


def column_names(columns: int) -> list[str]:
    """The names of an array's columns: their numbers."""
    return [str(column) for column in range(columns)]


def named(model: Learner | OneVsAll) -> Learner | OneVsAll:
    """The same model, which knows the columns of its arrays by name: it goes on with the same bits, given frames."""
    state, labels = model._state_and_labels()
    columns = state["columns"]
    assert columns is not None
    other = model._fresh(model.options.asdict(), labels, model._open_to_classes(), None)
    other._go_back(({**state, "columns": None, "names": column_names(columns)}, labels))
    assert isinstance(other, Learner | OneVsAll)
    return other
