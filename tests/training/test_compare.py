"""Several learners over one reading: each is what it would have been alone."""

from __future__ import annotations

import json
import os
import pathlib
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import unitless as ul

SHUTTLE = str(pathlib.Path(ul.__file__).parent / "paper" / "datasets" / "shuttle.parquet")
RNG = np.random.default_rng(5)
X = RNG.normal(size=(3000, 4)) * [1e-3, 1.0, 50.0, 1e4]
SCORE = X @ [1000.0, 1.0, 0.02, -1e-4] + 0.3 * RNG.normal(size=len(X))
TARGETS = {
    "binary": SCORE > 0,
    "regression": 3 * SCORE + 20,
    "classes": np.array(["low", "middle", "high"])[np.digitize(SCORE, [-1, 1])],
}


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("rate", ["auto", 0.3])
def test_each_learner_is_what_it_would_have_been_alone(task: str, rate: Any) -> None:
    y = TARGETS[task]
    comparison = ul.compare(X, y, learning_rate=rate)
    assert sorted(comparison.learners) == ["ag", "gd", "nag", "ng", "snag"]
    for rule in comparison.learners:
        alone = ul.train(X, y, rule=rule, learning_rate=rate, passes=1, holdout=0, ensemble=False)
        assert comparison[rule].metrics == alone.progressive
        assert comparison[rule].metrics_ci == alone.metrics_ci == alone.details.evaluation.interval
        assert comparison[rule].loss == alone.details.evaluation.loss
        assert comparison[rule].learning_rate == alone.model.learning_rate
        assert comparison[rule].result.details.history == alone.details.history


