"""Learning from single rows of the table that a model was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import inputs
from ..errors import Error
from ..inputs import Float64
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from .predictor import Predictor


class RowLearning:
    """Learns single rows of a table.

    The model is afterwards equal, to the last bit, to one that learned them in a frame.

    Args:
        predictor: a predictor with a model that `train` made from a table.

    Example:
        >>> import pandas as pd
        >>> import unitless as ul
        >>> from unitless.inference.row_learning import RowLearning
        >>> people = pd.DataFrame({"age": [20 + i % 50 for i in range(300)], "job": ["clerk", "pilot"] * 150})
        >>> result = ul.train(people.assign(pay=[20.5, 21.25] * 150), target="pay", task="regression")
        >>> learning = RowLearning(result.predictor)
        >>> round(learning.learn({"age": 31, "job": "pilot"}, 25.0), 1)  # what was predicted before
        21.2
        >>> learning.learn({"age": 31, "job": "pilot"}, 25.0) > 21.5
        True
    """

    def __init__(self, predictor: Predictor) -> None:
        assert predictor._rows is not None  # only models of a table
        self._predictor, self._rows, self._model = predictor, predictor._rows, predictor.model
        self._columns = predictor._columns
        self._offsets = predictor.schema.offset is not None

    def learn(self, row: Any, label: Any, weight: float = 1.0) -> Any:
        """Learn a row; returns the score from before, or one for each class. If the row is invalid, nothing changes.

        Args:
            row: as for `Predictor.predict_one`.
            label: the number; of two classes 0 or 1; of several the class.
            weight: how many rows it counts for.
        """
        model = self._model
        try:
            if isinstance(model, OneVsAll):
                return self._learn_class(model, row, label, weight)
            return self._learn_number(model, row, label, weight)
        except Error as error:
            raise error.at(row=None) from None

    def _learn_number(self, model: Learner, row: Any, label: Any, weight: float) -> float:
        offset = self._predictor.offset_one(row) if self._offsets else 0.0
        if self._columns is not None:  # as it nearly always is
            score = model._learn_row(self._columns, row, label, weight, offset)
            if score is not None:
                return score
        if (plain := self._rows.plain(row)) is not None:
            score = model._learn_row(self._rows.columns, plain, label, weight, offset)
            if score is not None:
                return score
        data, y = self._predictor.read_one(row)[0], inputs.vector([label], "y", 1)
        return float(model._feed(data, y, [weight], offset=None if offset == 0 else [offset])[0])

    def _learn_class(self, model: OneVsAll, row: Any, label: Any, weight: float) -> Float64:
        with model._locked():  # the core and the model's list of classes change together
            number, new = model._classes.number(label, weight)
            with model._classes.joining(new):
                if self._columns is not None:
                    scores = model._learn_row_wide(self._columns, row, number, weight, len(new))
                    if scores is not None:
                        return scores
                if (plain := self._rows.plain(row)) is not None:
                    scores = model._learn_row_wide(self._rows.columns, plain, number, weight, len(new))
                    if scores is not None:
                        return scores
                data = self._predictor.read_one(row)[0]
                return model._feed(data, np.array([number]), [weight], len(new))
