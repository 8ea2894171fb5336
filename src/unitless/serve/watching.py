"""Observes a live stream for the page and for Prometheus: each second, the delays of labels, some of its rows."""

from __future__ import annotations

import logging
import math
from typing import Any, TypeAlias

from ..presentation.json_values import plain
from .events import Kind, Record, Row
from .moments import Moments
from .served import ServedModel
from .served.describe import known_metrics
from .served.vw import VwText
from .streams import Outcome, Stream
from .tallies import StreamTallies

_SCALES_EVERY = 10  # seconds; reading all scales of a model takes milliseconds
_METRICS_EVERY = 5  # seconds; so do the metrics that are more than a mean
_LARGE = 64 << 20  # bytes: the scales of a larger model are not read
_Shown: TypeAlias = tuple[Row, Any]
_log = logging.getLogger("unitless.serve")


class Watch:
    """Observes a stream. Nothing here is part of the state of the stream.

    Args:
        stream: which.
        moments: what is remembered of the last minutes.
        tallies: what is counted since the server started.
    """

    def __init__(self, stream: Stream, moments: Moments, tallies: StreamTallies) -> None:
        self.stream, self.moments, self.tallies = stream, moments, tallies
        self._sums = {name: (*model.sums(), model.learned) for name, model in stream.models.items()}
        self._predicted = 0
        self._metrics: dict[str, tuple[float, dict[str, Any]]] = {}  # by model: since when, which
        self._scales: tuple[str, dict[Any, float]] = ("", {})  # a model and its largest scales ever

    # ------------------------------------------------------------------------------------------------ each record

    def shown(self, kind: Kind, rows: object) -> _Shown | None:
        """The first row and its features, which may become an example; called before its record is applied."""
        try:
            return self._shown(kind, rows)
        except Exception:  # observing must not keep a row from being learned
            _log.exception("a row could not be looked at")
            return None

    def _shown(self, kind: Kind, rows: object) -> _Shown | None:
        if isinstance(rows, VwText):
            found = rows.first()
            return None if found is None else (Row(label=found[1]), found[0])
        if not isinstance(rows, list) or not rows or kind not in (Kind.learn, Kind.label):
            return None
        row: Row = rows[0]
        features = row.features
        if kind is Kind.label:
            waiting = None if row.id is None else self.stream.join.waiting(row.id)
            features = None if waiting is None else self.stream.features_of(waiting)
        return None if features is None else (row, features)

    def observe(self, kind: Kind, record: Record, outcomes: list[Outcome], shown: _Shown | None) -> None:
        """Count the outcomes of a record."""
        try:
            self._observe(kind, record, outcomes, shown)
        except Exception:
            _log.exception("what came of a record could not be shown")

    def _observe(self, kind: Kind, record: Record, outcomes: list[Outcome], shown: _Shown | None) -> None:
        events, name = self.tallies.events, kind.name
        for outcome in outcomes:
            count = 1 if outcome.lines is None else record.rows
            events[name, outcome.status if outcome.problem is None else str(outcome.problem.status)] += count
            if outcome.waited is not None:
                self.moments.labeled_after(outcome.waited / 1e6)
                self.tallies.label_delay.observe(outcome.waited / 1e6)
        if kind in (Kind.prediction, Kind.rank):
            self.tallies.predicted += record.rows
        elif shown is not None and outcomes[0].status == "learned" and outcomes[0].problem is None:
            self._example(record, *shown, outcomes[0])

    def _example(self, record: Record, row: Row, features: Any, outcome: Outcome) -> None:
        model = self.stream.models[outcome.model]
        predicted = model.prediction_of(outcome.score)
        self.moments.example(
            seq=outcome.seq,
            time=record.time / 1e6,
            id=row.id,
            features=features if isinstance(features, dict) else {str(k): value for k, value in enumerate(features)},
            label=row.label,
            prediction=plain(predicted.prediction),
            score=plain(predicted.score),
            loss=plain(model.loss_of(outcome.score, row.label)),
            model=outcome.model,
        )

    # ------------------------------------------------------------------------------------------------ each second

    def beat(self) -> float | None:
        """Add up the losses of the last second; returns the champion's progressive loss over all rows."""
        moments, stream = self.moments, self.stream
        moments.champion = stream.champion
        for name, model in stream.models.items():
            before = self._sums.get(name)
            if before is not None and model.learned == before[3]:
                continue
            weight, loss, error = model.sums()
            self._sums[name] = weight, loss, error, model.learned
            if before is not None:
                errors = error - before[2] if model.task in ("binary", "classes") else math.nan
                moments.learned(name, model.learned - before[3], loss - before[1], errors, weight - before[0])
        for name in self._sums.keys() - stream.models.keys():
            del self._sums[name]
        predicted, self._predicted = self._predicted, self.tallies.predicted
        moments.predicted(self._predicted - predicted)
        weight, loss, *_ = self._sums.get(stream.champion, (0.0, 0.0))
        return loss / weight if weight else None

    def scale_growth(self, now: float) -> int | None:
        """The number of features of the champion whose scale grew; computed only while events have readers."""
        if not self.moments.broadcast.has_readers or int(now) % _SCALES_EVERY:
            return None
        champion = self.stream.models.get(self.stream.champion)
        if champion is None or champion.model is None or champion.model.nbytes > _LARGE:
            return None
        name, known = self._scales
        scales = champion.model.scales
        if name != champion.name:
            self._scales = champion.name, dict(scales)
            return None
        grown = [feature for feature, scale in scales.items() if scale > known.get(feature, 0.0)]
        known.update((feature, scales[feature]) for feature in grown)
        return len(grown)

    def policies(self) -> tuple[float | None, float | None]:
        """A bandit's estimated values of random actions and of the best constant action; None twice for a model."""
        known: dict[str, Any] = {} if self.stream.bandit is None else plain(self.stream.bandit.metrics)
        return known.get("random"), known.get("best_constant")

    def models(self, now: float) -> list[dict[str, Any]]:
        """The examples and metrics of each model."""
        return [
            {"name": model.name, "role": model.role, "examples": model.examples, "metrics": self._scores(model, now)}
            for model in self.stream.models.values()
        ]

    def _scores(self, model: ServedModel, now: float) -> dict[str, Any]:
        """The metrics of a model: means are current, other metrics may be a few seconds old."""
        since, found = self._metrics.get(model.name, (0.0, {}))
        if not 0 <= now - since < _METRICS_EVERY:
            found = known_metrics(model)
            self._metrics[model.name] = now, found
        weight, loss, error = model.sums()
        latest = (
            {} if not weight else {"loss": loss / weight, "error_rate": error / weight, "accuracy": 1 - error / weight}
        )
        return found | {name: value for name, value in latest.items() if name in found}
