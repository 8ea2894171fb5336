"""A model of unitless as an MLflow model, for any server that runs MLflow models. Its input is the table's columns.

    python examples/mlflow_model.py prices.unitless mlflow-model
    mlflow models predict -m mlflow-model -i new.csv -t csv

Needs `pip install mlflow unitless`.
"""

from __future__ import annotations

import sys
from typing import Any

import mlflow.pyfunc
import pandas as pd

import unitless as ul
from unitless.inference.predictor import Predictor


class UnitlessModel(mlflow.pyfunc.PythonModel):
    """Predictions of a model that `unitless train` made: labels or numbers, and probabilities where there are any."""

    def load_context(self, context: Any) -> None:
        """Load the model, once, when the server starts."""
        self.predictor = Predictor(ul.load(context.artifacts["model"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """One row of results per row; with `params={"extrapolate": True}` the model is linear everywhere."""
        extrapolate = bool((params or {}).get("extrapolate", False))
        tables = []
        for part in self.predictor.batches(model_input, extrapolate=extrapolate):
            table = pd.DataFrame({"prediction": part.values})
            if part.probabilities is not None:
                for name, column in zip(part.classes, part.probabilities.T, strict=True):
                    table[f"probability_{name}"] = column
            tables.append(table)
        return pd.concat(tables, ignore_index=True)


def save(model_path: str, folder: str) -> None:
    """Write the MLflow model, which contains the model file."""
    mlflow.pyfunc.save_model(folder, python_model=UnitlessModel(), artifacts={"model": model_path})


if __name__ == "__main__":
    save(*sys.argv[1:3])
