"""Progressive predictions of other programs: River's forests, Vowpal Wabbit, gradient boosting.

Their scores take long to compute and do not change, so they are stored in a file.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from model_type_tables import FIRST_FIT, Rows

SLOW_ROWS = 10_000  # number of rows for River, which would need hours for all
LEAST = 1e-4  # the smallest probability of a peer: some predict 0, and would have an infinite loss
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0)
Fitted = Callable[[Any], np.ndarray]  # rows to numbers or probabilities


class Cache:
    """Scores by contender, its version and the rows."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def _read(self) -> dict[str, Any]:
        return json.loads(self._path.read_text(encoding="utf-8")) if self._path.exists() else {}

    def score(self, peer: str, rows: Rows, make: bool = True) -> dict[str, float] | None:
        """The peer's score of these rows and its seconds. An unknown score is computed if `make` is true."""
        module, run = PEERS[peer]
        if importlib.util.find_spec(module) is None:
            return None
        version = importlib.metadata.version("scikit-learn" if module == "sklearn" else module)
        key = f"{peer} ({version}): {rows.key}"
        known = self._read()
        if key not in known and make:
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = rows.score(run(rows))
            found |= {"seconds": time.process_time() - start, "rows": len(rows)}
            known = {**self._read(), key: found}  # read again: another run may have added to it
            written = self._path.with_suffix(f".{os.getpid()}")
            written.write_text(json.dumps(known, indent=1), encoding="utf-8")
            written.replace(self._path)
        return known.get(key)


