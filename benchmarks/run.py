"""Compare the speed with Vowpal Wabbit, scikit-learn and River, and with the limits of the machine: `make bench`.

All contenders (programs with their options) of a workload take turns in one run, on the same rows, each in its own
process and after a first pass that is not timed. Tables show the best and the median round, the progressive loss and
the memory. Linear algebra uses one thread. Results: benchmarks.json, benchmarks.md, benchmarks.png, scaling.png.

    python benchmarks/run.py                    everything
    python benchmarks/run.py dense stream       two workloads (`scaling` is also one)
    python benchmarks/run.py --quick            small data, to check that everything works
    python benchmarks/run.py --page             also update the numbers in docs/
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import sys
import tempfile
import time
from typing import Any

import goals
import machine
import report
import scaling
import workloads
from data import Size, Store
from rounds import measure

PROGRAM_ROUNDS = 3  # at most, because reading large files takes long


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*workloads.ALL, "scaling"]
    parser.add_argument("workloads", nargs="*", metavar="workload", help=f"of {', '.join(names)}; by default all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=800, help="of text in each file")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path(__file__).with_name("results"))
    parser.add_argument("--quick", action="store_true", help="small data; the numbers mean nothing")
    parser.add_argument("--page", action="store_true", help="update the marked blocks of the documentation")
    options = parser.parse_args()
    if unknown := [name for name in options.workloads if name not in names]:
        parser.error(f"there is no workload {unknown[0]!r}; there are {', '.join(names)}")
    if options.rounds < 1 or options.megabytes < 1:
        parser.error("--rounds and --megabytes must be 1 or more")
    options.workloads = options.workloads or names
    return options


def check_space(chosen: list[str], size: Size) -> None:
    """Stop at once if there is not enough space for the files, which are large."""
    files = any(name in workloads.ALL and workloads.ALL[name].files for name in chosen)
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


def main() -> None:
    options = arguments()
    size = Size.quick() if options.quick else Size.full(options.megabytes)
    check_space(options.workloads, size)
    started = time.perf_counter()
    results: dict[str, Any] = {"machine": machine.describe(), "rounds": options.rounds, "workloads": [], "scaling": []}
    with tempfile.TemporaryDirectory(prefix="unitless-benchmarks-") as folder:
        store = Store(pathlib.Path(folder), size)
        results["data"] = f"{store.name}, {size.covertype_rows:,} rows"
        print(f"{results['data']}; {options.rounds} rounds. {machine.sentence(results['machine'])}\n", flush=True)
        for name in options.workloads:
            if name == "scaling":
                results["scaling"] = scaling.run(store, options.rounds, machine.cores())
                print("Scaling\n" + "\n\n".join(report.as_text(report.curve(one)) for one in results["scaling"]))
                print(f"\n  {report.straightness(results['scaling'])}\n", flush=True)
            else:
                results["workloads"].append(run_workload(workloads.ALL[name], store, options.rounds))
    results["goals"] = goals.check(results["workloads"])
    if results["goals"]:
        print(f"Goals\n{report.as_text(report.goals(results['goals']))}\n")
    keep(results, options.results)
    if options.page:
        import pages

        pages.write(results, options.results)
    print(f"{time.perf_counter() - started:.0f} s in all. Numbers, tables and pictures: {options.results}")


def keep(results: dict[str, Any], folder: pathlib.Path) -> None:
    import pictures  # imported late: its memory would count as that of programs started from here

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.json").write_text(json.dumps(results, indent=1, allow_nan=False), encoding="utf-8")
    (folder / "benchmarks.md").write_text(report.markdown(results), encoding="utf-8")
    if results["workloads"]:
        pictures.bars(pictures.published(results), folder / "benchmarks.png")
    if results["scaling"]:
        pictures.curves(results["scaling"], folder / "scaling.png")


if __name__ == "__main__":
    main()
