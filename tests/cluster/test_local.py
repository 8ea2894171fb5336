"""Tasks in threads of this process, and the common behavior of all engines."""

from __future__ import annotations

import _thread
import hashlib
import pathlib
import pickle
import threading
import time
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
import tasks
from every_engine import EveryEngine

import unitless as ul
from unitless import _core
from unitless.cluster.engine import Failed, carried_out, combined, go_on, reach
from unitless.cluster.local import LocalEngine


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    with LocalEngine(2) as engine:
        yield engine


class TestLocal(EveryEngine):
    name = "local"


def test_a_task_can_use_the_value_of_another() -> None:
    with LocalEngine(1) as engine:
        slow = engine.submit(tasks.slow, None, 0.05)
        assert engine.get(engine.submit(tasks.product, slow, 2)) == 0.1


def test_failures_of_any_kind_come_back_from_workers(engine: LocalEngine) -> None:
    with pytest.raises(RuntimeError, match="UnpicklableError: 1 and 2"):
        engine.get(engine.submit(tasks.unpicklable, None, 1))
    with pytest.raises(ul.WorkerError, match="not enough memory on a worker"):
        engine.get(engine.submit(tasks.out_of_memory, None, 1))


def test_failures_survive_pickling() -> None:
    failed = pickle.loads(pickle.dumps(carried_out(tasks.bad_row, None, 3)))
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, ul.InputError)
    assert failed.error.text(lambda option: f"--{option.name} {option.value}") == (
        "3.csv, row 3, column 'area': 'oops' is not a number; use --on_error skip"
    )
    assert combined(tasks.listed, None, [1, failed, 2]) is failed


def test_another_version_on_a_worker_is_an_error() -> None:
    failed = carried_out(tasks.product, 1, 1, version="0.0.1")
    with pytest.raises(ul.WorkerError, match=r"unitless .* and this program 0\.0\.1; install the same version"):
        failed.throw()


def test_an_address_without_a_server_is_an_error() -> None:
    for address in ("127.0.0.1:1", "tcp://127.0.0.1:1", "ray://[::1]:1", "no address"):
        with pytest.raises(OSError, match=r".+"):
            reach(address)


def test_ctrl_c_stops_at_once(tmp_path: pathlib.Path) -> None:
    start = time.monotonic()
    with LocalEngine(2) as engine:
        handles = [engine.submit(tasks.slow, engine.put(tmp_path), 30.0) for _ in range(10)]
        last = engine.combine(tasks.listed, None, handles)
        threading.Timer(0.3, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            engine.wait([last])
    assert time.monotonic() - start < 25  # a task takes 30
    assert len(list(tmp_path.iterdir())) == 2  # waiting tasks were not started
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("unitless-task")]


def test_outside_of_an_engine_nothing_stops() -> None:
    go_on()


def test_values_are_freed_when_forgotten() -> None:
    class Value:
        pass

    value = Value()
    gone = weakref.ref(value)
    with LocalEngine(1) as engine:
        kept = engine.put(value)
        used = engine.combine(lambda common, values: len(values), None, [kept])
        assert engine.get(used) == 1
        del value
        engine.forget([kept])
        assert gone() is None


def learned(common: object, item: bool) -> str:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 5)), rng.integers(0, 3, 3000)
    model = ul.OneVsAll(["a", "b", "c"], learning_rate="auto")
    _core.work_alone(item)
    model.learn(X, np.array(["a", "b", "c"])[y])
    return hashlib.sha256(pickle.dumps(model)).hexdigest()


def test_a_model_of_one_thread_has_the_same_bits() -> None:
    with LocalEngine(2) as engine:
        handles = [engine.submit(learned, None, alone) for alone in (True, False, True)]
        engine.wait(handles)
        assert len({engine.get(handle) for handle in handles}) == 1
