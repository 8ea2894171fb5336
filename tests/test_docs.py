"""The examples in the README, the documentation and the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import os
import pathlib
import re
import runpy
import shlex
import shutil
import subprocess
import sys

import page_commands
import pytest

import unitless as ul
from unitless.cli import main

ROOT = pathlib.Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
WITH_EXAMPLES = [
    page for page in PAGES if ">>>" in page.read_text(encoding="utf-8") and page.parent.name != "tutorials"
]
MODULES = [
    "unitless.paper.baselines.arow",
    "unitless.paper.baselines.coin_betting",
    "unitless.paper.baselines.dog",
    "unitless.paper.baselines.freegrad",
    "unitless.paper.baselines.kate",
    "unitless.paper.baselines.metagrad",
    "unitless.paper.baselines.online_newton_step",
    "unitless.paper.baselines.prodigy",
    "unitless.paper.baselines.schedule_free",
    "unitless.paper.baselines.scinol",
    "unitless.paper.baselines.second_order_perceptron",
    "unitless.paper.baselines.vsgd",
    "unitless.models.extra_members",
    "unitless.models.learner",
    "unitless.models.one_vs_all",
    "unitless.models.sweep",
    "unitless.training.compare",
    "unitless.training.sweep",
    "unitless.export.coefficients",
    "unitless.export.estimators",
    "unitless.export.onnx_graph",
    "unitless.export.vw.feature_hash",
    "unitless.data.columns.words",
    "unitless.metrics.baseline",
    "unitless.metrics.curves",
    "unitless.client.clients",
    "unitless.metrics.evaluation",
    "unitless.metrics.progressive_validation",
    "unitless.metrics.ranking",
    "unitless.metrics.paired",
    "unitless.inference.explanation",
    "unitless.inference.predictor",
    "unitless.inference.evaluate",
    "unitless.inference.frames",
    "unitless.presentation.html",
    "unitless.presentation.json_values",
    "unitless.presentation.shown",
    "unitless.paper.experiments.datasets",
    "unitless.metrics.intervals",
    "unitless.models.rates",
    "unitless.loading",
    "unitless.bandit.evaluation",
    "unitless.bandit.log",
    "unitless.serve",
    "unitless.bandit.learning",
    "unitless.bandit.simulation",
    "unitless.merging.merge",
    "unitless.models.model",
    "unitless.models.number_intervals",
    "unitless.paper.experiments.comparison",
    "unitless.paper.contest.ranking",
    "unitless.paper.experiments.catalog",
    "unitless.presentation.charts",
    "unitless.figures",
    "unitless.plot.results",
    "unitless.plot.curves_of_models",
    "unitless.training.cluster",
    "unitless.training.defaults",
    "unitless.data.read_options",
    "unitless.models.any_model",
    "unitless.training.result",
    "oracles.mixture",
    "unitless.paper.algorithms",
    "oracles.curves_and_trees",
    "unitless.paper.theory",
    "unitless.paper.theory.adversary",
    "unitless.paper.theory.ball",
    "unitless.paper.theory.comparator",
    "unitless.paper.theory.descent",
    "unitless.paper.theory.learners",
    "unitless.paper.theory.projections",
    "unitless.paper.theory.relatives",
    "unitless.paper.theory.scales",
    "unitless.river.classifier",
    "unitless.river.regressor",
    "unitless.sklearn.classifier",
    "unitless.sklearn.regressor",
    "unitless.training.request",
]


# River is not available for Python 3.10.
NEEDS = {
    "README.md": "river",
    "from-river.md": "river",
    "unitless.river.classifier": "river",
    "unitless.river.regressor": "river",
    "scale-out.md": "unitless.cluster.rounds",
    "unitless.client.clients": "uvicorn",
    "unitless.serve": "uvicorn",
}
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
ENGINES = {"ray": "ray", "dask": "distributed", "spark": "pyspark"}  # and the libraries that they need


def blocks_of(page: pathlib.Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def engine_of(block: str) -> str | None:
    """The cluster that an example needs."""
    marks = {'backend="ray"': "ray", "from distributed import": "dask", "from pyspark.sql import": "spark"}
    return next((engine for mark, engine in marks.items() if mark in block), None)


@pytest.mark.timeout(330)  # a cluster starts
@pytest.mark.parametrize("engine", ENGINES)
def test_examples_of_clusters_run(engine: str, tmp_path: pathlib.Path) -> None:
    """Each runs in a separate process, after the examples before it that need no cluster."""
    pytest.importorskip("unitless.cluster.rounds")
    pytest.importorskip(ENGINES[engine])
    if engine == "spark" and shutil.which("java") is None:
        pytest.skip("needs Java")
    blocks = [block for block in blocks_of(DOCS / "how-to" / "scale-out.md") if engine_of(block) in (None, engine)]
    assert any(engine_of(block) for block in blocks)
    example = tmp_path / "example.txt"
    example.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "doctest", str(example)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def name_of(page: pathlib.Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_examples_in_pages_run(page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(NEEDS.get(page.name, "unitless"))
    monkeypatch.chdir(tmp_path)
    if "houses.csv" in page.read_text(encoding="utf-8"):
        write_houses()
    blocks = [block for block in blocks_of(page) if engine_of(block) is None]
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def write_houses() -> None:
    """Write houses.csv into the current folder, as the README tells its readers to do."""
    runpy.run_path(str(ROOT / "examples" / "houses.py"))["main"]()


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module: str) -> None:
    pytest.importorskip(NEEDS.get(module, "unitless"))
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_files_that_pages_and_comments_name_exist() -> None:
    named = re.compile(r"(?<![\w./{}*%-])((?:\w[\w-]*/)+[a-z][\w-]*\.(?:py|hpp|cpp|md|mplstyle))\b")
    folders = [ROOT / name for name in ("src", "core", "docs", "tests", "tools", "benchmarks", "examples")]
    files = [path for folder in folders for path in folder.rglob("*.*") if path.suffix not in (".pyc", ".so", ".png")]
    known = {f"/{path.relative_to(ROOT)}" for path in files}
    for path in (path for path in files if path.suffix in (".py", ".pyi", ".hpp", ".cpp", ".md")):
        for name in set(named.findall(path.read_text(encoding="utf-8", errors="replace"))):
            exists = any(one.endswith(f"/{name}") for one in known)
            assert exists or "absolute.hpp" in name, f"{path.relative_to(ROOT)}: {name}"


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_commands_of_the_readme_print_its_output(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_houses()
    shell = page_commands.Shell(tmp_path)
    try:
        ran = shell.run_page(ROOT / "README.md")
    finally:
        ended = shell.close()
    assert ran == 6
    assert ended == [0]


def test_names_of_tests_have_at_most_70_letters() -> None:
    paths = (ROOT / "tests").rglob("*.py")
    names = [name for path in paths for name in re.findall(r"\bdef (test_\w+)", path.read_text(encoding="utf-8"))]
    assert len(names) > 1000
    assert [name for name in names if len(name) > 70] == []


def words(text: str) -> int:
    """The number of words of a page, including its examples and tables."""
    return len(re.findall(r"\S*\w\S*", text))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_is_longer_than_a_reader_can_bear(page: pathlib.Path) -> None:
    text = page.read_text(encoding="utf-8")
    if page.name == "README.md":
        assert words(text) <= 900
        assert text.count("\n") <= 150
    elif "reference" not in page.parts:
        assert len(text.split()) <= 1500  # as `wc -w` counts


COMMAND_PAGES = ("get-started/command-line.md", "how-to/compare-and-inspect.md")  # one session, in this order


def test_commands_in_the_documentation_print_its_output(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = 0
    for page in COMMAND_PAGES:
        for block in CONSOLE.findall((DOCS / page).read_text(encoding="utf-8")):
            for command, expected in page_commands.COMMANDS.findall(block):
                typed, _, head = command.partition(" | head -")
                assert main(shlex.split(typed)[1:]) == 0, command
                printed = capsys.readouterr().out
                printed = "".join(printed.splitlines(keepends=True)[: int(head)]) if head else printed
                flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
                assert doctest.OutputChecker().check_output(expected, printed, flags), f"{command}\n{printed}"
                ran += 1
    assert ran > 10


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_table_has_its_header(page: pathlib.Path) -> None:
    """A blank line inside a table turns all rows after it into text."""
    lines = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL).splitlines()
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if line.startswith("|") and line.endswith("|") and not before.startswith("|"):
            assert re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", after.strip()), f"{page.name}: {line}"


def test_the_memory_that_the_docstring_promises_is_what_a_feature_takes() -> None:
    promised = re.search(r"slots of (\d+) bytes", ul.Learner.__doc__ or "")
    assert promised is not None
    assert round(ul.Learner(bits=16).nbytes / 2**16) == int(promised[1])


def test_the_demo_trains_reports_and_draws(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    assert main(["demo", "--folder", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^model +accuracy 99\.\d+%", printed, re.MULTILINE)
    shares = dict(re.findall(r"^(\S.*?) +[\d.]+% +([\d.]+)%$", printed, re.MULTILINE))
    assert float(shares["unitless"]) < min(float(share) for name, share in shares.items() if name != "unitless")
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"sensors.csv", "sensors.unitless", "report.html", "units.png"}
    for name in files - {"sensors.csv"}:
        assert name in printed
