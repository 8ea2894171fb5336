"""What training gives: the model, how good it was on rows it had not seen, and what it found."""

from __future__ import annotations

import math
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..evaluation.evaluation import Evaluation, Moment
from ..inference.predictor import Predictor
from ..models.learner import Learner
from ..models.model import BIAS
from ..models.one_vs_all import OneVsAll
from . import notebook

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .run import Run


class TrainResult:
    """The outcome of `train`.

    All metrics are progressive: each row was predicted before it was learned, so they are out of sample.
    """

    def __init__(self, run: Run) -> None:
        assert run.model is not None
        assert run.evaluation is not None
        assert run.target is not None
        self.model: Learner | OneVsAll = run.model
        self.evaluation: Evaluation = run.evaluation
        self.target = run.target
        self.source = run.source.name
        self.path = run.plan.path
        self.interrupted = run.interrupted
        progress = run.progress
        self.rows = progress.rows
        self.learned = progress.learned
        self.skipped = progress.skipped
        self.bad = [str(bad) for bad in progress.bad]
        self.unlabelled = progress.unlabelled
        self.held = progress.held
        self.passes = progress.passes
        self.missing = dict(progress.missing)
        self.seconds = progress.seconds
        self.holdout: dict[str, float] | None = run.holdout.metrics if run.holdout is not None else None

    @property
    def task(self) -> str:
        """The task, in words."""
        return str(self.target)

    @property
    def metrics(self) -> dict[str, float]:
        """Progressive metrics by name: the loss, and those of the task, such as zero_one and auc, or rmse and mae."""
        return self.evaluation.metrics

    @property
    def per_class(self) -> dict[Any, dict[str, float]]:
        """By class: share, precision, recall."""
        return self.evaluation.per_class

    @property
    def interval(self) -> tuple[float, float]:
        """Where the error (for numbers the RMSE) truly lies, with 90% confidence."""
        return self.evaluation.interval

    @property
    def history(self) -> list[Moment]:
        """The loss after 1, 2, 4, 8, ... examples."""
        return self.evaluation.history

    @property
    def learning_rate(self) -> Any:
        """The rate in use at the end; by class if there are classes."""
        return self.model.learning_rate

    @property
    def features(self) -> int:
        """How many features the model has met."""
        return len(self.model.scales) - (BIAS in self.model.scales)

    def top_features(self, count: int = 10) -> list[tuple[str, float]]:
        """The features that matter most, by |w|·s, which has no unit; of classes, the largest over all of them."""
        importance: dict[Any, float] = {}
        model = self.model
        for one in model.importance.values() if isinstance(model, OneVsAll) else [model.importance]:
            for name, value in one.items():
                importance[name] = max(value, importance.get(name, 0.0))
        importance.pop(BIAS, None)
        ranked = sorted(importance.items(), key=lambda item: -item[1])
        return [(str(name), value) for name, value in ranked[:count]]

    def wide_columns(self) -> list[tuple[str, int]]:
        """Columns of text that gave nearly as many features as there are rows, and how many."""
        names = self.model._snapshot()["names"] or []
        counts = Counter(name.partition("=")[0] for name in names if "=" in name)
        wide = [(name, count) for name, count in counts.items() if count > 1000 and count > 0.5 * self.rows]
        return sorted(wide, key=lambda item: -item[1])

    def predict(self, source: Any, **reading: Any) -> Any:
        """Labels or numbers for any data of the same kind, in memory; see `Predictor`.

        A list; for a pandas, polars or pyarrow frame a Series (with its index) or Array.
        """
        return self.predictor.predict(source, **reading)

    def predict_proba(self, source: Any, **reading: Any) -> Any:
        """Probabilities, one column per class of `classes`: an array, or a frame if a frame was given."""
        return self.predictor.predict_proba(source, **reading)

    @property
    def classes(self) -> list[Any]:
        """The labels' names, in the order of probabilities."""
        return self.predictor.class_names

    @property
    def predictor(self) -> Predictor:
        """The model in service: one row or many, labels, probabilities and explanations."""
        return Predictor(self.model)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model."""
        self.model.save(path)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Progressive loss (and error) over time; saved if a path is given."""
        from .. import plots  # noqa: PLC0415  (needs matplotlib)

        name = self.model.options.rule
        figure = plots.progress({name: self.evaluation.curve}, f"{self.model.options.loss} loss", self.source)
        if path is not None:
            plots.save(figure, path)
        return figure

    def asdict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        low, high = self.interval

        def plain(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "source": self.source,
            "model": self.path,
            "task": self.target.task,
            "classes": [str(name) for name in self.classes] if self.target.task != "regression" else None,
            "rule": self.model.options.rule,
            "loss_function": self.model.options.loss,
            "learning_rate": {str(k): v for k, v in self.learning_rate.items()}
            if isinstance(self.learning_rate, dict)
            else self.learning_rate,
            "rows": self.rows,
            "learned": self.learned,
            "skipped": self.skipped,
            "bad": self.bad,
            "unlabelled": self.unlabelled,
            "held_out": self.held,
            "passes": self.passes,
            "missing": self.missing,
            "features": self.features,
            "metrics": {name: plain(value) for name, value in self.metrics.items()},
            "interval": [plain(low), plain(high)],
            "holdout": None if self.holdout is None else {k: plain(v) for k, v in self.holdout.items()},
            "per_class": {str(label): {k: plain(v) for k, v in row.items()} for label, row in self.per_class.items()},
            "history": [
                {
                    "examples": moment.examples,
                    "weight": moment.weight,
                    "loss": plain(moment.loss),
                    "since_last": plain(moment.since_last),
                    "zero_one": moment.zero_one,
                }
                for moment in self.history
            ],
            "top_features": [[name, value] for name, value in self.top_features()],
            "seconds": self.seconds,
            "rows_per_second": self.rows / self.seconds if self.seconds else None,
            "interrupted": self.interrupted,
        }

    def _repr_html_(self) -> str:
        return notebook.train_result(self.asdict())

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.items())
        return f"<TrainResult: {self.task}; {self.learned:,} rows learned; {shown}>"
