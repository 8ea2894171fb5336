"""Raw files: `unitless train FILE --target NAME` with no other option, compared with models made by hand.

    UNITLESS_DATA=DIRECTORY python benchmarks/raw_files.py [NAME ...] [--linear] [--rows N] [--seed N] [--json FILE]

By hand means scikit-learn with everything that a person knows about the file: ids are dropped, dates taken apart, codes
encoded one-hot, missing numbers imputed with an indicator, numbers scaled, and Ridge or LogisticRegression tuned by
cross validation. Both learn the same four fifths and are scored on the same fifth, which is written with the same
oddities. The table shows the squared error, or the log loss and the share of wrong classes, and the ratio of the first
of these. `lines` is the number of lines in which `train` reports what it inferred about the data; at most 12 are
allowed. `--linear` learns with `--model-type linear` as well.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from raw_tables import FILES, PUBLISHED, Prepared, RawFile, both_parts

ALLOWED = 1.03
PATIENCE = 300  # seconds: a target that is taken for thousands of classes takes hours
PROGRAM = (sys.executable, "-m", "unitless")


@dataclass(frozen=True)
class Score:
    """The squared error, or log loss and share of wrong classes."""

    loss: float
    wrong: float | None = None

    def __str__(self) -> str:
        return f"{self.loss:.5g}" + ("" if self.wrong is None else f" {self.wrong:.2%}")


@dataclass(frozen=True)
class Learned:
    """The result of the command line for a file: a score and lines about the data, or its error message."""

    score: Score | None
    lines: list[str]
    failure: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the files' names; all files if none is given")
    parser.add_argument("--linear", action="store_true", help="also with --model-type linear")
    parser.add_argument("--rows", type=int, help="at most so many rows of a table")
    parser.add_argument("--seed", type=int, default=1, help="of the fifth that is not seen")
    parser.add_argument("--json", help="write all numbers to this file")
    parser.add_argument("--keep", help="keep the scores of the models made by hand in this file, for the next time")
    parser.add_argument("--say", action="store_true", help="show what the program reports about the data")
    given = parser.parse_args()
    folder = os.environ.get("UNITLESS_DATA")
    if folder is None:
        sys.exit("UNITLESS_DATA is not set: it names the directory that has the raw files in raw/")
    files = [file for file in FILES if not given.names or any(name in file.name for name in given.names)]
    kept = pathlib.Path(given.keep) if given.keep else None
    known: dict[str, Score] = {}
    if kept is not None and kept.exists():
        known = {key: Score(**score) for key, score in json.loads(kept.read_text(encoding="utf-8")).items()}
    found = []
    print(f"{'file':<27}{'by hand':>20}{'unitless':>20}{'ratio':>8}{'lines':>6}")
    for file in files:
        found.append(_compared(file, pathlib.Path(folder) / "raw", given, known))
        if kept is not None:
            scores = {key: asdict(score) for key, score in known.items()}
            kept.write_text(json.dumps(scores, indent=1), encoding="utf-8")
    behind = [one["name"] for one in found if not one["holds"]]
    print(f"\nmore than 3% behind, or not learned: {len(behind)} of {len(found)} ({', '.join(behind) or 'none'})")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(found, indent=1), encoding="utf-8")


def _compared(file: RawFile, folder: pathlib.Path, given: Any, known: dict[str, Score]) -> dict[str, Any]:
    prepared = PUBLISHED[file.published].prepared
    target = file.target or prepared.target
    with tempfile.TemporaryDirectory() as to:
        seen, unseen, hand_seen, hand_unseen = both_parts(file, folder, pathlib.Path(to), given.seed, given.rows)
        key = str(pd.util.hash_pandas_object(hand_seen).sum())  # many files have the same values
        if key not in known:
            known[key] = by_hand(prepared, hand_seen, hand_unseen)
        ours = by_command(seen, unseen, target)
        linear = by_command(seen, unseen, target, "--model-type", "linear") if given.linear else None
    hand = known[key]
    ratio = ours.score.loss / hand.loss if ours.score else float("inf")
    print(f"{file.name:<27}{hand!s:>20}{ours.score!s:>20}{ratio:>8.3f}{len(ours.lines):>6}", ours.failure, flush=True)
    if linear:
        ratio_linear = linear.score.loss / hand.loss if linear.score else float("inf")
        print(f"{'  linear':<27}{'':>20}{linear.score!s:>20}{ratio_linear:>8.3f}", flush=True)
    for line in ours.lines if given.say else ():
        print(f"    {line}")
    holds = ratio <= ALLOWED and len(ours.lines) <= 12
    return {"name": file.name, "oddity": file.oddity, "by_hand": asdict(hand), "holds": holds, **asdict(ours)}


# ------------------------------------------------------------------------------------------------ the command line


def by_command(seen: pathlib.Path, unseen: pathlib.Path, target: str, *options: str) -> Learned:
    """Train and score as a user would."""
    model = seen.with_suffix(".unitless")
    model.unlink(missing_ok=True)
    trained = _run("train", seen, "--target", target, "--output", model, "--quiet", *options)
    lines = _about_data(trained.stdout.splitlines() + trained.stderr.splitlines())
    if trained.returncode:
        return Learned(None, lines, trained.stderr.strip().splitlines()[-1])
    scored = _run("evaluate", model, unseen, "--json", "--quiet")
    if scored.returncode:
        return Learned(None, lines, scored.stderr.strip().splitlines()[-1])
    metrics = json.loads(scored.stdout)["metrics"]
    if "rmse" in metrics:
        return Learned(Score(metrics["rmse"] ** 2), lines)
    return Learned(Score(metrics["log_loss"], metrics["error_rate"]), lines)


def _run(*command: Any) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, *map(str, command)]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"took more than {PATIENCE} s")


def _about_data(said: list[str]) -> list[str]:
    """The lines about the data: those of the summary that begin with that word, and notes."""
    begins = [k for k, line in enumerate(said) if line.startswith("data  ")]
    first = begins[0] if begins else len(said)
    last = next((k for k in range(first + 1, len(said)) if not said[k].startswith("  ")), len(said))
    return said[first:last] + [line for line in said if line.startswith("note:")]


# ------------------------------------------------------------------------------------------------ by hand


def by_hand(prepared: Prepared, seen: pd.DataFrame, unseen: pd.DataFrame) -> Score:
    """The score of a tuned linear model of scikit-learn."""
    seen, unseen = (part[part[prepared.target] != ""] for part in (seen, unseen))
    features = _features(prepared)
    X, X_unseen = (features(part) for part in (seen, unseen))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about a class with few rows, and solvers that stop early
        if prepared.regression:
            y, y_unseen = (part[prepared.target].astype(float).to_numpy() for part in (seen, unseen))
            return _regression(_prepared(prepared, X), X, y, X_unseen, y_unseen)
        y, y_unseen = (part[prepared.target].to_numpy(str) for part in (seen, unseen))
        return _classification(_prepared(prepared, X), X, y, X_unseen, y_unseen)


def _features(prepared: Prepared) -> Any:
    def features(part: pd.DataFrame) -> pd.DataFrame:
        columns: dict[str, Any] = {name: pd.to_numeric(part[name]) for name in prepared.numbers}
        columns |= {name: part[name] for name in prepared.categories}
        for name in prepared.dates:
            moments = pd.to_datetime(part[name])
            angle = 2 * np.pi * moments.dt.day_of_year / 365.25
            columns |= {f"{name} elapsed": moments.astype("int64") * 1e-9, f"{name} sin": np.sin(angle)}
            columns |= {f"{name} cos": np.cos(angle), f"{name} month": moments.dt.month.astype(str)}
            columns |= {f"{name} weekday": moments.dt.day_of_week.astype(str)}
        return pd.DataFrame(columns)

    return features


def _prepared(prepared: Prepared, X: pd.DataFrame) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [name for name in X.columns if X[name].dtype.kind in "iuf"]
    texts = [name for name in X.columns if name not in numbers]
    scaled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_column_transformer((scaled, numbers), (OneHotEncoder(handle_unknown="ignore"), texts))


def _regression(prepared: Any, X: Any, y: np.ndarray, X_unseen: Any, y_unseen: np.ndarray) -> Score:
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(prepared, RidgeCV(np.logspace(-2, 4, 13))).fit(X, y)
    return Score(float(np.mean((model.predict(X_unseen) - y_unseen) ** 2)))


def _classification(prepared: Any, X: Any, y: np.ndarray, X_unseen: Any, y_unseen: np.ndarray) -> Score:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold

    def fitted(rows: np.ndarray, C: float) -> tuple[Any, Any]:
        ready = prepared.fit(X.iloc[rows])
        return ready, LogisticRegression(C=C, max_iter=2000).fit(ready.transform(X.iloc[rows]), y[rows])

    def score(ready: Any, model: Any, X: Any, y: np.ndarray) -> Score:
        sure = model.predict_proba(ready.transform(X))
        places = np.searchsorted(model.classes_, y)
        known = model.classes_[np.minimum(places, len(model.classes_) - 1)] == y
        chance = np.where(known, sure[np.arange(len(y)), np.minimum(places, len(model.classes_) - 1)], 0)
        wrong = model.classes_[sure.argmax(axis=1)] != y
        return Score(float(-np.log(np.maximum(chance, 1e-15)).mean()), float(wrong.mean()))

    def tried(C: float) -> float:
        folds = KFold(3, shuffle=True, random_state=0).split(X)
        return float(np.mean([score(*fitted(a, C), X.iloc[b], y[b]).loss for a, b in folds]))

    best = min((0.01, 0.1, 1.0, 10.0, 100.0), key=tried)
    return score(*fitted(np.arange(len(y)), best), X_unseen, y_unseen)


if __name__ == "__main__":
    main()
