"""One prediction at a time, as in a service: `ul.Predictor` compared with a pipeline of scikit-learn.

    python benchmarks/one_prediction.py

A row has 20 features, five of them text. Each time is the best of several rounds of a Python call with an existing
dict; the pipeline's time includes making the frame of one row that it needs.
"""

from __future__ import annotations

import itertools
import timeit
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import unitless as ul

ROWS, NUMBERS, TEXTS, WORDS = 5_000, 15, 5, 40


def table(classes: int) -> pd.DataFrame:
    """Numbers in different units, text, and a label that depends on both."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"number{k}": rng.normal(size=ROWS) * 10.0 ** (k - 7) for k in range(NUMBERS)}
    columns |= {f"text{k}": [f"word {w}" for w in rng.integers(0, WORDS, ROWS)] for k in range(TEXTS)}
    frame = pd.DataFrame(columns)
    score = frame["number7"] + (frame["text0"] < "word 2") + rng.normal(size=ROWS)
    frame["label"] = [f"class {code}" for code in pd.qcut(score, classes, labels=False)]
    return frame


def microseconds(call: Callable[[Any], Any], rows: list[Any], rounds: int = 9) -> float:
    """The time of one call, over different rows; the best of several rounds."""
    for row in rows:
        call(row)
    endless: Iterator[Any] = itertools.cycle(rows)
    once = timeit.timeit(lambda: call(next(endless)), number=20) / 20
    number = max(20, int(0.1 / once))
    return min(timeit.repeat(lambda: call(next(endless)), number=number, repeat=rounds)) / number * 1e6


def main() -> None:
    """Print a table."""
    print(f"{'one row of 20 features':44}{'µs':>10}{'ratio':>10}")
    for classes in (2, 5):
        frame = table(classes)
        X, y = frame.drop(columns="label"), frame["label"]
        rows = X[:1000].to_dict("records")
        predictor = ul.train(frame, target="label", model_type="linear").predictor
        words = [f"text{k}" for k in range(TEXTS)]
        encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder=StandardScaler())
        pipeline = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(X, y)
        contenders: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
            "Predictor.predict_one": (predictor.predict_one, rows),
            "Predictor.predict_proba_one": (predictor.predict_proba_one, rows),
            "Predictor.predict of a frame": (predictor.predict, [pd.DataFrame([row]) for row in rows[:20]]),
            "scikit-learn pipeline, predict": (lambda row, p=pipeline: p.predict(pd.DataFrame([row])), rows[:50]),
        }
        times = {name: microseconds(call, given) for name, (call, given) in contenders.items()}
        first = times["Predictor.predict_one"]
        for name, time in times.items():
            print(f"{f'{classes} classes: {name}':44}{time:10.2f}{time / first:10.1f}")


if __name__ == "__main__":
    main()
