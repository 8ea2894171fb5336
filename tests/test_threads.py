"""One model, several threads: what one learns while another predicts, and what a forked child may do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul


def beside(action: Callable[[int], Any], others: list[Callable[[], Any]], times: int) -> None:
    """The action so many times, while others go on in threads of their own; their errors are raised here."""
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

    def unguarded() -> None:  # what the core gives fits itself, without any lock outside of it
        flat = model._predict_dense(X, False)
        assert flat.size % len(X) == 0
        assert flat.size >= 2 * len(X)

    def guarded() -> None:
        assert model.predict(X).shape[1] >= 2
        assert set(model.classify(X[:20]).tolist()) <= {"x", "y", *map(str, range(400))}
        assert len(model.weights) <= len(model.rates)
        model.copy()

    beside(lambda i: model.learn(X[:1], [str(i)]), [unguarded, guarded, unguarded], 150)
    assert len(model.classes) == 152


def test_classes_join_while_a_trained_model_predicts() -> None:
    data = frame(300).assign(y=["u", "v", "w"] * 100)
    result = ul.train(data, target="y", task="classes")
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
