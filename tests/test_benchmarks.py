"""The benchmark runs and writes all of its files. Times are not tested, because machines differ."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PEERS = ("vowpalwabbit", "river", "sklearn", "scipy", "pandas", "pyarrow", "matplotlib")
MARK = re.compile(r"<!-- results: ([\w ]+) -->")


def _pages_of_benchmarks() -> str:
    pages = sorted((ROOT / "docs" / "internals").glob("benchmark*.md"))
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    missing = [name for name in PEERS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("results")
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "named", "predict"]
    done = subprocess.run(
        [*command, "--quick", "--rounds", "1", "--results", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "\r" not in done.stderr
    assert "reached" in done.stdout
    return folder


def test_a_quick_run_keeps_every_round_loss_and_memory(results: pathlib.Path) -> None:
    kept = json.loads((results / "benchmarks.json").read_text())
    assert [one["name"] for one in kept["workloads"]] == ["named", "predict"]
    for workload in kept["workloads"]:
        for contender in workload["contenders"]:
            assert len(contender["seconds"]) == 1
            assert contender["best_ns_a_row"] > 0
            assert contender["peak_mb"] >= 0
            assert (contender["loss"] is not None) == (workload["name"] == "named")
    assert {goal["workload"] for goal in kept["goals"]} == {"named", "predict"}
    assert kept["machine"]["versions"]["vowpalwabbit"]


def test_a_quick_run_writes_tables_and_a_picture(results: pathlib.Path) -> None:
    text = (results / "benchmarks.md").read_text()
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    assert len(tables) == 3  # the goals and two workloads
    for table in tables:
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(columns) == 1
    assert (results / "benchmarks.png").stat().st_size > 10_000


def test_results_fill_the_marked_blocks_of_pages_and_nothing_else(
    results: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    pages, report = importlib.import_module("pages"), importlib.import_module("report")
    parts = report.page(json.loads((results / "benchmarks.json").read_text()))
    before = "a\n<!-- results: workload named -->\nold\n<!-- end of results -->\nb\n"
    kept = "".join(f"<!-- results: {name} -->\nkept\n<!-- end of results -->\n" for name in ("goals", "scaling"))
    after = pages.filled(before + kept, parts)
    assert "old" not in after
    assert parts["workload named"] in after
    assert kept in after  # this run has no scaling, and not all goals
    assert pages.filled(after, parts) == after


def test_every_mark_on_the_pages_names_a_part_of_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    names = {f"workload {name}" for name in importlib.import_module("workloads").ALL} | {"machine", "goals"}
    names |= set(importlib.import_module("report").STUDIES)
    names |= {
        "fitting",
        "model types",
        *(f"model types {kind}" for kind in ("river", "fitted", "speed")),
    }  # by other scripts
    marks = MARK.findall(_pages_of_benchmarks())
    assert sorted(marks) == sorted(names)


def test_the_fitting_benchmark_scores_noise_sorted_by_class_as_noise() -> None:
    pytest.importorskip("pandas")
    environment = {name: value for name, value in os.environ.items() if name != "UNITLESS_DATA"}
    command = [sys.executable, str(ROOT / "benchmarks" / "fitting.py")]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=120)
    assert "noise, sorted" in run.stdout
    assert "more than 10% and its interval worse than reported: none" in run.stdout


def test_the_benchmark_of_model_types_reports_missing_ones_and_continues() -> None:
    pytest.importorskip("pandas")
    command = [sys.executable, str(ROOT / "benchmarks" / "model_types.py"), "--speed", "--rows", "500", "--rounds", "1"]
    run = subprocess.run(
        [*command, "--model-types", "linear", "dodecahedra"], capture_output=True, text=True, check=True
    )
    assert "'dodecahedra' is not available" in run.stderr
    assert "| regression, 54 columns |" in run.stdout


def test_peers_are_scored_as_we_are_and_their_scores_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    pytest.importorskip("pandas")
    np = pytest.importorskip("numpy")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    peers, tables = (importlib.import_module(name) for name in ("model_type_peers", "model_type_tables"))
    rows = tables.Rows("made up", "file", np.arange(6.0)[:, None], np.array([9.0, 0, 1, 2, 3, 4]))
    calls = []

    def last_label(rows: object) -> object:
        calls.append(1)
        return np.array([0.0, 9, 0, 1, 2, 3])

    monkeypatch.setitem(peers.PEERS, "last label", ("pytest", last_label))
    cache = peers.Cache(tmp_path / "peers.json")
    assert cache.score("last label", rows, make=False) is None
    for _ in range(2):
        assert cache.score("last label", rows)["loss"] == pytest.approx((81 + 4) / 5 / 81)  # without the first row
    assert len(calls) == 1
    assert cache.score("last label", rows.first(3), make=False) is None


def test_the_picture_of_the_page_is_drawn_from_the_numbers_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    report, workloads = (importlib.import_module(name) for name in ("report", "workloads"))
    published = json.loads((ROOT / "benchmarks" / "published.json").read_text(encoding="utf-8"))
    names = [one["name"] for one in published]
    assert names == [name for name in workloads.ALL if name in names]
    page = _pages_of_benchmarks()
    for workload in published:
        block = page.partition(f"<!-- results: workload {workload['name']} -->")[2].partition("<!-- end")[0]
        rows = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in block.split("---:|\n")[1].strip().splitlines()]
        assert [(row[0].replace("\\|", "|"), row[1]) for row in rows] == [
            (one["name"], report.nanoseconds(one["best_ns_a_row"])) for one in workload["contenders"]
        ]


def test_every_goal_names_contenders_that_there_are(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    data, goals, threads, workloads = (
        importlib.import_module(name) for name in ("data", "goals", "threads", "workloads")
    )
    for name in ("large.vw", "large.csv", "large.parquet"):
        (tmp_path / name).touch()
        (tmp_path / f"{name}.rows").write_text("1")
    store = data.Store(tmp_path, data.Size.quick())
    tasks = [one.name for task in threads.ALL for one in task.contenders(store, [1, 2])]
    assert len(set(tasks)) == len(tasks)
    for goal in goals.ALL:
        known = goal.workload != "threads" and workloads.ALL[goal.workload].contenders(store)
        names = [one.name for one in known] if known else tasks
        assert goal.ours in names
        assert goal.other in names


def test_threads_are_measured_by_powers_of_two_and_with_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    counts = importlib.import_module("threads").counts
    assert [counts(cores) for cores in (1, 2, 6, 16)] == [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8, 16]]


@pytest.fixture
def tiny_build(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Any:
    """A version of "unitless" that needs no compiler: it only prints its location."""
    pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    builds = importlib.import_module("builds")
    source = tmp_path / "source"
    (source / "unitless").mkdir(parents=True)
    (source / "unitless" / "__init__.py").write_text("OLD = True\n")
    (source / "pyproject.toml").write_text(
        "[build-system]\nrequires = ['scikit-build-core']\nbuild-backend = 'scikit_build_core.build'\n"
        "[project]\nname = 'unitless'\nversion = '0'\n"
        "[tool.scikit-build]\nwheel.cmake = false\nwheel.packages = ['unitless']\n"
    )
    git = ["git", "-C", str(source), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a version"]):
        subprocess.run([*git, *command], check=True)
    (source / "unitless" / "__init__.py").write_text("OLD = False\n")  # not committed: must not be built
    monkeypatch.setattr(builds, "ROOT", source)
    return builds


def test_an_older_version_is_built_separately_and_removed_afterwards(tiny_build: Any) -> None:
    for needed in ("scikit_build_core", "nanobind"):  # else it would have to be downloaded
        pytest.importorskip(needed)
    say = "import unitless, numpy; print(unitless.OLD, unitless.__file__)"
    with tiny_build.built("HEAD") as build:
        done = subprocess.run([build.python, "-c", say], capture_output=True, text=True, check=True)
        old, where = done.stdout.split()
        assert old == "True"
        assert pathlib.Path(where).is_relative_to(build.packages)
        with build.chosen(), ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            assert pool.submit(eval, "__import__('unitless').OLD").result() is True
    assert not build.packages.exists()


def test_an_unknown_commit_is_an_error_before_measuring() -> None:
    pytest.importorskip("scipy")
    if shutil.which("git") is None:
        pytest.skip("needs git")
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "predict", "--compare", "no-such-commit"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "there is no commit 'no-such-commit'" in done.stderr
    assert done.stdout == ""


@dataclasses.dataclass(frozen=True)
class Made:
    """A contender without a process: its turns take the given seconds."""

    name: str
    seconds: float
    by: str = "unitless"
    build: Any = None
    problem: str = ""

    def start(self, running: Any) -> Any:
        if self.problem and (self.build or self.by == "peer"):
            raise importlib.import_module("passes").Failed(self.problem)
        facts = importlib.import_module("contenders").Facts(rows=10, loss=0.5)
        return facts, lambda: self.seconds * (2 if self.build else 1)

    def renamed(self, name: str, build: Any) -> Made:
        return dataclasses.replace(self, name=name, build=build)


def test_a_comparison_runs_both_versions_where_the_old_one_can(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    compare, workloads, report = (importlib.import_module(name) for name in ("compare", "workloads", "report"))
    new_option = Made("with a new option", 1.0, problem="Traceback\n  ...\nOptionError: there is no such option")
    contenders = [Made("ours", 3.0), new_option, Made("theirs", 1.0, by="peer")]
    made = workloads.Workload("made", "Made up", "", "", lambda _: contenders)
    monkeypatch.setitem(workloads.ALL, "made", made)
    build = importlib.import_module("builds").Build("abc123", pathlib.Path("python"), pathlib.Path("packages"))
    (result,) = compare.run(["made"], None, 2, build)
    assert [pair["new"]["name"] for pair in result["pairs"]] == ["ours"]
    assert report.comparison(result)[1] == ["ours", "300 ms", "600 ms", "0.500", "0.500", "same"]
    said = capsys.readouterr()
    assert "0.500" in said.out
    assert "left out: with a new option, abc123 (OptionError: there is no such option)" in said.err


def test_missing_peers_are_left_out_and_other_failures_end_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    measure = importlib.import_module("rounds").measure
    absent = Made("theirs", 1.0, by="peer", problem="ModuleNotFoundError: No module named 'theirs'")
    assert [one.name for one in measure([Made("ours", 1.0), absent], None, 1, "")] == ["ours"]
    assert "left out: theirs" in capsys.readouterr().err
    broken = dataclasses.replace(absent, problem="ValueError: what a row")
    with pytest.raises(SystemExit, match="what a row"):
        measure([Made("ours", 1.0), broken], None, 1, "")


def test_every_goal_of_the_server_names_contenders_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    cases = importlib.import_module("serve_cases").ALL
    assert sum(len(case.goals) for case in cases) == 8
    for case in cases:
        names = [one.name for one in case.contenders]
        assert {goal.ours for goal in case.goals} | {goal.other for goal in case.goals} <= set(names)
        assert len(set(names)) == len(names)
