"""The contest: its tables, its losses, its ranks, and the command that holds it."""

from __future__ import annotations

import csv
import io
import json
import math
import pathlib
import re
import sys
from typing import Any

import numpy as np
import pytest

from unitless.cli import main
from unitless.errors import DatasetError
from unitless.metrics.intervals import chernoff_interval
from unitless.paper import contest
from unitless.paper.contest import holding, learners, ranking, results, scale_lines
from unitless.paper.contest.best_linear import best_linear_loss
from unitless.paper.contest.judge import CERTAIN, judge
from unitless.paper.contest.learners import OURS, contestants
from unitless.paper.contest.results import Result
from unitless.paper.contest.sources import TABLES, packages
from unitless.paper.contest.sources.packages import HOMES
from unitless.paper.contest.table import MOST_ROWS, MOST_WORK, Rows, Table, csv_columns, lagged, matrix
from unitless.paper.experiments.lab import Lab

FEW = ("unitless", "NAG", "GD", "ScInOL₂", "vSGD")


def few() -> list[learners.Contestant]:
    return [one for one in contestants() if one.name in FEW]


def rows(task: Any, n: int = 200) -> Rows:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    score = X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=n)
    y = {"regression": score, "binary": (score > 0) * 1.0, "classes": np.digitize(score, [-1, 1]) * 1.0}[task]
    return Rows(X, y, task)


# -------------------------------------------------------------------------------------------------------- tables


def test_there_are_enough_tables_and_each_has_its_own_name() -> None:
    names = [table.name for table in TABLES]
    assert len(set(names)) == len(names)
    assert sum(table.source == "paper" for table in TABLES) == 6
    assert len(names) - 6 >= 30


@pytest.mark.parametrize(
    "table", [one for one in TABLES if one.source in ("synthetic", *HOMES)], ids=lambda one: one.name
)
def test_every_table_that_needs_no_directory_can_be_learned(table: Table) -> None:
    if table.source != "synthetic":
        pytest.importorskip(HOMES[table.source][0])
    found = table.rows(None)
    again = table.rows(None)
    np.testing.assert_array_equal(found.X, again.X)
    np.testing.assert_array_equal(found.y, again.y)
    assert found.task == table.task
    assert len(found.y) == len(found.X) <= MOST_ROWS
    assert found.X.size * found.classes <= MOST_WORK
    assert np.isfinite(found.X).all()
    assert np.isfinite(found.y).all()
    if found.task != "regression":
        classes = np.unique(found.y)
        np.testing.assert_array_equal(classes, np.arange(len(classes)))


