"""Memory that runs out during a call: learned rows and their names stay; the rest leaves no trace."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import pickle, resource, sys
import numpy as np, unitless as ul
from unitless import _core

def rows(count):
    text = "".join(f"1 | n{i}:{i % 7 + 1} m{i % 50}:2\\n" for i in range(count)).encode()
    return _core.VwReader().read(np.frombuffer(text, np.uint8), True)

data, model = rows(30_000), ul.Learner(learning_rate=0.5)
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + int(sys.argv[1]), resource.RLIM_INFINITY))
try:
    model._learn_rows(data, np.ones(30_000), None)
    print("enough")
except MemoryError:
    print("not enough")
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
expected, learned = ul.Learner(learning_rate=0.5), model.examples
if learned:
    expected._learn_rows(rows(learned), np.ones(learned), None)
assert pickle.dumps(model) == pickle.dumps(expected)
for each in (model, expected):
    each.learn_one({"new": 3.0}, 1.0)
assert pickle.dumps(model) == pickle.dumps(expected)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit of memory")
def test_what_was_learned_keeps_its_names() -> None:
    said = []
    for room in (100_000, 1_000_000, 2_000_000):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(room)], capture_output=True, text=True, timeout=60, check=False
        )
        assert run.returncode == 0, run.stderr
        said.append(run.stdout.strip())
    assert "not enough" in said
