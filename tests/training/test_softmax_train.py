"""`loss="softmax"` in all ways to train: train, the command line, the estimators of scikit-learn and River."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.cli import main
from unitless.river import UnitlessClassifier as RiverClassifier
from unitless.sklearn import UnitlessClassifier


def table(rows: int = 1500) -> pd.DataFrame:
    """Three classes, of which one lies between the others, in units of all sizes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3)) * [1.0, 1e3, 1e-3]
    label = np.array(["low", "between", "high"])[np.digitize(X[:, 0] + X[:, 1] / 1e3, [-0.5, 0.5])]
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=label)


@pytest.mark.parametrize("model_type", ["linear", "auto"])
def test_train_fits_a_softmax_and_reports_its_metrics(model_type: Any) -> None:
    frame = table()
    result = ul.train(frame, target="label", loss="softmax", model_type=model_type, passes=2)
    assert type(result.model) is ul.Softmax
    assert result.metrics["error_rate"] < 0.1
    assert result.details.on_holdout
    assert result.details.measured.loss == result.metrics["log_loss"]  # the loss is that of all classes together
    assert "loss" not in result.metrics
    assert result.metrics["log_loss"] < result.baseline["log_loss"]
    assert "loss" not in result.baseline
    shares = result.predictor.predict_proba_one({"a": 2.0, "b": 1000.0, "c": 0.0})
    np.testing.assert_allclose(sum(shares.values()), 1.0)
    assert max(shares, key=lambda label: shares[label]) == "high"


def test_training_that_is_interrupted_goes_on_exactly(tmp_path: Path) -> None:
    frame, path = table(), tmp_path / "m.unitless"
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options: dict[str, Any] = {"target": "label", "loss": "softmax", "model_type": "linear", "shuffle": False}

    def watch(run: Any) -> None:
        if run.progress.rows >= 600:
            run.save()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ul.train(tmp_path / "rows.csv", output=path, checkpoint=200, progress=watch, **options)
    resumed = ul.train(tmp_path / "rows.csv", resume=path, shuffle=False)
    whole = ul.train(tmp_path / "rows.csv", **options)
    assert resumed.model.weights == whole.model.weights
    assert resumed.progressive == whole.progressive


def test_numbers_are_classes_under_a_loss_of_classes() -> None:
    frame = table().assign(label=lambda one: one.label.map({"low": 1, "between": 2, "high": 30}))
    model = ul.train(frame, target="label", loss="softmax", model_type="linear", passes=1).model
    assert type(model) is ul.Softmax
    assert set(model.classes) == {1, 2, 30}


def test_two_classes_are_one_score() -> None:
    frame = table().assign(label=lambda one: one.label == "low")
    result = ul.train(frame, target="label", loss="softmax", model_type="linear")
    assert type(result.model) is ul.Learner
    assert result.model.options.loss == "logistic"
    estimator = UnitlessClassifier(loss="softmax", model_type="linear").fit(frame[["a", "b", "c"]], frame.label)
    assert type(estimator.model_) is ul.Learner
    river = RiverClassifier(loss="softmax")
    river.learn_one({"a": 1.0}, True)
    assert type(river.model) is ul.Learner


def test_the_command_line_trains_inspects_and_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = tmp_path / "rows.csv", tmp_path / "m.unitless"
    table().to_csv(data, index=False)
    words = [
        "train",
        str(data),
        "--target",
        "label",
        "--loss",
        "softmax",
        "--model-type",
        "linear",
        "--output",
        str(model),
    ]
    words += ["--passes", "2"]
    assert main(words) == 0
    capsys.readouterr()
    assert main(["inspect", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "Softmax"
    assert main(["predict", str(model), str(data), "--probabilities"]) == 0
    lines = capsys.readouterr().out.splitlines()
    shares = [float(text) for text in lines[1].split(",")[1:]]
    np.testing.assert_allclose(sum(shares), 1.0)


def test_the_estimator_of_scikit_learn_is_a_softmax() -> None:
    frame = table()
    X, y = frame[["a", "b", "c"]], frame.label
    estimator = UnitlessClassifier(loss="softmax", model_type="linear", max_iter=3).fit(X, y)
    assert type(estimator.model_) is ul.Softmax
    assert estimator.score(X, y) > 0.95
    np.testing.assert_allclose(estimator.predict_proba(X).sum(axis=1), 1.0)
    assert estimator.coef_.shape == (3, 3)
    joining = UnitlessClassifier(loss="softmax", model_type="linear", new_classes="allow")
    joining.partial_fit(X[:500], y[:500]).partial_fit(X[500:], np.where(y[500:] == "low", "new", y[500:]))
    assert joining.classes_.tolist() == ["between", "high", "low", "new"]


def test_the_estimator_of_river_is_a_softmax() -> None:
    rows = table(600)
    model = RiverClassifier(loss="softmax", model_type="linear")
    right = 0
    for row in rows.to_dict("records"):
        label = row.pop("label")
        right += model.predict_one(row) == label
        model.learn_one(row, label)
    assert type(model.model) is ul.Softmax
    assert right > 420
    np.testing.assert_allclose(sum(model.predict_proba_one({"a": 1.0}).values()), 1.0)


def test_rounds_of_several_workers_learn_it(tmp_path: Path) -> None:
    table(3000).to_csv(tmp_path / "rows.csv", index=False)
    result = ul.train(
        tmp_path / "rows.csv",
        target="label",
        loss="softmax",
        model_type="linear",
        cluster=ul.Cluster(workers=2),
        passes=2,
    )
    assert type(result.model) is ul.Softmax
    assert result.metrics["error_rate"] < 0.1