@pytest.mark.parametrize("source", HOMES)
def test_the_extra_paper_installs_every_package_that_has_tables(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project = pathlib.Path(__file__).parents[2] / "pyproject.toml"
    if not project.exists():
        pytest.skip("only the repository has the project's file")
    extra = re.search(r"^paper = \[(.*?)^\]", project.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert extra is not None
    assert f'"{source.lower()}>=' in extra[1]
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DatasetError, match=re.escape("pip install 'unitless[paper]'")):
        next(table for table in TABLES if table.source == source).rows(None)


def test_synthetic_scales_go_from_a_millionth_of_a_millionth_up() -> None:
    largest = np.concatenate([np.abs(one.rows(None).X).max(axis=0) for one in TABLES if one.source == "synthetic"])
    assert largest.min() < 1e-10
    assert largest.max() > 1e12


def test_a_table_that_is_not_there_is_named_with_the_reason(tmp_path: pathlib.Path) -> None:
    raw = [table for table in TABLES if table.source == "raw file"]
    lab = Lab(data=tmp_path, keep=False)
    found, missing = results.results(lab, raw, few()[:1])
    assert found == []
    assert [one.table for one in missing] == [table.name for table in raw]
    assert "no file" in missing[0].why
    with pytest.raises(DatasetError, match="--data or UNITLESS_DATA"):
        raw[0].read(None)


def test_files_are_read_with_texts_as_indicators_and_gaps_as_nan(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.csv").write_text("x,kind,y\n1,b,2\nNA,a,3\n-2.5,b,\n")
    columns = csv_columns(tmp_path / "a.csv")
    np.testing.assert_array_equal(columns["x"], [1, np.nan, -2.5])
    np.testing.assert_array_equal(
        matrix(columns, {"y"}),
        [[1, 0, 1], [np.nan, 1, 0], [-2.5, 0, 1]],  # x, kind=a, kind=b
    )
    X, y = lagged([1, 2, 3, np.nan, 5, 6, 7], 2)
    np.testing.assert_array_equal(X, [[2, 1], [6, 5]])
    np.testing.assert_array_equal(y, [3, 7])


# -------------------------------------------------------------------------------------------------------- losses


def test_losses_are_log_loss_and_squared_error_over_the_squared_range() -> None:
    binary = Rows(np.zeros((2, 1)), np.array([1.0, 0.0]), "binary")
    judged = judge(binary, np.array([[0.0, 2.0], [0.0, 2.0]]))
    assert judged.losses[0] == pytest.approx(math.log(2))
    assert judged.losses[1] == pytest.approx((math.log1p(math.exp(-2)) + math.log1p(math.exp(2))) / 2)
    np.testing.assert_array_equal(judged.errors, [0.5, 0.5])
    number = Rows(np.zeros((3, 1)), np.array([0.0, 10.0, 5.0]), "regression")
    assert judge(number, np.array([[99.0], [99.0], [0.0]])).losses[0] == pytest.approx((0 + 0.25) / 2)  # not the first
    classes = Rows(np.zeros((1, 1)), np.array([1.0]), "classes")
    odds = np.array([[[0.0, math.log(3), -CERTAIN - 5]]])  # ½, ¾ and a millionth
    assert judge(classes, odds).losses[0] == pytest.approx(-math.log(0.75 / (1.25 + 1e-6)), rel=1e-5)
    assert judge(classes, odds).errors[0] == 0


def test_a_learner_that_diverged_pays_the_most_from_then_on() -> None:
    binary = Rows(np.zeros((4, 1)), np.ones(4), "binary")
    judged = judge(binary, np.array([[0.0], [np.nan], [50.0], [0.0]]))
    assert judged.losses[0] == pytest.approx((math.log(2) + 3 * CERTAIN) / 4)
    assert judged.errors[0] == 1.0
    number = Rows(np.zeros((3, 1)), np.array([0.0, 1.0, 0.0]), "regression")
    assert judge(number, np.array([[0.0], [np.nan], [0.0]])).losses[0] == 1.0


@pytest.mark.parametrize("task", ["regression", "binary", "classes"])
def test_the_best_linear_predictor_is_that_of_a_solver_in_any_unit(task: Any) -> None:
    data = rows(task)
    best = best_linear_loss(data)
    assert best_linear_loss(Rows(data.X * [1e-9, 1.0, 1e9] + [0.0, 1.0, -1e9], data.y, task)) == pytest.approx(
        best, rel=1e-5
    )
    Z = np.hstack([np.ones((len(data.X), 1)), data.X])
    if task == "regression":
        w = np.linalg.lstsq(Z, data.y, rcond=None)[0]
        assert best == pytest.approx(np.mean((Z @ w - data.y)[1:] ** 2) / np.ptp(data.y) ** 2)
    elif task == "binary":
        scipy_optimize = pytest.importorskip("scipy.optimize")
        y = 2 * data.y - 1
        found = scipy_optimize.minimize(lambda w: np.logaddexp(0, -y * (Z @ w)).mean(), np.zeros(4), tol=1e-12)
        assert best == pytest.approx(found.fun, abs=1e-6)


# --------------------------------------------------------------------------------------------------------- learners


def test_every_learner_learns_every_task_and_its_default_is_in_its_grid() -> None:
    names = [one.name for one in contestants()]
    assert len(set(names)) == len(names)
    assert names[0] == holding.DEFAULT == next(iter(OURS))
    constant = {"regression": 0.05, "binary": 0.68, "classes": 1.0}
    for one in contestants():
        assert (one.default is None) == (not one.grid)
        for task in ("regression", "binary", "classes"):
            data = rows(task)
            scores = one.scores(data, one.grid)
            assert scores.shape == (200, max(1, len(one.grid)), *((3,) if task == "classes" else ()))
            alone = one.untuned(data)[:, 0]
            np.testing.assert_allclose(scores[:, one.default_place], alone, rtol=1e-9, atol=1e-12)
            assert judge(data, scores).losses.min() < constant[task], (one.name, task)


@pytest.mark.parametrize("separable", [False, True])
def test_the_best_linear_predictor_of_classes_is_softmax_regression(separable: bool) -> None:
    """A class between two others is no problem for softmax, but is one for a logistic regression against the others."""
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    y = np.digitize(X[:, 0] + (0 if separable else 0.5) * rng.normal(size=200), [-0.5, 0.5]) * 1.0
    best = best_linear_loss(Rows(X, y, "classes"))
    if separable:
        assert best < 1e-4  # as much as the penalty leaves
        return
    Z = np.hstack([np.ones((200, 1)), X])

    def loss(w: np.ndarray) -> float:
        scores = Z @ w.reshape(3, 3).T
        chosen = scores[np.arange(200), y.astype(int)]
        return float(np.mean(np.logaddexp.reduce(scores, axis=1) - chosen))

    assert best == pytest.approx(optimize.minimize(loss, np.zeros(9), method="BFGS").fun, rel=1e-5)


def test_lines_of_unit_free_learners_are_flat_to_the_last_bit() -> None:
    lab = Lab(keep=False, comparison_rows=100)
    drawn = scale_lines.lines(lab, contestants())
    exact = {one.name: "units" in one.exact for one in contestants()}
    for line in drawn:
        assert line.flat == exact[line.learner], line.learner
        assert len(line.losses) == len(line.tuned_losses) == len(scale_lines.EXPONENTS)
        assert all(tuned <= loss for tuned, loss in zip(line.tuned_losses, line.losses, strict=True))


# ---------------------------------------------------------------------------------------------------------- ranking


def result(table: str, learner: str, loss: float, error: float | None = None) -> Result:
    error = loss if error is None else error
    return Result(table, "synthetic", "binary", 1000, 2, learner, loss, error, loss / 2, 1.0, 0.1, 0.0)


def test_ranks_geometric_means_and_significance() -> None:
    found = [
        result("a", "ours", 0.1), result("a", "theirs", 0.2), result("a", "same", 0.1),
        result("b", "ours", 0.4), result("b", "theirs", 0.1), result("b", "same", 0.4),
        result("c", "ours", 0.1), result("c", "theirs", 0.1005), result("c", "same", 0.1),
    ]  # fmt: skip
    ranked = {one.learner: one for one in ranking.standings(found, {"ours": 1.0, "theirs": 2.0, "same": 3.0})}
    assert ranked["ours"].rank == pytest.approx((1.5 + 2.5 + 1.5) / 3)
    assert ranked["theirs"].relative == pytest.approx((2 * 1 * 1.005) ** (1 / 3), rel=1e-6)
    assert ranked["ours"].relative == pytest.approx(4 ** (1 / 3), rel=1e-6)
    assert ranked["theirs"].tuned_relative == pytest.approx((2 * 1.005) ** (1 / 3) / 2, rel=1e-6)
    assert (ranked["theirs"].better, ranked["theirs"].worse) == (1, 1)
    assert chernoff_interval(0.1, 1000)[1] < chernoff_interval(0.2, 1000)[0]
    assert ranked["ours"].best == pytest.approx(2 / 3)
    assert ranked["theirs"].best == pytest.approx(2 / 3)  # also where it is within 1%
    assert ranked["theirs"].regret == pytest.approx(0.0005)
    np.testing.assert_allclose(ranking.relative_to(found, "ours", ["theirs", "same"]), [1, 4, 1], rtol=1e-6)


def test_the_critical_difference_is_that_of_the_tables_of_nemenyi() -> None:
    """q at 5% from Demšar (2006), Table 5: 1.960 for 2 and 3.164 for 10 learners."""
    assert ranking.critical_difference(2, 6) == pytest.approx(1.960 * math.sqrt(2 * 3 / 36), rel=1e-3)
    assert ranking.critical_difference(10, 30) == pytest.approx(3.164 * math.sqrt(10 * 11 / 180), rel=1e-3)


def test_the_goal_is_judged_against_rivals_without_tuning() -> None:
    found = [result(table, one.name, 0.1 if one.kind == "ours" else 0.2) for table in "ab" for one in few()]
    goal = holding.goal(found, few())
    assert goal["reached"] is True
    assert goal["relative_to_best_rival"] == pytest.approx(0.5, rel=1e-6)
    assert goal["best_or_within_1%_of_tuned"] == 1.0
    worse = [result(table, one.name, 0.2 if one.kind == "ours" else 0.1) for table in "ab" for one in few()]
    assert holding.goal(worse, few())["reached"] is False


def test_results_are_stored_under_every_file_that_they_come_from() -> None:
    """A profiler sees which files of the package run; each of them is a part of the name of a stored result."""
    home = results.PACKAGE
    ran: set[pathlib.Path] = set()

    def seen(frame: Any, event: str, argument: object) -> None:
        if event == "call" and (path := pathlib.Path(frame.f_code.co_filename)).is_relative_to(home):
            ran.add(path)

    everyone = contestants()
    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        for task in ("regression", "binary", "classes"):
            data = rows(task, 20)
            best_linear_loss(data)
            for one in everyone:
                results._losses(data, one)
        for one in everyone[:1]:
            scale_lines._line("binary", one, 20)
    finally:
        sys.setprofile(before)
    named = set(results.program_files())
    assert len(ran) > 15
    assert {path for path in ran if path not in named and path.parent != home / "paper" / "baselines"} == set()
    assert home / "training" / "defaults.py" in named
    assert home / "rules.py" in named  # only data, which no profiler sees


def test_a_result_is_computed_again_when_a_file_it_comes_from_changed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, computed = Lab(cache=tmp_path), []
    defaults = tmp_path / "training" / "defaults.py"
    defaults.parent.mkdir()
    monkeypatch.setattr(results, "PACKAGE", tmp_path)
    for content in ("WIDE = 1000", "WIDE = 1000", "WIDE = 999"):
        defaults.write_text(content)
        results._program.cache_clear()
        results.kept(lab.kept, {"table": "a"}, lambda: computed.append(1))
    results._program.cache_clear()
    assert len(computed) == 2


def test_the_file_of_results_has_a_line_for_each_table_and_learner() -> None:
    found = [result("a", "ours", 0.1), result("a", "theirs, scaled", 0.2), result("b", "ours", 1 / 3)]
    lines = list(csv.DictReader(io.StringIO(holding.as_csv(found))))
    assert [(one["table"], one["learner"], one["loss"]) for one in lines] == [
        ("a", "ours", "0.1"), ("a", "theirs, scaled", "0.2"), ("b", "ours", "0.333333"),
    ]  # fmt: skip
    assert "seconds" not in lines[0]
    tables, names, ratios = ranking.relative_losses(found[:2], ["theirs, scaled", "ours"])
    assert (tables, names) == (["a"], ["theirs, scaled", "ours"])
    np.testing.assert_allclose(ratios, [[2, 1]], rtol=1e-6)


# ---------------------------------------------------------------------------------------------------------- command


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--datasets", "shuttle"], "no --datasets: it uses all tables"),
        (["--shuffles", "3"], "no --shuffles: it learns each table once"),
        (["--rows", "5001"], "at most 5000 rows"),
    ],
)
def test_an_option_that_the_contest_does_not_have_is_refused(
    option: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["paper", "contest", *option]) == 2
    assert words in capsys.readouterr().err