def _as_said(answers: np.ndarray, rows: Rows) -> np.ndarray:
    """Probabilities of all classes in the form that scores use."""
    if rows.classes == 0:
        return answers
    shares = np.clip(answers, LEAST, 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    return np.log(shares[:, 1] / shares[:, 0]) if rows.classes == 2 else np.log(shares)


def _shares(codes: np.ndarray, classes: int) -> np.ndarray:
    """The frequency of each class, never quite zero."""
    counts = np.bincount(codes.astype(int), minlength=classes) + 1.0 / classes
    return counts / counts.sum()


# ---------------------------------------------------------------------------------------------- gradient boosting


def _refitted(rows: Rows, fit: Callable[[Any, np.ndarray, int], Fitted]) -> np.ndarray:
    """Fit again whenever the number of rows has doubled; until the first fit, predict the mean of the labels."""
    y, width = rows.y, rows.classes
    answers = np.zeros((len(y), width) if width else len(y))
    until = min(FIRST_FIT, len(y))
    if width:
        answers[:until] = [_shares(y[:k], width) for k in range(until)]
    else:
        answers[1:until] = np.cumsum(y)[: until - 1] / np.arange(1, until)
    while until < len(y):
        after = slice(until, min(2 * until, len(y)))
        if width and len(np.unique(y[:until])) == 1:
            answers[after] = _shares(y[:until], width)
        else:
            answers[after] = fit(rows.X[:until], y[:until], width)(rows.X[after])
        until = after.stop
    return _as_said(answers, rows)


def _boosted(X: Any, y: np.ndarray, classes: int) -> Fitted:
    """LightGBM: a random tenth decides the best number of trees, and then this number is grown on all rows."""
    import lightgbm

    kind = {0: {"objective": "regression"}, 2: {"objective": "binary"}}
    parameters: dict[str, Any] = kind.get(classes, {"objective": "multiclass", "num_class": classes})
    parameters |= {"learning_rate": 0.05, "verbose": -1, "num_threads": 1, "seed": 1}
    data = lightgbm.Dataset(X, y, free_raw_data=False, params={"verbose": -1}).construct()
    order = np.random.default_rng(len(y)).permutation(len(y))
    held, learned = np.sort(order[: len(y) // 10]), np.sort(order[len(y) // 10 :])
    stopped = lightgbm.train(
        parameters,
        data.subset(learned),
        2_000,
        [data.subset(held)],
        callbacks=[lightgbm.early_stopping(50, verbose=False)],
    )
    booster = lightgbm.train(parameters, data, max(1, stopped.best_iteration))

    def predict(X: Any) -> np.ndarray:
        said = np.asarray(booster.predict(X))
        return np.column_stack([1.0 - said, said]) if classes == 2 else said

    return predict


def _histogram(X: Any, y: np.ndarray, classes: int) -> Fitted:
    """scikit-learn's boosting, which holds out a tenth by itself."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    options = {"max_iter": 2_000, "learning_rate": 0.05, "early_stopping": True, "n_iter_no_change": 50}
    options |= {"random_state": 1, "categorical_features": "from_dtype"}
    if classes == 0:
        fitted: Fitted = HistGradientBoostingRegressor(**options).fit(X, y).predict
        return fitted
    rare = np.bincount(y.astype(int), minlength=classes) < 2  # its split into two parts needs two of each
    kept = ~rare[y.astype(int)]
    model = HistGradientBoostingClassifier(**options).fit(X[kept], y[kept])

    def predict(X: Any) -> np.ndarray:
        shares = np.zeros((len(X), classes))
        shares[:, model.classes_.astype(int)] = model.predict_proba(X)
        return shares

    return predict


def _with_categories(fit: Callable[[Any, np.ndarray, int], Fitted], rows: Rows) -> np.ndarray:
    if not isinstance(rows.X, np.ndarray):
        texts = {name: "category" for name in rows.X.columns if rows.X[name].dtype.kind not in "iufb"}
        frame = rows.X.astype(texts)
        frame.columns = [f"c{k}" for k in range(frame.shape[1])]  # LightGBM refuses some letters
        rows = Rows(rows.table, rows.order, frame, rows.y, rows.classes)
    return _refitted(rows, fit)


# ------------------------------------------------------------------------------------------------- Vowpal Wabbit


def _vowpal_wabbit(rows: Rows) -> np.ndarray:
    """Vowpal Wabbit with the rate that is best in hindsight and its defaults otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "rows.vw"
        if isinstance(rows.X, np.ndarray):
            lines = [" ".join([f"{j}:{x:.9g}" for j, x in enumerate(row) if x]) for row in rows.X.tolist()]
        else:
            lines = [" ".join(_vw_features(row)) for row in rows.X.to_dict("records")]
        labels = rows.y + 1 if rows.classes > 2 else np.where(rows.y, 1, -1) if rows.classes else rows.y
        joined = zip(labels.tolist(), lines, strict=True)
        text.write_text("".join([f"{label} |f {line}\n" for label, line in joined]), encoding="utf-8")
        runs = [_vw_run(text, rows, rate) for rate in RATES]
    return min(runs, key=lambda said: rows.score(said)["loss"])


def _vw_features(row: dict[str, Any]) -> list[str]:
    """Vowpal Wabbit's convention for text: a feature for each value."""
    written = []
    for number, value in enumerate(row.values()):
        if isinstance(value, str):
            written.append(f"c{number}={''.join(letter if letter.isalnum() else '_' for letter in value)}")
        elif value == value:  # noqa: PLR0124  (a missing value is left out)
            written.append(f"c{number}:{value:.9g}")
    return written


def _vw_run(text: pathlib.Path, rows: Rows, rate: float) -> np.ndarray:
    import vowpalwabbit

    said = text.with_suffix(".said")
    loss = ["--loss_function", "logistic" if rows.classes else "squared"]
    if rows.classes > 2:
        loss += ["--oaa", str(rows.classes), "--probabilities"]
    source = ["-d", str(text), "--cache_file", str(text.with_suffix(".cache"))]
    command = ["--quiet", *loss, "-l", str(rate), "-b", "18", *source, "-p", str(said)]
    vowpalwabbit.Workspace(arg_list=command).finish()
    lines = said.read_text().splitlines()
    if rows.classes > 2:
        return _as_said(np.array([[part.split(":")[1] for part in line.split()] for line in lines], float), rows)
    return np.array(lines, float)


# --------------------------------------------------------------------------------------------------------- River


def _river(module: str, name: str, scaled: bool, rows: Rows) -> np.ndarray:
    """River with its defaults; linear models in leaves, and the splits of AMF, depend on the columns' scales."""
    from river import preprocessing

    kind = "Classifier" if rows.classes else "Regressor"
    model = getattr(importlib.import_module(f"river.{module}"), name + kind)(seed=1)
    model = preprocessing.StandardScaler() | model if scaled else model
    X = rows.X.tolist() if isinstance(rows.X, np.ndarray) else rows.X.to_numpy(object).tolist()
    answers = np.zeros((len(rows), rows.classes) if rows.classes else len(rows))
    for k, (values, label) in enumerate(zip(X, rows.y.tolist(), strict=True)):
        row = dict(enumerate(values))
        if rows.classes:
            shares = model.predict_proba_one(row) or dict.fromkeys(range(rows.classes), 1.0)
            for code, share in shares.items():
                answers[k, int(code)] = share
        else:
            answers[k] = model.predict_one(row) or 0.0  # some have no prediction yet
        model.learn_one(row, label)
    return _as_said(answers, rows)


# the module that it needs, and the function that runs it
PEERS: dict[str, tuple[str, Callable[[Rows], np.ndarray]]] = {
    "LightGBM": ("lightgbm", functools.partial(_with_categories, _boosted)),
    "HistGradientBoosting": ("sklearn", functools.partial(_with_categories, _histogram)),
    "Vowpal Wabbit": ("vowpalwabbit", _vowpal_wabbit),
}
RIVER = ("scaled ARF", "scaled AMF", "scaled HAT", "ARF", "AMF", "HAT")
for _name in RIVER:
    _short = _name.removeprefix("scaled ")
    _place = ("tree", "HoeffdingAdaptiveTree") if _short == "HAT" else ("forest", _short)
    PEERS[_name] = ("river", functools.partial(_river, *_place, _name != _short))
