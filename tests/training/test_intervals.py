"""Prediction intervals and sets, from training to prediction: coverage, and continuation when training resumes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import unitless as ul
from unitless.cli import main
from unitless.inference.intervals import Interval, LabelSet
from unitless.metrics.coverage import Coverage, PredictedClasses, PredictedNumbers
from unitless.metrics.holdout_errors import HoldoutErrors
from unitless.models.error_quantiles import ErrorQuantiles
from unitless.models.number_intervals import NumberIntervals
from unitless.training.training import Training

ROWS = 4000


def table(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=rows) * 1e-3, "b": rng.normal(size=rows) * 1e3})
    frame["price"] = frame["a"] * 2e3 + frame["b"] / 1e3 + rng.normal(size=rows)
    frame["dear"] = np.where(frame["price"] + rng.normal(size=rows) > 0, "yes", "no")
    frame["kind"] = np.array(["low", "mid", "high"])[np.digitize(frame["price"] + rng.normal(size=rows), [-1, 1])]
    frame["count"] = rng.poisson(np.exp(frame["b"] / 2e3))
    return frame


TABLE, NEW = table(), table(seed=1)
FEATURES = ["a", "b"]


def trained(target: str, **options: Any) -> ul.TrainResult:
    return ul.train(TABLE[[*FEATURES, target]], target, model_type="linear", **options)


def covered(predicted: pd.DataFrame, truth: pd.Series[Any]) -> float:
    if "set" in predicted:
        return float(np.mean([label in one for label, one in zip(truth, predicted["set"], strict=True)]))
    return float(np.mean((predicted["low"] <= truth) & (truth <= predicted["high"])))


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("target", ["price", "dear", "kind", "count"])
@pytest.mark.parametrize("level", [0.6, 0.9, 0.97])
def test_new_rows_are_covered_as_often_as_asked_for(target: str, shuffle: bool, level: float) -> None:
    options = {"loss": "poisson"} if target == "count" else {}
    result = trained(target, shuffle=shuffle, **options)
    found = covered(result.predict_interval(NEW, level=level), NEW[target])
    assert found > level - 0.05
    if target == "price":  # counts and classes have few distinct errors
        assert found < level + 0.05


@pytest.mark.parametrize("target", ["price", "dear", "kind"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_results_report_the_quality_of_intervals(target: str, shuffle: bool) -> None:
    result, size = trained(target, shuffle=shuffle), "width" if target == "price" else "set_size"
    for metrics in (result.progressive, result.metrics):
        assert 0.86 < metrics["coverage"] <= 1
        assert metrics[size] > 0
    assert json.dumps(result.asdict())
    assert ul.evaluate(result, NEW[[*FEATURES, target]]).metrics[size] > 0
    wide = trained(target, shuffle=shuffle, level=0.99)
    assert wide.progressive["coverage"] > result.progressive["coverage"]
    assert wide.progressive[size] > result.progressive[size]
    assert wide.model._errors.plain() == result.model._errors.plain()  # type: ignore[union-attr]


def test_progressive_intervals_are_made_before_each_row_is_learned() -> None:
    river = pytest.importorskip("unitless.river", reason="River of today needs Python 3.11", exc_type=ImportError)
    seen: list[Any] = []
    ul.train(
        TABLE[[*FEATURES, "price"]],
        "price",
        model_type="linear",
        shuffle=False,
        progress=lambda run: seen.append((run.progress.rows, run.evaluation.intervals.metrics)),  # type: ignore[union-attr]
    )
    model, counted, held, widths = (
        river.UnitlessRegressor(model_type="linear"),
        0,
        0,
        0.0,
    )  # the same, one row at a time
    for row in TABLE[[*FEATURES, "price"]].to_dict("records"):
        y = row.pop("price")
        low, high = model.predict_interval_one(row)
        if high < math.inf:
            counted, held, widths = counted + 1, held + (low <= y <= high), widths + high - low
        model.learn_one(row, y)
    assert counted == ROWS - 1 - 9  # the first row has no prediction, and the next nine no interval
    assert seen[-1][1] == pytest.approx({"coverage": held / counted, "width": widths / counted})


def test_however_rows_come_the_errors_are_the_same_to_the_last_bit() -> None:
    states = set()
    for size in (ROWS, 700, 1):
        frame = TABLE[[*FEATURES, "kind"]].iloc[:1500]
        parts = (frame.iloc[k : k + size].to_dict("records") for k in range(0, len(frame), size))
        result = ul.train((row for part in parts for row in part), "kind", model_type="linear")
        states.add((tuple(result.model._errors.plain()), result.progressive["coverage"]))  # type: ignore[union-attr]
    result = ul.train(frame, "kind", model_type="linear", shuffle=False)
    assert len(states) == 1
    assert result.progressive["coverage"] == pytest.approx(next(iter(states))[1], abs=0.02)


def test_the_unit_of_the_target_is_that_of_the_interval() -> None:
    dear = TABLE[[*FEATURES, "price"]].assign(price=TABLE["price"] * 1024)
    ours, other = trained("price", shuffle=False), ul.train(dear, "price", model_type="linear", shuffle=False)
    ends = ours.predict_interval(NEW, level=0.9)[["prediction", "low", "high"]].to_numpy() * 1024
    assert (ends == other.predict_interval(NEW, level=0.9).to_numpy()).all()
    assert other.progressive["coverage"] == ours.progressive["coverage"]


class Stop(Exception):
    pass


@pytest.mark.parametrize("way", [{"shuffle": False}, {"passes": 2}])
@pytest.mark.parametrize("target", ["price", "kind"])
def test_an_interrupted_training_ends_with_the_same_intervals(way: dict[str, Any], target: str, tmp_path: Path) -> None:
    path, model = tmp_path / "data.csv", tmp_path / "model.unitless"
    TABLE[[*FEATURES, target]].to_csv(path, index=False)
    options = {"target": target, "checkpoint": 500, "level": 0.8, **way}
    whole = ul.train(path, model_type="linear", output=tmp_path / "whole.unitless", **options)

    def stop(run: Training) -> None:
        if run.progress.rows >= 1500 and run.model is not None:
            raise Stop

    with pytest.raises(Stop):
        ul.train(path, model_type="linear", output=model, progress=stop, **options)
    assert 0 < ul.load(model)._errors.rows < ROWS
    again = ul.train(path, output=model, resume=model, **options)
    assert again.progressive == whole.progressive
    assert again.metrics == whole.metrics
    assert ul.load(model)._errors.plain() == whole.model._errors.plain()  # type: ignore[union-attr]


def test_going_on_with_another_level_is_refused(tmp_path: Path) -> None:
    path, model = tmp_path / "data.csv", tmp_path / "model.unitless"
    TABLE[[*FEATURES, "price"]].to_csv(path, index=False)

    def stop(run: Training) -> None:
        if run.progress.rows >= 1500:
            raise Stop

    options: dict[str, Any] = {"target": "price", "checkpoint": 500, "shuffle": False}
    with pytest.raises(Stop):
        ul.train(path, output=model, progress=stop, **options)
    with pytest.raises(ul.OptionError, match="begun with other settings"):
        ul.train(path, output=model, resume=model, level=0.8, **options)


def test_following_goes_on_from_what_a_fit_has_calibrated() -> None:
    fitted = trained("price")
    held = fitted.model._errors.rows  # type: ignore[union-attr]
    assert held == ROWS // 10
    more = ul.train(NEW[[*FEATURES, "price"]], "price", resume=fitted.model, shuffle=False)
    assert more.model._errors.rows == held + ROWS  # type: ignore[union-attr]
    assert abs(more.progressive["coverage"] - 0.9) < 0.02


def test_rows_without_weight_or_label_do_not_count() -> None:
    frame = TABLE[[*FEATURES, "price"]].assign(w=1.0)
    noise = frame.assign(w=0.0, price=1e6)
    unlabeled = frame.assign(price=np.nan)
    mixed = pd.concat([frame, noise, unlabeled]).sort_index(kind="stable")
    ours = ul.train(frame, "price", weight="w", model_type="linear", shuffle=False)
    other = ul.train(mixed, "price", weight="w", model_type="linear", shuffle=False)
    assert other.model._errors.plain() == ours.model._errors.plain()  # type: ignore[union-attr]
    assert other.progressive["coverage"] == ours.progressive["coverage"]


def test_too_few_rows_held_back_leave_it_to_the_progressive_errors() -> None:
    small = ul.train(TABLE[[*FEATURES, "price"]].iloc[:90], "price", model_type="linear")  # 18 rows are held out
    assert small.model._errors.rows == 71  # type: ignore[union-attr]
    assert math.isfinite(small.predict_interval(NEW, level=0.9)["low"].iloc[0])
    with pytest.raises(ul.OptionError, match="at least 999 rows"):
        small.predict_interval(NEW, level=0.999)


# ---------------------------------------------------------------------------------------------------- the predictor


def test_one_row_many_rows_and_any_frame_have_equal_intervals() -> None:
    for target, kind in (("price", Interval), ("dear", LabelSet), ("kind", LabelSet)):
        predictor = trained(target).predictor
        some = NEW[FEATURES].iloc[:50]
        rows = some.to_dict("records")
        many = predictor.predict_interval(rows, level=0.9)
        assert all(type(one) is kind for one in many)
        assert [predictor.predict_interval_one(row, level=0.9) for row in rows] == many
        frame = predictor.predict_interval(some, level=0.9)
        assert [tuple(row) for row in frame.itertuples(index=False)] == [tuple(one) for one in many]
        assert list(frame.columns) == list(kind._fields)
        assert predictor.predict_interval(pl.from_pandas(some), level=0.9).rows() == [tuple(one) for one in many]
        assert [one.prediction for one in many] == predictor.predict(rows)


def test_intervals_lie_around_the_prediction_and_sets_begin_with_it() -> None:
    frame = trained("price").predict_interval(NEW, level=0.9)
    assert np.allclose(frame["high"] - frame["prediction"], frame["prediction"] - frame["low"])
    widths = frame["high"].sub(frame["low"])
    assert widths.std() < 0.2 * widths.mean()  # errors do not depend on the prediction here
    sets = trained("kind").predict_interval(NEW, level=0.95)
    assert (sets["set"].map(lambda labels: labels[0]) == sets["prediction"]).all()
    assert sets["set"].map(len).max() == 3


def prices(rows: int, seed: int) -> pd.DataFrame:
    """Prices, whose errors are larger where prices are; none is negative."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"area": rng.uniform(20, 200, rows), "year": rng.integers(1900, 2020, rows).astype(float)})
    expected = 10 * frame["area"] + (frame["year"] - 1900)
    return frame.assign(price=np.maximum(0.0, expected * (1 + 0.4 * rng.normal(size=rows))))


