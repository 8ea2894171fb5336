"""Baselines of a stream: to repeat the last label, and the mean of the labels so far."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unitless as ul
from unitless.metrics.running_mean import RunningMean
from unitless.metrics.stream_baselines import MEAN, REPEAT, StreamBaselines

LOSSES = ("squared", "quantile", "poisson", "logistic", "hinge", "classes")


def model_of(loss: str) -> Any:
    return ul.OneVsAll([0, 1, 2, 3]) if loss == "classes" else ul.Learner(loss=loss)  # type: ignore[arg-type]


def labels_of(loss: str, rows: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if loss == "classes":
        return rng.choice(4, rows, p=[0.1, 0.2, 0.6, 0.1])
    if loss in ("logistic", "hinge"):
        return rng.random(rows) < 0.3
    return rng.poisson(2, rows).astype(float) if loss == "poisson" else 7 + rng.normal(size=rows)


def weights_of(rows: int) -> np.ndarray:
    return np.random.default_rng(1).choice([0.0, 0.3, 1.0, 2.7], rows)


def plainly(loss: str, y: np.ndarray, h: np.ndarray) -> dict[str, dict[str, float]]:
    """The same, one row after another."""
    y, h = y[h > 0].astype(float), h[h > 0]
    classes = loss in ("logistic", "hinge", "classes")
    judge = None if classes else ul.Learner(loss=loss)  # type: ignore[arg-type]
    rows: dict[str, list[dict[str, float]]] = {REPEAT: [], MEAN: []}
    for i in range(1, len(y)):
        before, weight = y[:i], h[:i]
        if classes:
            met = {k: float(weight[before == k].sum()) for k in dict.fromkeys(before.tolist())}
            kinds = 2 if loss != "classes" else len(met) + 1
            share = (met.get(y[i], 0.0) + 0.5) / (weight.sum() + kinds / 2)
            leader, most, counts = -1.0, 0.0, dict.fromkeys(met, 0.0)
            for label, one in zip(before.tolist(), weight.tolist(), strict=True):
                counts[label] += one
                if counts[label] > most:
                    leader, most = label, counts[label]
            found = {"error_rate": float(leader != y[i]), "log_loss": -math.log(share), "brier": (1 - share) ** 2}
            rows[REPEAT].append({"error_rate": float(y[i - 1] != y[i])})
            rows[MEAN].append(found)
            continue
        assert judge is not None
        for name, said in ((REPEAT, y[i - 1]), (MEAN, float(np.average(before, weights=weight)))):
            score = math.log(max(said, 0.5 / weight.sum())) if loss == "poisson" else said
            error = abs(said - y[i])
            rows[name].append({"loss": float(judge.losses([score], [y[i]])[0]), "mae": error, "squared": error**2})
    means: dict[str, dict[str, float]] = {}
    for name, found_rows in rows.items():
        means[name] = {key: float(np.average([row[key] for row in found_rows], weights=h[1:])) for key in found_rows[0]}
        if "squared" in means[name]:
            squared = means[name].pop("squared")
            spread = float(np.average((y[1:] - np.average(y[1:], weights=h[1:])) ** 2, weights=h[1:]))
            means[name] |= {"rmse": math.sqrt(squared), "mse": squared, "r2": 1 - squared / spread}
        else:
            means[name]["accuracy"] = 1 - means[name]["error_rate"]
    if loss == "squared":  # it is the mean squared error
        del means[REPEAT]["loss"], means[MEAN]["loss"]
    if loss == "poisson":
        del means[REPEAT]["loss"]  # of a count of 0 it would be infinite
    if loss == "hinge":
        del means[MEAN]["log_loss"]
    if loss in ("hinge", "classes"):
        del means[MEAN]["brier"]
    return means


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_they_are_what_a_loop_gives(loss: str, weighted: bool) -> None:
    y = labels_of(loss, 300)
    h = weights_of(300) if weighted else np.ones(300)
    baselines = StreamBaselines(model_of(loss))
    baselines.add(y, h if weighted else None)
    expected = plainly(loss, y, h)
    assert baselines.metrics.keys() == expected.keys()
    for name, values in expected.items():
        assert baselines.metrics[name] == pytest.approx(values, rel=1e-11)


@given(
    loss=st.sampled_from(LOSSES),
    cuts=st.lists(st.integers(0, 120), max_size=6),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
def test_however_labels_are_cut_and_kept_the_bits_are_the_same(
    loss: str, cuts: list[int], weighted: bool, seed: int
) -> None:
    y, model = labels_of(loss, 120, seed), model_of(loss)
    h = weights_of(120) if weighted else None
    whole, parts = StreamBaselines(model), StreamBaselines(model)
    whole.add(y, h)
    edges = [0, *sorted(cuts), len(y)]
    for first, last in itertools.pairwise(edges):
        parts.add(y[first:last], None if h is None else h[first:last])
        parts = StreamBaselines.restore(model, json.loads(json.dumps(parts.state())))
    assert parts.metrics == whole.metrics
    assert parts.state() == whole.state()


def test_before_two_labels_there_is_nothing_to_compare() -> None:
    for loss in LOSSES:
        baselines = StreamBaselines(model_of(loss))
        assert baselines.metrics == {}
        baselines.add(labels_of(loss, 1))
        assert baselines.metrics == {}
        baselines.add(labels_of(loss, 1))
        assert set(baselines.metrics) == {REPEAT, MEAN}


def test_the_mean_counts_with_the_offsets() -> None:
    offset = np.array([0.0, 10.0, -5.0, 3.0])
    mean = RunningMean(ul.Learner())
    mean.add_numbered(np.array([1.0, 12.0, -3.0, 5.0]), None, offset)  # 1, 2, 2, 2 without them
    assert mean.metrics["mae"] == pytest.approx((1 + 0.5 + 1 / 3) / 3)
    rate = RunningMean(ul.Learner(loss="poisson"))
    exposure = np.array([1.0, 4.0, 2.0])
    rate.add_numbered(np.array([3.0, 8.0, 10.0]), None, np.log(exposure))  # 3 each, then 11/5 each
    assert rate.metrics["mae"] == pytest.approx((4 + 10 - 4.4) / 2)


def test_states_that_cannot_be_are_refused() -> None:
    for loss in LOSSES:
        model = model_of(loss)
        mean = RunningMean(model)
        mean.add(labels_of(loss, 20))
        for name in mean.state():
            for junk in (None, "x", [1], {"a": 1}, [(-1.0).hex()] * 7):
                with pytest.raises(ul.ModelFileError, match="running mean"):
                    RunningMean.restore(model, {**mean.state(), name: junk})


# ------------------------------------------------------------------------------------------------- where they are shown


def table(rows: int = 1500) -> pd.DataFrame:
    """Labels that stay for long, and a column that does not tell them."""
    rng = np.random.default_rng(0)
    level = np.cumsum(rng.random(rows) < 0.01)
    return pd.DataFrame({"x": rng.normal(size=rows), "number": level % 7 + 0.1 * rng.normal(size=rows)}).assign(
        label=np.where(level % 2, "odd", "even"), kind=[f"k{k % 3}" for k in level]
    )


@pytest.mark.parametrize("target", ["number", "label", "kind"])
def test_streams_have_them(target: str) -> None:
    frame = table()[["x", target]]
    result = ul.train(frame, target, shuffle=False, model_type="linear", ensemble=False)
    by = "rmse" if target == "number" else "error_rate"
    assert result._stream_baselines is not None
    found = result._stream_baselines.metrics
    assert set(found) == {REPEAT, MEAN}
    assert found[REPEAT] == result.last_label_baseline == result.asdict()["last_label_baseline"]
    assert found[MEAN] == result.baseline == result.asdict()["baseline"]
    assert found[REPEAT][by] < result.progressive[by]
    note = next(note for note in result.notes if REPEAT in note)
    assert "a smaller progressive" in note
    fitted = ul.train(frame, target, model_type="linear")
    assert fitted._stream_baselines is None
    assert fitted.last_label_baseline == fitted.asdict()["last_label_baseline"] == {}
    assert not any(REPEAT in note for note in fitted.notes)


def test_a_model_that_is_better_is_not_remarked_on() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=2000)}).assign(y=lambda one: 3 * one.x)
    result = ul.train(frame, "y", shuffle=False, model_type="linear")
    assert not any("simple answer" in note for note in result.notes)


def test_evaluations_and_comparisons_have_them() -> None:
    frame = table()
    X, y = frame[["x"]].to_numpy(), frame.label.to_numpy() == "odd"
    expected = StreamBaselines(ul.Learner(loss="logistic"))
    expected.add(y)
    assert ul.metrics.progressive(ul.Learner(loss="logistic"), X, y).baselines == expected.metrics
    assert ul.metrics.progressive(ul.Learner(loss="logistic"), X[:9], y[:9], delay=2).baselines == {}
    comparison = ul.compare(X, y, rules=["nag", "ng"], shuffle=False, model_type="linear")
    assert comparison.baselines == expected.metrics == comparison.asdict()["baselines"]
    assert REPEAT in comparison._repr_html_()
    assert ul.compare(X, y, rules=["nag"], model_type="linear").baselines == {}


def test_a_training_that_is_resumed_goes_on_counting(tmp_path: Path) -> None:
    frame = table()[["x", "kind"]]
    frame.to_csv(tmp_path / "a.csv", index=False)
    whole = ul.train(tmp_path / "a.csv", "kind", shuffle=False, model_type="linear")

    class Stop(Exception):
        pass

    def stop(run: Any) -> None:
        if run.progress.rows >= 700:
            raise Stop

    with pytest.raises(Stop):
        ul.train(
            *(tmp_path / "a.csv", "kind"),
            **{"shuffle": False, "model_type": "linear", "output": tmp_path / "m", "checkpoint": 500, "progress": stop},
        )
    resumed = ul.train(tmp_path / "a.csv", resume=ul.load(tmp_path / "m"), shuffle=False)
    assert resumed._stream_baselines is not None
    assert whole._stream_baselines is not None
    assert resumed._stream_baselines.metrics == whole._stream_baselines.metrics
