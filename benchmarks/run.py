"""Compare the speed with Vowpal Wabbit, scikit-learn and River, and with the limits of the machine: `make bench`.

All contenders (programs with their options) of a workload take turns in one run, on the same rows, each in its own
process and after a first pass that is not timed. Tables show the best and the median round, the progressive loss and
the memory. Linear algebra uses one thread. Results: benchmarks.json, benchmarks.md and pictures.

    python benchmarks/run.py                    everything
    python benchmarks/run.py dense stream       two workloads
    python benchmarks/run.py threads            1, 2, 4, ... threads up to all cores; also `scaling` and `memory`
    python benchmarks/run.py --quick            small data, to check that everything works
    python benchmarks/run.py --page             also update the numbers in docs/
    python benchmarks/run.py dense --compare HEAD~3     this version and that of a commit, which is built first
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import builds
import compare
import goals
import machine
import memory
import report
import scaling
import threads
import workloads
from data import Size, Store
from rounds import measure

PROGRAM_ROUNDS = 3  # at most, because reading large files takes long
STUDIES: dict[str, Callable[[Store, int], list[dict[str, Any]]]] = {  # names that are no workload
    "threads": threads.run,
    "memory": memory.run,
    "scaling": scaling.run,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*workloads.ALL, *STUDIES]
    parser.add_argument("workloads", nargs="*", metavar="workload", help=f"of {', '.join(names)}; by default all")
    parser.add_argument("--rounds", type=int, default=None, help="7, or 2 with --quick")
    parser.add_argument("--megabytes", type=int, default=800, help="of text in each file")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path(__file__).with_name("results"))
    parser.add_argument("--quick", action="store_true", help="small data; the numbers mean nothing")
    parser.add_argument("--page", action="store_true", help="update the marked blocks of the documentation")
    parser.add_argument(
        "--compare", metavar="COMMIT", help="next to the version of that commit; without other programs"
    )
    options = parser.parse_args()
    names = compare.NAMES if options.compare else names
    if unknown := [name for name in options.workloads if name not in names]:
        parser.error(f"there is no workload {unknown[0]!r}; there are {', '.join(names)}")
    if options.compare and options.page:
        parser.error("--page shows other programs, which --compare does not measure")
    if options.rounds is None:
        options.rounds = 2 if options.quick else 7
    if options.rounds < 1 or options.megabytes < 1:
        parser.error("--rounds and --megabytes must be 1 or more")
    options.workloads = options.workloads or names
    return options


def check_space(chosen: list[str], size: Size) -> None:
    """Stop at once if there is not enough space for the files, which are large."""
    files = any(name == "threads" or (name in workloads.ALL and workloads.ALL[name].files) for name in chosen)
    needed = (3 * size.megabytes * files + 1_500 * (size.covertype_rows > 10**5)) * 10**6
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if free < needed:
        sys.exit(
            f"{folder} has {free / 1e9:.1f} GB free, but about {needed / 1e9:.1f} GB are needed: "
            "set TMPDIR to another folder, or use a smaller --megabytes"
        )


def run_workload(workload: workloads.Workload, store: Store, rounds: int) -> dict[str, Any]:
    contenders = workload.contenders(store)
    rounds = min(rounds, PROGRAM_ROUNDS) if workload.files else rounds
    result = {
        "name": workload.name,
        "title": workload.title,
        "note": workload.note,
        "loss": workload.loss,
        "contenders": [one.asdict() for one in measure(contenders, store, rounds, workload.name)],
    }
    print(f"{workload.title}. {workload.note}\n{report.as_text(report.workload(result))}\n", flush=True)
    return result


def run_all(names: list[str], store: Store, results: dict[str, Any], folder: pathlib.Path) -> None:
    """Measure the chosen parts with all programs; print and save each part when it is measured."""
    for name in names:
        if name in STUDIES:
            results[name] = STUDIES[name](store, results["rounds"])
            print(f"{name.capitalize()}\n{report.study_as_text(name, results[name])}\n", flush=True)
        else:
            results["workloads"].append(run_workload(workloads.ALL[name], store, results["rounds"]))
        keep_numbers(results, folder)
    results["goals"] = goals.check(results["workloads"], results["threads"])
    if results["goals"]:
        print(f"Goals\n{report.as_text(report.goals(results['goals']))}\n")


def compare_builds(options: argparse.Namespace, store: Store) -> list[dict[str, Any]]:
    """Measure the chosen parts with this version and with the version of a commit."""
    if changed := builds.stale():
        print(f"  {changed} was changed after the installed core was compiled: install it again first", file=sys.stderr)
    print(f"Building {options.compare} ...", file=sys.stderr, flush=True)
    with builds.built(options.compare) as old:
        return compare.run(options.workloads, store, options.rounds, old)


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started and built is removed
    if options.compare:
        builds.resolved(options.compare)
    size = Size.quick() if options.quick else Size.full(options.megabytes)
    check_space(options.workloads, size)
    started = time.perf_counter()
    results: dict[str, Any] = {"machine": machine.describe(), "rounds": options.rounds, "workloads": [], "goals": []}
    results |= {name: [] for name in STUDIES}
    options.results.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unitless-benchmarks-") as folder:
        store = Store(pathlib.Path(folder), size)
        results["data"] = f"{store.name}, {size.covertype_rows:,} rows"
        print(f"{results['data']}; {options.rounds} rounds. {machine.sentence(results['machine'])}\n", flush=True)
        if options.compare:
            found = compare_builds(options, store)
            (options.results / "compare.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
        else:
            run_all(options.workloads, store, results, options.results)
            keep(results, options.results)
    if options.page:
        import pages

        pages.write(results, options.results)
    print(f"{time.perf_counter() - started:.0f} s in all. Numbers, tables and pictures: {options.results}")


def keep_numbers(results: dict[str, Any], folder: pathlib.Path) -> None:
    (folder / "benchmarks.json").write_text(json.dumps(results, indent=1, allow_nan=False), encoding="utf-8")


def keep(results: dict[str, Any], folder: pathlib.Path) -> None:
    import pictures  # imported late: its memory would count as that of programs started from here

    keep_numbers(results, folder)
    (folder / "benchmarks.md").write_text(report.markdown(results), encoding="utf-8")
    if results["workloads"]:
        pictures.bars(pictures.published(results), folder / "benchmarks.png")
    if results["scaling"]:
        pictures.curves(results["scaling"], folder / "scaling.png")
    if results["threads"] and len(results["threads"][0]["threads"]) > 2:  # two points are no curve
        pictures.speedups(results["threads"], folder / "threads.png")


if __name__ == "__main__":
    main()
