"""The time during which one request keeps the server from answering others.

It prints two numbers: the longest answer to /health/live meanwhile, and the longest turn of the event loop in processor
time, which does not depend on what else the machine does. Both are in seconds.

    python benchmarks/serve_stalls.py
    python benchmarks/serve_stalls.py --quick       one round of each

The goal is 50 ms for every request. The smallest of three rounds counts.
"""

from __future__ import annotations

import argparse
import io
import json
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

import pyarrow as pa

JSON, LINES, CSV = "application/json", "application/x-ndjson", "text/csv"
ARROW, FILE = "application/vnd.apache.arrow.stream", "application/octet-stream"


class Watch:
    """Requests /health/live all the time, over one connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=300)
        self._longest, self._ends = 0.0, False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(0.05)
        self._ends = True
        self._thread.join()
        self._socket.close()

    @property
    def longest(self) -> float:
        """Seconds."""
        return self._longest

    def _run(self) -> None:
        while not self._ends:
            began = time.perf_counter()
            self._socket.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            heard = b""
            while b'"live"}' not in heard:
                heard += self._socket.recv(4096)
            self._longest = max(self._longest, time.perf_counter() - began)
            time.sleep(0.002)


def ask(port: int, method: str, path: str, body: bytes = b"", kind: str = JSON) -> tuple[int, bytes]:
    """An answer: its status, and its content."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body or None, method=method)
    request.add_header("content-type", kind)
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except (urllib.error.URLError, ConnectionError):  # closed before all was sent
        return 0, b""


