"""Predictions by many threads: one call uses all of them, and threads that predict do not wait for each other."""

from __future__ import annotations

import hashlib
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
from scipy import sparse

import unitless as ul

ROWS, COLUMNS = 30_000, 12

MODELS: dict[str, Callable[[], Any]] = {
    "one rate": lambda: ul.Learner(loss="logistic"),
    "root mean square": lambda: ul.Learner(loss="logistic", rule="snag"),
    "averaged": lambda: ul.Learner(loss="logistic", average=True),
    "hashed": lambda: ul.Learner(loss="logistic", bits=10),
    "hashed, listed interactions": lambda: ul.Learner(loss="logistic", bits=10, interactions=[(0, 1), (2, 3)]),
    "automatic, centered, products": lambda: ul.Learner(
        loss="logistic", learning_rate="auto", center=True, interactions=2
    ),
    "sparse weights": lambda: ul.Learner(loss="logistic", learning_rate="auto", sparsity=1.0),
    "sweep": lambda: ul.Sweep([0.01, 0.1, 0.5, 2.0, 8.0], loss="logistic"),
    "second order": lambda: ul.Learner(loss="logistic", rule="newton"),
    "curves": lambda: ul.Learner(loss="logistic", learning_rate="auto", model_type="curves"),
    "trees and ensemble": lambda: ul.Learner(loss="logistic", learning_rate="auto", model_type="auto", ensemble=True),
    "one against all": lambda: ul.OneVsAll(["a", "b", "c"], learning_rate="auto"),
    "softmax": lambda: ul.Softmax(["a", "b", "c"], learning_rate="auto"),
    "classes with trees": lambda: ul.OneVsAll(["a", "b", "c"], learning_rate="auto", model_type="trees"),
    "target": lambda: ul.Learner(target="auto", learning_rate="auto", center=True),
}


def array(rows: int = ROWS) -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, COLUMNS))
    return X * (rng.random(size=X.shape) < 0.7)


def labels_for(model: Any, X: Any) -> Any:
    total = X[:, :3].sum(axis=1)
    if isinstance(model, ul.OneVsAll | ul.Softmax):
        return np.array(["a", "b", "c"])[(total > 0).astype(int) + (total > 1)]
    return (total > 0).astype(float)


def frame(X: Any) -> Any:
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def with_gaps(X: Any) -> Any:
    gaps = frame(X.copy())
    gaps.iloc[::7, 2] = np.nan
    return gaps


INPUTS: dict[str, Callable[[Any], Any]] = {
    "array": lambda X: X,
    "columns": np.asfortranarray,
    "integers": lambda X: (10 * X).astype(np.int16),
    "matrix": sparse.csr_matrix,
    "wide matrix": lambda X: _wide(sparse.csr_matrix(X)),
    "frame": frame,
}


def _wide(matrix: Any) -> Any:
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def taken(kind: str, model: str) -> bool:
    return not ("matrix" in kind and any(word in model for word in ("curves", "trees")))


def some_rows(X: Any, first: int, end: int) -> Any:
    return X.iloc[first:end] if isinstance(X, pd.DataFrame) else X[first:end]


def learned(name: str, kind: str) -> tuple[Any, Any]:
    """A model that has learned rows, and rows to predict."""
    X, model = array(), MODELS[name]()
    given = INPUTS[kind](X)
    model.learn(some_rows(given, 0, 2000), labels_for(model, X[:2000]))
    if name == "averaged":
        model.keep("averaged")
    return model, given


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("name", MODELS)
def test_a_large_call_gives_what_small_calls_give(name: str, kind: str) -> None:
    if not taken(kind, name) or (kind == "frame" and "listed" in name):
        pytest.skip("not such rows")
    model, X = learned(name, kind)
    rows = 6000 if "trees" in name or "curves" in name else ROWS
    whole = model.predict(some_rows(X, 0, rows))
    parts = [model.predict(some_rows(X, first, first + 991)) for first in range(0, rows, 991)]
    assert np.array_equal(whole, np.concatenate([part[: rows - 991 * i] for i, part in enumerate(parts)]))


def digest() -> str:
    """Digest the predictions of all models, in a process with another number of threads."""
    all_of_it = hashlib.sha256()
    for name in MODELS:
        for kind in ("array", "matrix", "frame"):
            if not taken(kind, name) or (kind == "frame" and "listed" in name):
                continue
            model, X = learned(name, kind)
            rows = 12_000 if name == "one rate" else 2000  # enough rows for several threads
            all_of_it.update(np.ascontiguousarray(model.predict(some_rows(X, 0, rows))).tobytes())
    return all_of_it.hexdigest()


