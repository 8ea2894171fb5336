"""The simulation of large clusters agrees with its closed form and with expectations, and its script runs."""

from __future__ import annotations

import importlib
import math
import pathlib
import re
import statistics
import sys
from collections.abc import Iterator
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parent.parent


@pytest.fixture(scope="module")
def simulation() -> Iterator[Any]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield importlib.import_module("cluster_rounds")
    sys.path.remove(str(ROOT / "benchmarks"))


@pytest.fixture(scope="module")
def costs(simulation: Any) -> Any:
    return simulation.Costs.read()


def job(
    simulation: Any, costs: Any, rows: float = 1e9, model: float = 3.0, name: str = "linear, 54 columns", **more: Any
) -> Any:
    return simulation.Job(rows, model, costs.workloads[name], **more)


@pytest.mark.parametrize("per_worker", [1, 3])
@pytest.mark.parametrize("workers", [1, 2, 10, 64, 1000, 1001])
@pytest.mark.parametrize(("model", "name"), [(3.0, "trees, 54 columns"), (5000.0, "sparse, 30 features")])
def test_if_nothing_fails_events_give_the_closed_form(
    simulation: Any, costs: Any, workers: int, model: float, name: str, per_worker: int
) -> None:
    one, cluster = job(simulation, costs, 1e9, model, name, per_worker=per_worker), simulation.Cluster(workers)
    exact, found = simulation.closed_form(one, cluster, costs), simulation.simulate(one, cluster, costs)
    assert found.seconds == pytest.approx(exact.seconds, rel=1e-12)
    assert found.failed == 0
    assert (found.learning, found.model_traffic, found.data_traffic) == (
        exact.learning,
        exact.model_traffic,
        exact.data_traffic,
    )
    assert 0 < exact.efficiency <= 1


def test_a_driver_that_is_slow_to_submit_holds_up_both_alike(simulation: Any, costs: Any) -> None:
    slow = simulation.Costs(**{**vars(costs), "submit": 10.0})
    for per_worker, workers in ((1, 30), (2, 30), (5, 7)):
        one, cluster = job(simulation, slow, rows=1e6, per_worker=per_worker), simulation.Cluster(workers)
        expected = simulation.closed_form(one, cluster, slow).seconds
        assert simulation.simulate(one, cluster, slow).seconds == pytest.approx(expected, rel=1e-12)
        assert expected > 10.0 * one.partitions(cluster) * (one.rounds + 1)


def test_more_workers_never_learn_slower_and_a_faster_network_never_hurts(simulation: Any, costs: Any) -> None:
    one = job(simulation, costs, rows=1e12)
    clusters = [simulation.Cluster(workers) for workers in (1, 3, 10, 100, 1000, 10_000)]
    learning = [simulation.closed_form(one, cluster, costs).learning for cluster in clusters]
    assert learning == sorted(learning, reverse=True)
    tasks = [simulation.one_round(one, cluster, costs, one.rows / 8).task for cluster in clusters]
    assert tasks == sorted(tasks, reverse=True)
    merging = [sum(simulation.one_round(one, cluster, costs, 0.0).folds) for cluster in clusters]
    assert merging == sorted(merging)
    large = job(simulation, costs, model=500.0)
    by_network = [
        simulation.closed_form(large, simulation.Cluster(100, speed), costs).seconds for speed in (1, 10, 100)
    ]
    assert by_network == sorted(by_network, reverse=True)


def test_one_worker_takes_the_time_of_all_rows(simulation: Any, costs: Any) -> None:
    one = job(simulation, costs, rows=1e10, text=False)
    alone = simulation.closed_form(one, simulation.Cluster(1, network=1e9), costs)
    assert alone.seconds == pytest.approx(1e10 * costs.row(one.workload), rel=0.001)
    assert simulation.levels(1) == []


def test_a_tree_has_as_many_levels_as_powers_of_eight(simulation: Any, costs: Any) -> None:
    assert simulation.levels(8) == [1]
    assert simulation.levels(9) == [2, 1]
    assert simulation.levels(10_000) == [1250, 157, 20, 3, 1]
    one = job(simulation, costs, model=1.0)
    traffic = simulation.one_round(one, simulation.Cluster(64), costs, 0.0).traffic
    expected = 64 + 4 + (8 + 1) * costs.sums  # into the tree, to four machines; sums within the tree, and to the driver
    assert traffic == pytest.approx(expected)
    trees = job(simulation, costs, model=1.0, name="trees, 54 columns")
    traffic = simulation.one_round(trees, simulation.Cluster(64), costs, 0.0).traffic
    assert traffic == pytest.approx(3 * 64 + 4)  # all states through both levels, and to the driver


