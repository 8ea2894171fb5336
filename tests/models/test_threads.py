"""One model in several threads: learning while another thread predicts, and the use of a model in a forked child."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul


def beside(action: Callable[[int], Any], others: list[Callable[[], Any]], times: int) -> None:
    """Run the action this many times while other threads run the other functions; their errors are raised here."""
    stop, failed = threading.Event(), []

    def repeat(other: Callable[[], Any]) -> None:
        try:
            while not stop.is_set():
                other()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=repeat, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    try:
        for i in range(times):
            action(i)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failed:
        raise failed[0]


def frame(rows: int) -> Any:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})


@pytest.mark.parametrize("rate", ["auto", 0.5])
def test_classes_join_while_others_predict(rate: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = ul.OneVsAll(learning_rate=rate)
    model.learn(X[:2], ["x", "y"])

    def unguarded() -> None:  # the core's results are consistent without any lock outside the core
        flat = model._predict_dense(X, False)
        assert flat.size % len(X) == 0
        assert flat.size >= 2 * len(X)

    def guarded() -> None:
        assert model.predict(X).shape[1] >= 2
        assert set(model.predict_label(X[:20]).tolist()) <= {"x", "y", *map(str, range(400))}
        assert len(model.weights) <= len(model.rates)
        model.copy()

    beside(lambda i: model.learn(X[:1], [str(i)]), [unguarded, guarded, unguarded], 150)
    assert len(model.classes) == 152


def test_classes_join_while_a_trained_model_predicts() -> None:
    data = frame(300).assign(y=["u", "v", "w"] * 100)
    result = ul.train(data, target="y", task="classes", model_type="linear", ensemble=False)
    model = result.model
    assert isinstance(model, ul.OneVsAll)

    def predict() -> None:
        assert len(result.predict(frame(50))) == 50
        assert result.predict_proba(frame(50)).shape[1] >= 3

    beside(lambda i: model.learn(frame(1), [f"new {i}"]), [predict, predict], 100)


def test_models_are_merged_while_classes_join() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    a, b = ul.OneVsAll(), ul.OneVsAll()
    for model in (a, b):
        model.learn(X, ["x", "y"] * 50)

    def merge() -> None:
        merged = ul.merge([a, b])
        assert merged.predict(X).shape == (100, len(merged.classes))

    beside(lambda i: a.learn(X[:1], [str(i)]), [merge], 60)


def test_the_core_refuses_to_give_one_number_of_many() -> None:
    model = ul.OneVsAll(["a", "b"])
    with pytest.raises(ul.InputError, match="several numbers"):
        super(ul.OneVsAll, model).predict_one({"x": 1.0})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("make", [ul.Learner, ul.OneVsAll, lambda: ul.Learner(learning_rate=0.5)])
def test_a_forked_child_can_use_a_model_that_another_thread_was_using(make: Callable[[], Any]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 20)), rng.integers(2, size=20_000).astype(float)
    model = make()
    model.learn(X, y)

    def fork(i: int) -> None:
        child = os.fork()
        if child == 0:
            try:
                model.predict(X[:10])
                model.learn(X[:2000], y[:2000])
            finally:
                os._exit(0 if model.examples % 20_000 == 2000 else 1)  # either all rows of a call were learned, or none
        for _ in range(2000):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                assert status == 0
                return
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise AssertionError("the child hangs")

    beside(fork, [lambda: model.learn(X, y)], 10)


ENDS_EARLY = """
import threading, time
import numpy as np
import unitless as ul

X, y = np.ones((100_000, 20)), np.ones(100_000)

def work():
    model = ul.Learner(loss="squared")
    while True:
        model.learn(X, y)

for _ in range(6):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""


def test_a_program_may_end_while_daemon_threads_learn() -> None:
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", ENDS_EARLY], capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")
