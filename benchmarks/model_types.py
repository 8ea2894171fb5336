"""Compare curves and trees with linear models and with other libraries' trees.

    UNITLESS_DATA=DIRECTORY python benchmarks/model_types.py [NAME ...] [--raw] [--classes] [--fit] [--speed] [--page]

Progressive scores: every contender predicts, then learns every row in the same order, that of the file or a random
one (at most 30,000 rows). Numeric columns as arrays; `--raw`: with the text, as frames; `--classes`: all classes.
Gradient boosting is fitted anew at 250 rows, 500, 1,000 and so on, each time with the number of trees that is best on
held-out rows; River's trees see only the first 10,000 rows, since they are slow, after its StandardScaler. Scores
are the error and the log loss, or the squared error divided by the square of the labels' range, without the first row.
`--fit`: four fifths of a table are fitted, a random fifth is predicted, by `ul.train` with curves and trees, and by
LightGBM's defaults. `fitting.py` does so for linear models.
`--speed`: the time per row on made-up arrays, of all model types in turn.
The scores of other programs do not change and are stored in a file (`--cache`); `--cached` computes no new ones.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Iterable
from typing import Any

import fitting
import numpy as np
import pages
import report
from model_type_peers import PEERS, RIVER, SLOW_ROWS, Cache
from model_type_tables import ALL_CLASSES, FIRST_FIT, NUMBERS, TEXT, Rows, Table

import unitless as ul

MODEL_TYPES = ("linear", "curves", "trees")
REFITTED = "LightGBM"
ORDERS = {"file": "order of the file", "shuffled": "shuffled"}
# The goals for trees, on rows in the order of the file.
TARGETS = {
    "shuttle 1/rest": ("error", 0.0014),
    "census": ("error", 0.0500),
    "bank": ("loss", 0.205),
    "covertype 2/rest": ("error", 0.058),
    "kc_house": ("loss", 4.2e-4),
    "diamonds": ("loss", 1.1e-4),
    "beijing_pm25": ("loss", 8e-4),
}
SHUFFLED_TARGET = 1.02  # trees over LightGBM, geometric mean of the losses
COUNTERS = {"beijing_pm25": "No", "credit_default": "ID", "diamonds": "Unnamed: 0", "kc_house": "id"}
TITLES = {"loss": "losses", "later": f"losses after the first {FIRST_FIT} rows", "error": "errors"}
Found = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of tables")
    parser.add_argument("--raw", action="store_true", help="tables with their text")
    parser.add_argument("--classes", action="store_true", help="tables with all their classes")
    parser.add_argument("--fit", action="store_true", help="fit, then predict")
    parser.add_argument("--speed", action="store_true", help="the time per row")
    parser.add_argument("--orders", nargs="+", choices=[*ORDERS], default=[*ORDERS])
    parser.add_argument("--seeds", type=int, default=3, help="how many random orders")
    parser.add_argument("--model-types", nargs="*", default=[*MODEL_TYPES], help="ours")
    parser.add_argument("--peers", nargs="*", choices=[*PEERS], default=[REFITTED, "Vowpal Wabbit", *RIVER[:3]])
    parser.add_argument("--rows", type=int, help="at most so many rows of a table")
    parser.add_argument("--rounds", type=int, default=7, help="of --speed")
    parser.add_argument("--whole", action="store_true", help="--fit: with the columns that only number the rows")
    parser.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "unitless-model-type-peers.json"))
    parser.add_argument("--cached", action="store_true", help="leave out what the cache does not have")
    parser.add_argument("--json", help="write all numbers to this file")
    parser.add_argument("--page", action="store_true", help="write the tables into the documentation")
    given = parser.parse_args()
    folder = os.environ.get("UNITLESS_DATA")
    if folder is None and not given.speed:
        sys.exit("model_types.py needs tables: set UNITLESS_DATA to their directory, or ask for --speed")
    found: Found = {}
    parts: dict[str, str] = {}
    if given.fit and folder is not None:
        found["fit"] = fitted(given, pathlib.Path(folder))
        parts["model types fitted"] = _fit_table(found["fit"], _nonlinear(given))
    if given.speed:
        found["speed"] = speed(given)
        parts["model types speed"] = _speed_table(found["speed"])
    if folder is not None and not (given.fit or given.speed):
        tables, title = (TEXT, "model types text") if given.raw else (NUMBERS, "model types")
        if given.classes:
            tables, title = ALL_CLASSES, "model types classes"
        found["progressive"] = progressive(given, tables, pathlib.Path(folder))
        parts[title] = _progressive_table(found["progressive"], given, title == "model types")
        if any(one["river"] for one in found["progressive"]):
            parts[f"{title} river"] = _river_table(found["progressive"], given)
    for title, text in parts.items():
        print(f"\n## {title}\n\n{text}")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(found, indent=1), encoding="utf-8")
    if given.page:
        for page in pages.PAGES:
            page.write_text(pages.filled(page.read_text(encoding="utf-8"), parts), encoding="utf-8")


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ------------------------------------------------------------------------------------------------------------ ours


def _options(model_type: str) -> dict[str, Any]:
    """The options of a learner for a model type. Versions without model types only have the linear one."""
    try:
        ul.Learner(model_type=model_type)
    except ul.OptionError:
        if model_type != "linear":
            raise
        return {}
    return {"model_type": model_type}


def ours(rows: Rows, model_type: str) -> dict[str, float] | None:
    """The progressive score and the seconds; None if this version does not have the model type."""
    try:
        options = _options(model_type)
        start = time.process_time()
        found = _frame_score(rows, options) if not isinstance(rows.X, np.ndarray) else rows.score(_said(rows, options))
    except ul.Error as error:
        _note(f"{rows.table}: model type {model_type!r} is not available: {error}")
        return None
    return {**found, "seconds": time.process_time() - start, "rows": len(rows)}


def _said(rows: Rows, options: dict[str, Any]) -> np.ndarray:
    if rows.classes == 0:
        model = ul.Learner(learning_rate="auto", center=True, target="auto", **options)
        return np.asarray(model.learn(rows.X, rows.y))
    if rows.classes == 2:
        model = ul.Learner(loss="logistic", learning_rate="auto", center=True, **options)
        return np.asarray(model.learn(rows.X, np.where(rows.y, 1.0, -1.0)))
    scores = ul.OneVsAll(range(rows.classes), center=True, **options).learn(rows.X, rows.y)
    logs = -np.logaddexp(0.0, -np.asarray(scores))
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


def _frame_score(rows: Rows, options: dict[str, Any]) -> dict[str, float]:
    """The metrics that `ul.train` reports for a frame that it learns in its order."""
    if rows.classes == 0:
        result = ul.train(rows.X, rows.y, task="regression", shuffle=False, **options)
        return {"loss": result.progressive["rmse"] ** 2 / float(np.ptp(rows.y)) ** 2}
    labels = np.where(rows.y, "yes", "no")
    result = ul.train(rows.X, labels, task="binary", positive="yes", shuffle=False, **options)
    return {"error": result.progressive["error_rate"], "loss": result.progressive["log_loss"]}


# ------------------------------------------------------------------------------------------------ progressive scores


def progressive(given: argparse.Namespace, tables: dict[str, Table], folder: pathlib.Path) -> list[Found]:
    """For each table in each order:

    the scores of all contenders on all rows, and on the first rows together with River's.
    """
    cache, all_found = Cache(pathlib.Path(given.cache)), []
    for order in given.orders:
        for name in given.names or tables:
            found: Found = {"table": name, "order": order, "scores": {}, "river": {}}
            for seed in [None] if order == "file" else range(given.seeds):
                rows = tables[name].rows(name, folder, seed, text=given.raw)
                rows = rows if given.rows is None else rows.first(given.rows)
                found["rows"] = len(rows)
                peers = [peer for peer in given.peers if peer not in RIVER]
                _add(found["scores"], rows, given.model_types, peers, cache, given.cached)
                slow = [peer for peer in given.peers if peer in RIVER]
                if slow and not seed and not given.raw:
                    _add(found["river"], rows.first(SLOW_ROWS), given.model_types, slow, cache, given.cached)
            for part in ("scores", "river"):
                found[part] = {who: _mean(scores) for who, scores in found[part].items()}
            all_found.append(found)
            shown = (f"{who} {_shown(score)}" for who, score in found["scores"].items())
            print(f"{name}, {ORDERS[order]}, {found['rows']:,} rows: {', '.join(shown)}", flush=True)
    return all_found


def _add(
    to: dict[str, list[Found]], rows: Rows, model_types: Iterable[str], peers: Iterable[str], cache: Cache, cached: bool
) -> None:
    scores = {model_type: ours(rows, model_type) for model_type in model_types}
    scores |= {peer: cache.score(peer, rows, make=not cached) for peer in peers}
    for who, score in scores.items():
        if score is not None:
            to.setdefault(who, []).append(score)


def _mean(scores: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([one[name] for one in scores])) for name in scores[0]}


def _geometric_mean(ratios: Iterable[float]) -> float:
    return math.exp(float(np.mean(np.log([max(ratio, 1e-12) for ratio in ratios]))))


def _ratios(found: list[Found], who: str, other: str, what: str) -> list[float]:
    """The ratios by table where both scores are known; an error of zero counts as one in a million."""
    pairs = ((one["scores"].get(who, {}), one["scores"].get(other, {})) for one in found)
    return [max(a[what], 1e-6 * b[what], 1e-12) / max(b[what], 1e-12) for a, b in pairs if what in a and what in b]


# ------------------------------------------------------------------------------------------------- fit, then predict


def fitted(given: argparse.Namespace, folder: pathlib.Path) -> list[Found]:
    """The errors of all contenders on a fifth of each table that no model has seen."""
    all_found = []
    every = [name for name in (*fitting.RAW, *fitting.PAPER) if name != "shuttle_test"]  # Shuttle's other file is there
    for name in given.names or every:
        table = fitting.table_of(name)
        with tempfile.TemporaryDirectory() as to:
            paths = fitting.cut_files(name, folder, given.rows, 1, to)
            (X, y), (unseen, labels) = (fitting.read_frame(path, table) for path in paths)
        if not given.whole and name in COUNTERS:
            X, unseen = X.drop(columns=COUNTERS[name]), unseen.drop(columns=COUNTERS[name])
        found: Found = {"table": name, "rows": len(y), "numbers": fitting.is_number(y)}
        found |= {"unseen": len(labels), "errors": {}, "seconds": {}, "passes": {}}
        for model_type in _nonlinear(given):
            for passes in (1, "auto"):
                who = f"{model_type}, {'one pass' if passes == 1 else 'passes automatic'}"
                start = time.process_time()
                try:
                    result = ul.train(X, y, passes=passes, **_options(model_type))
                    predicted = np.asarray(result.predict(unseen))
                except ul.Error as error:
                    _note(f"{name}: model type {model_type!r} is not available: {error}")
                    continue
                found["errors"][who] = fitting.error_of(predicted, labels)
                found["seconds"][who] = time.process_time() - start
                found["passes"][who] = result.passes
        start = time.process_time()
        found["errors"][REFITTED] = _lightgbm_error(X, y, unseen, labels)
        found["seconds"][REFITTED] = time.process_time() - start
        all_found.append(found)
        shown = (f"{who} {error:.5g} ({found['seconds'][who]:.1f} s)" for who, error in found["errors"].items())
        print(f"{name}, {len(y):,} rows: {', '.join(shown)}", flush=True)
    return all_found


def _nonlinear(given: argparse.Namespace) -> list[str]:
    return [model_type for model_type in given.model_types if model_type != "linear"]


def _lightgbm_error(X: Any, y: Any, unseen: Any, labels: Any) -> float:
    """LightGBM with its defaults, and columns of text as its categories."""
    import lightgbm
    import pandas as pd

    frames = [X.copy(), unseen.copy()]
    for column in X.columns:
        if X[column].dtype.kind not in "iufb":
            kind = pd.CategoricalDtype(sorted(X[column].unique()))  # a category that it has not met is missing
            for frame in frames:
                frame[column] = frame[column].where(frame[column].isin(kind.categories)).astype(kind)
    for frame in frames:
        frame.columns = [f"c{k}" for k in range(frame.shape[1])]  # it refuses some letters
    kind_of_model = lightgbm.LGBMRegressor if fitting.is_number(y) else lightgbm.LGBMClassifier
    model = kind_of_model(verbose=-1, n_jobs=1).fit(frames[0], y)
    return fitting.error_of(np.asarray(model.predict(frames[1])), labels)


# ----------------------------------------------------------------------------------------------------------- speed


def speed(given: argparse.Namespace) -> list[Found]:
    """Nanoseconds per row of each model type with automatic rates: the best of several rounds that take turns."""
    all_found = []
    count = given.rows or 50_000
    for columns in (10, 54):
        rng = np.random.default_rng(columns)
        X = rng.normal(size=(count, columns)) * 10.0 ** rng.integers(-3, 4, columns)
        unitless_X = X / X.std(axis=0)
        y = unitless_X[:, 0] + np.abs(unitless_X[:, 1]) + unitless_X[:, 2] * unitless_X[:, 3] + rng.normal(size=count)
        for rows in (Rows("two classes", "file", X, y > np.median(y), 2), Rows("regression", "file", X, y)):
            times: dict[str, list[float]] = {}
            for model_type in given.model_types * given.rounds:
                try:
                    options = _options(model_type)
                    start = time.perf_counter()
                    _said(rows, options)
                    times.setdefault(model_type, []).append(time.perf_counter() - start)
                except ul.Error as error:
                    if not times.get(model_type):
                        _note(f"model type {model_type!r} is not available: {error}")
            best = {model_type: min(seconds) / count * 1e9 for model_type, seconds in times.items()}
            all_found.append({"what": rows.table, "columns": columns, "rows": count, "ns": best})
    return all_found


# -------------------------------------------------------------------------------------------------------- the tables


def _number(value: float) -> str:
    return f"{value:.2e}" if value < 0.001 else f"{value:.4f}"


def _shown(score: dict[str, float]) -> str:
    return f"{score['error']:.4f} / {score['loss']:.4f}" if "error" in score else f"{score['loss']:.2e}"


def _cell(scores: dict[str, dict[str, float]], who: str) -> str:
    return _shown(scores[who]) if who in scores else "not available" if who not in PEERS else ""


def _lines(head: list[str], cells: list[list[str]]) -> str:
    marks = "|---" + "|---:" * (len(head) - 1) + "|"
    return "\n".join([f"| {' | '.join(head)} |", marks, *(f"| {' | '.join(row)} |" for row in cells)])


def _progressive_table(found: list[Found], given: argparse.Namespace, with_targets: bool) -> str:
    peers = [peer for peer in given.peers if peer not in RIVER]
    columns = [*given.model_types, *peers]
    head = ["error / log loss, or squared error / range²", "rows", *columns, f"trees / {REFITTED}"]
    head += ["trees: target", "reached"] if with_targets else []
    cells = []
    for order in given.orders:
        of_order = [one for one in found if one["order"] == order]
        for one in of_order:
            scores = one["scores"]
            ratio = _ratios([one], "trees", REFITTED, "loss")
            row = [f"{one['table']}, {ORDERS[order]}", f"{one['rows']:,}"]
            row += [_cell(scores, who) for who in columns]
            row.append(f"{ratio[0]:.3f}" if ratio else "")
            row += _target(one) if with_targets else []
            cells.append(row)
        for what, title in TITLES.items():
            means = {who: _ratios(of_order, who, REFITTED, what) for who in columns}
            shown = [f"{_geometric_mean(means[who]):.3f}" if means[who] else "" for who in columns]
            trees = means.get("trees", [])
            row = [f"geometric mean of {title} over {REFITTED}'s, {ORDERS[order]}", "", *shown]
            row.append(f"{_geometric_mean(trees):.3f}" if trees else "")
            if with_targets:
                wanted = what == "loss" and order == "shuffled"
                row.append(f"≤ {SHUFFLED_TARGET}" if wanted else "")
                row.append(_reached(_geometric_mean(trees), SHUFFLED_TARGET) if wanted and trees else "")
            cells.append(row)
    return _lines(head, cells)


def _reached(value: float, target: float) -> str:
    return "yes" if value <= target else f"no ({value / target:.3f} ×)"


def _target(one: Found) -> list[str]:
    if one["order"] != "file" or one["table"] not in TARGETS:
        return ["", ""]
    what, target = TARGETS[one["table"]]
    name = "error" if what == "error" else "log loss" if "error" in next(iter(one["scores"].values()), {}) else "loss"
    trees = one["scores"].get("trees")
    return [f"{name} ≤ {_number(target)}", _reached(trees[what], target) if trees else ""]


def _river_table(found: list[Found], given: argparse.Namespace) -> str:
    """Only the first rows; the times are those of predicting and learning one row."""
    peers = [peer for peer in RIVER if any(peer in one["river"] for one in found)]
    head = [f"first {SLOW_ROWS:,} rows", *given.model_types, *peers]
    head += [f"{who}, per row" for who in [*given.model_types, *peers]]
    ratios: dict[str, list[float]] = {peer: [] for peer in peers}
    faster: dict[str, list[float]] = {peer: [] for peer in peers}
    cells = []
    for one in found:
        scores = one["river"]
        if not scores:
            continue
        best = [model_type for model_type in given.model_types if model_type in scores][-1:]
        times = {who: score["seconds"] / score["rows"] * 1e9 for who, score in scores.items()}
        row = [f"{one['table']}, {ORDERS[one['order']]}"]
        row += [_cell(scores, who) for who in [*given.model_types, *peers]]
        for who in [*given.model_types, *peers]:
            shown = report.nanoseconds(times[who]) if who in times else ""
            if who in peers and who in times and best:
                faster[who].append(times[who] / times[best[0]])
                ratios[who].append(scores[best[0]]["loss"] / scores[who]["loss"])
                shown += f" ({report.times(faster[who][-1])})"
            row.append(shown)
        cells.append(row)
    mean = [f"{_geometric_mean(ratios[peer]):.3f}" if ratios[peer] else "" for peer in peers]
    mean_times = [report.times(_geometric_mean(faster[peer])) if faster[peer] else "" for peer in peers]
    nothing = [""] * len(given.model_types)
    cells.append(["geometric mean: our last model type's loss over theirs; their time over ours", *nothing, *mean])
    cells[-1] += [*nothing, *mean_times]
    return _lines(head, cells)


def _relative(one: Found, who: str) -> float:
    """The error relative to LightGBM's; no wrong row counts as half a row."""
    least = 0.0 if one["numbers"] else 0.5 / one["unseen"]
    error, other = (max(one["errors"][name], least) for name in (who, REFITTED))
    return float(error / other)