def test_short_data_has_fewer_partitions(simulation: Any, costs: Any) -> None:
    assert job(simulation, costs, rows=1e5).partitions(simulation.Cluster(1000)) == 12
    assert job(simulation, costs, rows=100).partitions(simulation.Cluster(1000)) == 1


def test_failing_tasks_take_as_long_as_in_theory(simulation: Any, costs: Any) -> None:
    """A task that must run undisturbed for d at rate r takes (e^(rd) - 1)(1/r + restart) on average."""
    one = job(simulation, costs, rows=1e9, rounds=1, text=False)
    calm = simulation.Cluster(1, network=1e9)
    task = simulation.one_round(one, calm, costs, one.rows, first=True).task
    rate = 1.5 / task
    failing = simulation.Cluster(1, network=1e9, failures=rate * 3600)
    extra = simulation.closed_form(one, calm, costs).seconds - task
    found = [simulation.simulate(one, failing, costs, seed).seconds - extra for seed in range(2000)]
    expected = math.expm1(rate * task) * (1 / rate + failing.restart)
    assert statistics.mean(found) == pytest.approx(expected, rel=0.1)


def test_failures_cost_time_more_partitions_save_some_and_seeds_repeat(simulation: Any, costs: Any) -> None:
    one = job(simulation, costs, rows=1e12)
    calm, failing = (simulation.Cluster(1000, failures=rate) for rate in (0.0, 0.01))
    first = simulation.simulate(one, failing, costs, 3)
    assert first.failed > 0
    assert first.seconds > simulation.simulate(one, calm, costs).seconds
    assert first == simulation.simulate(one, failing, costs, 3)
    assert first != simulation.simulate(one, failing, costs, 4)
    smaller = job(simulation, costs, rows=1e12, per_worker=8)
    assert simulation.simulate(smaller, failing, costs, 3).seconds < first.seconds
    uneven = simulation.Cluster(1000, spread=0.1)
    assert simulation.simulate(one, uneven, costs).seconds > simulation.simulate(one, calm, costs).seconds


@pytest.mark.parametrize("failures", [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0])
def test_a_simulation_ends_however_often_workers_fail(simulation: Any, costs: Any, failures: float) -> None:
    """A job that cannot end takes an infinite time; its simulation ends."""
    one = job(simulation, costs, rows=1e12)
    calm = simulation.simulate(one, simulation.Cluster(10), costs).seconds
    seconds = simulation.simulate(one, simulation.Cluster(10, failures=failures), costs).seconds
    assert seconds > calm
    assert seconds == math.inf or failures < 100.0


def test_the_script_measures_prints_and_draws(
    simulation: Any, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("scipy")
    script = importlib.import_module("internet_scale")
    monkeypatch.setattr(script, "DRAWS", 1)
    monkeypatch.setattr(script, "ROWS", (10**9, 10**13))
    monkeypatch.setattr(script, "WORKERS", (10, 1000))
    kept, picture = tmp_path / "costs.json", tmp_path / "scale.png"
    script.main(["--measure", "--quick", "--costs", str(kept), "--picture", str(picture), "--network", "25"])
    printed = capsys.readouterr().out
    assert "Network 25 Gbit/s" in printed
    tables = re.findall(r"(?:^\|.*\|\n?)+", printed, re.MULTILINE)
    assert len(tables) == len(script.MODELS) + 1
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert picture.stat().st_size > 30_000
    measured = simulation.Costs.read(kept)
    assert all(one.seconds > 0 for one in measured.workloads.values())
    assert all(value > 0 for value in vars(measured).values() if isinstance(value, float))
    assert measured.workloads.keys() == simulation.Costs.read().workloads.keys()


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0123, "12 ms"), (0.5, "0.5 s"), (59, "59 s"), (90, "1.5 min"), (7200, "2.0 h"), (1e9, "32 years")],
)
def test_durations_are_shown_in_units_of_people(simulation: Any, seconds: float, shown: str) -> None:
    assert importlib.import_module("internet_scale").duration(seconds) == shown
    assert importlib.import_module("internet_scale").duration(math.inf) == "never"
