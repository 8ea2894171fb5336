"""Merging in the core: no copies of the models, the same bits for any number of threads, and concurrent learning."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import unitless as ul
from unitless.merging.layout import Layout

SPREAD = """
import hashlib, resource, sys
import numpy as np
import unitless as ul

def taught(seed, bits, **options):
    rng = np.random.default_rng(seed)
    model = ul.Learner(bits=bits, **options)
    for _ in range(32):
        columns = rng.permutation(2**bits)[: 2**bits // 16]
        starts = np.linspace(0, len(columns), 17).astype(np.int64)
        values, labels = rng.normal(size=len(columns)), rng.normal(size=16)
        model._learn_compressed(values, columns, starts, 2**bits, labels, None)
    return model
"""


def run(code: str, **environment: str) -> str:
    command = [sys.executable, "-c", SPREAD + code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    return done.stdout


@pytest.mark.parametrize("rate", ["0.5", "'auto'"])
def test_the_number_of_threads_changes_no_bit(rate: str) -> None:
    code = f"""
merged = ul.merge([taught(seed, 12, learning_rate={rate}, average=True) for seed in range(3)])._snapshot()
parts = (merged[key].tobytes() for key in ("slots", "scale", "v", "H", "average", "average_scale"))
print(hashlib.sha256(b"".join(parts)).hexdigest())
"""
    assert run(code, UNITLESS_THREADS="1") == run(code, UNITLESS_THREADS="3")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is measured as Linux tells it")
def test_merging_takes_memory_for_the_merged_model_alone() -> None:
    code = """
models = [taught(seed, 20, learning_rate=0.5) for seed in range(2)]
ul.merge([ul.Learner(), ul.Learner()])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
merged = ul.merge(models)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024 / sum(model.nbytes for model in models))
"""
    assert float(run(code)) < 0.75  # the merged model is half as large as both; a copy of them would be as large


class Teacher:
    """Lets a model learn one row each time that a merge is planned."""

    def __init__(self, model: ul.Learner, monkeypatch: pytest.MonkeyPatch) -> None:
        self.model, self.planned = model, 0
        plan = Layout.of

        def of(*arguments: Any) -> Layout:
            self.planned += 1
            self.model.learn([[1.0, 2.0]], [3.0])
            return plan(*arguments)

        monkeypatch.setattr(Layout, "of", of)


def test_a_model_that_learns_meanwhile_is_merged_as_it_was_at_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    a, b = ul.Learner(center=True), ul.Learner(center=True)
    for model in (a, b):
        X = rng.normal(size=(100, 2))
        model.learn(X, X.sum(1))
    teacher = Teacher(a, monkeypatch)
    merged = ul.merge([a, b])
    assert teacher.planned > 1
    assert 200 < merged.examples <= a.examples + b.examples
    monkeypatch.undo()
    assert merged.total_weight == merged.examples
    assert merged._snapshot()["center_means"][1] == merged.examples


def test_a_model_can_be_merged_with_itself() -> None:
    m = ul.Learner()
    X = np.random.default_rng(0).normal(size=(100, 2))
    m.learn(X, X.sum(1))
    twice = ul.merge([m, m])
    assert twice.examples == 200
    np.testing.assert_allclose(twice.predict(X), m.predict(X), rtol=1e-12)