def _fit_table(found: list[Found], model_types: list[str]) -> str:
    columns = [f"{model_type}, {passes}" for model_type in model_types for passes in ("one pass", "passes automatic")]
    head = ["error or RMSE on rows not seen", "rows", REFITTED, *columns, *(f"{who} / {REFITTED}" for who in columns)]
    cells = []
    for one in found:
        errors = one["errors"]
        shares = not one["numbers"]
        shown = {who: f"{error:.2%}" if shares else f"{error:,.4g}" for who, error in errors.items()}
        row = [one["table"], f"{one['rows']:,}", shown.get(REFITTED, "")]
        row += [shown.get(who, "not available") for who in columns]
        row += [f"{_relative(one, who):.3f}" if who in errors else "" for who in columns]
        cells.append(row)
    means = []
    for who in columns:
        ratios = [_relative(one, who) for one in found if who in one["errors"]]
        means.append(f"{_geometric_mean(ratios):.3f}" if ratios else "")
    cells.append(["geometric mean", "", "", *([""] * len(columns)), *means])
    return _lines(head, cells)


def _speed_table(found: list[Found]) -> str:
    model_types = [model_type for model_type in MODEL_TYPES if any(model_type in one["ns"] for one in found)]
    head = [
        "time per row",
        *model_types,
        *(f"{model_type} / linear" for model_type in model_types if model_type != "linear"),
    ]
    cells = []
    for one in found:
        row = [f"{one['what']}, {one['columns']} columns"]
        row += [
            report.nanoseconds(one["ns"][model_type]) if model_type in one["ns"] else "not available"
            for model_type in model_types
        ]
        for model_type in model_types:
            if model_type != "linear":
                known = model_type in one["ns"] and "linear" in one["ns"]
                row.append(report.times(one["ns"][model_type] / one["ns"]["linear"]) if known else "")
        cells.append(row)
    return _lines(head, cells)


if __name__ == "__main__":
    os.environ.setdefault("UNITLESS_THREADS", "1")
    main()
