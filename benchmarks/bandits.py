"""Contextual bandits next to Vowpal Wabbit, and false promotions; writes docs/internals/benchmark-bandits.md.

    UNITLESS_DATA=FOLDER python benchmarks/bandits.py [--rounds N] [--seeds N] [--logs N] [--only TASK ...] [--page P]

Each result is stored in build/bandits under a name that depends on the data and on the code that was used, so that an
interrupted run continues where it was. FOLDER has the tables that bandit_tasks.py names.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import pickle
import sys
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

os.environ["UNITLESS_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import bandit_ours
import bandit_page
import bandit_tasks
import bandit_vw
import machine

import unitless as ul

ROOT = pathlib.Path(__file__).parent.parent
STORE = ROOT / "build" / "bandits"
LOGS_AT_ONCE = 500


class Job(NamedTuple):
    """A measurement: of Vowpal Wabbit or of ours on a task, or of false promotions; `seed` is that of the first log."""

    who: str  # "vw", "ours" or "false"
    task: str
    seed: int
    size: int  # rounds, or logs


def measured(job: Job) -> tuple[Job, dict[str, float], float]:
    """The result of a job, from the store if it is there, and the seconds that it took now."""
    began = time.monotonic()
    if job.who == "false":
        data = b""
    else:
        task = bandit_tasks.read(job.task, job.size, job.seed)
        data = pickle.dumps((task.contexts, task.actions)) + task.rewards.tobytes()
    key = hashlib.blake2b(repr(job).encode() + data + _code(job.who), digest_size=8).hexdigest()
    path = STORE / f"{job.who}-{job.task}-{job.seed}-{key}.json".replace(" ", "-")
    if path.exists():
        return job, json.loads(path.read_text()), 0.0
    if job.who == "false":
        found: dict[str, Any] = bandit_ours.false_promotions(range(job.seed, job.seed + job.size))
    else:
        found = {"vw": bandit_vw, "ours": bandit_ours}[job.who].scores(task, job.seed)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(found))
    partial.replace(path)
    return job, found, time.monotonic() - began


def _code(who: str) -> bytes:
    """A digest of the code that a result depends on, apart from the data."""
    if who == "vw":
        return importlib.metadata.version("vowpalwabbit").encode() + pathlib.Path(bandit_vw.__file__).read_bytes()
    digest = hashlib.blake2b(pathlib.Path(bandit_ours.__file__).read_bytes())
    package = pathlib.Path(ul.__file__).parent
    for path in sorted([*package.rglob("*.py"), *package.glob("_core*.so")]):
        digest.update(path.read_bytes())
    return digest.digest()


def run(jobs: list[Job]) -> Iterable[tuple[Job, dict[str, float]]]:
    """Yield the result of each job. Prints how far the run is."""
    STORE.mkdir(parents=True, exist_ok=True)
    began, computed = time.monotonic(), 0
    with multiprocessing.get_context("spawn").Pool(machine.cores()) as pool:
        for done, (job, found, seconds) in enumerate(pool.imap_unordered(measured, jobs), 1):
            computed += seconds > 0
            what = f"{job.who} {job.task} {job.seed}: " + (f"{seconds:.1f} s" if seconds else "stored")
            left = (time.monotonic() - began) / max(computed, 1) * (len(jobs) - done)
            print(f"{done} of {len(jobs)}, about {left / 60:.0f} min left; {what}", flush=True)
            yield job, found


def main() -> None:
    """Measure what is not stored yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--logs", type=int, default=10_000)
    parser.add_argument("--only", nargs="+", metavar="TASK", choices=bandit_tasks.ALL)
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "internals" / "benchmark-bandits.md")
    given = parser.parse_args()
    if "UNITLESS_DATA" not in os.environ:
        sys.exit("set UNITLESS_DATA to the directory with the tables")
    names = [name for name in bandit_tasks.ALL if not given.only or name in given.only]
    jobs = [Job("false", "", seed, LOGS_AT_ONCE) for seed in range(0, given.logs, LOGS_AT_ONCE)]
    for who in ("vw", "ours"):
        jobs += [Job(who, name, seed, given.rounds) for name in names for seed in range(given.seeds)]
    scores: dict[str, list[dict[str, float]]] = {name: [{} for _ in range(given.seeds)] for name in names}
    wrong: dict[str, int] = {}
    for job, found in run(jobs):
        if job.who == "false":
            wrong = {name: wrong.get(name, 0) + count for name, count in found.items()}
        else:
            scores[job.task][job.seed] |= found
    times = {model_type: bandit_ours.speed(model_type) for model_type in ("linear", "trees")}
    results = bandit_page.Results(scores, wrong, len(range(0, given.logs, LOGS_AT_ONCE)) * LOGS_AT_ONCE, times)
    given.page.write_text(bandit_page.written(results), encoding="utf-8")
    print(f"wrote {given.page}")


if __name__ == "__main__":
    main()
