"""The result of `train`: the model, its out-of-sample metrics, the baseline's metrics, and notes about the data."""

from __future__ import annotations

import datetime
import math
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..data.columns.schema import SPLIT
from ..data.read_options import Reading
from ..inference.importance import Importance
from ..inference.predictor import Predictor
from ..metrics import shown_metrics
from ..metrics.baseline import skill
from ..metrics.evaluation import Evaluation
from ..metrics.history import Moment
from ..metrics.stream_baselines import MEAN, REPEAT
from ..models.learner import Learner
from ..models.model import BIAS
from ..models.one_vs_all import OneVsAll
from ..options import ModelType
from ..presentation import html
from ..presentation.json_values import named, plain
from ..presentation.sections import text
from . import summary
from .column_report import column_report

if TYPE_CHECKING:
    from .training import Training


class TrainResult:
    """The outcome of `train`: the model, and how good it is on rows that it had not learned.

    Attributes:
        model: the model that was trained.
        source: the name of the data.
        rows: how many rows were read.
        passes: how often the rows were learned.
        seconds: how long this training took. Earlier ones, if it was resumed, are not counted.
        selected: which weights the model predicts with: "last" or "averaged".
        invalid_values: how many values could not be read as their column's type, by column. They count as missing.
        column_report: what was inferred about the columns, one sentence each.
        notes: what is worth knowing about the data and the model, one sentence each.
        round_log: one record for each synchronization round of a training on a cluster.
        details: counts, settings and further measurements, for reports and programs; see `TrainDetails`.

    Example:
        >>> import unitless as ul
        >>> rows = [{"area": 40 + i % 90, "floor": i % 5, "rent": 300 + 11 * (i % 90)} for i in range(1000)]
        >>> result = ul.train(rows, target="rent", model_type="linear")
        >>> result.metrics_on, result.baseline_name
        ('100 held-out rows (added to training afterwards)', 'always predict the mean, 790.942')
        >>> result.skill > 0.99
        True
        >>> result.importance.columns[0].column
        'area'
    """

    def __init__(self, training: Training) -> None:
        details, progress = TrainDetails(training), training.progress
        self.details = details
        self.model: Learner | OneVsAll = details.model
        self.source: str = training.source.name
        self.rows: int = progress.rows
        self.passes: int = progress.passes
        self.seconds: float = progress.seconds
        self.selected: str = details.model.kept
        self.invalid_values: dict[str, int] = {name: count for name, (count, _, _) in progress.invalid_values.items()}
        self.column_report: Sequence[str] = column_report(training)
        self.notes: Sequence[str] = training.notes()
        self.round_log: Sequence[Any] = training.round_log

    # ------------------------------------------------------------------------------------------------ how good it is

    @property
    def task(self) -> str:
        """The task in words."""
        return str(self.details.target)

    @property
    def metrics(self) -> dict[str, float]:
        """Out-of-sample metrics by name: on held-out rows or, without any, progressive ones; `metrics_on` says which.

        For classes: accuracy, error_rate, log_loss, brier, and for two classes auc, precision, recall and f1. For
        numbers: rmse, mae, mse and r2. "loss" only where training minimizes none of these. Prediction intervals add
        coverage and width, prediction sets coverage and set_size.
        """
        return self.details.measured.metrics

    @property
    def metrics_ci(self) -> tuple[float, float]:
        """The 90% confidence interval of the error rate, or of the RMSE."""
        return self.details.interval

    @property
    def metrics_on(self) -> str:
        """Which rows `metrics` describes, in words."""
        details = self.details
        if not details.on_holdout:
            return f"{details.evaluation.examples:,} rows, each predicted before it was learned"
        return details.holdout_shown

    @property
    def progressive(self) -> dict[str, float]:
        """Progressive metrics by name: of predictions that were made before each row was learned."""
        return self.details.evaluation.metrics

    @property
    def baseline(self) -> dict[str, float]:
        """The metrics of the baseline on the same rows as `metrics`."""
        details = self.details
        if details.on_holdout:
            return {} if details.baseline is None else details.baseline.metrics
        if details.stream_baselines is not None:
            return details.stream_baselines.metrics.get(MEAN, {})
        return {}

    @property
    def baseline_name(self) -> str:
        """The baseline in words: the best constant answer or, for a stream, the best one so far."""
        details = self.details
        classes = details.target.task != "regression"
        if not details.on_holdout and details.stream_baselines is not None:
            return "always predict the most frequent class so far" if classes else "always predict the mean so far"
        if not details.on_holdout or details.baseline is None:
            return ""
        answer = details.baseline.answer
        label = details.target.classes[bool(answer)] if details.target.task == "binary" else answer
        return shown_metrics.constant(label, self.model.options, not classes, details.baseline.has_offsets)

    @property
    def last_label_baseline(self) -> dict[str, float]:
        """For a stream: the progressive metrics of predicting the label of the row before. Empty for a fit."""
        baselines = self.details.stream_baselines
        return {} if baselines is None else baselines.metrics.get(REPEAT, {})

    @property
    def skill(self) -> float:
        """The share of the baseline's error that is removed; for numbers of its squared error, which is R²."""
        found, baseline = self.metrics, self.baseline
        by = self.details.judged_by
        return skill(found, baseline, by) if by in found and by in baseline else math.nan

    @property
    def importance(self) -> Importance | None:
        """How much worse the predictions are without knowing a column, in the unit of the metric; see `Importance`.

        Measured on held-out rows; for a stream, or with fewer than 20 held-out rows, on rows that were learned. None if
        there are too few rows.
        """
        return self.details.importance

    # ------------------------------------------------------------------------------------------------ the model

    @property
    def model_type(self) -> ModelType | None:
        """The model type: "linear", "curves" or "trees"; the one that "auto" chose. None if it is not chosen yet."""
        return self.model.model_type

    @property
    def features_seen(self) -> int:
        """The number of features that the model has met."""
        return self.details.features_met or self.details.weighted_features

    @property
    def max_staleness(self) -> int:
        """For distributed training: the most rows that were learned before a prediction, but not yet merged into it."""
        return max((one.rows - one.rows // one.partitions for one in self.round_log), default=0)

    @property
    def predictor(self) -> Predictor:
        """The model as a `Predictor`, for single rows, probabilities, intervals and explanations."""
        return Predictor(self.model)

    def predict(self, source: Any, *, reading: Reading | None = None) -> Any:
        """Predict labels or numbers for any data with the same columns; see `Predictor.predict`.

        Args:
            source: the rows; see `train`.
            reading: how the data is read. Default: as the training data was.

        Example:
            >>> import unitless as ul
            >>> result = ul.train([{"x": i, "y": 2 * i} for i in range(200)], "y", model_type="linear")
            >>> [round(number) for number in result.predict([{"x": 10}, {"x": 50}])]
            [20, 100]
        """
        return self.predictor.predict(source, reading=reading)

    def predict_proba(self, source: Any, *, reading: Reading | None = None) -> Any:
        """Predict probabilities, one column per class of `predictor.classes`: an array, or a frame for a frame.

        Args:
            source: the rows; see `train`.
            reading: how the data is read. Default: as the training data was.

        Example:
            >>> import unitless as ul
            >>> result = ul.train([{"x": i % 10, "y": "high" if i % 10 > 4 else "low"} for i in range(500)], "y")
            >>> result.predictor.classes, (result.predict_proba([{"x": 0}, {"x": 9}]) > 0.5).tolist()
            (['high', 'low'], [[False, True], [True, False]])
        """
        return self.predictor.predict_proba(source, reading=reading)

    def predict_interval(self, source: Any, *, level: float = 0.9, reading: Reading | None = None) -> Any:
        """Predict intervals that contain the label with probability `level`, or sets of classes that do.

        Args:
            source: the rows; see `train`.
            level: how often an interval or a set contains the true label. Default: 0.9.
            reading: how the data is read. Default: as the training data was.

        Example:
            >>> import unitless as ul
            >>> result = ul.train([{"x": i % 30, "y": 2 * (i % 30) + i % 5} for i in range(1000)], "y")
            >>> interval = result.predict_interval([{"x": 10}], level=0.8)[0]
            >>> interval.low < interval.prediction < interval.high
            True
        """
        return self.predictor.predict_interval(source, level=level, reading=reading)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, from which `ul.load` and `ul.Predictor` read it.

        Args:
            path: the file.

        Example:
            >>> import os, tempfile, unitless as ul
            >>> result = ul.train([{"x": i, "y": 2 * i} for i in range(200)], "y")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     result.save(os.path.join(folder, "double.unitless"))
            ...     ul.load(os.path.join(folder, "double.unitless")).examples == result.model.examples
            True
        """
        self.model.save(path)

    # ------------------------------------------------------------------------------------------------ reports

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a report about data, model, metrics and notes as one HTML page that needs no other file.

        Args:
            path: the file; its name ends in .html.

        Example:
            >>> import os, tempfile, unitless as ul
            >>> result = ul.train([{"x": i, "y": 2 * i} for i in range(200)], "y")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     result.report(os.path.join(folder, "report.html"))
            ...     os.listdir(folder)
            ['report.html']
        """
        from . import report  # noqa: PLC0415  (most users need no report)

        report.write(self, path)

    def asdict(self) -> dict[str, Any]:
        """All results as plain values, for JSON; None where a number is infinite or not a number.

        Example:
            >>> import json, unitless as ul
            >>> result = ul.train([{"x": i, "y": 2 * i} for i in range(200)], "y")
            >>> json.loads(json.dumps(result.asdict()))["rows"]
            200
        """
        details, options = self.details, self.model.options
        several = details.target.task != "regression"
        return {
            **named(self, "source", "rows", "passes", "seconds", "selected", "model_type", "features_seen"),
            **named(self, "metrics", "metrics_ci", "metrics_on", "baseline", "baseline_name", "skill"),
            **named(self, "progressive", "last_label_baseline", "round_log", "max_staleness"),
            **named(self, "invalid_values", "column_report", "notes", "importance"),
            **named(details, "learned", "skipped", "skipped_rows", "unlabeled", "held_out", "missing", "interrupted"),
            **named(details, "fitted", "shuffled", "selected_pass", "rows_per_second", "output"),
            **named(details, "duplicates", "groups", "held_out_groups", "per_class", "history"),
            "task": details.target.task,
            "classes": [str(name) for name in self.predictor.class_names] if several else None,
            "rule": options.rule,
            "loss_function": options.loss,
            "learning_rate": plain(self.model.learning_rate),
            "members": plain(self.model.members),
            "features": details.weighted_features,
            "level": details.plan.level,
            "in_sample": {} if details.in_sample is None else plain(details.in_sample.metrics),
        }

    def _repr_html_(self) -> str:
        return html.sections("TrainResult", summary.sections(self))

    def __str__(self) -> str:
        return text(summary.sections(self))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.items())
        return f"<TrainResult: {self.task}; {self.rows:,} rows; on {self.metrics_on}: {shown}>"


class TrainDetails:
    """Counts, settings and further measurements of a training, for reports and programs.

    Attributes:
        learned: how many rows were learned.
        skipped: how many rows could not be read; `skipped_rows` has the first of them, with the reason.
        unlabeled: how many rows have no label.
        held_out: how many rows were held out.
        duplicates: how many rows have the features and the label of an earlier row; None for a stream, and where the
            rows were not compared.
        compared_rows: among how many rows: those that can be learned.
        groups: how many groups the rows have; None without groups.
        held_out_groups: how many of them were held out; None without groups.
        ungrouped: how many rows have no group; each of them is a group of its own.
        missing: how many values are missing, by column.
        interrupted: whether the training was stopped before its end.
        fitted: whether the data was fitted (random order, hold-out); False for a stream.
        on_holdout: whether `TrainResult.metrics` describes held-out rows; otherwise they are progressive.
        judged_by: the metric that `skill` and `metrics_ci` are about: "error_rate", "rmse", or another "loss".
        rows_per_second: rows of all passes that were learned in a second; None if the training was resumed.
        features_met: how many features a sparse model had met before it was pruned; None for others.
        shuffled: how the rows came into random order, in words.
        selected_pass: the pass whose weights were selected.
        importance: the importance of the columns; None if there are too few rows.
        curves: ROC, reliability and residuals of the predictions that `metrics` describes; None without any.
        output: the file that the model was saved to.
    """

    def __init__(self, training: Training) -> None:
        session, progress, findings, plan = training.session, training.progress, training.findings, training.plan
        assert session is not None
        self.model, self.target = session.model, session.target
        self.rows: int = progress.rows
        self.learned: int = progress.learned
        self.skipped: int = progress.skipped
        self.skipped_rows = [str(bad) for bad in progress.bad]
        self.unlabeled: int = progress.unlabeled
        self.held_out: int = progress.held
        kin = findings.kin
        self.duplicates = None if kin is None else kin.duplicates
        self.compared_rows = 0 if kin is None else kin.rows
        groups: tuple[int | None, int | None] = (None, None) if kin is None or kin.groups is None else kin.groups
        self.groups, self.held_out_groups = groups
        self.ungrouped = 0 if kin is None else kin.ungrouped
        self.missing: dict[str, int] = dict(progress.missing)
        self.interrupted: bool = training.interrupted
        self.fitted: bool = training.fitted
        passed = progress.learned * max(1, progress.passes)
        self.rows_per_second = passed / progress.seconds if progress.seconds and not training.earlier.midway else None
        self.features_met = findings.features_met
        self.shuffled = findings.shuffled
        self.selected_pass = training.passes.best or progress.passes
        self.output = plan.output
        self.known_rows = training.earlier.known
        self.holds_out_last = plan.holdout == "last"
        # Rows that are held out at random from a stream are never learned.
        self.holdout_learned = training.holdout_learned
        self.schema, self.plan, self.reading = training.schema, plan, training.reader.options
        self.when = datetime.datetime.now().astimezone()
        self.importance = findings.importance
        self.evaluation, self.in_sample, self.curves = session.evaluation, findings.in_sample, findings.curves
        held_out = None if findings.holdout is findings.in_sample else findings.holdout
        self.on_holdout = held_out is not None
        self.measured: Evaluation = session.evaluation if held_out is None else held_out
        self.baseline = session.metrics.baseline
        self.stream_baselines = None if training.fitted else session.metrics.stream_baselines
        self.judged_by: str = session.evaluation.judged_by
        self._design = training.design_effect

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval of the metric that the model is judged by."""
        if not self.on_holdout:
            return self.evaluation.interval
        # The learned rows are more, so that they show more of the tail of the errors.
        return self.measured.hold_out_interval(0.0 if self.in_sample is None else self.in_sample.tail, self._design)

    @property
    def per_class(self) -> dict[Any, dict[str, float]]:
        """By class: share, precision and recall, on the rows of `TrainResult.metrics`."""
        return self.measured.per_class

    @property
    def history(self) -> list[Moment]:
        """The progressive loss after 1, 2, 4, 8, ... rows."""
        return self.evaluation.history

    @property
    def holdout_shown(self) -> str:
        """The held-out rows in words."""
        rows = f"{self.measured.examples:,}"
        which = f"the last {rows} rows" if self.holds_out_last else f"{rows} held-out rows"
        facts = [] if self.groups is None else [f"{self.held_out_groups:,} of {self.groups:,} groups"]
        facts += ["an earlier training may have learned them"] if self.known_rows else []
        facts += ["added to training afterwards"] if self.holdout_learned else []
        return f"{which} ({'; '.join(facts)})" if facts else which

    @property
    def curves_on(self) -> str:
        """Which predictions `curves` shows, in words."""
        if self.on_holdout:
            return f"for {self.holdout_shown}"
        if self.in_sample is None:
            return "of the first pass"
        return f"for a sample of {self.in_sample.examples:,} learned rows (in-sample)"

    @property
    def weighted_features(self) -> int:
        """How many features have a weight, the bias not counted."""
        return len(self.model.scales) - (BIAS in self.model.scales)

    @property
    def features_shown(self) -> str:
        """The number of features in words; for a sparse model with the number of those that it has met."""
        of = "" if self.features_met is None else f" of {self.features_met:,} have a weight"
        return f"{self.weighted_features:,}{of}"

    @property
    def wide_columns(self) -> list[tuple[str, int]]:
        """Columns of categories that gave nearly as many features as there are rows, and how many."""
        names = self.model._snapshot()["names"] or []
        counts = Counter(name.partition("=")[0] for name in names if "=" in name)
        parted = {name for name, kind in self.schema.columns if kind in SPLIT}  # each text has many features
        wide = [
            (name, count)
            for name, count in counts.items()
            if count > 1000 and count > 0.5 * self.rows and name not in parted
        ]
        return sorted(wide, key=lambda item: -item[1])