def arrow(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def row(count: int, label: object = 1.0, start: int = 0) -> bytes:
    return json.dumps({"features": {f"name{start + i}": 1.0 for i in range(count)}, "label": label}).encode()


def lines(count: int, columns: int, classes: int = 0) -> bytes:
    """JSON lines of numbers."""
    found = []
    for i in range(count):
        label: object = f"class{i % classes}" if classes else float(i % 13)
        found.append(json.dumps({"features": {f"c{k}": (i * k) % 17 for k in range(columns)}, "label": label}))
    return "\n".join(found).encode()


def cases(port: int) -> Iterator[tuple[str, Callable[[], tuple[int, bytes]]]]:
    """The requests: their names, and functions that send them."""

    def post(path: str, body: bytes, kind: str = JSON) -> Callable[[], tuple[int, bytes]]:
        return lambda: ask(port, "POST", f"/v1/models/{path}", body, kind)

    def get(path: str) -> Callable[[], tuple[int, bytes]]:
        return lambda: ask(port, "GET", f"/v1/models/{path}")

    number = iter(range(1_000_000))

    def put(body: bytes) -> Callable[[], tuple[int, bytes]]:
        return lambda: ask(port, "PUT", f"/v1/models/put{next(number)}", body, FILE)

    yield (
        "CSV, 200,000 columns, two alike",
        post("m/predict", b",".join([b"c%d" % i for i in range(199_999)] + [b"c5"]), CSV),
    )
    wide = b",".join(b"c%d" % i for i in range(9_999)) + b"\n" + (b"1," * 9_998 + b"1\n") * 100
    yield "CSV, 10,000 columns, 100 rows, predicted", post("m/predict", wide, CSV)
    narrow = b"label,a,b,c,d\n" + b"1,2,3,4,5\n" * 1_000_000
    yield "CSV, 1,000,000 rows, predicted", post("m/predict", narrow, CSV)
    yield "JSON, a million brackets", post("m/predict", b'{"features": ' + b"[" * 1_000_000)
    yield "JSON, half a million empty lists", post("m/predict", b'{"features": {"a": [' + b"[]," * 300_000 + b"[]]}}")
    yield "a row of a million names, predicted", post("m/predict", row(1_000_000))
    yield "a row of a million names, learned", post("m/learn", row(1_000_000))
    yield "a row of 40,000 names, predicted", post("m/predict", row(40_000))
    yield (
        "a row of 5,000 new names, learned",
        lambda: ask(port, "POST", "/v1/models/m/learn", row(5000, 1.0, 5000 * next(number))),
    )
    million = b"\n".join(row(40_000) for _ in range(30))
    yield "JSON lines, 30 MB in 30 rows, predicted", post("m/predict", million, LINES)
    yield "JSON lines, 100,000 rows, learned", post("m/learn", lines(100_000, 10), LINES)
    yield "JSON lines, 2,000 rows, 50 classes, learned", post("classes/learn", lines(2000, 20, 50), LINES)
    yield "Arrow, 9,000 columns", post("m/predict", arrow(pa.table({f"c{i}": [1.0] * 300 for i in range(9000)})), ARROW)
    yield "Arrow, 200,000 columns", post("m/predict", arrow(pa.table({f"c{i}": [1.0] for i in range(200_000)})), ARROW)
    table = pa.table({f"c{i}": [float(i)] * 200_000 for i in range(10)})
    yield "Arrow, 200,000 rows", post("m/predict", arrow(table), ARROW)
    yield "large model, file", get("large/file")
    content = ask(port, "GET", "/v1/models/large/file")[1]
    yield f"model file of {len(content) >> 20} MB, sent", put(content)
    yield (
        f"model file of {len(content) >> 20} MB, sent as a challenger",
        lambda: ask(port, "PUT", f"/v1/models/beside{next(number)}?stream=m", content, FILE),
    )
    yield "large model, weights", get("large/weights")
    yield "large model, explained", post("large/explain", json.dumps({"features": {"n1": 1.0}}).encode())
    yield "large model, details", get("large")
    yield "large model, metrics", get("large/metrics")
    yield "classes, file", get("classes/file")
    yield "classes, weights", get("classes/weights")
    yield "classes, explained", post("classes/explain", json.dumps({"features": {"c1": 1.0}}).encode())
    yield "classes, details", get("classes")
    yield "all models", get("")
    yield "metrics for Prometheus", lambda: ask(port, "GET", "/metrics")
    tensor = {"name": "x", "shape": [1_000_000], "datatype": "FP64", "data": [1.5] * 1_000_000}
    infer = json.dumps({"inputs": [tensor]}).encode()
    yield "Open Inference Protocol, a million numbers", lambda: ask(port, "POST", "/v2/models/m/infer", infer)


SERVER = """
import asyncio, mmap, struct, sys, time, uvloop
file = open(sys.argv[1], "r+b")
held = mmap.mmap(file.fileno(), 8)
run = asyncio.events.Handle._run
def measured(self):
    began = time.thread_time()
    run(self)
    taken = time.thread_time() - began
    if taken > struct.unpack("<d", held[:8])[0]:
        held[:8] = struct.pack("<d", taken)
asyncio.events.Handle._run = measured
uvloop.run = asyncio.run
from unitless.cli import main
sys.exit(main(sys.argv[2:]))
"""  # with the loop of Python itself, whose turns can be measured


def shared_bytes(path: pathlib.Path, content: bytes) -> None:
    with path.open("r+b") as file:
        file.write(content)


def prepared(port: int) -> None:
    """Make large models."""
    linear = json.dumps({"model_type": "linear", "ensemble": False}).encode()
    for name, options in (("m", b"{}"), ("large", linear), ("classes", b"{}")):
        ask(port, "PUT", f"/v1/models/{name}", options)
    for start in range(0, 100_000, 4000):
        body = json.dumps({"features": {f"n{start + i}": 1.0 for i in range(4000)}, "label": 1.0}).encode()
        assert ask(port, "POST", "/v1/models/large/learn", body)[0] == 200
    ask(port, "POST", "/v1/models/classes/learn", lines(100, 20, 50), LINES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="cases whose names have this text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        words = ["serve", "--data", str(pathlib.Path(folder) / "data"), "--port", "0", "--max-model-bytes", "2GB"]
        shared = pathlib.Path(folder) / "held"
        shared.write_bytes(bytes(8))
        command = [sys.executable, "-u", "-c", SERVER, str(shared), *words, "--durability", "process"]
        command += ["--snapshot-every", "1h"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        try:
            said = server.stdout.readline()
            port = int(said.split("127.0.0.1:")[1].split("/")[0])
            prepared(port)
            print(f"{'request':55} {'status':>6} {'its own':>9} {'others':>9} {'loop':>9}   seconds")
            for name, work in cases(port):
                if options.only not in name:
                    continue
                found = []
                for _ in range(1 if options.quick else 3):
                    with Watch(port) as watch:
                        shared_bytes(shared, bytes(8))
                        began = time.perf_counter()
                        status, _ = work()
                        own = time.perf_counter() - began
                    (held,) = struct.unpack("<d", shared.read_bytes()[:8])
                    found.append((held, watch.longest, own, status))
                held, longest, own, status = min(found)
                mark = "   *" if held > 0.05 else ""
                print(f"{name:55} {status:6} {own:9.3f} {longest:9.3f} {held:9.3f}{mark}", flush=True)
        finally:
            server.terminate()
            server.wait(60)


if __name__ == "__main__":
    main()
