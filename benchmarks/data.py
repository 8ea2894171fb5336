"""The data of the benchmarks: Covertype, a stream like hashed text, rows of names; as arrays and as files.

Each file is created when it is first needed, in the folder of a run. Covertype is `covertype.parquet` in the directory
UNITLESS_DATA; without it synthetic data of the same shape is used, and `Store.name` has it.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import pathlib
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

COVERTYPE_ROWS, COVERTYPE_COLUMNS = 581_012, 54
STREAM_FEATURES, STREAM_NONZEROS = 10**6, 100


def folder_of_datasets() -> pathlib.Path | None:
    """The directory with the paper's datasets, if UNITLESS_DATA is set."""
    folder = os.environ.get("UNITLESS_DATA")
    return pathlib.Path(folder) if folder else None


def paper_dataset(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The numeric columns of one of the paper's datasets, raw, and its labels."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(folder_of_datasets() / f"{name}.parquet")
    numeric = [f.name for f in table.schema if f.name != "label" and not pyarrow.types.is_dictionary(f.type)]
    X = np.column_stack([table.column(column).to_numpy().astype(np.float64) for column in numeric])
    return X, table.column("label").to_numpy()


@dataclass(frozen=True)
class Size:
    """The sizes of all data."""

    covertype_rows: int
    stream_rows: int
    named_rows: int
    slow_rows: int  # for programs that would need minutes for all rows
    shape_rows: int  # for curves and trees, and programs compared with them
    forest_rows: int  # for River's forests, which need a millisecond a row
    megabytes: int  # of text in files
    scaling: float  # points of the curves, as a share of their full size
    hash_bits: int  # of models that are merged, or whose memory is measured
    serve_seconds: float  # of a turn of a server

    @classmethod
    def full(cls, megabytes: int) -> Size:
        return cls(COVERTYPE_ROWS, 100_000, 10_000, 10_000, 100_000, 2_000, megabytes, 1.0, 20, 1.5)

    @classmethod
    def quick(cls) -> Size:
        return cls(20_000, 2_000, 1_000, 1_000, 2_000, 100, 4, 0.02, 14, 0.5)


@dataclass(frozen=True)
class Store:
    """The data of one run. It is sent to other processes, which load their data from its folder."""

    folder: pathlib.Path
    size: Size

    @property
    def name(self) -> str:
        """Whether the rows are Covertype or synthetic."""
        folder = folder_of_datasets()
        real = folder is not None and (folder / "covertype.parquet").exists()
        return "Covertype" if real else "synthetic data of Covertype's shape (UNITLESS_DATA is not set)"

    def path(self, name: str) -> pathlib.Path:
        """The path of a file, which is created if it does not exist.

        It is created in a separate process, whose memory does not count as that of a contender.
        """
        path = self.folder / name
        if not path.exists():
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                pool.submit(MAKERS[name], self).result()
        return path

    def covertype(self) -> tuple[np.ndarray, np.ndarray]:
        """Float32, and the classes 1 ... 7."""
        return np.load(self.path("covertype.npy")), np.load(self.path("covertype_classes.npy"))

    def two_classes(self, kind: str) -> tuple[Any, np.ndarray]:
        """Covertype, class 2 against the rest: "dense", "sparse", "table" (a data frame) or, dense, "some" of its rows.

        "stream" is the stream like hashed text.
        """
        if kind == "stream":
            return scipy.sparse.load_npz(self.path("stream.npz")), np.load(self.path("stream_labels.npy"))
        X, classes = self.covertype()
        if kind == "sparse":
            X = scipy.sparse.load_npz(self.path("covertype.npz"))
        elif kind == "some":
            every = max(1, len(X) // self.size.shape_rows)  # not the first rows only: the file is sorted
            X, classes = X[::every][: self.size.shape_rows].copy(), classes[::every][: self.size.shape_rows]
        elif kind == "table":
            import pandas as pd

            X = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
        return X, classes == 2

    def named(self) -> tuple[list[dict[str, float]], np.ndarray]:
        """Rows of 20 named features, each with its own unit, and a number to predict (or its sign)."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(self.size.named_rows, 20)) * 10.0 ** rng.integers(-3, 4, size=20)
        score = X @ (rng.normal(size=20) / X.std(axis=0)) + rng.normal(size=len(X))
        names = [f"feature {j}" for j in range(20)]
        return [dict(zip(names, row, strict=True)) for row in X.tolist()], score


def _covertype(store: Store) -> None:
    rows = store.size.covertype_rows
    if store.name == "Covertype":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(folder_of_datasets() / "covertype.parquet")
        names = [name for name in table.column_names if name != "label"]
        X = np.column_stack([table.column(name).to_numpy().astype(np.float32) for name in names])
        classes = table.column("label").to_numpy()
    else:
        rng = np.random.default_rng(0)
        X = np.zeros((rows, COVERTYPE_COLUMNS), np.float32)
        X[:, :10] = rng.integers(0, 3000, size=(rows, 10))
        X[np.arange(rows), 10 + rng.integers(0, 4, rows)] = 1
        X[np.arange(rows), 14 + rng.integers(0, 40, rows)] = 1
        score = X[:, 0] + 500 * X[:, 20] - X[:, 1] + rng.normal(size=rows) * 500
        classes = 1 + np.digitize(score, np.quantile(score, [0.36, 0.85, 0.91, 0.92, 0.94, 0.97]))
    every = max(1, len(X) // rows)  # not the first rows only: the file is sorted
    np.save(store.folder / "covertype.npy", np.ascontiguousarray(X[::every][:rows]))
    np.save(store.folder / "covertype_classes.npy", classes[::every][:rows])


def _covertype_sparse(store: Store) -> None:
    X, _ = store.covertype()
    scipy.sparse.save_npz(store.folder / "covertype.npz", scipy.sparse.csr_array(X.astype(float)), compressed=False)


def zipf_rows(rows: int, features: int, nonzeros: int, seed: int = 0) -> scipy.sparse.csr_array:
    """Rows like short texts: words drawn with probability about rank^-1.1 until a number of different ones is reached.

    A value is how often the word was drawn times a weight that is larger for rarer words. The numbers of features are
    in random order, like hashes.
    """
    rng = np.random.default_rng(seed)
    number = rng.permutation(features).astype(np.int32)  # by rank
    draws, batch, tail = 4 * nonzeros, 2_000, features**-0.1 - 1.0
    indices, values, starts = [], [], [0]
    for first in range(0, rows, batch):
        count = min(batch, rows - first)
        rank = ((1.0 + tail * rng.random((count, draws))) ** -10.0).astype(np.int64) - 1
        order = rank.argsort(axis=1, kind="stable")
        in_order = np.take_along_axis(rank, order, 1)
        new = np.ones(rank.shape, bool)
        new[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
        met = np.where(new, order, draws)  # the draw at which each word first appears
        new &= met <= np.partition(met, nonzeros - 1, axis=1)[:, nonzeros - 1 : nonzeros]
        row, column = np.nonzero(new)
        begins = np.append(np.flatnonzero(met < draws), rank.size)  # of all words, chosen or not
        often = np.diff(begins)[np.searchsorted(begins, row * draws + column)]
        ranks = in_order[row, column]
        indices.append(number[ranks])
        values.append(np.round(often * np.log(2.0 + ranks), 3))
        starts.extend((starts[-1] + np.cumsum(new.sum(axis=1))).tolist())
    matrix = scipy.sparse.csr_array(
        (np.concatenate(values), np.concatenate(indices), np.array(starts, np.int32)), shape=(rows, features)
    )
    matrix.sort_indices()
    return matrix


def _stream(store: Store) -> None:
    X = zipf_rows(store.size.stream_rows, STREAM_FEATURES, STREAM_NONZEROS)
    rng = np.random.default_rng(1)
    planted = np.where(rng.random(X.shape[1]) < 0.1, rng.normal(size=X.shape[1]), 0.0)
    score = X @ planted
    noise = rng.logistic(size=len(score))
    scipy.sparse.save_npz(store.folder / "stream.npz", X, compressed=False)
    np.save(store.folder / "stream_labels.npy", 4 * (score - np.median(score)) / score.std() + noise > 0)


def _vw_lines(X: scipy.sparse.csr_array, labels: np.ndarray, before: str, name: str) -> str:
    """Vowpal Wabbit's text, one line per row."""
    lines, starts = [], X.indptr.tolist()
    columns, values = X.indices.tolist(), X.data.tolist()
    for label, begin, end in zip(labels.tolist(), starts, starts[1:], strict=False):
        features = " ".join([f"{name}{j}:{v:.8g}" for j, v in zip(columns[begin:end], values[begin:end], strict=True)])
        lines.append(f"{label} {before} {features}\n")
    return "".join(lines)


def _vw_text(store: Store, kind: str) -> None:
    """Features are numbers in the namespace f, which Vowpal Wabbit uses without hashing."""
    X, y = store.two_classes("stream" if kind == "stream" else "sparse")
    labels = store.covertype()[1] if kind == "classes" else np.where(y, 1, -1)
    (store.folder / f"{kind}.vw").write_text(_vw_lines(X, labels, "|f", ""))


def _repeated(path: pathlib.Path, head: bytes, body: bytes, megabytes: int) -> int:
    repeats = -(-megabytes * 10**6 // len(body))
    with path.open("wb") as file:
        file.write(head)
        for _ in range(repeats):
            file.write(body)
    return repeats


def _large_vw(store: Store) -> None:
    X, y = store.two_classes("sparse")
    lines = _vw_lines(X, np.where(y, 1, -1), "|", "c").encode()
    repeats = _repeated(store.folder / "large.vw", b"", lines, store.size.megabytes)
    (store.folder / "large.vw.rows").write_text(str(repeats * len(y)))


def _large_tables(store: Store) -> None:
    """A large CSV file and the same rows as Parquet. The label is called `_label`, as Vowpal Wabbit requires."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    X, y = store.two_classes("dense")
    table = pa.table({**{f"c{j}": X[:, j].astype(np.int64) for j in range(X.shape[1])}, "_label": np.where(y, 1, -1)})
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(quoting_style="none"))
    head, _, body = sink.getvalue().to_pybytes().partition(b"\n")
    repeats = _repeated(store.folder / "large.csv", head + b"\n", body, store.size.megabytes)
    with pyarrow.parquet.ParquetWriter(store.folder / "large.parquet", table.schema) as writer:
        for _ in range(repeats):
            writer.write_table(table)
    (store.folder / "large.csv.rows").write_text(str(repeats * len(y)))


def _tiny(store: Store) -> None:
    """The first row of each class of the large files, to measure the start of the programs."""
    with store.path("large.csv").open() as file:
        head, rows = file.readline(), _one_of_each(file, lambda line: line.rstrip().rpartition(",")[2])
        (store.folder / "tiny.csv").write_text(head + rows)
    with store.path("large.vw").open() as file:
        (store.folder / "tiny.vw").write_text(_one_of_each(file, lambda line: line.partition(" ")[0]))


def _one_of_each(lines: Iterable[str], label: Callable[[str], str]) -> str:
    """The first line of the labels -1 and 1."""
    found: dict[str, str] = {}
    for line in lines:
        found.setdefault(label(line), line)
        if len(found) == 2:
            break
    return "".join(found.values())


MAKERS: dict[str, Callable[[Store], None]] = {
    "covertype.npy": _covertype,
    "covertype_classes.npy": _covertype,
    "covertype.npz": _covertype_sparse,
    "stream.npz": _stream,
    "stream_labels.npy": _stream,
    "binary.vw": functools.partial(_vw_text, kind="binary"),
    "classes.vw": functools.partial(_vw_text, kind="classes"),
    "stream.vw": functools.partial(_vw_text, kind="stream"),
    "large.vw": _large_vw,
    "large.vw.rows": _large_vw,
    "large.csv": _large_tables,
    "large.csv.rows": _large_tables,
    "large.parquet": _large_tables,
    "tiny.csv": _tiny,
    "tiny.vw": _tiny,
}
