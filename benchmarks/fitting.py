"""The reported metrics describe the saved model: `ul.train`, linear, with no option but the target.

    UNITLESS_DATA=DIRECTORY python benchmarks/fitting.py [NAME ...] [--rows N] [--seed N] [--json FILE] [--page]

Each table is cut into four fifths, which stay in the order of the file, and a random fifth that no model sees. The
final model is compared with the baseline, scikit-learn's solver on scaled columns (LogisticRegression, Ridge) and its
SGD with the same preparation; they get the columns that `train` used, without row counters and identifiers. `reported`
is the hold-out error that `train` reports. Two ratios: the final model's error over the solver's, and over what was
reported. `progressive` and `streamed` describe the same file learned in its order (`shuffle=False`): the progressive
error, and the final model on the fifth. Errors are the share of wrong classes, or the RMSE.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import pathlib
import tempfile
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pages
import pandas as pd

import unitless as ul


@dataclass(frozen=True)
class Table:
    """A file, its target, and the options with which pandas reads it."""

    path: str
    target: str
    reading: dict[str, Any]


RAW = {
    "bank-full": Table("raw/bank-full.csv.gz", "y", {"sep": ";"}),
    "beijing_pm25": Table("raw/beijing_pm25.csv.gz", "pm", {}),
    "credit_default": Table("raw/credit_default.csv.gz", "Y", {}),
    "diamonds": Table("raw/diamonds.csv.gz", "price", {}),
    "kc_house": Table("raw/kc_house.csv.gz", "price", {}),
    "shuttle_test": Table("raw/shuttle_test.csv.gz", "10", {"header": None}),
}
PAPER = ("census", "covertype", "shuttle", "msd_random7000", "ctslice_head682")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rows", type=int, help="at most so many rows of a table")
    parser.add_argument("--seed", type=int, default=1, help="of the fifth that is not seen")
    parser.add_argument("--json", help="write all numbers to this file")
    parser.add_argument("--page", action="store_true", help="write the tables into the documentation")
    given = parser.parse_args()
    folder = os.environ.get("UNITLESS_DATA")
    found = []
    if folder is not None:
        for name in given.names or [*RAW, *PAPER]:
            found.append(compared(name, pathlib.Path(folder), given.rows, given.seed))
            _print(found[-1], first=len(found) == 1)
    else:
        print("UNITLESS_DATA is not set: only noise is learned")
    found.append(noise(given.seed))
    _print(found[-1], first=len(found) == 1)
    _summary(found)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(found, indent=1), encoding="utf-8")
    if given.page:
        parts = {"fitting": _table(found), "fitting short": _short_table(found)}
        for page in pages.PAGES:
            page.write_text(pages.filled(page.read_text(encoding="utf-8"), parts), encoding="utf-8")


# ---------------------------------------------------------------------------------------------------- the data


def _cut(rows: int, seed: int) -> np.ndarray:
    """The rows that no model sees."""
    unseen = np.zeros(rows, bool)
    unseen[np.random.default_rng(seed).permutation(rows)[: rows // 5]] = True
    return unseen


def _raw(table: Table, path: pathlib.Path, seed: int, rows: int | None, to: str) -> tuple[str, str]:
    """Write the lines of the four fifths and of the other fifth as files."""
    with gzip.open(path, "rb") as stream:
        lines = stream.read().splitlines(keepends=True)
    header = [] if "header" in table.reading else lines[:1]
    lines = lines[len(header) :][:rows]
    unseen = _cut(len(lines), seed)
    parts = []
    for name, wanted in (("seen.csv", ~unseen), ("unseen.csv", unseen)):
        parts.append(os.path.join(to, name))
        with open(parts[-1], "wb") as stream:
            stream.writelines([*header, *(line for line, use in zip(lines, wanted, strict=True) if use)])
    return parts[0], parts[1]


def _paper(path: pathlib.Path, seed: int, rows: int | None, to: str) -> tuple[str, str]:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    table = table.slice(0, rows) if rows else table
    unseen = _cut(table.num_rows, seed)
    parts = []
    for name, wanted in (("seen.parquet", ~unseen), ("unseen.parquet", unseen)):
        parts.append(os.path.join(to, name))
        pyarrow.parquet.write_table(table.filter(wanted), parts[-1])
    return parts[0], parts[1]


def table_of(name: str) -> Table:
    return RAW.get(name, Table(f"{name}.parquet", "label", {}))


def cut_files(name: str, folder: pathlib.Path, rows: int | None, seed: int, to: str) -> tuple[str, str]:
    """Files with the four fifths of a table and with the fifth that no model sees."""
    table = table_of(name)
    path = folder / table.path
    return _raw(table, path, seed, rows, to) if name in RAW else _paper(path, seed, rows, to)


def read_frame(path: str, table: Table) -> tuple[pd.DataFrame, pd.Series]:
    """The features, with text as text, and the labels; rows without a label are left out."""
    frame = _read(path, table).dropna(subset=[table.target]).reset_index(drop=True)
    y = frame.pop(table.target)
    if y.dtype == object or str(y.dtype) in ("str", "category"):
        y = y.astype(str).str.strip()
    texts = [name for name in frame.columns if frame[name].dtype.kind not in "iufb"]
    frame[texts] = frame[texts].astype(str)
    return frame, y


# ---------------------------------------------------------------------------------------------------- one table


def compared(name: str, folder: pathlib.Path, rows: int | None, seed: int) -> dict[str, Any]:
    table = table_of(name)
    with tempfile.TemporaryDirectory() as to:
        cut = cut_files(name, folder, rows, seed, to)
        reading = ul.Reading(header=False) if "header" in table.reading else None
        # linear as the others; model_types.py fits trees
        how: dict[str, Any] = {"reading": reading, "model_type": "linear"}
        start = time.perf_counter()
        result = ul.train(cut[0], table.target, **how)
        seconds = time.perf_counter() - start
        streamed = ul.train(cut[0], table.target, shuffle=False, **how)
        X, y = read_frame(cut[1], table)
        labeled = np.flatnonzero(pd.notna(_read(cut[1], table)[table.target]))
        ours, theirs = (np.asarray(one.predict(cut[1], reading=reading))[labeled] for one in (result, streamed))
        learned = read_frame(cut[0], table)
    return {
        "name": name,
        "rows": result.rows,
        "ours": error_of(ours, y),
        "progressive": _main(streamed.progressive),
        "streamed": error_of(theirs, y),
        "reported": _main(result.metrics),
        "interval": result.metrics_ci,
        "passes": result.passes,
        "kept": result.selected,
        "seconds": seconds,
        **_others(*(_used(frame, result) for frame in (learned[0], X)), learned[1], y),
    }


def _read(path: str, table: Table) -> pd.DataFrame:
    frame = pd.read_parquet(path) if path.endswith("parquet") else pd.read_csv(path, **table.reading)
    frame.columns = [str(k + 1) for k in range(len(frame.columns))] if "header" in table.reading else frame.columns
    return frame


def noise(seed: int) -> dict[str, Any]:
    """Rows without information, sorted by class."""
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(30_000, 10)), np.repeat([0, 1], 15_000)
    unseen = _cut(len(y), seed)
    start = time.perf_counter()
    result = ul.train(X[~unseen], y[~unseen], model_type="linear")
    seconds = time.perf_counter() - start
    streamed = ul.train(X[~unseen], y[~unseen], shuffle=False, model_type="linear")
    ours, theirs = (float(np.mean(np.asarray(one.predict(X[unseen])) != y[unseen])) for one in (result, streamed))
    return {
        "name": "noise, sorted",
        "rows": result.rows,
        "ours": ours,
        "progressive": _main(streamed.progressive),
        "streamed": theirs,
        "reported": result.metrics["error_rate"],
        "interval": result.metrics_ci,
        "passes": result.passes,
        "kept": result.selected,
        "seconds": seconds,
        "baseline": 0.5,
    }


def _main(score: dict[str, float]) -> float:
    return score.get("error_rate", score.get("rmse", float("nan")))


def is_number(y: pd.Series) -> bool:
    return y.dtype.kind in "iuf" and y.nunique() > 20


def error_of(predicted: np.ndarray, y: pd.Series) -> float:
    if is_number(y):
        return float(np.sqrt(np.mean((predicted.astype(float) - y.to_numpy(float)) ** 2)))
    return float(np.mean(np.array([str(p) for p in predicted]) != np.array([str(label) for label in y])))


def _used(X: pd.DataFrame, result: ul.TrainResult) -> pd.DataFrame:
    """The columns that `train` used: a row counter of a sorted file would tell the other learners the answer."""
    return X[[name for name in X.columns if str(name) in result.predictor.features]]


def _others(X: pd.DataFrame, X_unseen: pd.DataFrame, y: pd.Series, y_unseen: pd.Series) -> dict[str, Any]:
    """The baseline and the peers."""
    from sklearn.compose import make_column_transformer
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [name for name in X.columns if X[name].dtype.kind in "iufb"]
    texts = [name for name in X.columns if name not in numbers]
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    prepared = make_column_transformer((scaled, numbers), (OneHotEncoder(handle_unknown="ignore"), texts))
    regression = is_number(y)
    peers = {
        "baseline": DummyRegressor() if regression else DummyClassifier(),
        "solver": make_pipeline(prepared, Ridge() if regression else LogisticRegression(max_iter=1000)),
        "sgd": make_pipeline(prepared, SGDRegressor() if regression else SGDClassifier(loss="log_loss")),
    }
    found: dict[str, Any] = {}
    for name, peer in peers.items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = error_of(peer.fit(X, y).predict(X_unseen), y_unseen)
        found[f"{name}_seconds"] = time.perf_counter() - start
    return found


# ---------------------------------------------------------------------------------------------------- the table

COLUMNS = ("baseline", "solver", "sgd", "progressive", "streamed", "ours", "reported")


def _print(found: dict[str, Any], first: bool) -> None:
    if first:
        ratios = " /solver  /reported passes kept     seconds"
        print(f"{'table':<16}{'rows':>9}", *(f"{name:>11}" for name in COLUMNS), ratios)
    cells = [f"{found[name]:>11.5g}" if name in found else f"{'':>11}" for name in COLUMNS]
    solver = f"{found['ours'] / found['solver']:>8.3f}" if "solver" in found else f"{'':>8}"
    print(
        f"{found['name']:<16}{found['rows']:>9,}",
        *cells,
        solver,
        f"{found['ours'] / found['reported']:>9.3f}",
        f"{found['passes']:>6} {found['kept']:<8} {found['seconds']:>6.2f}",
        flush=True,
    )


def _shown(one: dict[str, Any], name: str) -> str:
    if name not in one:
        return ""
    number = one[name]
    return f"{number:.2%}" if one["baseline"] <= 1 else f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _table(found: list[dict[str, Any]]) -> str:
    """The table of the page about benchmarks."""
    names = {"rows": "rows", "baseline": "baseline", "solver": "solver", "sgd": "SGD"}
    names |= {"ours": "**fitted**", "reported": "reported", "progressive": "progressive", "streamed": "streamed"}
    lines = [f"| table | {' | '.join(names.values())} | fitted / solver | fitted / reported |"]
    lines.append("|---|" + "---:|" * (len(names) + 2))
    for one in found:
        cells = [f"{one['rows']:,}", *(_shown(one, name) for name in list(names)[1:])]
        solver = f"{one['ours'] / one['solver']:.3f}" if "solver" in one else ""
        cells += [solver, f"{one['ours'] / one['reported']:.3f}"]
        lines.append(f"| {one['name']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _short_table(found: list[dict[str, Any]]) -> str:
    """The table of the first page: files whose order misleads."""
    head = ("file in its own order", "stream: progressive", "stream: new rows", "fit: hold-out", "fit: new rows")
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * 4]
    for one in found:
        if one["streamed"] > 1.3 * one["progressive"]:
            shown = (_shown(one, name) for name in ("progressive", "streamed", "reported", "ours"))
            lines.append(f"| {one['name']} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _summary(found: list[dict[str, Any]]) -> None:
    solved = [one for one in found if "solver" in one]
    behind = [one["name"] for one in solved if one["ours"] > 1.02 * one["solver"]]
    useless = [one["name"] for one in solved if one["ours"] > one["baseline"]]
    untrue = [one["name"] for one in found if one["ours"] > max(1.1 * one["reported"], one["interval"][1])]
    print(f"\nmore than 2% behind the solver: {len(behind)} of {len(solved)} ({', '.join(behind) or 'none'})")
    print(f"worse than the baseline: {', '.join(useless) or 'none'}")
    print(f"more than 10% and its interval worse than reported: {', '.join(untrue) or 'none'}")


if __name__ == "__main__":
    main()