PRICES = prices(ROWS, 0)


@pytest.mark.parametrize("shuffle", [True, False])
def test_low_and_high_predictions_are_covered_alike(shuffle: bool) -> None:
    result, new = ul.train(PRICES, "price", model_type="linear", shuffle=shuffle), prices(ROWS, 1)
    frame = result.predict_interval(new, level=0.9).assign(truth=new["price"])
    ranks = frame["prediction"].rank(method="first")
    assert all(0.85 < covered(fifth, fifth["truth"]) < 0.95 for _, fifth in frame.groupby(pd.qcut(ranks, 5)))
    widths = frame["high"] - frame["low"]
    assert widths[ranks > 0.8 * ROWS].mean() > 2 * widths[ranks < 0.2 * ROWS].mean()


@pytest.mark.parametrize("shuffle", [True, False])
def test_limits_do_not_pass_zero_if_all_labels_have_one_sign(shuffle: bool) -> None:
    for sign in (1.0, -1.0):
        result = ul.train(PRICES.assign(price=sign * PRICES["price"]), "price", model_type="linear", shuffle=shuffle)
        frame = result.predict_interval(PRICES, level=0.99)
        nearest = frame["low"].min() if sign > 0 else frame["high"].max()
        assert nearest == 0.0


@pytest.mark.parametrize("shuffle", [True, False])
def test_units_of_a_power_of_two_change_no_bit_of_intervals(shuffle: bool) -> None:
    other = PRICES.assign(area=PRICES["area"] * 2**20, year=PRICES["year"] / 2**10, price=PRICES["price"] * 2**-7)
    ours = ul.train(PRICES, "price", shuffle=shuffle, model_type="curves")
    theirs = ul.train(other, "price", shuffle=shuffle, model_type="curves")
    limits = ours.predict_interval(PRICES, level=0.9).to_numpy() * 2**-7
    assert (limits == theirs.predict_interval(other, level=0.9).to_numpy()).all()


