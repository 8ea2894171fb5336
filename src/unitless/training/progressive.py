"""Progressive metrics: how good predictions were that were made before their rows were learned, and the baselines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..metrics.baseline import Baseline
from ..metrics.coverage import Coverage
from ..metrics.evaluation import Evaluation
from ..metrics.stream_baselines import StreamBaselines
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.prediction_errors import errors_known, has_errors
from ..models.scored import Scored


class ProgressiveMetrics:
    """The progressive metrics of a session: those of the model and those of the baselines.

    Args:
        model: the model.
        level: the level of the prediction intervals whose coverage is a metric. Default: None, intervals are not
            counted.
        stream: whether rows are learned in their order; then the baselines of streams are counted as well. Default:
            False.
    """

    def __init__(self, model: Learner | OneVsAll, level: float | None = None, stream: bool = False) -> None:
        self._stream, self._several = stream, model.task == "classes"
        self.evaluation = Evaluation(model, intervals=None if level is None else progressive_intervals(model, level))
        self.baseline, self.stream_baselines = Baseline(model), StreamBaselines(model)

    def count(self, scored: Scored, blind: bool = False) -> None:
        """Count the predictions for some rows.

        Args:
            scored: the rows, in the order in which they were learned.
            blind: whether the first row was predicted before any label was known; its prediction is not counted.
        """
        if scored.scores.shape[1] or self._several:  # otherwise no label was known, and nothing was predicted
            self.evaluation.count(scored.after_first if blind else scored)
        self.baseline.observe(scored)
        if self._stream:
            self.stream_baselines.count(scored)

    def state(self) -> dict[str, Any]:
        """The counts so far, as a model file stores them."""
        baselines = {"baseline": self.baseline.state(), **self.stream_baselines.state()}
        return {"evaluation": self.evaluation.state(), **baselines}

    def restore(self, model: Learner | OneVsAll, state: Mapping[str, Any]) -> None:
        """Continue with the counts of an earlier session."""
        self.evaluation = Evaluation.restore(model, state["evaluation"] or {})
        self.baseline = Baseline.restore(model, state["baseline"] or {})
        self.stream_baselines = StreamBaselines.restore(model, state)


def progressive_intervals(model: Learner | OneVsAll, level: float) -> Coverage | None:
    """Counts the coverage of intervals that adapt to the errors so far; None if the model's loss has no intervals."""
    if not has_errors(model):
        return None
    model._errors = errors_known(model)
    return Coverage(level, model._errors, follows=True)
