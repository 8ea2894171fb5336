"""What training gives: the model, its out-of-sample metrics next to a baseline's, and what was found in the data."""

from __future__ import annotations

import datetime
import math
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..data.read_options import Reading
from ..inference.predictor import Predictor
from ..losses import LOSSES
from ..metrics.baseline import skill
from ..metrics.evaluation import Evaluation, Moment
from ..metrics.stream_baselines import MEAN, REPEAT
from ..models.learner import Learner
from ..models.model import BIAS
from ..models.one_vs_all import OneVsAll
from ..options import ModelType
from . import notebook
from .column_report import column_report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .run import Run


class TrainResult:
    """The outcome of `train`: the model, and how good it is on rows that it had not learned.

    Attributes:
        model: the model that was trained.
        source: the name of the data.
        rows: how many rows were read.
        passes: how often the rows were learned.
        seconds: how long this training took. Earlier ones, if it was resumed, are not counted.
        interrupted: whether it was stopped before its end.
        fitted: whether the data was fitted (random order, hold-out); False for a stream.
        selected: which weights the model predicts with: "last" or "averaged".
        missing: how many values are missing, by column.
        invalid_values: how many values could not be read as their column's type, by column. They count as missing.
        column_report: what was inferred about the columns, one sentence each.
        notes: what is worth knowing about the data and the model, one sentence each.
        round_log: one record for each synchronization round of a training on a cluster.
        details: counts and settings for reports: see `TrainDetails`.

    Example:
        >>> import unitless as ul
        >>> rows = [{"area": 40 + i % 90, "floor": i % 5, "rent": 300 + 11 * (i % 90)} for i in range(1000)]
        >>> result = ul.train(rows, target="rent", model_type="linear")
        >>> result.metrics_on, result.baseline_name
        ('100 held-out rows (added to training afterwards)', 'always the mean, 790.942')
        >>> result.skill > 0.99
        True
        >>> [name for name, importance in result.top_features(1)]
        ['area']
    """

    def __init__(self, run: Run) -> None:
        assert run.model is not None
        assert run.evaluation is not None
        assert run.target is not None
        self.model: Learner | OneVsAll = run.model
        self.source: str = run.source.name
        self.rows: int = run.progress.rows
        self.passes: int = run.progress.passes
        self.seconds: float = run.progress.seconds
        self.interrupted: bool = run.interrupted
        self.fitted: bool = run.fitted
        self.selected: str = run.model.kept
        self.missing: dict[str, int] = dict(run.progress.missing)
        self.invalid_values: dict[str, int] = {name: count for name, (count, _, _) in run.progress.odd.items()}
        self.column_report: Sequence[str] = column_report(run)
        self.notes: Sequence[str] = run.notes()
        self.round_log: Sequence[Any] = run.told
        self.details = TrainDetails(run)
        self._target, self._evaluation = run.target, run.evaluation
        self._held_out = None if run.score is run.past else run.score
        self._in_sample = run.past
        self._baseline = run.baseline
        self._stream_baselines = None if run.fitted else run.stream_baselines

    # ------------------------------------------------------------------------------------------------ how good it is

    @property
    def task(self) -> str:
        """The task in words."""
        return str(self._target)

    @property
    def metrics(self) -> dict[str, float]:
        """Out-of-sample metrics by name: on held-out rows or, without any, progressive ones; `metrics_on` says which.

        For classes: accuracy, error_rate, log_loss, brier, and for two classes auc, precision, recall and f1. For
        numbers: rmse, mae, mse and r2. "loss" only where training minimizes none of these. Prediction intervals add
        coverage and width, prediction sets coverage and set_size.
        """
        return self._measured.metrics

    @property
    def metrics_ci(self) -> tuple[float, float]:
        """The 90% confidence interval of the error rate, or of the RMSE."""
        return self._evaluation.interval if self._held_out is None else self._held_out.hold_out_interval

    @property
    def metrics_on(self) -> str:
        """Which rows `metrics` describes, in words."""
        details = self.details
        if self._held_out is None:
            return f"{self._evaluation.examples:,} rows, each predicted before it was learned"
        rows = f"{self._held_out.examples:,}"
        which = f"the last {rows} rows" if details.holds_out_last else f"{rows} held-out rows"
        facts = ["an earlier training may have learned them"] if details.known_rows else []
        facts += ["added to training afterwards"] if details.holdout_learned else []
        return f"{which} ({'; '.join(facts)})" if facts else which

    @property
    def progressive(self) -> dict[str, float]:
        """Progressive metrics by name: of predictions that were made before each row was learned."""
        return self._evaluation.metrics

    @property
    def baseline(self) -> dict[str, float]:
        """The metrics of the baseline on the same rows as `metrics`."""
        if self._held_out is not None:
            return {} if self._baseline is None else self._baseline.metrics
        if self._stream_baselines is not None:
            return self._stream_baselines.metrics.get(MEAN, {})
        return {}

    @property
    def baseline_name(self) -> str:
        """The baseline in words: the best constant answer or, for a stream, the best one so far."""
        classes = self._target.task != "regression"
        if self._held_out is None and self._stream_baselines is not None:
            return "always the most frequent class so far" if classes else "always the mean so far"
        if self._held_out is None or self._baseline is None:
            return ""
        answer = self._baseline.answer
        if not classes:
            loss = LOSSES[self.model.options.loss]
            what = f"{self.model.options.quantile:g} quantile" if loss.has_quantile else loss.best_constant
            added = ", with the offset" if self._baseline.has_offsets else ""
            return f"always the {what}, {answer:,.6g}{added}"
        return f"always {self._target.classes[bool(answer)] if self._target.task == 'binary' else answer!r}"

    @property
    def last_label_baseline(self) -> dict[str, float]:
        """For a stream: the progressive metrics of predicting the label of the row before. Empty for a fit."""
        return {} if self._stream_baselines is None else self._stream_baselines.metrics.get(REPEAT, {})

    @property
    def skill(self) -> float:
        """The share of the baseline's error that is removed; for numbers of its squared error, which is R²."""
        found, baseline = self.metrics, self.baseline
        by = self.judged_by
        return skill(found, baseline, by) if by in found and by in baseline else math.nan

    @property
    def judged_by(self) -> str:
        """The metric that `skill` and `metrics_ci` are about: "error_rate", "rmse", or another "loss"."""
        return self._evaluation.judged_by

    @property
    def per_class(self) -> dict[Any, dict[str, float]]:
        """By class: share, precision and recall, on the rows of `metrics`."""
        return self._measured.per_class

    @property
    def history(self) -> list[Moment]:
        """The progressive loss after 1, 2, 4, 8, ... rows."""
        return self._evaluation.history

    @property
    def metrics_on_holdout(self) -> bool:
        """Whether `metrics` describes held-out rows; otherwise they are progressive."""
        return self._held_out is not None

    @property
    def _measured(self) -> Evaluation:
        return self._evaluation if self._held_out is None else self._held_out

    # ------------------------------------------------------------------------------------------------ the model

    @property
    def classes(self) -> list[Any]:
        """The labels as they were in the data, in the order of probabilities; empty where numbers are predicted."""
        return self.predictor.classes

    @property
    def model_type(self) -> ModelType | None:
        """What the model can express: the type that was asked for, or what "auto" chose."""
        return self.model.model_type

    @property
    def features_seen(self) -> int:
        """How many features the model has met."""
        return self.details.features_met or self._weighted_features()

    def _weighted_features(self) -> int:
        return len(self.model.scales) - (BIAS in self.model.scales)

    @property
    def max_staleness(self) -> int:
        """On a cluster: how many rows a progressive prediction may not have known at most."""
        return max((one.rows - one.rows // one.partitions for one in self.round_log), default=0)

    def top_features(self, count: int = 10) -> list[tuple[str, float]]:
        """The features that matter most, by |w|·s, which has no unit; for classes, the largest over all of them."""
        importance: dict[Any, float] = {}
        model = self.model
        for one in model.importance.values() if isinstance(model, OneVsAll) else [model.importance]:
            for name, value in one.items():
                importance[name] = max(value, importance.get(name, 0.0))
        importance.pop(BIAS, None)
        ranked = sorted(importance.items(), key=lambda item: -item[1])
        return [(str(name), value) for name, value in ranked[:count]]

    @property
    def predictor(self) -> Predictor:
        """The model as a `Predictor`: one row or many, labels, probabilities, intervals and explanations."""
        return Predictor(self.model)

    def predict(self, source: Any, *, reading: Reading | None = None) -> Any:
        """Labels or numbers for any data of the same kind, in memory; see `Predictor.predict`."""
        return self.predictor.predict(source, reading=reading)

    def predict_proba(self, source: Any, *, reading: Reading | None = None) -> Any:
        """Probabilities, one column per class of `classes`: an array, or a frame if a frame was given."""
        return self.predictor.predict_proba(source, reading=reading)

    def predict_interval(self, source: Any, *, level: float = 0.9, reading: Reading | None = None) -> Any:
        """Prediction intervals, or prediction sets of classes; see `Predictor.predict_interval`."""
        return self.predictor.predict_interval(source, level=level, reading=reading)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file."""
        self.model.save(path)

    # ------------------------------------------------------------------------------------------------ to look at

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Progressive loss (and error) over time; saved if a path is given."""
        from .. import figures  # noqa: PLC0415  (needs matplotlib)

        name = self.model.options.rule
        figure = figures.progress({name: self._evaluation.curve}, f"{self.model.options.loss} loss", self.source)
        if path is not None:
            figures.save(figure, path)
        return figure

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page of HTML that needs no other file: data, model, metrics and notes."""
        from . import report  # noqa: PLC0415  (few ask for it)

        report.write(self, path)

    def asdict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        details = self.details

        def plain(value: float) -> float | None:
            return value if math.isfinite(value) else None

        def plain_all(values: dict[str, float]) -> dict[str, float | None]:
            return {name: plain(value) for name, value in values.items()}

        rate = self.model.learning_rate
        return {
            "source": self.source,
            "output": details.output,
            "task": self._target.task,
            "classes": [str(name) for name in self.predictor.class_names]
            if self._target.task != "regression"
            else None,
            "rule": self.model.options.rule,
            "loss_function": self.model.options.loss,
            "model_type": self.model_type,
            "members": self.model.members,
            "learning_rate": {str(k): v for k, v in rate.items()} if isinstance(rate, dict) else rate,
            "fitted": self.fitted,
            "rows": self.rows,
            "learned": details.learned,
            "skipped": details.skipped,
            "skipped_rows": details.skipped_rows,
            "unlabeled": details.unlabeled,
            "held_out": details.held_out,
            "passes": self.passes,
            "selected": self.selected,
            "selected_pass": details.selected_pass,
            "shuffled": details.shuffled,
            "missing": self.missing,
            "invalid_values": self.invalid_values,
            "features": self._weighted_features(),
            "features_seen": self.features_seen,
            "metrics": plain_all(self.metrics),
            "metrics_ci": [plain(edge) for edge in self.metrics_ci],
            "metrics_on": self.metrics_on,
            "level": details.plan.level,
            "baseline": plain_all(self.baseline),
            "baseline_name": self.baseline_name,
            "skill": plain(self.skill),
            "progressive": plain_all(self.progressive),
            "in_sample": {} if self._in_sample is None else plain_all(self._in_sample.metrics),
            "last_label_baseline": plain_all(self.last_label_baseline),
            "round_log": [{name: plain(value) for name, value in vars(one).items()} for one in self.round_log],
            "max_staleness": self.max_staleness,
            "column_report": list(self.column_report),
            "notes": list(self.notes),
            "per_class": {str(label): plain_all(row) for label, row in self.per_class.items()},
            "history": [
                {
                    "examples": moment.examples,
                    "weight": moment.weight,
                    "loss": plain(moment.loss),
                    "since_last": plain(moment.since_last),
                    "error_rate": moment.error_rate,
                }
                for moment in self.history
            ],
            "top_features": [[name, value] for name, value in self.top_features()],
            "seconds": self.seconds,
            "rows_per_second": details.rows_per_second,
            "interrupted": self.interrupted,
        }

    def _repr_html_(self) -> str:
        return notebook.train_result(self.asdict())

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.items())
        return f"<TrainResult: {self.task}; {self.rows:,} rows; on {self.metrics_on}: {shown}>"


class TrainDetails:
    """Counts and settings of a training, for reports and programs.

    Attributes:
        learned: how many rows were learned.
        skipped: how many rows could not be read; `skipped_rows` has the first of them, with the reason.
        unlabeled: how many rows have no label.
        held_out: how many rows were held out.
        rows_per_second: rows of all passes that were learned in a second; None if the training was resumed.
        features_met: how many features a sparse model had met before it was pruned; None for others.
        shuffled: how the rows came into random order, in words.
        selected_pass: the pass whose weights were selected.
        curves: ROC, reliability and residuals of the predictions that `metrics` describes; None without any.
        output: the file that the model was saved to.
    """

    def __init__(self, run: Run) -> None:
        progress = run.progress
        self.learned: int = progress.learned
        self.skipped: int = progress.skipped
        self.skipped_rows = [str(bad) for bad in progress.bad]
        self.unlabeled: int = progress.unlabelled
        self.held_out: int = progress.held
        passed = progress.learned * max(1, progress.passes)
        self.rows_per_second = passed / progress.seconds if progress.seconds and not run.midway else None
        self.features_met = run.features_met
        self.shuffled = run.shuffled
        self.selected_pass = run.passes.best or progress.passes
        self.curves = run.curves
        self.output = run.plan.output
        self.known_rows = run.known
        self.holds_out_last = run.plan.holdout == "last"
        # Rows that are held out at random from a stream are never learned.
        self.holdout_learned = run.finishing and run.plan.learn_holdout and (run.fitted or self.holds_out_last)
        self.schema, self.plan, self.reading = run.schema, run.plan, run.reader.options
        self.when = datetime.datetime.now().astimezone()

    def curves_on(self, result: TrainResult) -> str:
        """Which predictions `curves` shows, in words."""
        if result.metrics_on_holdout:
            return f"for {result.metrics_on}"
        past = result._in_sample
        return "of the first pass" if past is None else f"for a sample of {past.examples:,} learned rows (in-sample)"

    def features_shown(self, result: TrainResult) -> str:
        """The number of features in words; for a sparse model with the number of those that it has met."""
        of = "" if self.features_met is None else f" of {self.features_met:,} have a weight"
        return f"{result._weighted_features():,}{of}"

    def wide_columns(self, result: TrainResult) -> list[tuple[str, int]]:
        """Columns of text that gave nearly as many features as there are rows, and how many."""
        names = result.model._snapshot()["names"] or []
        counts = Counter(name.partition("=")[0] for name in names if "=" in name)
        wide = [(name, count) for name, count in counts.items() if count > 1000 and count > 0.5 * result.rows]
        return sorted(wide, key=lambda item: -item[1])