def test_counts_are_not_negative() -> None:
    frame = trained("count", loss="poisson").predict_interval(NEW, level=0.99)
    assert frame["low"].min() == 0.0


def test_rows_that_cannot_be_read_have_no_interval(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"a": 1, "b": 2}\nnothing\n{"a": 2, "b": 3}\n')
    found = trained("price").predict_interval(str(bad), level=0.9, reading=ul.Reading(on_error="skip"))
    assert [one is None for one in found] == [False, True, False]


def test_booleans_stay_booleans() -> None:
    frame = TABLE[FEATURES].assign(dear=TABLE["dear"] == "yes")
    predictor = ul.train(frame, "dear", model_type="linear").predictor
    one = predictor.predict_interval_one({"a": 0.0, "b": 0.0}, level=0.99)
    assert set(one.set) == {True, False}


def test_models_without_intervals_raise_an_error() -> None:
    hinge = ul.train(TABLE[[*FEATURES, "dear"]], "dear", loss="hinge", model_type="linear")
    assert "coverage" not in hinge.progressive
    with pytest.raises(ul.OptionError, match="hinge loss gives none"):
        hinge.predict_interval(NEW, level=0.9)
    parts = [trained("price", holdout=0), trained("price", random_state=1)]
    merged = ul.merge([one.model for one in parts])
    with pytest.raises(ul.OptionError, match="train it anew"):
        ul.Predictor(merged).predict_interval(NEW, level=0.9)
    for bad in (0, 1, 90, "0.9"):
        with pytest.raises(ul.OptionError, match="probability"):
            parts[0].predict_interval(NEW, level=bad)
        with pytest.raises(ul.OptionError, match="probability"):
            trained("price", level=bad)


