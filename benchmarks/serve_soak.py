"""An hour of mixed load on the server: its memory and its latencies, minute by minute.

    python benchmarks/serve_soak.py --minutes 60
    python benchmarks/serve_soak.py --quick            three "minutes" of five seconds

Predictions, learning with and without ids, labels that come later, JSON lines; metrics are read each second, ids are
forgotten after 20 s and the log is limited to 200 MB, so that after some minutes nothing may grow.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import serve_servers
from rich.console import Console
from serve import read_metrics
from serve_load import descendants
from serve_servers import DEFAULTS, ONE_RATE, Server

LOADS = {
    "predict": {"path": "/v1/models/default/predict", "connections": 8, "rate": 1500},
    "learn": {"path": "/v1/models/default/learn", "learn": True, "connections": 8, "rate": 500},
    "with ids": {"path": "/v1/models/linear/learn", "learn": True, "ids": True, "connections": 8, "rate": 500},
    "labels": {
        "path": "/v1/models/default/predict",
        "ids": True,
        "labels": "/v1/models/default/label",
        "connections": 4,
        "rate": 400,
    },
    "lines": {"path": "/v1/models/linear/learn", "learn": True, "batch": 500, "connections": 1, "rate": 2},
}
OPTIONS = ("--label-wait", "20s", "--id-window", "20s", "--log-retention", "200MB", "--segment", "16MB")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--data", type=pathlib.Path, default=None, help="a folder for the log")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    options.seconds = 60.0
    if options.quick:
        options.minutes, options.seconds = 3, 5.0
    return options


def resident(pid: int) -> float:
    """The memory of a process, in MB."""
    fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


def minute(server: Server, seconds: float) -> dict[str, dict[str, float]]:
    """All loads at the same time."""
    program = str(pathlib.Path(__file__).with_name("serve_load.py"))
    usual = {"port": server.port, "pid": server.pid, "token": server.token, "protocol": "http"}
    usual |= {"seconds": seconds - 1, "warm": 0.5}
    running = {
        name: subprocess.Popen([sys.executable, program, json.dumps(usual | load)], stdout=subprocess.PIPE, text=True)
        for name, load in LOADS.items()
    }
    found = {name: process.communicate()[0] for name, process in running.items()}
    failed = [name for name, process in running.items() if process.returncode]
    if failed:
        sys.exit(f"the load {failed[0]!r} failed")
    return {name: json.loads(line) for name, line in found.items()}


def main() -> None:
    options, console = arguments(), Console(width=150)
    with tempfile.TemporaryDirectory(prefix="unitless-soak-", dir=options.data) as folder:
        models = {"linear": ONE_RATE, "default": DEFAULTS}
        with serve_servers.unitless(pathlib.Path(folder), "disk", models, *OPTIONS) as server:
            over = threading.Event()
            threading.Thread(target=read_metrics, args=(server, over), daemon=True).start()
            titles = "".join(f"{name + ' p50 p99':>22}" for name in LOADS)
            console.print(f"{'minute':>6}{'rows/s':>9}{'server MB':>11}{'snapshots MB':>14}{'log MB':>8}{titles}")
            for number in range(1, options.minutes + 1):
                found = minute(server, options.seconds)
                rate = sum(one["rows_per_second"] for one in found.values())
                beside = sum(map(resident, descendants(server.pid)))
                logged = sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*.seg")) / 1e6
                times = "".join(f"{1e3 * one['p50']:14.2f}{1e3 * one['p99']:8.2f}" for one in found.values())
                memory = f"{resident(server.pid):11.1f}{beside:14.1f}{logged:8.1f}"
                console.print(f"{number:6}{rate:9,.0f}{memory}{times}", highlight=False)
            over.set()
            time.sleep(0.1)


if __name__ == "__main__":
    main()
