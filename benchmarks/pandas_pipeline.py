"""A program to compare with: pandas in chunks, StandardScaler, SGDClassifier; chunks are predicted, then learned.

python benchmarks/pandas_pipeline.py FILE.csv
"""

from __future__ import annotations

import sys

import numpy as np
import pandas
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler


def main(path: str) -> None:
    scaler, model, loss, rows = StandardScaler(), SGDClassifier(loss="log_loss"), 0.0, 0
    for chunk in pandas.read_csv(path, chunksize=10_000):
        y = chunk.pop("_label").to_numpy()
        X = chunk.to_numpy(float)
        X = scaler.partial_fit(X).transform(X)
        loss += np.logaddexp(0.0, -y * (model.decision_function(X) if rows else np.zeros(len(y)))).sum()
        rows += len(y)
        model.partial_fit(X, y, classes=[-1, 1])
    print(f"log loss {loss / rows:.6f}")


if __name__ == "__main__":
    main(sys.argv[1])
