"""Long streams, threads, memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from streams import stream

import unitless as ul
from unitless.paper import algorithms as reference

ADAPTIVE = {"nag": reference.NAG, "snag": reference.SNAG, "ag": reference.AG}


def after(examples: float, rule: str) -> ul.Learner:
    """Make a learner that has learned this number of examples with x = 1 and |slope| = 1."""
    m = ul.Learner(rule, "logistic", bias=False)
    m.learn([[1.0]], [1])
    state = m._snapshot()
    state.update(t=examples, T=examples, N=examples, examples=int(examples))
    state["H"] = np.array([examples if rule != "snag" else 1.0])
    state["scale"] = np.array([1.0 if rule != "snag" else np.sqrt(examples)])
    state["v"] = np.array([0.25])
    m._restore(state)
    return m


@pytest.mark.parametrize("rule", ADAPTIVE)
def test_after_1e8_examples_an_update_is_what_it_should_be(rule: str) -> None:
    m = after(1e8, rule)
    oracle = ADAPTIVE[rule](0.5, reference.Logistic())
    oracle.t = oracle.N = 1e8 - 0.0
    oracle.w = np.array(list(m.weights.values()))
    oracle.s = np.array([1e8 if rule == "snag" else 1.0])
    oracle.G = np.array([1e8])
    for y in (1, 1, -1):
        before = m._snapshot()
        p = m.learn([[1.0]], [y])
        assert p[0] == pytest.approx(oracle.learn_one(np.array([1.0]), y), rel=1e-12)
        now = m._snapshot()
        assert now["v"][0] != before["v"][0]
        assert now["H"][0] != before["H"][0]
    assert next(iter(m.weights.values())) == pytest.approx(oracle.w[0], rel=1e-12)
    G = m._snapshot()["H"][0] * (m._snapshot()["scale"][0] ** 2 if rule == "snag" else 1)
    assert pytest.approx(oracle.G[0] - 1e8, rel=1e-6) == G - 1e8


def test_threads_that_share_a_learner_do_not_corrupt_it() -> None:
    X, y = stream(rows=400, features=9)
    names = [f"f{j}" for j in range(9)]
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    m = ul.Learner()
    m.learn(rows[:1], y[:1])
    errors: list[BaseException] = []

    def work(kind: int) -> None:
        try:
            for _ in range(5):
                if kind == 0:
                    m.learn(rows, y)
                elif kind == 1:
                    for row, label in zip(rows, y, strict=True):
                        m.learn_one(row, label)
                elif kind == 2:
                    assert np.isfinite(m.predict(rows)).all()
                else:
                    m.weights, m.copy(), pickle.dumps(m)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i % 4,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert m.examples == 1 + 2 * 5 * 400 + 2 * 5 * 400
    assert np.isfinite(list(m.weights.values())).all()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_learning_releases_the_interpreter(kind: object) -> None:
    """While one thread learns in the core, another thread can run Python code."""
    X = kind(np.random.default_rng(0).normal(size=(300_000, 20)))  # type: ignore[operator]
    y = np.zeros(300_000)
    m = ul.Learner()
    done, ticks = threading.Event(), 0

    def learn() -> None:
        m.learn(X, y)
        done.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # a thread that has the interpreter's lock now keeps it
    try:
        thread = threading.Thread(target=learn)
        thread.start()
        while not done.is_set():
            ticks += 1
            done.wait(0.001)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert ticks > 1


def test_state_grows_with_features_not_with_examples() -> None:
    X, y = stream(rows=2000, features=10)
    m = ul.Learner()
    m.learn(X, y)
    before = m.nbytes
    for _ in range(20):
        m.learn(X, y)
    assert m.nbytes == before
    assert len(pickle.dumps(m)) < 4000


def test_import_needs_numpy_and_safetensors_alone() -> None:
    code = (
        "import sys, unitless; "
        "extra = {'scipy', 'pandas', 'polars', 'pyarrow', 'sklearn', 'river', 'matplotlib', 'typer', 'rich'}; "
        "sys.exit(', '.join(extra & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
