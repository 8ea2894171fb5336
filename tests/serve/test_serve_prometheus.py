"""The metrics for Prometheus: names by convention, each with its help, each documented."""

from __future__ import annotations

import asyncio
import doctest
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from unitless.serve import prometheus, tallies
from unitless.serve.events import Form, Kind
from unitless.serve.prometheus import COUNTER, GAUGE, HISTOGRAM, METRICS
from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore
from unitless.serve.tallies import Histogram, StreamTallies, Tallies

ROOT = Path(__file__).parents[2]
UNITS = ("_seconds", "_bytes", "_total")


class Evaluation(SimpleNamespace):
    def __init__(self, loss: float = math.nan, **metrics: float) -> None:
        super().__init__(metrics=metrics, loss=loss, examples=0 if math.isnan(loss) else 1)


def store() -> Any:
    """A server with only the fields that metrics use."""
    model = SimpleNamespace(
        name="prices",
        role="champion",
        task="binary",
        examples=120,
        rejected=2,
        growth=SimpleNamespace(features=40, most=(50, 0)),
        classes=[0, 1],
        nbytes=4000,
        columns=SimpleNamespace(left_out={"id": 1000}),
        sums=lambda: (100.0, 25.0, 10.0),
        evaluation=Evaluation(loss=0.25, error_rate=0.1, precision=math.nan),
        served=Evaluation(loss=0.5),
        joined=Evaluation(),
    )

    stream = SimpleNamespace(
        name="prices",
        models={"prices": model},
        join=SimpleNamespace(done_count=90),
        waiting=3,
        expired=4,
        seq=130,
        mismatch=None,
    )
    settings = SimpleNamespace(replica_of=None, durability="disk", max_model_bytes=5000)
    live = SimpleNamespace(
        settings=settings,
        stream=stream,
        log=SimpleNamespace(bytes=5000, segments=[1, 2]),
        tallies=StreamTallies(),
        queue=7,
        failure=None,
        trouble=None,
        synced_seq=128,
        snapshot_seq=64,
        lag=None,
    )
    counted = Tallies()
    counted.requests["learn", 200] += 5
    counted.requests["learn", 422] += 1
    counted.sync_seconds.observe(0.003)
    live.tallies.events.update({("learn", "learned"): 100, ("learn", "422"): 1})
    live.tallies.predicted = 11
    live.tallies.label_delay.observe(30)
    missing = SimpleNamespace(name="clicks", problem="the records are damaged")
    return SimpleNamespace(settings=settings, tallies=counted, streams={"prices": live}, quarantined=[missing])


def read(page: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    }


def test_every_metric_says_what_the_server_knows() -> None:
    found = read(prometheus.render(store()))
    stream, model = (("stream", "prices"),), (("model", "prices"), ("stream", "prices"))
    expected = {
        ("unitless_requests_total", (("status", "200"), ("verb", "learn"))): 5,
        ("unitless_requests_total", (("status", "422"), ("verb", "learn"))): 1,
        ("unitless_sync_seconds_bucket", (("le", "0.002"),)): 0,
        ("unitless_sync_seconds_bucket", (("le", "0.005"),)): 1,
        ("unitless_sync_seconds_count", ()): 1,
        ("unitless_events_total", (("kind", "learn"), ("outcome", "learned"), *stream)): 100,
        ("unitless_quarantined", (("problem", "the records are damaged"), ("stream", "clicks"))): 1,
        ("unitless_predictions_total", stream): 11,
        ("unitless_queue_rows", stream): 7,
        ("unitless_writable", stream): 1,
        ("unitless_labels_waiting", stream): 3,
        ("unitless_labels_expired_total", stream): 4,
        ("unitless_label_delay_seconds_sum", stream): 30,
        ("unitless_ids_remembered", stream): 90,
        ("unitless_log_seq", stream): 130,
        ("unitless_log_synced_seq", stream): 128,
        ("unitless_log_bytes", stream): 5000,
        ("unitless_log_segments", stream): 2,
        ("unitless_snapshot_seq", stream): 64,
        ("unitless_replay_mismatch", stream): 0,
        ("unitless_model_examples", model): 120,
        ("unitless_model_features", model): 40,
        ("unitless_model_classes", model): 2,
        ("unitless_model_bytes", model): 4000,
        ("unitless_model_columns_left_out", model): 1,
        ("unitless_model_limit", (("limit", "features"), *model)): 50,
        ("unitless_model_limit", (("limit", "bytes"), *model)): 5000,
        ("unitless_model_total_weight", model): 100,
        ("unitless_model_total_loss", model): 25,
        ("unitless_model_total_errors", model): 10,
        ("unitless_model_metric", (("metric", "error_rate"), *model)): 0.1,
        ("unitless_model_served_loss", model): 0.5,
    }
    for key, value in expected.items():
        assert found[(key[0], tuple(sorted(key[1])))] == value, key
    assert any(name == "process_cpu_seconds_total" for name, _ in found)


