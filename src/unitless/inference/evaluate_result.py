"""The result of `evaluate`: metrics, of all rows and by group, next to those of the baseline."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..data import Target
from ..metrics import shown_metrics
from ..metrics.baseline import skill
from ..metrics.evaluation import Evaluation
from ..presentation import html
from ..presentation.json_values import named, plain
from ..presentation.sections import text
from . import evaluation_summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .evaluate import Evaluator

SHOWN_GROUPS = 50


@dataclass(frozen=True)
class GroupMetrics:
    """The metrics of one group of rows."""

    rows: int
    weight: float
    metrics: dict[str, float]
    metrics_ci: tuple[float, float]


class EvaluateResult:
    """The result of `evaluate`."""

    def __init__(self, scoring: Evaluator) -> None:
        progress, model = scoring.progress, scoring.model
        assert scoring.target is not None or model.task == "classes"
        self.model = model
        self.target = scoring.target or Target("classes")
        self.source, self.schema = scoring.source.name, scoring.schema
        self.evaluation = scoring.evaluation
        self.curves = scoring.curves
        self.rows = progress.rows
        self.scored = scoring.scored
        self.skipped = progress.skipped
        self.skipped_rows = [str(bad) for bad in progress.bad]
        self.unlabeled = progress.unlabeled
        self.unknown = scoring.strange
        """Rows of classes that the model does not know, all of which count as wrong."""
        self.unknown_labels = scoring.strangers
        self.missing = dict(progress.missing)
        self.invalid_values = {name: count for name, (count, _, _) in progress.invalid_values.items()}
        """By column: the number of values that could not be read as the column's type and counted as missing."""
        self.first_invalid = progress.invalid_values
        """By column: the number of invalid values, the position of the first, and its text."""
        self.seconds = progress.seconds
        self.metrics: dict[str, float] = scoring.evaluation.metrics
        self.level = scoring.level
        """The level of the intervals (for classes: sets) whose coverage is among the metrics."""
        self.metrics_ci: tuple[float, float] = scoring.evaluation.hold_out_interval()
        self.baseline: dict[str, float] = scoring.baseline.metrics
        self.importance = scoring.importance()
        """The importance of the columns; None if it was not asked for, or if there are too few rows."""
        answer = scoring.baseline.answer
        self._baseline_answer: Any = self.target.classes[int(answer)] if self.target.task == "binary" else answer
        self._has_offsets = scoring.baseline.has_offsets
        self.by = scoring.by or ("group" if scoring.groups else None)
        ranked = sorted(scoring.groups.items(), key=lambda item: (-item[1].weight, item[0] is None, item[0] or ""))
        self.groups: dict[str | None, GroupMetrics] = {name: _group_score(one) for name, one in ranked[:SHOWN_GROUPS]}
        """By value of `by`: the largest groups first; None stands for rows without a value."""
        rest = [one for _, one in ranked[SHOWN_GROUPS:]] + ([scoring.others] if scoring.others is not None else [])
        self.others: GroupMetrics | None = None
        """The metrics of all other groups together."""
        if rest:
            for one in rest[1:]:
                rest[0].absorb(one)
            self.others = _group_score(rest[0])

    @property
    def task(self) -> str:
        """The task as text."""
        return str(self.target)

    @property
    def baseline_name(self) -> str:
        """The baseline in words: the best constant answer for the evaluated labels."""
        regression = self.target.task == "regression"
        return shown_metrics.constant(self._baseline_answer, self.model.options, regression, self._has_offsets)

    @property
    def judged_by(self) -> str:
        """The metric of `skill`: "error_rate" for classes; "rmse", or "loss" for other losses."""
        return self.evaluation.judged_by

    @property
    def skill(self) -> float:
        """The share of the baseline's error that is removed; for numbers of its squared error, which is R²."""
        return skill(self.metrics, self.baseline, self.judged_by)

    @property
    def per_class(self) -> dict[Any, dict[str, float]]:
        """For each class: its share of the weight, its precision and its recall."""
        ranking = self.evaluation.ranking
        if ranking is None:
            return self.evaluation.per_class
        weight, found = self.evaluation.weight, ranking.found()
        hits, predicted, positive = found.hits, found.predicted, found.positive
        other_hits = weight - predicted - positive + hits
        counts = ((weight - positive, weight - predicted, other_hits), (positive, predicted, hits))
        return {
            label: {"share": _ratio(seen, weight), "precision": _ratio(both, said), "recall": _ratio(both, seen)}
            for label, (seen, said, both) in zip(self.target.classes, counts, strict=True)
        }

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw ROC, precision and recall, and reliability; or predictions against truth, and residuals.

        Args:
            path: the file to save the picture to. Default: it is not saved.
        """
        from .. import figures  # noqa: PLC0415  (needs matplotlib)

        several = self.per_class if self.evaluation.ranking is None else None
        figure = figures.score(self.curves, os.path.basename(self.source), several)
        return figures.save(figure, path)

    def asdict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            **named(self, "source", "rows", "scored", "skipped", "skipped_rows", "unlabeled", "unknown"),
            **named(self, "unknown_labels", "missing", "invalid_values", "level", "seconds"),
            **named(self, "metrics", "metrics_ci", "judged_by", "baseline", "baseline_name", "skill"),
            **named(self, "per_class", "by", "others", "importance"),
            "groups": [{"group": name, **plain(one)} for name, one in self.groups.items()],
            "task": self.target.task,
            "classes": [str(label) for label in self.per_class] or None,
            "loss_function": self.model.options.loss,
        }

    def _repr_html_(self) -> str:
        return html.sections("EvaluateResult", evaluation_summary.sections(self))

    def __str__(self) -> str:
        return text(evaluation_summary.sections(self))

    def __repr__(self) -> str:
        name = self.judged_by
        said, form = ("error rate", ".2%") if name == "error_rate" else (name, ".4g")
        gone = f"; skill {self.skill:.0%}" if math.isfinite(self.skill) else ""
        values = f"{said} {self.metrics[name]:{form}}, baseline {self.baseline[name]:{form}}"
        return f"<EvaluateResult: {self.task}; {self.scored:,} rows; {values}{gone}>"


def _group_score(evaluation: Evaluation) -> GroupMetrics:
    return GroupMetrics(evaluation.examples, evaluation.weight, evaluation.metrics, evaluation.hold_out_interval())


def _ratio(part: float, whole_of: float) -> float:
    return part / whole_of if whole_of else math.nan