def test_the_command_writes_a_report_and_continues_where_it_stopped(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    some = [table for table in TABLES if table.name in ("normal, number", "normal, quarters", "Beijing air")]
    monkeypatch.setattr(holding, "TABLES", some)
    monkeypatch.setattr(holding, "contestants", few)
    monkeypatch.setattr(scale_lines, "ROWS", 60)
    monkeypatch.setenv("UNITLESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNITLESS_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    computed: list[str] = []
    losses = results._losses

    def counted(data: Rows, learner: learners.Contestant) -> dict[str, Any]:
        computed.append(learner.name)
        if len(computed) == 3 and not (tmp_path / "contest" / "index.html").exists():
            raise KeyboardInterrupt
        return losses(data, learner)

    monkeypatch.setattr(results, "_losses", counted)
    loaded: list[Lab] = []

    def load(lab: Lab) -> list[Any]:
        loaded.append(lab)
        return []

    monkeypatch.setattr(Lab, "loaded", load)
    assert main(["paper", "contest", "--rows", "150", "--quiet", "--download"]) == 130
    assert len(loaded) == 1  # which downloads the paper's datasets
    capsys.readouterr()
    assert main(["paper", "contest", "--rows", "150", "--quiet", "--json"]) == 0
    assert len(computed) == 3 + 2 * len(few()) - 2
    found = json.loads(capsys.readouterr().out)
    assert {one["table"] for one in found["results"]} == {"normal, number", "normal, quarters"}
    assert list(found["missing"]) == ["Beijing air"]
    assert {one["learner"] for one in found["standings"]} == set(FEW)
    folder = tmp_path / "contest"
    page = (folder / "report.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {contest.TITLE}")
    assert "seeds" not in page
    assert (folder / "contest-results.csv").read_text(encoding="utf-8").count("\n") == 1 + 2 * len(FEW)
    computing = found["cpu_seconds"]
    assert main(["paper", "contest", "--rows", "150", "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cpu_seconds"] == computing > 0  # when they were computed
    assert "over the least of the table" in page
    assert main(["paper", "contest", "--rows", "150", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "Standings" in printed
    assert "over the least of the table" not in printed  # too wide for a terminal
    for name in ("contest-means", "contest-ranks", "contest-tables", "contest-scales", "contest-figure1"):
        assert f"({name}.svg)" in page
        assert (folder / f"{name}.png").stat().st_size > 10_000
