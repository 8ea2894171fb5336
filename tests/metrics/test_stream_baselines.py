"""Baselines of a stream: the last label, and the mean of the labels so far."""

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
from streams import labeled

import unitless as ul
from unitless.metrics.stream_baselines import MEAN, REPEAT, LastLabel, RunningMean, StreamBaselines

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


def plainly(model: Any, y: np.ndarray, h: np.ndarray) -> dict[str, dict[str, float]]:
    """A plain implementation, one row after another: each is predicted from the rows before."""
    loss, classes = model.options.loss, model.task == "classes"
    y, h = y[h > 0].astype(float), h[h > 0]
    evaluations = {REPEAT: ul.metrics.Evaluation(model), MEAN: ul.metrics.Evaluation(model)}
    for i in range(1, len(y)):
        before, weight = y[:i], h[:i]
        if model.task == "regression":
            mean = float(np.average(before, weights=weight))
            said = {REPEAT: y[i - 1], MEAN: mean}
            if loss == "poisson":
                said = {REPEAT: math.log(max(y[i - 1], 1e-300)), MEAN: math.log(max(mean, 0.5 / weight.sum()))}
        else:
            kinds = [0.0, 1.0] if not classes else sorted({*before.tolist(), y[i]})
            unmet = 1 if classes else 0
            most = len({*before.tolist()}) + unmet if classes else 2
            shares = {k: (weight[before == k].sum() + 0.5) / (weight.sum() + most / 2) for k in kinds}
            odds = {k: math.log(share / (1 - share)) for k, share in shares.items()}
            if classes:
                said = {
                    REPEAT: [1.0 if k == y[i - 1] else -700.0 for k in range(4)],
                    MEAN: [odds.get(float(k), -math.inf) for k in range(4)],
                }
            else:
                said = {REPEAT: 1.0 if y[i - 1] else -1.0, MEAN: odds[1.0]}
                if loss == "hinge":
                    said[MEAN] = 1.0 if shares[1.0] > 0.5 else -1.0
        for name, evaluation in evaluations.items():
            evaluation.add([said[name]], [int(y[i]) if classes else y[i]], [h[i]])
    found = {name: evaluation.metrics for name, evaluation in evaluations.items()}
    for name in ("log_loss", "brier") if model.task != "regression" else ("loss",) if loss == "poisson" else ():
        found[REPEAT].pop(name, None)  # it gives labels, not probabilities
    if loss == "hinge":
        del found[REPEAT]["loss"]
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_stream_baselines_equal_a_plain_loop(loss: str, weighted: bool) -> None:
    y = labels_of(loss, 300)
    h = weights_of(300) if weighted else np.ones(300)
    model = model_of(loss)
    baselines = StreamBaselines(model)
    baselines.count(labeled(model, y, h if weighted else None))
    expected = plainly(model, y, h)
    assert baselines.metrics.keys() == expected.keys()
    for name, values in expected.items():
        assert baselines.metrics[name] == pytest.approx(values, rel=1e-9, nan_ok=True)