def test_any_number_of_threads_predicts_the_same_bits() -> None:
    folder = os.path.dirname(__file__)
    found = set()
    for threads in ("1", "2", "4"):
        command = f"import sys; sys.path.insert(0, {folder!r}); import test_parallel_predict as t; print(t.digest())"
        run = subprocess.run(
            [sys.executable, "-c", command],
            env={**os.environ, "UNITLESS_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(run.stdout)
    assert len(found) == 1


def test_tables_with_gaps_and_text_are_predicted_as_in_small_calls() -> None:
    X = array()
    data = with_gaps(X).assign(word=np.array(["u", "v", "w", "x"])[np.arange(ROWS) % 4], y=X[:, 0] > 0)
    predictor = ul.train(data[:5000], target="y", model_type="linear", ensemble=False)
    rows = data.drop(columns="y")
    whole = predictor.predict_proba(rows)
    parts = [predictor.predict_proba(rows[first : first + 997]) for first in range(0, ROWS, 997)]
    assert np.array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("kind", ["array", "columns", "frame", "matrix", "wide matrix"])
@pytest.mark.parametrize("name", ["one rate", "automatic, centered, products", "one against all"])
def test_the_first_bad_row_is_named_whichever_thread_finds_it(name: str, kind: str) -> None:
    model, _ = learned(name, kind)
    X = array()
    for row in (29_000, 21_003, 7_001):
        X[row, 3] = np.inf
    with pytest.raises(ul.InputError) as caught:
        model.predict(INPUTS[kind](X))
    assert caught.value.row == 7_001


def test_every_row_is_predicted_with_a_state_between_two_calls() -> None:
    """One row is predicted many times: the results are those of the model's successive states, in order."""
    X, y = array(200), np.arange(200.0) % 2
    same = np.repeat(X[:1], 200_000, axis=0)
    twin, model = (ul.Learner(loss="logistic", learning_rate="auto", center=True) for _ in range(2))
    states: list[float] = []
    for first in range(0, 200, 2):
        twin.learn(X[first : first + 2], y[first : first + 2])
        states.append(float(twin.predict(X[:1])[0]))
    assert len(set(states)) == len(states)
    model.learn(X[:2], y[:2])
    done, seen = threading.Event(), []

    def predict() -> None:
        while not done.is_set():
            seen.append(model.predict(same))

    readers = [threading.Thread(target=predict) for _ in range(2)]
    for reader in readers:
        reader.start()
    for first in range(2, 200, 2):
        model.learn(X[first : first + 2], y[first : first + 2])
    done.set()
    for reader in readers:
        reader.join()
    place = {p: i for i, p in enumerate(states)}
    for found in seen:
        at = [place[p] for p in found[np.flatnonzero(np.diff(found, prepend=np.nan))].tolist()]
        assert at == sorted(at)


def test_classes_join_in_the_middle_of_a_call() -> None:
    X = array()
    model = ul.OneVsAll(learning_rate="auto")
    model.learn(X[:100], ["x", "y"] * 50)
    done = threading.Event()

    def predict() -> None:
        while not done.is_set():
            flat = model._predict_dense(X, False)
            assert flat.size % len(X) == 0
            assert np.isfinite(flat).all()

    failed: list[BaseException] = []

    def watched() -> None:
        try:
            predict()
        except BaseException as error:
            failed.append(error)

    readers = [threading.Thread(target=watched) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(40):
        model.learn(X[:1], [str(i)])
    done.set()
    for reader in readers:
        reader.join()
    assert not failed
    assert len(model.classes) == 42


def test_classes_are_predicted_without_keeping_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    X = array(100)
    for model in (ul.OneVsAll(["x", "y"]), ul.OneVsAll(), ul.Softmax(["x", "y"])):
        model.learn(X, ["x", "y"] * 50)
        ask, learned = type(model)._ask, []

        def while_others_learn(self: Any, *given: Any, ask: Any = ask, learned: Any = learned) -> Any:
            found = ask(self, *given)
            other = threading.Thread(target=self.learn, args=(X[:1], ["x"]), daemon=True)
            other.start()
            other.join(20)
            learned.append(not other.is_alive())
            return found

        with monkeypatch.context() as patch:
            patch.setattr(type(model), "_ask", while_others_learn)
            assert model.predict(X).shape == (100, 2)
            assert set(model.predict_label(X)) <= {"x", "y"}
        assert learned == [True, True]


def test_labels_fit_the_scores_while_classes_join() -> None:
    X = array(3000)
    model = ul.OneVsAll(learning_rate=0.5)
    model.learn(X[:100], ["x", "y"] * 50)
    done = threading.Event()

    def join() -> None:
        for i in range(60):
            model.learn(X[:1], [str(i)])
        done.set()

    writer = threading.Thread(target=join)
    writer.start()
    while not done.is_set():
        scores, labels = model._scores_and_labels(model._data(X), False)
        assert scores.shape == (3000, len(labels))
        assert labels == model.classes[: len(labels)]
    writer.join()


@pytest.mark.parametrize("model_type", ["linear", "trees"])
def test_a_model_that_knows_no_class_yet_gives_no_score(model_type: Any) -> None:
    model = ul.OneVsAll(learning_rate=0.5, model_type=model_type)
    assert model.predict_one({"a": 1.0}).shape == (0,)
    assert model.predict(np.ones((1, 3))).shape == (1, 0)
    assert model.predict(np.ones((2, 3))).shape == (2, 0)


def test_columns_that_become_known_in_the_middle_of_a_call() -> None:
    """Earlier rows are predicted by a model that knows none of the columns, and never from uninitialized memory."""
    big = pd.DataFrame({"c": np.ones(400_000)})
    for _ in range(5):
        model = ul.Learner()
        model.learn(pd.DataFrame({"a": [1.0, 2.0]}), [0.0, 1.0])
        before, said = model.predict(pd.DataFrame({"a": [0.0]}))[0], []

        def predict(model: Any = model, said: Any = said) -> None:
            try:
                said.append(model.predict(big))
            except ul.InputError as error:
                said.append(str(error))

        reader = threading.Thread(target=predict)
        reader.start()
        model.learn(pd.DataFrame({"c": [1.0, 2.0]}), [0.0, 1.0])
        reader.join()
        after = model.predict(big[:1])[0]
        assert isinstance(said[0], str) or set(said[0].tolist()) <= {before, after}


def test_models_are_merged_while_others_predict_with_them() -> None:
    X, y = array(2000), np.arange(2000.0) % 2
    models = [ul.Learner(loss="logistic", bits=12) for _ in range(3)]
    for k, model in enumerate(models):
        model.learn(X[k::3], y[k::3])
    expected = ul.merge(models).predict(X)
    done = threading.Event()

    def again(model: Any) -> None:
        while not done.is_set():
            model.predict(X)

    readers = [threading.Thread(target=again, args=(model,)) for model in models for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(5):
            assert ul.merge(models).predict(X).tobytes() == expected.tobytes()
    finally:
        done.set()
        for reader in readers:
            reader.join()


def test_neither_readers_nor_writers_keep_the_others_out() -> None:
    X, y = array(5000), np.arange(5000.0) % 2
    model = ul.Learner(loss="logistic")
    model.learn(X, y)
    done = threading.Event()

    def again(action: Callable[[], Any]) -> None:
        while not done.is_set():
            action()

    for others, mine in (
        (lambda: model.predict(X), lambda: model.learn(X[:10], y[:10])),
        (lambda: model.learn(X[:500], y[:500]), lambda: model.predict(X)),
    ):
        done.clear()
        threads = [threading.Thread(target=again, args=(others,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(100):
            mine()
        done.set()
        for thread in threads:
            thread.join()


def test_one_row_is_predicted_while_others_predict_many() -> None:
    X = array(20_000)
    rows = frame(X)
    for make in (lambda: ul.Learner(loss="logistic"), lambda: ul.Learner(loss="logistic", learning_rate="auto")):
        model = make()
        model.learn(rows[:1000], np.arange(1000.0) % 2)
        one = rows.iloc[5].to_dict()
        wanted, done = model.predict_one(one), threading.Event()

        def many(model: Any = model, done: Any = done) -> None:
            while not done.is_set():
                model.predict(rows)

        thread = threading.Thread(target=many)
        thread.start()
        assert {model.predict_one(one) for _ in range(200)} == {wanted}
        done.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_while_threads_predict_and_wait_can_do_both() -> None:
    X, y = array(20_000), np.arange(20_000.0) % 2
    model = ul.Learner(loss="logistic", learning_rate="auto")
    model.learn(X, y)
    done = threading.Event()

    def again(action: Callable[[], Any]) -> None:
        while not done.is_set():
            action()

    actions: list[Callable[[], Any]] = [lambda: model.predict(X), lambda: model.predict(X), lambda: model.learn(X, y)]
    threads = [threading.Thread(target=again, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    model.learn(X[:100], y[:100])
                    code = 0 if np.isfinite(model.predict(X)).all() else 1
                finally:
                    os._exit(code)
            for _ in range(2000):
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended:
                    assert status == 0
                    break
                time.sleep(0.01)
            else:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise AssertionError("the child hangs")
    finally:
        done.set()
        for thread in threads:
            thread.join()
