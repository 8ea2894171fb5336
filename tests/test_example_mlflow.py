"""The MLflow example gives the predictions of the model."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
import types
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul

EXAMPLE = pathlib.Path(__file__).parent.parent / "examples" / "mlflow_model.py"


def loaded() -> Any:
    spec = importlib.util.spec_from_file_location("mlflow_model", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, job = rng.integers(20, 70, 300), rng.choice(["clerk", "pilot"], 300)
    return pd.DataFrame({"age": age, "job": job, "rich": np.where((age > 40) & (job == "pilot"), "yes", "no")})


def trained(folder: pathlib.Path) -> tuple[Any, str]:
    path = str(folder / "rich.unitless")
    return ul.train(table(), "rich", output=path, passes=1), path


def check(answer: pd.DataFrame, result: Any, rows: pd.DataFrame) -> None:
    assert answer["prediction"].tolist() == result.predict(rows).tolist()
    assert np.array_equal(answer[["probability_no", "probability_yes"]], result.predict_proba(rows))


def test_it_predicts_labels_and_probabilities(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in: Any = types.ModuleType("mlflow")
    stand_in.pyfunc = types.ModuleType("mlflow.pyfunc")
    stand_in.pyfunc.PythonModel = object
    monkeypatch.setitem(sys.modules, "mlflow", stand_in)
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", stand_in.pyfunc)
    result, path = trained(tmp_path)
    served = loaded().UnitlessModel()
    served.load_context(types.SimpleNamespace(artifacts={"model": path}))
    rows = table().drop(columns="rich")
    check(served.predict(None, rows), result, rows)
    far = pd.DataFrame({"age": [500], "job": ["pilot"]})
    held, linear = (served.predict(None, far, {"extrapolate": on})["probability_yes"][0] for on in (False, True))
    assert linear > held


def test_mlflow_keeps_and_serves_it(tmp_path: pathlib.Path) -> None:
    pyfunc = pytest.importorskip("mlflow.pyfunc", reason="mlflow is not installed")
    result, path = trained(tmp_path)
    loaded().save(path, str(tmp_path / "served"))
    rows = table().drop(columns="rich")
    check(pyfunc.load_model(str(tmp_path / "served")).predict(rows), result, rows)
