"""What training gives: the model, how good it was on rows it had not seen, and what it found."""

from __future__ import annotations

import datetime
import math
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..evaluation.baseline import error_gone
from ..evaluation.evaluation import Evaluation, Moment
from ..evaluation.stream_baselines import REPEAT
from ..inference.predictor import Predictor
from ..losses import LOSSES
from ..models.learner import Learner
from ..models.model import BIAS
from ..models.one_vs_all import OneVsAll
from ..options import Shape
from . import notebook
from .decisions import decisions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .run import Run


class TrainResult:
    """The outcome of `train`: the model that is kept, and two scores.

    `score` is that of the kept model on rows that it had not learned. `metrics` are progressive: each row was predicted
    before it was learned, by the weights of that moment; they say how the learning went.
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
        """How long this run took. Earlier ones, if it went on, are not counted."""
        passed = self.learned * max(1, self.passes)
        self.rows_per_second = passed / self.seconds if self.seconds and not run.midway else None
        """Rows of all passes that were learned in a second; None if this run went on with an earlier one."""
        self.features_met = run.features_met
        """How many features a sparse model had met before it was pruned; None of others."""
        self.fitted = run.fitted
        self.rounds: Sequence[Any] = run.told
        """What there is to say of each round, where shards learned at the same time; empty otherwise."""
        self.shuffled = run.shuffled
        self.kept: str = run.model.kept
        self.kept_pass = run.passes.best or self.passes
        self._score, self._past, self._baseline = run.score, run.past, run.baseline
        self._stream_baselines = None if run.fitted else run.stream_baselines
        self._known = run.known
        self._of_last = run.plan.holdout == "last"
        # What is held back at random from rows that are followed is never learned.
        self._learned_too = run.finishing and run.plan.learn_holdout and (run.fitted or self._of_last)
        self.decisions: Sequence[str] = decisions(run)
        """What was decided about the data while it was read, in words."""
        self.odd = {name: count for name, (count, _, _) in progress.odd.items()}
        """How many values of a column were not what it holds, and counted as missing."""
        self.notes: Sequence[str] = run.notes()
        self.curves = run.curves
        """What the predictions that `score` is about look like (see `evaluation.curves`); None without a score."""
        self.schema, self.plan, self.reading = run.schema, run.plan, run.reader.options
        self.when = datetime.datetime.now().astimezone()

    @property
    def task(self) -> str:
        """The task, in words."""
        return str(self.target)

    @property
    def score(self) -> dict[str, float]:
        """Metrics of the kept model by name, those of `metrics`, on rows that it had not learned.

        Of a stream that was followed with no row held back they are those of a sample of the past; `scored_on` says so.
        Without any row to score there are none.
        """
        return {} if self._score is None else self._score.metrics

    @property
    def score_interval(self) -> tuple[float, float]:
        """Where the kept model's error (for numbers the RMSE) truly lies, with 90% confidence."""
        return (math.nan, math.nan) if self._score is None else self._score.score_interval

    @property
    def scored_on(self) -> str:
        """Which rows `score` is about, in words."""
        if self._score is None or not self._score.examples:
            return "no rows"
        rows = f"{self._score.examples:,} rows"
        if self._score is self._past:
            return f"a sample of {rows} of the past, which it had learned"
        which = f"the last {rows}" if self._of_last else f"{rows} held back"
        which += " (which an earlier training may have learned)" if self._known else ""
        return f"{which}, then learned too" if self._learned_too else which

    @property
    def baseline(self) -> dict[str, float]:
        """The same metrics of the trivial answer: always the most frequent class, or the mean, of what was learned."""
        return {} if self._score is None or self._baseline is None else self._baseline.metrics

    @property
    def trivial(self) -> str:
        """The trivial answer, in words."""
        if self._baseline is None:
            return ""
        answer = self._baseline.answer
        if self.target.task == "regression":
            loss = LOSSES[self.model.options.loss]
            what = f"{self.model.options.quantile:g} quantile" if loss.has_quantile else loss.best_constant
            added = ", with the offset" if self._baseline.has_offsets else ""
            return f"always the {what}, {answer:,.6g}{added}"
        return f"always {self.target.classes[bool(answer)] if self.target.task == 'binary' else answer!r}"

    @property
    def repeated(self) -> dict[str, float]:
        """The same of another one, when rows were followed: the label of the row before. Progressive, as `metrics`."""
        return self.baselines.get(REPEAT, {})

    @property
    def baselines(self) -> dict[str, dict[str, float]]:
        """When rows were followed, what answers score that know the labels before and nothing else, by name.

        They are "repeat the last label" and "running mean" (of classes: the most frequent class so far). Progressive,
        as `metrics` is. Of rows in random order they would say nothing, and there are none.
        """
        return {} if self._stream_baselines is None else self._stream_baselines.metrics

    @property
    def gone(self) -> float:
        """What part of the trivial answer's error is gone: of its squared error, which is R², for numbers; of its loss
        if that is another one than the squared.
        """
        return error_gone(self.score, self.baseline, self.judged_by) if self.score else math.nan

    @property
    def judged_by(self) -> str:
        """The metric that says how good the model is: "zero_one" of classes, "rmse" of numbers, or another "loss"."""
        if self.target.task != "regression":
            return "zero_one"
        return "rmse" if LOSSES[self.model.options.loss].is_squared_error else "loss"

    @property
    def metrics(self) -> dict[str, float]:
        """Progressive metrics by name: the loss, and those of the task, such as zero_one and auc, or rmse and mae."""
        return self.evaluation.metrics

    @property
    def stale(self) -> int:
        """How many rows a progressive prediction may not have known at most: other shards learned them in its round."""
        return max((told.rows - told.rows // told.shards for told in self.rounds), default=0)

    @property
    def per_class(self) -> dict[Any, dict[str, float]]:
        """By class: share, precision, recall. Of the rows of `scored_on`; without a score progressive, as `metrics`."""
        return (self._score or self.evaluation).per_class

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
    def shape(self) -> Shape | None:
        """The shape of the model: the one that was asked for, or what "auto" has become."""
        return self.model.settled_shape

    @property
    def experts(self) -> dict[str, float]:
        """How far the prediction follows each expert of the mixture: see `Learner.experts`."""
        return self.model.experts

    @property
    def features(self) -> int:
        """How many features the model has met; of a sparse model, how many have a weight."""
        return len(self.model.scales) - (BIAS in self.model.scales)

    @property
    def said_features(self) -> str:
        """The same in words: of a sparse model with the number of those that it has met."""
        of = "" if self.features_met is None else f" of {self.features_met:,} have a weight"
        return f"{self.features:,}{of}"

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

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page of HTML that stands alone: what was learned from what, how good it is, what was noticed."""
        from . import report  # noqa: PLC0415  (few ask for it)

        report.write(self, path)

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
            "shape": self.shape,
            "experts": self.experts,
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
            "score": {k: plain(v) for k, v in self.score.items()},
            "interval_level": self.plan.interval,
            "score_interval": [plain(edge) for edge in self.score_interval],
            "scored_on": self.scored_on,
            "baseline": {k: plain(v) for k, v in self.baseline.items()},
            "repeated": {k: plain(v) for k, v in self.repeated.items()},
            "baselines": {name: {k: plain(v) for k, v in own.items()} for name, own in self.baselines.items()},
            "gone": plain(self.gone),
            "fitted": self.fitted,
            "shuffled": self.shuffled,
            "kept": self.kept,
            "kept_pass": self.kept_pass,
            "rounds": [{name: plain(value) for name, value in vars(told).items()} for told in self.rounds],
            "stale": self.stale,
            "odd": self.odd,
            "decisions": list(self.decisions),
            "notes": list(self.notes),
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
            "rows_per_second": self.rows_per_second,
            "interrupted": self.interrupted,
        }

    def _repr_html_(self) -> str:
        return notebook.train_result(self.asdict())

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {value:.4g}" for name, value in (self.score or self.metrics).items())
        which = f"score on {self.scored_on}" if self.score else "progressive"
        return f"<TrainResult: {self.task}; {self.rows:,} rows; {which}: {shown}>"