@given(
    loss=st.sampled_from(LOSSES),
    cuts=st.lists(st.integers(0, 120), max_size=6),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
def test_batches_and_saving_do_not_change_bits(loss: str, cuts: list[int], weighted: bool, seed: int) -> None:
    y, model = labels_of(loss, 120, seed), model_of(loss)
    h = weights_of(120) if weighted else None
    whole, parts = StreamBaselines(model), StreamBaselines(model)
    whole.count(labeled(model, y, h))
    edges = [0, *sorted(cuts), len(y)]
    for first, last in itertools.pairwise(edges):
        parts.count(labeled(model, y[first:last], None if h is None else h[first:last]))
        parts = StreamBaselines.restore(model, json.loads(json.dumps(parts.state())))
    assert parts.metrics == whole.metrics
    assert parts.state() == whole.state()


def test_it_does_not_matter_when_classes_join() -> None:
    """Rows may be counted when the model already knows classes that appear only in later rows."""
    y = [0, 0, 1, 0, 2, 3, 1, 2, 2]
    early, late = ul.OneVsAll(), ul.OneVsAll()
    at_once, one_by_one = StreamBaselines(early), StreamBaselines(late)
    early.learn(np.ones((len(y), 1)), y)
    for label in y:
        late.learn([[1.0]], [label])
        one_by_one.count(labeled(late, [label]))
    at_once.count(labeled(early, y[:4]))
    known = at_once.state()["running_mean"]["known"]
    at_once.count(labeled(early, y[4:]))
    assert float.fromhex(known["total"]) == 4.0
    assert [float.fromhex(one) for one in known["by_class"]] == [3.0, 1.0]
    assert at_once.metrics == one_by_one.metrics
    assert at_once.state() == one_by_one.state()


def test_before_two_labels_there_is_nothing_to_compare() -> None:
    for loss in LOSSES:
        model = model_of(loss)
        baselines = StreamBaselines(model)
        assert baselines.metrics == {}
        baselines.count(labeled(model, labels_of(loss, 1)))
        assert baselines.metrics == {}
        baselines.count(labeled(model, labels_of(loss, 1)))
        assert set(baselines.metrics) == {REPEAT, MEAN}


def test_repeating_the_last_label() -> None:
    model, y = ul.Learner(), labels_of("squared", 3000)
    weight = weights_of(3000)
    last = LastLabel(model)
    assert last.metrics == {}
    for first, cut in itertools.pairwise([0, 1, 2, 5, 5, 1800, 3000]):
        state = json.loads(json.dumps(last.state()))
        last = LastLabel(model)
        last.restore(state)
        last.count(labeled(model, y[first:cut], weight[first:cut]))
    kept, h = y[weight > 0], weight[weight > 0]
    error = kept[1:] - kept[:-1]
    assert last.metrics["rmse"] == pytest.approx(np.sqrt(np.average(error**2, weights=h[1:])))
    assert last.metrics["mae"] == pytest.approx(np.average(np.abs(error), weights=h[1:]))
    assert last.metrics["mse"] == pytest.approx(last.metrics["rmse"] ** 2)
    spread = np.average((kept[1:] - np.average(kept[1:], weights=h[1:])) ** 2, weights=h[1:])
    assert last.metrics["r2"] == pytest.approx(1 - last.metrics["rmse"] ** 2 / spread)
    for loss in ("classes", "hinge", "logistic"):
        model, y = model_of(loss), labels_of(loss, 3000)
        last = LastLabel(model)
        last.count(labeled(model, y[:1]))
        last.count(labeled(model, y[1:]))
        wrong = np.mean(y[1:] != y[:-1])
        assert last.metrics["accuracy"] == pytest.approx(1 - wrong)
        assert last.metrics["error_rate"] == pytest.approx(wrong)
        assert not {"loss", "log_loss", "brier"} & last.metrics.keys()  # it gives labels, not probabilities


def test_the_mean_counts_with_the_offsets() -> None:
    offset = np.array([0.0, 10.0, -5.0, 3.0])
    number, count = ul.Learner(), ul.Learner(loss="poisson")
    mean = RunningMean(number)
    mean.count(labeled(number, [1.0, 12.0, -3.0, 5.0], None, offset))  # 1, 2, 2, 2 without them
    assert mean.metrics["mae"] == pytest.approx((1 + 0.5 + 1 / 3) / 3)
    rate = RunningMean(count)
    exposure = np.array([1.0, 4.0, 2.0])
    rate.count(labeled(count, [3.0, 8.0, 10.0], None, np.log(exposure)))  # 3 each, then 11/5 each
    assert rate.metrics["mae"] == pytest.approx((4 + 10 - 4.4) / 2)


def test_states_that_cannot_be_are_refused() -> None:
    for loss in LOSSES:
        model = model_of(loss)
        baselines = StreamBaselines(model)
        baselines.count(labeled(model, labels_of(loss, 20)))
        state = baselines.state()
        for name, part in itertools.product(state, ("known", "sums")):
            for junk in (7, "x", [1], {"a": 1}, ["nan"], [(-1.0).hex()] * 7):
                with pytest.raises(ul.ModelFileError, match="state of"):
                    StreamBaselines.restore(model, {**state, name: {**state[name], part: junk}})


# ------------------------------------------------------------------------------------------------- where they are shown


def table(rows: int = 1500) -> pd.DataFrame:
    """Labels that stay constant for long, and a column without information about them."""
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
    assert result.details.stream_baselines is not None
    found = result.details.stream_baselines.metrics
    assert set(found) == {REPEAT, MEAN}
    assert found[REPEAT] == result.last_label_baseline == result.asdict()["last_label_baseline"]
    assert found[MEAN] == result.baseline == result.asdict()["baseline"]
    assert found[REPEAT][by] < result.progressive[by]
    note = next(note for note in result.notes if "the last-label baseline" in note)
    assert "a smaller progressive" in note
    fitted = ul.train(frame, target, model_type="linear")
    assert fitted.details.stream_baselines is None
    assert fitted.last_label_baseline == fitted.asdict()["last_label_baseline"] == {}
    assert not any("baseline" in note for note in fitted.notes)


def test_a_model_that_is_better_is_not_remarked_on() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=2000)}).assign(y=lambda one: 3 * one.x)
    result = ul.train(frame, "y", shuffle=False, model_type="linear")
    assert not any("baseline" in note for note in result.notes)


def test_evaluations_and_comparisons_have_them() -> None:
    frame = table()
    X, y = frame[["x"]].to_numpy(), frame.label.to_numpy() == "odd"
    model = ul.Learner(loss="logistic")
    expected = StreamBaselines(model)
    expected.count(labeled(model, y))
    assert ul.metrics.progressive(ul.Learner(loss="logistic"), X, y).baselines == expected.metrics
    assert ul.metrics.progressive(ul.Learner(loss="logistic"), X[:9], y[:9], delay=2).baselines == {}
    comparison = ul.compare(X, y, rules=["nag", "ng"], shuffle=False, model_type="linear")
    assert comparison.baselines == expected.metrics == comparison.asdict()["baselines"]
    assert "last label" in comparison._repr_html_()
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
    assert resumed.details.stream_baselines is not None
    assert whole.details.stream_baselines is not None
    assert resumed.details.stream_baselines.metrics == whole.details.stream_baselines.metrics
