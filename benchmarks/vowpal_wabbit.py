"""Vowpal Wabbit in memory: the library that its program calls, so that the start of Python does not count."""

from __future__ import annotations

import pathlib
import subprocess
import sys

from data import Store
from passes import Pass

LOGISTIC = ("--loss_function", "logistic")


def _run(*arguments: object) -> float:
    """One run over a file, or over its cache; returns the progressive loss."""
    import vowpalwabbit

    workspace = vowpalwabbit.Workspace(arg_list=["--quiet", *map(str, arguments)])
    loss = workspace.get_sum_loss() / workspace.get_weighted_examples()
    workspace.finish()
    return loss


def _run_apart(*arguments: object) -> None:
    """Run in another process, to prepare files: its memory must not count as that of a measured run."""
    command = [sys.executable, "-m", "vowpalwabbit", "--quiet", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)


def _cache(text: pathlib.Path, options: tuple[str, ...]) -> pathlib.Path:
    """The rows in the binary cache that Vowpal Wabbit writes for further passes."""
    cache = text.with_suffix(f".{'-'.join(one.strip('-') for one in options)}.cache")
    if not cache.exists():
        _run_apart(*options, "-d", text, "--cache_file", cache, "-k")
    return cache


def _rows(text: pathlib.Path) -> tuple[int, pathlib.Path]:
    """The number of rows, and a file that contains only the first."""
    with text.open() as file:
        first = file.readline()
        count = 1 + sum(1 for _ in file)
    alone = text.with_suffix(".one")
    alone.write_text(first)
    return count, alone


def learn(store: Store, data: str, options: tuple[str, ...] = (), cached: bool = True) -> Pass:
    """Learn from its text or its binary cache. The time for a single row, which is the start-up time, is subtracted."""
    text, options = store.path(data), LOGISTIC + options
    rows, one = _rows(text)
    source = ("-d", text, "--cache_file", _cache(text, options)) if cached else ("-d", text)

    def run() -> float:
        return _run(*options, *source)

    return Pass(run, rows, run, idle=lambda: _run(*options, "-d", one))


def predict(store: Store, data: str) -> Pass:
    """Predict from its cache, with a model that it has learned from the same rows."""
    text = store.path(data)
    rows, one = _rows(text)
    source, model = ("-d", text, "--cache_file", _cache(text, LOGISTIC)), text.with_suffix(".model")
    _run_apart(*LOGISTIC, *source, "-f", model)
    asked = (*LOGISTIC, "-t", "-i", model)
    return Pass(lambda: _run(*asked, *source), rows, idle=lambda: _run(*asked, "-d", one))


def merge(store: Store, models: int) -> Pass:
    """Run `merge_models` on models that have each learned some rows of the stream."""
    import vowpalwabbit

    options = f"--quiet --loss_function logistic -b {store.size.hash_bits} --preserve_performance_counters"
    with store.path("stream.vw").open() as file:
        lines = file.read().splitlines()[:2_000]
    parts = []
    for number in range(models):
        part = vowpalwabbit.Workspace(options)
        for line in lines[number::models]:
            part.learn(line)
        parts.append(part)
    return Pass(lambda: vowpalwabbit.merge_models(None, parts).finish(), 1)
