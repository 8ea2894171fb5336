"""Metrics for Prometheus: GET /metrics.

Nothing is counted here. Each scrape reads what the server, its streams and their models know anyway, so that metrics
cost nothing while rows are learned. What belongs to the state of a stream (rows, losses) continues after a restart;
what the process counts (requests, syncs) begins at 0.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from ..presentation.shown import short
from ..version import __version__
from .served import ServedBandit
from .served.describe import metrics_of
from .tallies import Histogram

if TYPE_CHECKING:
    from .live import LiveStream
    from .served import ServedModel
    from .store import ModelStore

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"  # which every Prometheus reads
_LONGEST = 200  # characters of a label
COUNTER, GAUGE, HISTOGRAM = CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily


@dataclass(frozen=True)
class Described:
    """A metric: its kind, its help text and its labels."""

    kind: type[CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily]
    help: str
    labels: tuple[str, ...] = ()


_STREAM, _MODEL = ("stream",), ("stream", "model")

METRICS = {
    # the server
    "unitless_server_info": Described(GAUGE, "Always 1; the labels say what runs.", ("version", "durability", "role")),
    "unitless_requests_total": Described(COUNTER, "Requests by verb and HTTP status.", ("verb", "status")),
    "unitless_request_seconds": Described(
        HISTOGRAM, "From a request to its answer, by verb; of many rows to the last answer.", ("verb",)
    ),
    "unitless_connections": Described(GAUGE, "Open connections."),
    "unitless_quarantined": Described(
        GAUGE, "Always 1: the stream could not be recovered, and is not served.", ("stream", "problem")
    ),
    "unitless_sync_seconds": Described(HISTOGRAM, "How long the log took to reach the disk, for each group of rows."),
    # each stream
    "unitless_events_total": Described(
        COUNTER, "Rows and other records of the log, by kind and by what came of them.", ("stream", "kind", "outcome")
    ),
    "unitless_predictions_total": Described(COUNTER, "Rows predicted since the start, with or without an id.", _STREAM),
    "unitless_queue_rows": Described(GAUGE, "Rows that wait to be learned, or for the disk.", _STREAM),
    "unitless_writable": Described(
        GAUGE, "1 if rows can be learned, 0 if the disk is full or the log has failed.", _STREAM
    ),
    "unitless_labels_waiting": Described(
        GAUGE, "Predictions that wait for their labels, or decisions for their rewards.", _STREAM
    ),
    "unitless_labels_expired_total": Described(
        COUNTER, "Predictions whose label, or decisions whose reward, did not come in time.", _STREAM
    ),
    "unitless_label_delay_seconds": Described(HISTOGRAM, "Time from a prediction to its label.", _STREAM),
    "unitless_ids_remembered": Described(GAUGE, "Learned ids that are kept to recognize duplicates.", _STREAM),
    "unitless_log_seq": Described(GAUGE, "The last sequence number that was applied.", _STREAM),
    "unitless_log_synced_seq": Described(GAUGE, "The last sequence number that is on the disk.", _STREAM),
    "unitless_log_bytes": Described(GAUGE, "Size of the log.", _STREAM),
    "unitless_log_segments": Described(GAUGE, "Files of the log.", _STREAM),
    "unitless_snapshot_seq": Described(GAUGE, "The last sequence number that a snapshot holds.", _STREAM),
    "unitless_replay_mismatch": Described(GAUGE, "1 if a replay of the log came to other scores, else 0.", _STREAM),
    "unitless_replica_lag_seconds": Described(
        GAUGE, "Of a replica: how old the last record was when it was applied.", _STREAM
    ),
    # each model
    "unitless_model_info": Described(
        GAUGE, "Always 1; the labels say what it is.", ("stream", "model", "role", "task")
    ),
    "unitless_model_examples": Described(GAUGE, "Rows learned, those of its training included.", _MODEL),
    "unitless_model_rejected_total": Described(COUNTER, "Rows that it alone could not learn.", _MODEL),
    "unitless_model_features": Described(GAUGE, "Features; of hashed ones, the places for them.", _MODEL),
    "unitless_model_classes": Described(GAUGE, "Classes.", _MODEL),
    "unitless_model_bytes": Described(GAUGE, "Memory that the model takes.", _MODEL),
    "unitless_model_columns_left_out": Described(
        GAUGE, "Columns of text that are left out because their texts are almost always new.", _MODEL
    ),
    "unitless_model_limit": Described(
        GAUGE,
        "How many features, classes and bytes it can have; rows that bring more are refused.",
        ("stream", "model", "limit"),
    ),
    "unitless_model_total_weight": Described(GAUGE, "Weights of the rows that were judged, added up.", _MODEL),
    "unitless_model_total_loss": Described(GAUGE, "Progressive losses times weights, added up.", _MODEL),
    "unitless_model_total_errors": Described(GAUGE, "Weights of wrongly predicted rows, added up; of classes.", _MODEL),
    "unitless_model_metric": Described(
        GAUGE, "Progressive metrics over all rows, such as rmse or accuracy.", ("stream", "model", "metric")
    ),
    "unitless_model_served_loss": Described(GAUGE, "Mean loss of served predictions whose labels came later.", _MODEL),
    "unitless_model_joined_loss": Described(GAUGE, "The same rows, predicted when their labels came.", _MODEL),
    # each bandit, which is a model too
    "unitless_bandit_decisions_total": Described(COUNTER, "Decisions, by the chosen action.", (*_MODEL, "action")),
    "unitless_bandit_rewards_total": Described(COUNTER, "Rewards, default rewards included.", _MODEL),
    "unitless_bandit_total_reward": Described(GAUGE, "All rewards, added up.", _MODEL),
    "unitless_bandit_value": Described(
        GAUGE,
        "The mean reward (mean_reward), and the estimated ones of simpler policies: random, best_constant.",
        (*_MODEL, "policy"),
    ),
}

Sample = tuple[str, tuple[str, ...], float | Histogram]


def render(store: ModelStore) -> bytes:
    """All metrics in the text format of Prometheus."""
    return _text([sample for part in _parts(store) for sample in part])


async def rendered(store: ModelStore) -> bytes:
    """All metrics, computed while the server answers: a pause after each stream, and the text is made in a thread."""
    samples: list[Sample] = []
    for part in _parts(store):
        samples += part
        await asyncio.sleep(0)
    return await asyncio.to_thread(_text, samples)


def _text(samples: list[Sample]) -> bytes:
    return generate_latest(_Scrape(samples))


class _Scrape(Collector):
    """All metrics at one moment."""

    def __init__(self, samples: list[Sample]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Metric]:
        families = {
            name: described.kind(name, described.help, labels=described.labels) for name, described in METRICS.items()
        }
        for name, labels, value in self._samples:
            family = families[name]
            if isinstance(value, Histogram):
                assert isinstance(family, HistogramMetricFamily)
                family.add_metric(labels, value.below, value.total)
            elif not math.isnan(value):
                assert not isinstance(family, HistogramMetricFamily)
                family.add_metric(labels, value)
        yield from (family for family in families.values() if family.samples)
        yield from _process.collect()


_process = ProcessCollector(registry=CollectorRegistry())


def _parts(store: ModelStore) -> Iterator[list[Sample]]:
    """The server, then each stream with its models."""
    yield list(_of_server(store))
    for name, live in list(store.streams.items()):
        if store.streams.get(name) is not live:  # deleted while others had their turn
            continue
        models = live.stream.models.values()
        yield [*_of_stream(live), *(sample for model in models for sample in _of_model(live, model))]


def _of_server(store: ModelStore) -> Iterator[Sample]:
    role = "replica" if store.settings.replica_of is not None else "primary"
    yield "unitless_server_info", (__version__, store.settings.durability, role), 1
    tallies = store.tallies
    for (verb, status), count in tallies.requests.items():
        yield "unitless_requests_total", (verb, str(status)), count
    for verb, latencies in tallies.latencies.items():
        yield "unitless_request_seconds", (verb,), latencies
    yield "unitless_connections", (), tallies.connections
    for one in store.quarantined:
        yield "unitless_quarantined", (one.name, short(one.problem, _LONGEST)), 1
    if store.settings.replica_of is None:
        yield "unitless_sync_seconds", (), tallies.sync_seconds


def _of_stream(live: LiveStream) -> Iterator[Sample]:
    stream, log = live.stream, live.log
    of = (stream.name,)
    for (kind, outcome), count in live.tallies.events.items():
        yield "unitless_events_total", (stream.name, kind, outcome), count
    yield "unitless_predictions_total", of, live.tallies.predicted
    yield "unitless_labels_waiting", of, stream.waiting
    yield "unitless_labels_expired_total", of, stream.expired
    yield "unitless_ids_remembered", of, stream.join.done_count
    yield "unitless_log_seq", of, stream.seq
    yield "unitless_log_bytes", of, log.bytes
    yield "unitless_log_segments", of, len(log.segments)
    yield "unitless_replay_mismatch", of, stream.mismatch is not None
    if live.lag is not None:
        yield "unitless_replica_lag_seconds", of, live.lag
    if live.settings.replica_of is None:  # what only those do that write
        yield "unitless_label_delay_seconds", of, live.tallies.label_delay
        yield "unitless_queue_rows", of, live.queue
        yield "unitless_writable", of, live.failure is None and live.trouble is None
        yield "unitless_log_synced_seq", of, live.synced_seq
        yield "unitless_snapshot_seq", of, live.snapshot_seq


def _of_bandit(of: tuple[str, str], model: ServedBandit) -> Iterator[Sample]:
    values = model.values
    yield "unitless_model_bytes", of, model.nbytes
    decisions: Counter[str] = Counter()
    for action, sums in values.actions.items():
        decisions[short(str(action), _LONGEST)] += int(sums[0])
    for name, count in decisions.items():
        yield "unitless_bandit_decisions_total", (*of, name), count
    yield "unitless_bandit_rewards_total", of, values.rewards
    yield "unitless_bandit_total_reward", of, values.total
    for policy, value in model.metrics.items():
        yield "unitless_bandit_value", (*of, policy), value


def _of_model(live: LiveStream, model: ServedModel) -> Iterator[Sample]:
    of = (live.stream.name, model.name)
    yield "unitless_model_info", (*of, model.role, model.task or "unknown"), 1
    yield "unitless_model_examples", of, model.examples
    yield "unitless_model_rejected_total", of, model.rejected
    if isinstance(model, ServedBandit):
        yield from _of_bandit(of, model)
        return
    yield "unitless_model_features", of, model.growth.features
    yield "unitless_model_classes", of, len(model.classes or ())
    yield "unitless_model_bytes", of, model.nbytes
    if model.columns is not None:
        yield "unitless_model_columns_left_out", of, len(model.columns.left_out)
    limits = (*model.growth.most, live.settings.max_model_bytes)
    for name, most in zip(("features", "classes", "bytes"), limits, strict=True):
        if most:
            yield "unitless_model_limit", (*of, name), most
    weight, loss, errors = model.sums()
    yield "unitless_model_total_weight", of, weight
    yield "unitless_model_total_loss", of, loss
    if model.task in ("binary", "classes"):
        yield "unitless_model_total_errors", of, errors
    evaluations = model.evaluation, model.served, model.joined
    for evaluation, name in zip(evaluations, ("", "served", "joined"), strict=True):
        if evaluation is None or not evaluation.examples:
            continue
        if name:
            yield f"unitless_model_{name}_loss", of, evaluation.loss
        else:
            for metric, value in metrics_of(evaluation).items():
                yield "unitless_model_metric", (*of, metric), value
