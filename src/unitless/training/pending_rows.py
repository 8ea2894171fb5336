"""Rows that are learned one at a time: their predictions are counted in groups, which is faster."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from .. import _core
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.scored import Scored


class PendingRows:
    """Rows that were learned but whose predictions have not been counted yet, in their order.

    Example:
        >>> import unitless as ul
        >>> model, pending = ul.Learner(), PendingRows()
        >>> for x, y in [(1.0, 2.0), (2.0, 4.0)]:
        ...     _ = pending.add(model.learn_one({"x": x}, y), y, 1.0)
        >>> [scored.truth.tolist() for scored in pending.take(model)]
        [[2.0, 4.0]]
    """

    def __init__(self) -> None:
        self.rows = _core.WaitingErrors()  # River's estimators let the core add rows by itself

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, scores: Any, truth: float, weight: float) -> bool:
        """Add a row; returns whether there are enough rows that they should be counted now.

        Args:
            scores: the scores that were made before the row was learned: one number, or one for each class that was
                known; None if nothing was known.
            truth: the label as a number, or the number of its class.
            weight: the sample weight.
        """
        return self.rows.add(np.zeros(0) if scores is None else scores, float(truth), float(weight))

    def take(self, model: Learner | OneVsAll) -> Iterator[Scored]:
        """Yield all rows in groups with the same number of scores: classes may have been added between two rows."""
        if not len(self.rows):
            return
        scores, truth, weight, widths = self.rows.take()
        row = at = 0
        for width, same in groupby(widths.astype(int).tolist()):
            end = row + len(list(same))
            upto = at + width * (end - row)
            yield Scored.of(model, scores[at:upto], truth[row:end], weight[row:end])
            row, at = end, upto

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.rows.rows()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.rows = _core.WaitingErrors()
        scores, *others = state["rows"]
        at = 0
        for truth, weight, width in zip(*(column.tolist() for column in others), strict=True):
            self.rows.add(scores[at : at + int(width)], truth, weight)
            at += int(width)
