"""Tests for every engine; the test file of each engine runs them on its own fixture `engine`."""

from __future__ import annotations

import pathlib
import sys
import types
from typing import ClassVar

import processes
import pytest
import tasks

import unitless as ul
from unitless.cluster.engine import Engine


class EveryEngine:
    name: ClassVar[str]
    first_in_trees: ClassVar[bool] = True
    """Whether a combined value fails with the first failure by order; otherwise with the first in time."""

    def test_values_come_in_order_and_through_trees(self, engine: Engine) -> None:
        assert (engine.name, engine.slots) == (self.name, 2)
        ten = engine.put(10)
        leaves = [engine.submit(tasks.product, ten, i) for i in range(20)]
        folded = [engine.combine(tasks.listed, ten, leaves[i : i + 8]) for i in range(0, 20, 8)]
        top = engine.combine(tasks.listed, None, folded)
        engine.forget(leaves)
        engine.forget([*folded, ten])  # waiting tasks still have them
        assert engine.get(top) == [None, *([10, *range(10 * i, 10 * min(i + 8, 20), 10)] for i in range(0, 20, 8))]

    def test_progress_counts_the_finished_handles(self, engine: Engine) -> None:
        seen: list[int] = []
        handles = [engine.submit(tasks.slow, None, i / 10) for i in range(5)]
        engine.wait([*handles, engine.put(1), handles[0]], seen.append)
        engine.wait([])
        assert seen == sorted(set(seen))
        assert seen[-1] == 7
        assert len(seen) > 2

    def test_the_first_failure_by_order_is_raised_and_not_retried(self, engine: Engine, tmp_path: pathlib.Path) -> None:
        folder = engine.put(tmp_path)
        handles = [engine.submit(tasks.bad_row, folder, i) for i in range(8)]
        folded = engine.combine(tasks.listed, None, handles)
        for waited_for in (handles, [folded], [handles[0], folded]):
            with pytest.raises(ul.InputError) as caught:
                engine.wait(waited_for)
            assert caught.value.__cause__ is None
            if waited_for is not handles and not self.first_in_trees:
                continue
            assert (caught.value.file, caught.value.row, caught.value.column) == ("3.csv", 3, "area")
            assert caught.value.text(lambda option: f"--{option.name}").endswith("use --on_error")
        with pytest.raises(ul.InputError, match=r"3\.csv, row 3" if self.first_in_trees else r"[35]\.csv, row [35]"):
            engine.get(engine.submit(tasks.product, folded, 1))
        assert len(list(tmp_path.iterdir())) == 2  # each failing task ran once

    def test_other_errors_name_the_function_that_failed(self, engine: Engine) -> None:
        with pytest.raises(KeyError) as caught:
            engine.get(engine.submit(tasks.broken, None, "k"))
        assert "in broken" in str(caught.value.__cause__)


class EveryCluster(EveryEngine):
    """Engines whose workers are other processes."""

    def test_nothing_listens_beyond_this_machine(self, engine: Engine) -> None:
        addresses = processes.listening()
        assert addresses
        assert all(map(processes.is_loopback, addresses)), addresses

    def test_workers_that_are_killed_are_replaced(self, engine: Engine, tmp_path: pathlib.Path) -> None:
        folder = engine.put(str(tmp_path))
        handles = [engine.submit(tasks.killed_once, folder, i) for i in range(3)]
        assert engine.get(engine.combine(tasks.listed, None, handles)) == [None, 0, 1, 2]

    def test_a_task_that_kills_its_workers_is_named(
        self, engine: Engine, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        handles = [engine.submit(tasks.killed, engine.put(tmp_path), 1, "partition 7 of round 2")]
        folded = engine.combine(tasks.listed, None, [engine.combine(tasks.listed, None, handles, "a fold")])
        with pytest.raises(ul.WorkerError) as caught:
            engine.wait([folded])
        expected = "the worker was lost 4 times while it was at partition 7 of round 2; perhaps"
        assert str(caught.value).startswith(expected)
        assert caught.value.__cause__ is None
        assert len(list(tmp_path.iterdir())) == 4
        assert capfd.readouterr() == ("", "")


class ModulesOfWorkers:
    """Engines that ship functions by the name of their module."""

    def test_a_module_that_workers_do_not_have_is_named(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        module = types.ModuleType("not_there")
        exec("def task(common, item): return item", vars(module))
        monkeypatch.setitem(sys.modules, "not_there", module)
        message = "a worker has no Python module 'not_there'; install the same packages"
        with pytest.raises(ul.WorkerError, match=message):
            engine.get(engine.submit(module.task, None, 1))
