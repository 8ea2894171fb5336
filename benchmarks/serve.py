"""The server compared with Vowpal Wabbit's daemon and a hand-made FastAPI + River: processor time per row, speed,
latency.

    python benchmarks/serve.py                     every case
    python benchmarks/serve.py predict lines       two of them
    python benchmarks/serve.py --quick             short rounds, to check that everything works
    python benchmarks/serve.py --data /mnt/ssd     logs on this disk, which decides what a sync costs

The servers of a case run at the same time and take turns under the same load, round after round; the first round does
not count. The table has the medians; ratios are computed within a round. Ours has tokens, evaluation and the writer of
snapshots on, and its metrics are read each second. Processor time is that of the process that answers, with all its
threads; "snapshots" is that of the second process, which writes them. Rows have 20 numbers. The model is linear with
one rate, as VW's is, unless it is called "default model". VW's daemon answers one connection at a time, so it gets one
connection. What it and River learn is not durable.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import importlib.util
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import machine
import serve_cases
import serve_servers
from rich.console import Console
from rich.table import Table
from serve_cases import Case, Contender
from serve_servers import DEFAULTS, ONE_RATE, Server

MODELS = {
    "linear": ONE_RATE,
    "default": DEFAULTS,
    "bandit": {"task": "bandit", "model_type": "linear"},
    "bandit-default": {"task": "bandit"},
}
NEEDED = {"fastapi": "fastapi", "river": "river", "vowpalwabbit": "vowpalwabbit", "uvicorn": "uvicorn"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [case.name for case in serve_cases.ALL]
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(names)}; by default all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each contender in each round")
    parser.add_argument("--data", type=pathlib.Path, default=None, help="a folder for the logs")
    parser.add_argument("--results", type=pathlib.Path, default=None, help="a file for all numbers, as JSON")
    parser.add_argument("--quick", action="store_true", help="short rounds; the numbers mean nothing")
    options = parser.parse_args()
    if unknown := [name for name in options.cases if name not in names]:
        parser.error(f"there is no case {unknown[0]!r}; there are {', '.join(names)}")
    if options.quick:
        options.rounds, options.seconds = 1, 0.5
    if missing := [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]:
        sys.exit(f"the peers are not installed: pip install {' '.join(missing)}")
    return options


@contextlib.contextmanager
def started(keys: set[str], folder: pathlib.Path, python: str = sys.executable) -> Iterator[dict[str, Server]]:
    """The servers that a case needs, by key; ours run in this Python."""
    ours = functools.partial(serve_servers.unitless, models=MODELS, python=python)
    make = {
        "vw": serve_servers.vowpal_wabbit,
        "river": serve_servers.river,
        "process": lambda: ours(folder / "process", "process"),
        "disk": lambda: ours(folder / "disk", "disk", vw_model="linear"),
        "default lines": lambda: ours(folder / "lines", "disk", vw_model="default"),
    }
    with contextlib.ExitStack() as stack:
        servers = {key: stack.enter_context(make[key]()) for key in sorted(keys)}
        over = threading.Event()
        stack.callback(over.set)
        for server in servers.values():
            if server.token:
                threading.Thread(target=read_metrics, args=(server, over), daemon=True).start()
        yield servers


def read_metrics(server: Server, over: threading.Event) -> None:
    """Read the metrics each second, as Prometheus does."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/metrics")
    request.add_header("authorization", f"Bearer {server.token}")
    while not over.wait(1.0):
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=5) as answer:
            answer.read()


def measure(contender: Contender, server: Server, seconds: float) -> dict[str, float]:
    """One round of one contender."""
    port = server.vw_port if contender.load["protocol"] == "lines" else server.port
    load = {"port": port, "pid": server.pid, "token": server.token, "seconds": seconds, "warm": 0.2 + seconds / 5}
    command = [
        sys.executable,
        str(pathlib.Path(__file__).with_name("serve_load.py")),
        json.dumps(load | contender.load),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{contender.name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def run_case(case: Case, folder: pathlib.Path, rounds: int, seconds: float) -> dict[str, list[dict[str, float]]]:
    """All rounds of all contenders, which take turns; every second round begins at the end."""
    results: dict[str, list[dict[str, float]]] = {one.name: [] for one in case.contenders}
    with started({one.server for one in case.contenders}, folder) as servers:
        for one in case.contenders:  # the first pass is not counted
            measure(one, servers[one.server], min(seconds, 1.0))
        for number in range(rounds):
            for one in case.contenders if number % 2 == 0 else reversed(case.contenders):
                results[one.name].append(measure(one, servers[one.server], seconds))
    return results


def median(rounds: list[dict[str, float]], key: str) -> float:
    return statistics.median(one[key] for one in rounds)


def table(case: Case, results: dict[str, list[dict[str, float]]]) -> Table:
    """The medians of a case."""
    shown = Table(title=case.title, title_justify="left")
    shown.add_column("")
    for name in ("CPU, µs a row", "÷ first", "snapshots, µs", "rows/s", "p50, ms", "p99, ms", "load CPU, µs"):
        shown.add_column(name, justify="right")
    first = results[case.contenders[0].name]
    for name, rounds in results.items():
        ratio = statistics.median(a["cpu"] / b["cpu"] for a, b in zip(rounds, first, strict=True))
        cells = [f"{median(rounds, 'cpu'):.1f}", f"{ratio:.2f}", f"{median(rounds, 'children_cpu'):.1f}"]
        cells += [f"{median(rounds, 'rows_per_second'):,.0f}"]
        cells += [f"{1e3 * median(rounds, key):.3f}" for key in ("p50", "p99")]
        shown.add_row(name, *cells, f"{median(rounds, 'load_cpu'):.1f}")
    return shown


def goals(case: Case, results: dict[str, list[dict[str, float]]]) -> list[dict[str, Any]]:
    """The goals that the median round reaches."""
    found = []
    for goal in case.goals:
        pairs = zip(results[goal.ours], results[goal.other], strict=True)
        ratio = statistics.median(goal.ratio(ours, other) for ours, other in pairs)
        found.append({"case": case.name, "goal": goal.text(), "ratio": ratio, "reached": goal.reached(ratio)})
    return found


def main() -> None:
    options, console, begun = arguments(), Console(width=130), time.perf_counter()
    console.print(f"{machine.sentence(machine.describe())}\n{options.rounds} rounds of {options.seconds:g} s.\n")
    kept: dict[str, Any] = {"machine": machine.describe(), "cases": {}, "goals": []}
    with tempfile.TemporaryDirectory(prefix="unitless-serve-", dir=options.data) as folder:
        for case in serve_cases.ALL:
            if options.cases and case.name not in options.cases:
                continue
            results = run_case(case, pathlib.Path(folder) / case.name, options.rounds, options.seconds)
            console.print(table(case, results))
            for one in goals(case, results):
                mark = "reached" if one["reached"] else "MISSED "
                console.print(f"  {mark}  {one['goal']}: {one['ratio']:.3f}")
                kept["goals"].append(one)
            console.print()
            kept["cases"][case.name] = {
                "title": case.title,
                "goals": [dataclasses.asdict(g) for g in case.goals],
                "rounds": results,
            }
    if options.results:
        options.results.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    reached = sum(one["reached"] for one in kept["goals"])
    console.print(f"{reached} of {len(kept['goals'])} goals reached; {time.perf_counter() - begun:.0f} s in all.")


if __name__ == "__main__":
    main()
