"""Large states of the server: snapshots of a model with a million names, and a restart with a million waiting ids.

    python benchmarks/serve_large.py
    python benchmarks/serve_large.py --quick        30,000 of each

Goals: a snapshot of 10^6 names adds less than 100 ms to the p99 of predictions; a restart with 10^6 predictions that
wait for their labels takes less than 10 s, after SIGTERM and after kill -9.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator

import serve_servers
from serve_servers import ONE_RATE, Server


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="of predictions")
    parser.add_argument("--data", type=pathlib.Path, default=None, help="a folder for the logs")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.count, options.seconds = 30_000, 2.0
    return options


def post(server: Server, path: str, body: bytes = b"", kind: str = "application/x-ndjson") -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", body, method="POST")
    request.add_header("authorization", f"Bearer {server.token}")
    request.add_header("content-type", kind)
    with urllib.request.urlopen(request, timeout=600) as answer:
        return answer.read()


def send(server: Server, path: str, lines: Iterator[bytes], batch: int = 2000) -> None:
    """All lines, some at a time."""
    some: list[bytes] = []
    for line in lines:
        some.append(line)
        if len(some) == batch:
            check(post(server, path, b"\n".join(some) + b"\n"))
            some = []
    if some:
        check(post(server, path, b"\n".join(some) + b"\n"))


def check(answer: bytes) -> None:
    if b'"title"' in answer:
        sys.exit(f"the server does not answer well: {answer[:500]!r}")


def names(count: int) -> Iterator[bytes]:
    """Rows of 50 names each, every name once."""
    for first in range(0, count, 50):
        features = {f"name{number}": 1.0 for number in range(first, min(count, first + 50))}
        yield json.dumps({"features": features, "label": first % 100 == 0}).encode()


def asked(count: int) -> Iterator[bytes]:
    """Requests for predictions, with ids."""
    chance = random.Random(0)
    for number in range(count):
        yield b'{"id":"order-%d","features":{"price":%f,"size":%f}}' % (number, chance.random(), chance.random())


def predictions(server: Server, seconds: float) -> dict[str, float]:
    """Predictions at a steady rate."""
    load = {"port": server.port, "pid": server.pid, "token": server.token, "protocol": "http", "connections": 4}
    load |= {"path": "/v1/models/large/predict", "rate": 500, "seconds": seconds, "warm": 0.2}
    command = [sys.executable, str(pathlib.Path(__file__).with_name("serve_load.py")), json.dumps(load)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def snapshots_during_predictions(folder: pathlib.Path, count: int, seconds: float) -> None:
    limits = "--max-features", "2000000", "--max-model-bytes", "8GB"
    with serve_servers.unitless(folder, "disk", {"large": ONE_RATE}, "--snapshot-every", "1h", *limits) as server:
        send(server, "/v1/models/large/learn", names(count), batch=200)
        post(server, "/v1/models/large/snapshot")  # the process that writes snapshots has read the log
        alone = predictions(server, seconds)
        over, times = threading.Event(), []

        def snapshot_all_the_time() -> None:
            while not over.is_set():
                send(server, "/v1/models/large/learn", names(50))  # so that the snapshot has new rows
                begun = time.perf_counter()
                post(server, "/v1/models/large/snapshot")
                times.append(time.perf_counter() - begun)

        writer = threading.Thread(target=snapshot_all_the_time)
        writer.start()
        beside = predictions(server, seconds)
        over.set()
        writer.join()
    added = 1e3 * (beside["p99"] - alone["p99"])
    print(
        f"{count:,} names: predictions p99 {1e3 * alone['p99']:.1f} ms, worst {1e3 * alone['worst']:.1f} ms; during "
        f"{len(times)} snapshots of {sum(times) / len(times):.1f} s each p99 {1e3 * beside['p99']:.1f} ms, worst "
        f"{1e3 * beside['worst']:.1f} ms: {added:+.1f} ms ({'reached' if added < 100 else 'MISSED'}: < 100 ms)"
    )


def restarts(folder: pathlib.Path, count: int) -> None:
    chosen = {"large": ONE_RATE}
    options = ("--max-pending", str(2 * count), "--snapshot-every", "30s")
    with serve_servers.unitless(folder, "process", chosen, *options) as server:
        send(server, "/v1/models/large/learn", names(50))
        send(server, "/v1/models/large/predict", asked(count))
    for how in ("a polite end", "kill -9"):
        with serve_servers.unitless(folder, "process", chosen, *options) as server:
            took, waiting = server.start_seconds, waiting_ids(server)
            print(
                f"{waiting:,} ids that wait: ready {took:.1f} s after the start that followed {how} "
                f"({'reached' if took < 10 else 'MISSED'}: < 10 s)"
            )
            if how == "a polite end":
                send(server, "/v1/models/large/learn", names(50))
                server.process.kill()
                server.process.wait()


def waiting_ids(server: Server) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/v1/models/large")
    request.add_header("authorization", f"Bearer {server.token}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())["waiting"]


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="unitless-large-", dir=options.data) as folder:
        snapshots_during_predictions(pathlib.Path(folder) / "names", options.count, options.seconds)
        restarts(pathlib.Path(folder) / "ids", options.count)


if __name__ == "__main__":
    main()