def test_hold_out_passes_and_skipped_rows_are_as_in_training(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "some.csv"
    lines = [
        f"{a!r},{b!r},{'' if k % 7 == 0 else 'inf' if k % 7 == 1 else f'{y!r}'}"
        for k, (a, b, y) in enumerate(_plain_rows())
    ]
    path.write_text("\n".join(["a,b,y", *lines]))
    options: dict[str, Any] = {"holdout": 0.3, "passes": 2, "reading": ul.Reading(on_error="skip"), "random_state": 3}
    comparison = ul.compare(path, "y", ["nag", "gd"], **options)
    for rule in ("nag", "gd"):
        alone = ul.train(path, "y", rule=rule, learn_holdout=False, average=False, ensemble=False, **options)
        one = comparison[rule].result
        assert (one.progressive, one.metrics) == (alone.progressive, alone.metrics)
        assert (comparison[rule].metrics, comparison[rule].holdout) == (alone.progressive, alone.metrics)
        assert (one.rows, one.passes) == (alone.rows, alone.passes)
        counts = ("learned", "skipped", "unlabeled", "held_out", "skipped_rows")
        assert [getattr(one.details, name) for name in counts] == [getattr(alone.details, name) for name in counts]
        assert one.details.skipped > 0
        assert one.details.unlabeled > 0


def _plain_rows() -> list[tuple[float, float, float]]:
    return [(float(a), float(b), float(y)) for (a, b), y in zip(X[:500, :2], TARGETS["regression"], strict=False)]


def test_vw_text_is_given_to_all(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "some.vw"
    rows = (f"{'1' if y > 25 else '-1'} | a:{a!r} b:{b!r}" for a, b, y in _plain_rows())
    path.write_text("\n".join([*rows, " | a:1"]))
    comparison = ul.compare(path, rules=["nag", "snag"])
    assert comparison["snag"].metrics == ul.train(path, rule="snag", passes=1, holdout=0, ensemble=False).progressive
    assert comparison.whole.details.unlabeled == 1


def test_a_stream_that_comes_once_is_enough() -> None:
    def rows() -> Iterator[dict[str, Any]]:
        for k in range(6000):
            yield {"age": 20 + k % 50, "job": "clerk" if k % 3 else "pilot", "rich": "no" if k % 3 else "yes"}

    comparison = ul.compare(rows(), "rich", ["nag", "ag"])
    assert comparison.whole.rows == 6000
    assert comparison["nag"].metrics == ul.train(rows(), "rich", ensemble=False).progressive


def wild() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rows = X.copy()
    rows[2000:, 1] *= 1e200
    return rows, TARGETS["regression"]


def test_a_learner_that_diverges_does_not_stop_the_others() -> None:
    rows, y = wild()
    comparison = ul.compare(rows, y, ["gd", "nag"], shuffle=False)
    assert comparison["gd"].diverged == "row 2001"
    assert comparison.verdicts == {"nag": "best", "gd": "diverged"}
    assert comparison["nag"].metrics == ul.train(rows, y, shuffle=False, ensemble=False).progressive
    assert comparison.whole.rows == len(rows)
    plain = comparison.asdict()
    assert [one["metrics"] is None for one in plain["learners"]] == [False, True]
    assert "gd diverged" in repr(comparison)


def test_the_way_before_it_diverged_is_kept() -> None:
    rows = [{"x": float(x), "y": float(2 * x)} for x in RNG.normal(size=5000)]
    rows[4500]["x"] = 1e250
    comparison = ul.compare(rows, "y", ["gd", "nag"], shuffle=False)
    assert comparison["gd"].diverged == "row 4501"
    assert comparison["gd"].result.details.evaluation.examples == 4095  # the first row has no prediction to be scored
    assert comparison["gd"].curve[-1].examples == 4095
    comparison.plot()


def test_reading_stops_when_all_have_diverged() -> None:
    given = 0

    def rows() -> Iterator[dict[str, float]]:
        nonlocal given
        for _ in range(200_000):
            given += 1
            yield {"x": 1e250 if given > 10 else float(given), "y": float(given % 7) + 0.5}

    comparison = ul.compare(rows(), "y", ["gd", "ag"])
    assert comparison.best is None
    assert set(comparison.verdicts.values()) == {"diverged"}
    assert given < 100_000
    json.dumps(comparison.asdict(), allow_nan=False)
    comparison.plot()


def test_an_interrupt_keeps_the_rows_learned_before() -> None:
    rows = [{"x": float(x), "y": float(2 * x)} for x in RNG.normal(size=20_000)]
    stop = lambda runs: os.kill(os.getpid(), signal.SIGINT)  # noqa: E731
    comparison = ul.compare(rows, "y", ["gd", "nag"], progress=stop, shuffle=False)
    assert comparison.interrupted
    assert comparison.whole.rows == 4096
    assert comparison["nag"].metrics == ul.train(rows[:4096], "y", shuffle=False, ensemble=False).progressive


@pytest.mark.parametrize("judge", ["error_rate", "loss"])
def test_the_best_has_the_least_of_what_it_is_judged_by(judge: str) -> None:
    comparison = ul.compare(X, TARGETS["binary"], judged_by=judge)
    scores = [comparison[rule].judged(judge) for rule in comparison.ranked]
    assert scores == sorted(scores)
    assert comparison.judged_by == judge
    assert list(comparison.differences) == comparison.ranked[1:]
    for rule, difference in comparison.differences.items():
        assert difference.mean == pytest.approx(comparison[rule].judged(judge) - scores[0])
        assert difference.low <= difference.mean <= difference.high
        found = "clearly worse" if difference.low > 0 else "no difference found"
        assert comparison.verdicts[rule] == found


def test_a_difference_that_the_intervals_of_both_hide_is_found() -> None:
    """The rows are the same, and so are most errors: they cancel."""
    comparison = ul.compare(SHUTTLE, "label", ["nag", "ag"], positive="1", model_type="linear")
    assert comparison.verdicts == {"ag": "best", "nag": "clearly worse"}
    assert comparison["ag"].metrics_ci[1] > comparison["nag"].metrics_ci[0]


def test_learners_that_are_the_same_show_no_difference() -> None:
    comparison = ul.compare(np.zeros((500, 1)), RNG.random(500) < 0.3, ["nag", "ng"], 0.1, bias=False)
    assert comparison["nag"].metrics == comparison["ng"].metrics
    other = comparison.ranked[1]
    assert comparison.verdicts[other] == "no difference found"
    assert comparison.differences[other].mean == 0
    assert comparison.asdict()["no_difference_found_to"] == [other]


def test_numbers_are_judged_by_their_loss() -> None:
    comparison = ul.compare(X, TARGETS["regression"], ["nag", "gd"], loss="quantile", quantile=0.8)
    assert comparison.judged_by == "loss"
    assert comparison.verdicts == {"nag": "best", "gd": "clearly worse"}
    with pytest.raises(ul.OptionError, match="numbers are judged by 'loss'"):
        ul.compare(X, TARGETS["regression"], ["nag", "gd"], judged_by="error_rate")


def test_a_few_rows_decide_nothing() -> None:
    comparison = ul.compare(X[:9], TARGETS["binary"][:9], ["nag", "gd"], 0.5)
    assert set(comparison.verdicts.values()) == {"best", "no difference found"}
    json.dumps(comparison.asdict(), allow_nan=False)


def test_further_passes_do_not_count_twice() -> None:
    once, twice = (ul.compare(X, TARGETS["binary"], ["nag", "gd"], passes=passes) for passes in (1, 2))
    assert once.differences == twice.differences


def test_recent_loss_is_of_the_last_stretch() -> None:
    y = np.abs(TARGETS["regression"])
    for rows, since in ((2048, 1024), (2049, 2048), (1, 0)):
        one = ul.compare(X[:rows], y[:rows], ["nag"], loss="poisson", shuffle=False)["nag"]
        total = {
            n: ul.train(X[:n], y[:n], loss="poisson", shuffle=False).progressive["loss"] * n if n else 0.0
            for n in (since, rows)
        }
        assert one.recent[0] == since
        assert one.recent[1] == pytest.approx((total[rows] - total[since]) / (rows - since), rel=1e-6)


def test_all_of_it_is_json() -> None:
    plain = json.loads(json.dumps(ul.compare(X, TARGETS["classes"], ["nag", "gd"]).asdict(), allow_nan=False))
    assert {one["rule"] for one in plain["learners"]} == {"nag", "gd"}
    assert plain["rows"] == len(X)
    assert plain["best"] == plain["learners"][0]["rule"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": []}, "rules is empty"),
        ({"rules": ["nag", "sgd"]}, "rules has 'sgd'; there are 'nag', 'snag', 'ng', 'ag', 'gd'"),
        ({"rules": ["nag", "nag"]}, "'nag' twice"),
        ({"rule": "nag"}, "give rules instead"),
        ({"output": "x"}, "it is an option of train"),
        ({"centering": True}, "did you mean 'center'"),
        ({"learning_rate": -1}, "must be positive"),
        ({"passes": 0}, "passes is 0"),
        ({"judged_by": "auc"}, "judged_by is 'auc'; it must be one of 'error_rate', 'loss'"),
    ],
)
def test_options_that_do_not_fit_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ul.OptionError, match=message):
        ul.compare(X, TARGETS["binary"], **options)


def test_bad_rows_are_an_error_with_their_place() -> None:
    rows = X.copy()
    rows[70, 2] = np.inf
    with pytest.raises(ul.InputError, match="row 71"):
        ul.compare(rows, TARGETS["binary"])
    with pytest.raises(ul.InputError, match="no rows to learn from"):
        ul.compare(iter([]), "y")
