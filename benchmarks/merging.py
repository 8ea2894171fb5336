"""The time and the peak memory of merging two models.

    python benchmarks/merging.py [--against PYTHON] [NAME ...]

Each measurement runs in a separate process: two models learn until all of their features are known, and are merged
three times; the fastest merge counts. Memory is the peak during the merge divided by the memory of both models: 1.5
means that only the merged model was added. `--against` names the Python of another installation of unitless, which is
measured for comparison.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import pathlib
import subprocess
import sys
import time
from typing import Any

# Name: number of features as a power of two; how they are known; options of the learner.
CASES: dict[str, tuple[int, str, dict[str, Any]]] = {
    "2^18 hashed": (18, "hashed", {"learning_rate": 0.5}),
    "2^20 hashed": (20, "hashed", {"learning_rate": 0.5}),
    "2^22 hashed": (22, "hashed", {"learning_rate": 0.5}),
    "2^22 hashed, averaged": (22, "hashed", {"learning_rate": 0.5, "average": True}),
    "2^18 hashed, automatic rate": (18, "hashed", {"learning_rate": "auto"}),
    "2^18 names": (18, "names", {"learning_rate": 0.5}),
    "2^10 centered columns": (10, "columns", {"learning_rate": 0.5, "center": True}),
    "2^6 centered columns and products": (6, "columns", {"learning_rate": 0.5, "center": True, "interactions": 2}),
}
MERGES = 3


def taught(seed: int, bits: int, known_as: str, options: dict[str, Any]) -> Any:
    """A model that knows all features."""
    import numpy as np
    import scipy.sparse

    import unitless as ul

    rng = np.random.default_rng(seed)
    count = 2**bits
    model = ul.Learner(**options, **({"bits": bits} if known_as == "hashed" else {}))
    if known_as == "columns":
        X = rng.normal(rng.normal(size=count), size=(200, count))
        model.learn(X, X[:, 0])
    for some in np.array_split(rng.permutation(count), 64) if known_as != "columns" else ():
        values, labels = rng.normal(size=len(some)), rng.normal(size=16)
        rows = np.arange(len(some)) % 16
        if known_as == "hashed":
            model.learn(scipy.sparse.csr_matrix((values, (rows, some)), shape=(16, count)), labels)
        else:
            names = [f"name {number}" for number in some]
            model.learn([dict(zip(names[r::16], values[r::16], strict=True)) for r in range(16)], labels)
    return model


def memory(what: str) -> int:
    """Bytes of this process as reported by Linux: VmRSS now, VmHWM at its peak."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    return 0


def measure(name: str) -> dict[str, float]:
    """Seconds, and memory over that of the models."""
    import unitless as ul

    models = [taught(seed, *CASES[name]) for seed in range(2)]
    ul.merge([ul.Learner(), ul.Learner()])
    inputs = sum(model.nbytes for model in models)
    seconds, added = float("inf"), 0
    for turn in range(MERGES):
        gc.collect()
        with contextlib.suppress(OSError):
            pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak from now on
        before = memory("VmRSS")
        start = time.perf_counter()
        merged = ul.merge(models)
        seconds = min(seconds, time.perf_counter() - start)
        if turn == 0:  # later merges may reuse memory that was freed
            added = memory("VmHWM") - before
        assert merged.examples == sum(model.examples for model in models)
        del merged
    return {"seconds": seconds, "inputs": inputs / 2**20, "memory": (inputs + added) / inputs}


def measured_by(python: str, name: str) -> dict[str, float]:
    command = [python, __file__, "--measure", name]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*CASES, []], help="which of the measurements; all")
    parser.add_argument("--against", help="the Python of another installation of unitless")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure)))
        return
    head = ["two models with", "MB", "seconds", "memory / models"]
    print("| " + " | ".join([*head, *(["other: seconds", "memory", "ratio of times"] if given.against else [])]) + " |")
    print("|" + "---|" * (7 if given.against else 4))
    for name in given.names or CASES:
        own = measured_by(sys.executable, name)
        cells = [name, f"{own['inputs']:,.0f}", f"{own['seconds']:.3f}", f"{own['memory']:.2f}"]
        if given.against:
            other = measured_by(given.against, name)
            ratio = other["seconds"] / own["seconds"]
            cells += [f"{other['seconds']:.3f}", f"{other['memory']:.2f}", f"{ratio:.1f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
