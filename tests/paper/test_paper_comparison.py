"""The comparison of all learners that the paper names: same rows for all, and units that matter or do not."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any

import numpy as np
import pytest

import unitless as ul
from unitless import figures
from unitless.paper.baselines import AROW
from unitless.paper.experiments import comparison, comparison_plot, contenders
from unitless.paper.experiments.comparison import Dataset, Result, compare

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
SCORE = X @ [1.0, -2.0, 0.5, 1.0] + 0.3
BINARY = Dataset("two", X, SCORE > 0, "binary")
CLASSES = Dataset("three", X, np.array(["low", "middle", "high"])[np.digitize(SCORE, [-1, 1])], "classes")
NUMBER = Dataset("number", X, 1000 + 50 * SCORE, "number")


@pytest.fixture(scope="module")
def results() -> dict[tuple[str, str], Result]:
    told: list[str] = []
    found = compare([BINARY, CLASSES, NUMBER], progress=told.append)
    assert len(told) == len(found) == 3 * len(contenders.contenders())
    assert told[0] == "two: nag, auto rate, 600 rows"
    return {(result.dataset, result.rule): result for result in found}


def test_unit_free_learners_do_not_notice(results: dict[tuple[str, str], Result]) -> None:
    unit_free = [result for result in results.values() if result.unit_free and not result.skipped]
    assert len(unit_free) == 10 + 10 + 6
    for result in unit_free:
        assert result.rescaled_loss == pytest.approx(result.raw_loss, rel=1e-6), result
        assert result.rescaled_loss_at_raw_best == pytest.approx(result.raw_loss, rel=1e-6), result
        assert result.rescaled_best == result.raw_best


def test_others_notice(results: dict[tuple[str, str], Result]) -> None:
    others = [result for result in results.values() if not result.unit_free and not result.skipped]
    assert len(others) == 7 + 7 + 3
    for result in others:
        assert {result.rescaled_loss, result.rescaled_loss_at_raw_best} != {result.raw_loss}, result
        assert result.rescaled_loss <= result.rescaled_loss_at_raw_best


@pytest.mark.parametrize("rule", ["gd", "ag"])
@pytest.mark.parametrize("dataset", ["two", "three", "number"])
def test_first_order_learners_lose_however_tuned(
    results: dict[tuple[str, str], Result], dataset: str, rule: str
) -> None:
    result = results[dataset, rule]
    assert result.rescaled_loss > 2 * result.raw_loss


def test_all_learn(results: dict[tuple[str, str], Result]) -> None:
    most = {"two": 0.15, "three": 0.35, "number": 0.02}
    for result in results.values():
        if not result.skipped:
            assert result.raw_loss < most[result.dataset], result


def test_classifiers_are_not_asked_for_numbers(results: dict[tuple[str, str], Result]) -> None:
    skipped = [result for result in results.values() if result.skipped]
    assert {result.rule.removesuffix(", scaled") for result in skipped} == {
        "sop",
        "diagonal sop",
        "arow",
        "diagonal arow",
    }
    assert {(result.dataset, result.skipped) for result in skipped} == {("number", "learns classes, not numbers")}
    assert all(result.raw_loss is None and result.raw_best is None for result in skipped)


def test_the_numbers_are_those_of_the_learners_alone(results: dict[tuple[str, str], Result]) -> None:
    order = np.random.default_rng(0).permutation(len(X))
    rows, y = X[order], BINARY.y[order]
    nag = results["two", "nag"]
    p = ul.Learner("nag", "logistic", nag.raw_best).learn(rows, y)
    assert nag.raw_loss == np.mean((p > 0) != y)
    arow = results["two", "arow"]
    p = AROW(arow.raw_best).run(np.hstack([np.ones((len(rows), 1)), rows]), y)
    assert arow.raw_loss == np.mean((p > 0) != y)
    auto = results["three", "nag, auto rate"]
    m = ul.OneVsAll(["high", "low", "middle"])
    scores = m.learn(rows, CLASSES.y[order])
    assert auto.raw_loss == np.mean(np.array(m.classes)[scores.argmax(axis=1)] != CLASSES.y[order])
    number = results["number", "gd"]
    label = (NUMBER.y[order] - NUMBER.y.min()) / np.ptp(NUMBER.y)
    p = ul.Learner("gd", "squared", number.raw_best).learn(rows, label)
    assert number.raw_loss == pytest.approx(np.mean((np.clip(p, 0, 1) - label) ** 2), rel=1e-12)


def test_results_are_plain(results: dict[tuple[str, str], Result]) -> None:
    plain = results["two", "gd"].asdict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["rows"] == 600
    assert plain["features"] == 4
    assert plain["hyperparameter"] == "learning_rate"


def test_rows_are_limited_for_all_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = ["gd", "vsgd"]
    assert {result.rows for result in compare([BINARY], rows=100, rules=rules)} == {100}
    monkeypatch.setattr(comparison, "MATRIX_WORK", 25 * 3 * 40)
    assert {result.rows for result in compare([CLASSES], rules=rules)} == {40}
    assert {result.rows for result in compare([BINARY], rules=rules)} == {120}


def test_a_learner_whose_numbers_run_away_has_no_finite_loss() -> None:
    rows = contenders.Rows(X, np.where(BINARY.y, 1.0, -1.0), "binary", None)
    p = np.zeros((600, 2))
    p[:, 1] = SCORE
    p[17, 0] = math.nan
    np.testing.assert_array_equal(rows.judge(p), [math.inf, 0.0])


def test_the_picture_shows_every_rule(results: dict[tuple[str, str], Result], tmp_path: pathlib.Path) -> None:
    figure = comparison_plot.plot(list(results.values()))
    assert [panel.get_title() for panel in figure.axes] == [
        "two: 600 rows, 4 features",
        "three: 600 rows, 4 features",
        "number: 600 rows, 4 features",
    ]
    labels = figure.axes[0].get_yticklabels()
    bold = {label.get_text(): label.get_fontweight() == "bold" for label in labels}
    assert bold == {result.rule: result.unit_free for result in results.values()}
    raw = figure.axes[0].get_lines()[2]
    np.testing.assert_allclose(
        raw.get_xdata(), [100 * result.raw_loss for (name, _), result in results.items() if name == "two"]
    )
    assert [text.get_text() for text in figure.axes[2].texts] == ["learns classes, not numbers"] * 8
    for ending in ("png", "svg"):
        figures.save(figure, tmp_path / f"comparison.{ending}")
        assert (tmp_path / f"comparison.{ending}").stat().st_size > 10_000


def test_the_picture_survives_diverged_losses() -> None:
    lost = Result("a", "binary", 10, 2, "gd", False, "learning_rate", 0.1, 1.0, 0.2, 0.1, math.inf)
    panel = comparison_plot.plot([lost]).axes[0]
    assert panel.get_xlim()[1] < 25
    with pytest.raises(ul.OptionError, match="no results"):
        comparison_plot.plot([])


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (Dataset("odd", X[:0], SCORE[:0], "number"), "X of odd has the shape"),
        (Dataset("odd", X, SCORE[:5], "classes"), "5 values, but X has 600 rows"),
        (Dataset("odd", X, SCORE[:5], "number"), "5 values, but X has 600 rows"),
        (Dataset("odd", X, SCORE, "binary"), "must be -1 and 1, or 0 and 1"),
        (Dataset("odd", X, np.ones(600), "number"), "same number everywhere"),
        (Dataset("odd", X, np.ones(600), "classes"), "one class alone"),
    ],
)
def test_data_that_cannot_be_compared_is_named(dataset: Dataset, message: str) -> None:
    with pytest.raises(ul.InputError, match=message):
        compare([dataset])


def test_wrong_options_are_named() -> None:
    odd: Any = "guess"
    with pytest.raises(ul.OptionError, match="the task of odd is 'guess'"):
        compare([Dataset("odd", X, SCORE, odd)])
    with pytest.raises(ul.OptionError, match="no rule 'adam'"):
        compare([BINARY], rules=["adam"])
    with pytest.raises(ul.OptionError, match="rows is 0"):
        compare([BINARY], rows=0)
