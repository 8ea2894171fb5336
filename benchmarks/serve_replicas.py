"""The lag of a replica behind its primary, and whether both are equal to the last bit.

    python benchmarks/serve_replicas.py
    python benchmarks/serve_replicas.py --quick

While other clients learn 1,000 rows a second, one client learns a row and, as soon as it is answered, asks the replica
for a prediction that must include the row (Unitless-Min-Seq). The time of this, minus the time of a prediction without
this condition, is the lag that a client sees. Goal: p99 below 100 ms, and equal bytes when the load is over.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import serve_servers
from serve_rows import as_json, rows
from serve_servers import DEFAULTS, ONE_RATE, Server

MODELS = {"linear": ONE_RATE, "default": DEFAULTS}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--data", type=pathlib.Path, default=None, help="a folder for the logs")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.seconds = 3.0
    return options


@contextlib.contextmanager
def replica(primary: Server) -> Iterator[Server]:
    """A replica that reads the primary's data."""
    port, folder = serve_servers.free_port(), primary.folder
    command = [sys.executable, "-m", "unitless", "serve", "--replica-of", str(folder / "data"), "--port", str(port)]
    with serve_servers.running([*command, "--token-file", str(folder / "tokens"), "--quiet"], port) as process:
        serve_servers.wait_until_ready(process, port)
        yield Server(process, process.pid, port, token=primary.token, folder=folder)


class Caller:
    """One connection."""

    def __init__(self, server: Server) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        self._headers = {"authorization": f"Bearer {server.token}", "content-type": "application/json"}

    def post(self, path: str, body: bytes, **headers: str) -> dict[str, Any]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request("POST", path, body, self._headers | named)
        answer = self._connection.getresponse()
        found = answer.read()
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status} {found[:500]!r}")
        return json.loads(found)


def get(server: Server, path: str) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}")
    request.add_header("authorization", f"Bearer {server.token}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def lags(primary: Server, second: Server, model: str, seconds: float) -> tuple[list[float], list[float]]:
    """The times of predictions that must include the last row, and of predictions without this condition."""
    here, there = Caller(primary), Caller(second)
    knowing, plain = [], []
    given, ends = rows(1000, seed=1), time.monotonic() + seconds
    for number in range(10**9):
        if time.monotonic() >= ends:
            break
        features, label = given[number % len(given)]
        seq = here.post(f"/v1/models/{model}/learn", as_json(features, label))["seq"]
        begun = time.perf_counter()
        there.post(f"/v1/models/{model}/predict", as_json(features), Unitless_Min_Seq=str(seq))
        middle = time.perf_counter()
        there.post(f"/v1/models/{model}/predict", as_json(features))
        knowing.append(middle - begun)
        plain.append(time.perf_counter() - middle)
        time.sleep(0.005)
    return sorted(knowing), sorted(plain)


def at(ordered: list[float], share: float) -> float:
    return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> None:
    options = arguments()
    program = str(pathlib.Path(__file__).with_name("serve_load.py"))
    with (
        tempfile.TemporaryDirectory(prefix="unitless-replicas-", dir=options.data) as folder,
        contextlib.ExitStack() as stack,
    ):
        primary = stack.enter_context(serve_servers.unitless(pathlib.Path(folder), "disk", MODELS))
        second = stack.enter_context(replica(primary))
        for model in MODELS:
            load = {"port": primary.port, "pid": primary.pid, "token": primary.token, "protocol": "http"}
            load |= {"path": f"/v1/models/{model}/learn", "learn": True, "connections": 8, "rate": 1000}
            command = [sys.executable, program, json.dumps(load | {"seconds": options.seconds + 1, "warm": 0.1})]
            others = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            knowing, plain = lags(primary, second, model, options.seconds)
            others.wait()
            base = at(plain, 0.5)
            p50, p99 = (max(0.0, at(knowing, share) - base) for share in (0.5, 0.99))
            seq = json.loads(get(primary, f"/v1/models/{model}"))["seq"]
            ends = time.monotonic() + 30
            while (there := json.loads(get(second, f"/v1/models/{model}")))["seq"] < seq and time.monotonic() < ends:
                time.sleep(0.01)
            here = json.loads(get(primary, f"/v1/models/{model}"))
            equal = here["digest"] == there["digest"] and get(primary, f"/v1/models/{model}/file") == get(
                second, f"/v1/models/{model}/file"
            )
            print(
                f"{model:8} {len(knowing):6,} rows: lag p50 {p50:.1f} ms, p99 {p99:.1f} ms "
                f"({'reached' if p99 < 100 else 'MISSED'}: < 100 ms); "
                f"record {here['seq']:,} and {there['seq']:,}: {'equal' if equal else 'NOT EQUAL'}"
            )


if __name__ == "__main__":
    main()
