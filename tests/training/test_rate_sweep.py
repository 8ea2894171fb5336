"""Many rates of several rules in one pass: each loss equals that of training with that rate."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from oracles.rates import PAPER_RATES

import unitless as ul

RNG = np.random.default_rng(6)
X = RNG.normal(size=(2000, 3)) * [1e-3, 1.0, 1e4]
SCORE = X @ [1000.0, 1.0, -1e-4] + 0.3 * RNG.normal(size=len(X))
NUMBER, SIGN = 3 * SCORE + 20, SCORE > 0
CLASS = np.array(["low", "middle", "high"])[np.digitize(SCORE, [-1, 1])]
WEIGHT = RNG.integers(0, 3, len(X)).astype(float)
WEIGHT[0] = 0.0
RATES = [0.05, 0.5, 5.0]


@pytest.mark.parametrize(
    ("y", "options"),
    [
        (NUMBER, {}),
        (NUMBER, {"weight": WEIGHT}),
        (NUMBER, {"loss": "quantile", "quantile": 0.2}),
        (NUMBER, {"center": False, "interactions": 2}),
        (np.round(np.exp(SCORE / 5)), {"loss": "poisson"}),
        (SIGN, {}),
        (SIGN, {"loss": "hinge", "weight": WEIGHT}),
    ],
)
def test_the_loss_of_a_rate_is_that_of_training_with_it(y: Any, options: dict[str, Any]) -> None:
    outcome = ul.sweep(X, y, ["nag", "snag", "ag"], RATES, **options)
    for rule in ("nag", "snag", "ag"):
        for k, rate in enumerate(RATES):
            how = {"rule": rule, "learning_rate": rate, "model_type": "linear", "holdout": 0, "passes": 1, **options}
            trained = ul.train(X, y, ensemble=False, **how)
            alone = trained.progressive
            assert outcome[rule].losses[k] == pytest.approx(trained.details.evaluation.loss, rel=1e-12)
            if y is SIGN:
                assert outcome[rule].errors is not None
                assert outcome[rule].errors[k] == pytest.approx(alone["error_rate"], rel=1e-12)
            elif outcome[rule].rmse is not None:
                assert outcome[rule].rmse[k] == pytest.approx(alone["rmse"], rel=1e-12)


def test_with_classes_it_is_that_of_a_model_that_knew_them_all() -> None:
    outcome = ul.sweep(X, CLASS, ["nag", "snag"], RATES, shuffle=False)
    for rule in ("nag", "snag"):
        for k, rate in enumerate(RATES):
            known = ul.OneVsAll(list(dict.fromkeys(CLASS.tolist())), rule, learning_rate=rate, center=True)
            evaluation = ul.metrics.progressive(known, X, CLASS).evaluation
            alone = evaluation.metrics
            assert outcome[rule].losses[k] == pytest.approx(evaluation.loss, rel=1e-12)
            assert outcome[rule].errors is not None
            assert outcome[rule].errors[k] == pytest.approx(alone["error_rate"], rel=1e-12)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "mappings", "frame"])
@pytest.mark.parametrize("number", [False, True])
def test_classes_are_found_in_any_data_that_can_be_read_twice(kind: str, number: bool, tmp_path: pathlib.Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["y"] = np.digitize(SCORE, [-1, 1]) + 3 if number else CLASS
    path = tmp_path / f"data.{kind}"
    source: Any = str(path)
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        source = frame.to_dict("records") if kind == "mappings" else frame
    outcome = ul.sweep(source, "y", ["nag"], [0.5])
    assert outcome["nag"].sweep.classes == frame["y"].drop_duplicates().tolist()
    assert outcome["nag"].sweep.examples == len(X)


def test_a_stream_of_classes_needs_their_list() -> None:
    def rows(broken: str = "low") -> Iterator[dict[str, Any]]:
        for a, y in zip(X[:, 1].tolist(), CLASS.tolist(), strict=True):
            yield {"a": a, "y": y.replace("low", broken)}

    with pytest.raises(ul.OptionError, match="can be read only once"):
        ul.sweep(rows(), "y", ["nag"], RATES)
    given = list(dict.fromkeys(CLASS.tolist()))
    told = ul.sweep(rows(), "y", ["nag"], RATES, classes=given)
    found = ul.sweep(list(rows()), "y", ["nag"], RATES, shuffle=False)
    assert told["nag"].errors == found["nag"].errors
    with pytest.raises(ul.InputError, match=r"row \d+ is 'lower', which is not one of '\w+', '\w+', '\w+'$"):
        ul.sweep(rows("lower"), "y", ["nag"], RATES, classes=given)


def test_numbers_as_classes_may_be_given_as_text() -> None:
    y = np.digitize(SCORE, [-1, 1])
    assert ul.sweep(X, y, ["nag"], RATES, classes=["0", "1", "2"])["nag"].sweep.classes == [0, 1, 2]
    with pytest.raises(ul.OptionError, match="the target's values are numbers"):
        ul.sweep(X, y, ["nag"], RATES, classes=["a", "b"])


def test_vw_text_with_rows_without_label(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "some.vw"
    rows = [f"{1 + k % 3} | a:{a!r} c{k % 3}" for k, a in enumerate(X[:300, 1].tolist())]
    path.write_text("\n".join([*rows, " | a:1"]))
    outcome = ul.sweep(path, rules=["nag"], rates=[0.5], task="classes")
    assert outcome["nag"].sweep.classes == [1, 2, 3]
    assert outcome.unlabeled == 1
    assert outcome.learned == 300


def test_the_paper_s_grid_by_default_and_rates_in_order() -> None:
    assert ul.sweep(X, SIGN, ["nag"])["nag"].rates == PAPER_RATES
    assert ul.sweep(X, SIGN, ["nag"], [3, 0.1, 1])["nag"].rates == [0.1, 1.0, 3.0]


def test_the_best_rate_and_the_edge() -> None:
    one = ul.sweep(X, NUMBER, ["nag"], [1e-4, 1e-3])["nag"]
    assert (one.best_rate, one.at_edge) == (1e-3, "last")
    one = ul.sweep(X, NUMBER, ["nag"], [1e-3, 0.5, 1e3])["nag"]
    assert (one.best_rate, one.at_edge) == (0.5, None)
    assert one.model.learning_rate == 0.5
    assert ul.sweep(X, NUMBER, ["nag"], [1e-3])["nag"].at_edge is None
    low, high = ul.sweep(X, NUMBER, ["nag"])["nag"].good_rates
    assert 0.01 < low < 1 < high


def test_rates_that_diverged_have_no_loss() -> None:
    counts = np.round(np.exp(SCORE / 5))
    outcome = ul.sweep(X, counts, ["gd", "nag"], [1e-9, 0.1, 1.0], loss="poisson", importance_aware=False)
    assert np.isfinite(outcome["gd"].losses).tolist() == [True, False, False]
    assert outcome["gd"].best_rate == 1e-9
    plain = json.loads(json.dumps(outcome.asdict(), allow_nan=False))
    assert [row["loss"] is None for row in plain["rules"]["gd"]] == [False, True, True]
    outcome.plot()


def test_a_rule_that_diverged_at_all_rates_does_not_stop_the_others() -> None:
    rows = X.copy()
    rows[1500:, 1] *= 1e200
    outcome = ul.sweep(rows, NUMBER, ["gd", "nag"], RATES, shuffle=False)
    assert outcome["gd"].diverged == "row 1501"
    assert outcome["gd"].best_rate is None
    assert outcome["nag"].losses == ul.sweep(rows, NUMBER, ["nag"], RATES, shuffle=False)["nag"].losses
    assert outcome.best == ("nag", outcome["nag"].best_rate)
    assert "gd diverged" in repr(outcome)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rates": []}, "rates is empty"),
        ({"rates": [0.1, -1]}, "must be positive"),
        ({"rates": [1, 1.0]}, "rates has 1 twice"),
        ({"rules": ["adam"]}, "rules has 'adam'"),
        ({"learning_rate": 1}, "give rates instead"),
        ({"passes": 2}, "a sweep has no option 'passes'"),
        ({"loss": "squared", "task": "binary"}, "is for numbers"),
    ],
)
def test_options_that_do_not_fit_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ul.OptionError, match=message):
        ul.sweep(X, SIGN, **options)
