"""The parts of the UCI site that the tests need:

datasets in its text formats, in archives, on a server that can fail.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.server
import io
import pathlib
import re
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from unitless.paper.experiments.records import Dataset


def original_text(dataset: Dataset, table: pa.Table) -> bytes:
    """The text of a table as in UCI's file."""
    label = table.column("label")
    features = {name: table.column(name) for name in dataset.features}
    if dataset.key == "bank":
        meant = pc.if_else(pc.equal(label, 1), "yes", "no")
        quoted = {
            name: _quoted(column) if name in dataset.text_features else column for name, column in features.items()
        }
        names = ";".join(f'"{name}"' for name in [*features, "y"])
        return names.encode() + b"\n" + _csv({**quoted, "y": _quoted(meant)}, ";")
    if dataset.key == "census":
        meant = pc.if_else(pc.equal(label, 1), "50000+.", "- 50000.")
        spaced = {name: pc.binary_join_element_wise("", _plain(features[name]), " ") for name in list(features)[1:]}
        return _csv({"age": features["age"], **spaced, "label": pc.binary_join_element_wise("", meant, " ")}, ",")
    if dataset.key == "ctslice":
        patients = pa.array([k // 500 for k in range(table.num_rows)])
        names = ",".join(["patientId", *features, "reference"])
        return names.encode() + b"\n" + _csv({"patientId": patients, **features, "reference": label}, ",")
    if dataset.key == "msd":
        return _csv({"label": label, **features}, ",")
    return _csv({**features, "label": label}, " " if dataset.key == "shuttle" else ",")


def _plain(column: Any) -> Any:
    return column.cast(pa.string())


def _quoted(column: Any) -> Any:
    return pc.binary_join_element_wise('"', _plain(column), '"', "")


def _csv(columns: dict[str, Any], delimiter: str) -> bytes:
    table = pa.table(columns)
    if any(pa.types.is_string(type_) for type_ in table.schema.types):  # which the writer would quote or refuse
        lines = pc.binary_join_element_wise(*map(_plain, table.columns), delimiter)
        return ("\n".join(lines.to_pylist()) + "\n").encode()
    out = io.BytesIO()
    pyarrow.csv.write_csv(table, out, pyarrow.csv.WriteOptions(include_header=False, delimiter=delimiter))
    return out.getvalue()


def zipped_files(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred_files(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def archive(dataset: Dataset, text: bytes) -> bytes:
    """The text in an archive like UCI's, with the same nested levels, after another member."""
    other = {"Index": b"nothing of interest\n"}
    if dataset.key == "bank":
        inner = zipped_files({"bank.csv": b"a part\n", dataset.original: text})
        return zipped_files({"bank-additional.zip": zipped_files(other), "bank.zip": inner})
    if dataset.key == "census":
        packed = gzip.compress(text, 0)
        return zipped_files({**other, "census.tar.gz": tarred_files({"deep/er/census-income.data.gz": packed})})
    if dataset.key == "covertype":
        return zipped_files({**other, "covtype.data.gz": gzip.compress(text, 0)})
    return zipped_files({**other, dataset.original: text})


class Server(http.server.ThreadingHTTPServer):
    """Serves `files` by path. Each request takes one of `troubles`: a status, or the number of bytes after which to
    stop."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.troubles: list[tuple[str, int]] = []
        self.requests: list[tuple[str, str | None]] = []  # requested paths and ranges
        self.ranges = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append((self.path, self.headers["Range"]))
        trouble, amount = self.server.troubles.pop(0) if self.server.troubles else ("", 0)
        data = self.server.files.get(self.path)
        if trouble == "status" or data is None:
            self.send_error(amount or 404)
            return
        tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        start, asked = 0, re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        if asked and self.server.ranges and self.headers["If-Range"] in {None, tag}:
            start = int(asked[1])
        if start >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.send_header("ETag", tag)
        self.end_headers()
        self.wfile.write(data[start : start + amount] if trouble == "stop" else data[start:])

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def names(folder: pathlib.Path) -> list[str]:
    """The names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())
