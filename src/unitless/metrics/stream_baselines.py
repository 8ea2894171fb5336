"""What predictions of a stream are compared with: to repeat the last label, and the mean of the labels so far.

Rows that come in an order that matters (in time) often have labels that hang together, and a good score may say no more
than that. These answers know nothing but the labels before, as the model does when it predicts a row. Where rows come
in random order they say nothing that the trivial answer (`baseline.py`) does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ..inputs import Float64
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from .baseline import LastLabel
from .running_mean import RunningMean

REPEAT, MEAN = "repeat the last label", "running mean"


class StreamBaselines:
    """Both, over a stream of labels.

    Example:
        >>> import unitless as ul
        >>> from unitless.metrics.stream_baselines import StreamBaselines
        >>> baselines = StreamBaselines(ul.Learner(loss="logistic"))
        >>> baselines.add([True, True, True, False, False])
        >>> {name: values["error_rate"] for name, values in baselines.metrics.items()}
        {'repeat the last label': 0.25, 'running mean': 0.5}
    """

    def __init__(self, model: Learner | OneVsAll) -> None:
        self._last = LastLabel(model)
        self._mean = RunningMean(model)

    def add(self, labels: Any, weight: Any = None) -> None:
        """Labels as `learn` takes them, in order. Weight 0 does not count."""
        self._last.add(labels, weight)
        self._mean.add(labels, weight)

    def add_numbered(self, labels: NDArray[Any], weight: Float64 | None, offset: Float64 | None = None) -> None:
        """The same for classes by number, and for numbers; the mean counts with the rows' offsets."""
        self._last.add_numbered(labels, weight)
        self._mean.add_numbered(labels, weight, offset)

    @property
    def metrics(self) -> dict[str, dict[str, float]]:
        """By name: metrics with the names that those of `Evaluation` have; nothing before two labels were met."""
        found = {REPEAT: self._last.metrics, MEAN: self._mean.metrics}
        return {name: values for name, values in found.items() if values}

    def state(self) -> dict[str, dict[str, Any]]:
        """All that has been counted, as JSON can keep it, for `restore`."""
        return {"last_label": self._last.state(), "running_mean": self._mean.state()}

    @classmethod
    def restore(cls, model: Learner | OneVsAll, state: Mapping[str, Any]) -> StreamBaselines:
        """What had this state, for a model of the same kind."""
        baselines = cls(model)
        baselines._last = LastLabel.restore(model, state["last_label"] or {})
        baselines._mean = RunningMean.restore(model, state["running_mean"] or {})
        return baselines


def shown_name(name: str, task: str) -> str:
    """What a baseline is called beside numbers: of classes there is no mean."""
    return "most frequent class so far" if name == MEAN and task != "regression" else name