def test_what_is_not_known_is_left_out() -> None:
    names = {(name, labels) for name, labels in read(prometheus.render(store()))}
    assert not any(name == "unitless_model_joined_loss" for name, _ in names)
    assert not any(dict(labels).get("limit") == "classes" for _, labels in names)
    assert not any(dict(labels).get("metric") == "precision" for _, labels in names)
    assert not any(name == "unitless_replica_lag_seconds" for name, _ in names)


def test_a_replica_reports_its_lag_and_omits_other_metrics() -> None:
    server = store()
    server.settings.replica_of, server.streams["prices"].lag = "elsewhere", 0.25
    found = read(prometheus.render(server))
    assert found["unitless_replica_lag_seconds", (("stream", "prices"),)] == 0.25
    written = {"unitless_snapshot_seq", "unitless_writable", "unitless_sync_seconds_count", "unitless_queue_rows"}
    assert not written & {name for name, _ in found}


def test_a_log_that_failed_is_seen() -> None:
    server = store()
    server.streams["prices"].failure = "no space left"
    assert read(prometheus.render(server))["unitless_writable", (("stream", "prices"),)] == 0


def test_a_replay_that_came_to_other_scores_is_seen() -> None:
    server = store()
    server.streams["prices"].stream.mismatch = "the scores are others"
    assert read(prometheus.render(server))["unitless_replay_mismatch", (("stream", "prices"),)] == 1


def test_two_servers_in_one_process_do_not_meet() -> None:
    one, other = store(), store()
    other.tallies.requests.clear()
    assert b"unitless_requests_total{" in prometheus.render(one)
    assert b"unitless_requests_total{" not in prometheus.render(other)


@pytest.mark.parametrize("name", METRICS)
def test_names_are_by_convention(name: str) -> None:
    metric = METRICS[name]
    assert re.fullmatch(r"unitless(_[a-z]+)+", name)
    assert name.endswith("_total") == (metric.kind is COUNTER)
    assert not name.endswith(("_sum", "_count", "_bucket"))
    assert metric.help.endswith(".")
    if metric.kind is HISTOGRAM:
        assert name.endswith("_seconds")
    assert metric.kind in (COUNTER, GAUGE, HISTOGRAM)


def test_every_metric_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "prometheus.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(unitless_\w+)(?:\{[^}]*\})?` \| (.*?) \|$", page, re.MULTILINE))
    assert rows == {name: metric.help for name, metric in METRICS.items()}


def test_a_value_on_a_bound_counts_below_it() -> None:
    assert doctest.testmod(tallies).failed == 0
    histogram = Histogram((1.0, 2.0))
    for value in (1.0, 2.0, 2.5):
        histogram.observe(value)
    assert histogram.below == [("1.0", 1), ("2.0", 2), ("+Inf", 3)]


def test_a_real_server_tells_what_it_has_done(tmp_path: Path) -> None:
    async def run() -> bytes:
        opened = ModelStore.open(tmp_path, Settings.of(data=tmp_path, environment={}))
        try:
            await opened.create("visits", {})
            live, _ = opened.find("visits")
            for place in range(5):
                row = b'{"features": {"pages": %d}, "label": %s, "id": "%d"}' % (place, b"true", place)
                await live.submitted(Kind.learn, Form.json, 1, row)
            await live.submitted(Kind.learn, Form.json, 1, b'{"features": {"pages": 1}, "label": true, "id": "0"}')
            await live.submitted(Kind.prediction, Form.json, 1, b'{"features": {"pages": 1}, "id": "late"}')
            await live.submitted(Kind.label, Form.json, 1, b'{"label": false, "id": "late"}')
            live.predict({"pages": 3})
            await opened.drain()
            return await prometheus.rendered(opened)
        finally:
            opened.close()

    found = read(asyncio.run(run()))
    stream, model = (("stream", "visits"),), (("model", "visits"), ("stream", "visits"))
    assert found["unitless_events_total", (("kind", "learn"), ("outcome", "learned"), *stream)] == 5
    assert found["unitless_events_total", (("kind", "learn"), ("outcome", "409"), *stream)] == 1
    assert found["unitless_predictions_total", stream] == 2
    assert found["unitless_label_delay_seconds_count", stream] == 1
    assert found["unitless_model_examples", model] == 6
    assert found["unitless_model_total_weight", model] >= 5
    assert found["unitless_log_synced_seq", stream] == found["unitless_log_seq", stream]
    assert found["unitless_sync_seconds_count", ()] >= 1
    assert found["unitless_model_info", (*model[:1], ("role", "champion"), *stream, ("task", "binary"))] == 1
    assert {name for name, _ in found if name.startswith("unitless_")} > {"unitless_log_bytes", "unitless_queue_rows"}