def test_distributed_training_calibrates_on_rows_held_back() -> None:
    result = trained("price", cluster=ul.Cluster(backend="local", partitions=3, sync_rounds=2))
    assert "coverage" not in result.progressive  # partitions do not see one stream
    assert abs(result.metrics["coverage"] - 0.9) < 0.06
    assert abs(covered(result.predict_interval(NEW, level=0.9), NEW["price"]) - 0.9) < 0.04
    without = trained("price", cluster=ul.Cluster(backend="local", partitions=3, sync_rounds=2), holdout=0, passes=1)
    with pytest.raises(ul.OptionError, match="held-out rows"):
        without.predict_interval(NEW, level=0.9)


# ------------------------------------------------------------------------------------------------- counting coverage


def with_errors(errors: Any) -> PredictedNumbers:
    """Predictions of 0 with labels of both signs, which have these errors."""
    return PredictedNumbers(np.zeros(len(errors)), errors * np.where(np.arange(len(errors)) // 2 % 2, 1.0, -1.0))


def test_rows_held_back_are_not_judged_by_themselves() -> None:
    errors = np.append(np.full(99, 1.0), 100.0)
    held = HoldoutErrors(0.9, NumberIntervals())
    held.count(with_errors(errors), None)
    assert held.metrics == pytest.approx({"coverage": 0.99, "width": 2.0})
    assert np.concatenate(held.calibrated.around(np.zeros(1), held.calibrated.reach(0.9))) == pytest.approx([-1.0, 1.0])
    known = NumberIntervals().calibrated(*with_errors(np.full(50, 3.0)).columns)
    few = HoldoutErrors(0.9, known)
    few.count(with_errors(errors[:19]), None)
    assert few.metrics == pytest.approx({"coverage": 1.0, "width": 6.0})
    assert few.calibrated is known
    assert HoldoutErrors(0.9, NumberIntervals()).metrics == {}


def test_sets_are_counted_as_they_are_given() -> None:
    shares = np.array([[0.7, 0.5, 0.4], [0.2, 0.3, 0.35], [0.1, 0.2, 0.25]])  # by class and row
    predicted = PredictedClasses(1 - np.array([0.2, 0.5, 0.25]), np.array([False, True, False]), shares)
    coverage = Coverage(0.9, ErrorQuantiles.calibrated(np.full(50, 0.7)))
    coverage.count(predicted, np.array([1.0, 1.0, 2.0]))
    assert coverage.metrics == {"coverage": 0.25, "set_size": (1 + 2 + 2 * 2) / 4}


# ------------------------------------------------------------------------------------------------- the command line


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for target, line, columns in (
        ("price", "90% prediction intervals contain", ["prediction", "low", "high"]),
        ("kind", "90% prediction sets contain", ["prediction", "set"]),
    ):
        TABLE[[*FEATURES, target]].to_csv("data.csv", index=False)
        assert main(["train", "data.csv", "-t", target, "--model-type", "linear", "-o", "m.unitless", "-q"]) == 0
        assert line in capsys.readouterr().out
        assert main(["evaluate", "m.unitless", "data.csv", "--level", "0.8"]) == 0
        assert line.replace("90", "80") in capsys.readouterr().out
        assert main(["compare", "data.csv", "-t", target, "--model-type", "linear", "--rules", "nag", "-q"]) == 0
        assert f"nag: {line}" in capsys.readouterr().out
        assert main(["predict", "m.unitless", "data.csv", "--level", "0.9"]) == 0
        rows = capsys.readouterr().out.splitlines()
        assert rows[0].split(",") == columns
        expected = ul.Predictor("m.unitless").predict_interval("data.csv", level=0.9)
        if target == "price":
            assert [tuple(map(float, row.split(","))) for row in rows[1:]] == [tuple(one) for one in expected]
        else:
            assert [row.split(",")[1].split("|") for row in rows[1:]] == [one.set for one in expected]
        for form, read in (("jsonl", pl.read_ndjson), ("parquet", pl.read_parquet), ("arrow", pl.read_ipc)):
            assert main(["predict", "m.unitless", "data.csv", "--level", "0.9", "-o", f"out.{form}"]) == 0
            assert read(f"out.{form}").rows() == [tuple(one) for one in expected]
    assert main(["predict", "m.unitless", "data.csv", "--level", "90"]) == 2
    assert "--level is 90.0; it must be a probability above 0, at most 0.999" in capsys.readouterr().err
