"""The examples in the README, the documentation and the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

import unitless as ul
from unitless.cli import main
from unitless.paper import demo

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [
    "unitless.paper.baselines.arow",
    "unitless.paper.baselines.online_newton_step",
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
    "unitless.data.words",
    "unitless.metrics.baseline",
    "unitless.metrics.curves",
    "unitless.metrics.evaluation",
    "unitless.metrics.paired",
    "unitless.inference.explanation",
    "unitless.inference.predictor",
    "unitless.inference.row_learning",
    "unitless.inference.evaluate",
    "unitless.frames",
    "unitless.html",
    "unitless.shown",
    "unitless.paper.experiments.datasets",
    "unitless.metrics.intervals",
    "unitless.rates",
    "unitless.models.file",
    "unitless.merging.merge",
    "unitless.models.model",
    "unitless.paper.experiments.comparison",
    "unitless.paper.experiments.catalog",
    "unitless.page.charts",
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
    "unitless.paper.theory.scales",
    "unitless.river.classifier",
    "unitless.river.regressor",
    "unitless.sklearn.classifier",
    "unitless.sklearn.regressor",
    "unitless.training.request",
]


# River is not to be had for Python 3.10.
NEEDS = {
    "river.md": "river",
    "unitless.river.classifier": "river",
    "unitless.river.regressor": "river",
    "distributed.md": "unitless.cluster.rounds",
}
ENGINES = {"ray": "ray", "dask": "distributed", "spark": "pyspark"}  # and what they need


def blocks_of(page: pathlib.Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def engine_of(block: str) -> str | None:
    """The cluster that an example needs."""
    marks = {'backend="ray"': "ray", "from distributed import": "dask", "from pyspark.sql import": "spark"}
    return next((engine for mark, engine in marks.items() if mark in block), None)


@pytest.mark.parametrize("engine", ENGINES)
def test_examples_of_clusters_run(engine: str, tmp_path: pathlib.Path) -> None:
    """Each in a process of its own, with the examples before that need no cluster."""
    pytest.importorskip("unitless.cluster.rounds")
    pytest.importorskip(ENGINES[engine])
    if engine == "spark" and shutil.which("java") is None:
        pytest.skip("needs Java")
    blocks = [block for block in blocks_of(ROOT / "docs" / "distributed.md") if engine_of(block) in (None, engine)]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_in_pages_run(page: pathlib.Path) -> None:
    pytest.importorskip(NEEDS.get(page.name, "unitless"))
    blocks = [block for block in blocks_of(page) if engine_of(block) is None]
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module: str) -> None:
    pytest.importorskip(NEEDS.get(module, "unitless"))
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readme_shows_what_the_demo_prints(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    demo.main(str(tmp_path))
    printed = capsys.readouterr().out.split("\n\n")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert printed[0] in readme
    assert printed[1] in readme
    assert (tmp_path / "demo.png").stat().st_size > 10_000


CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


def test_commands_in_the_documentation_print_what_it_says(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--data", "shuttle.csv"]) == 0
    assert main(["train", "shuttle.csv", "-t", "label", "--positive", "1", "-o", "one.unitless", "-q"]) == 0
    capsys.readouterr()
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    ran = 0
    for block in CONSOLE.findall(text):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            words, _, head = command.partition(" | head -")
            assert main(shlex.split(words)[1:]) == 0, command
            printed = capsys.readouterr().out
            printed = "".join(printed.splitlines(keepends=True)[: int(head)]) if head else printed
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert doctest.OutputChecker().check_output(expected, printed, flags), f"{command}\n{printed}"
            ran += 1
    assert ran > 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_table_has_its_header(page: pathlib.Path) -> None:
    """A blank line inside a table makes text of all the rows after it."""
    lines = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL).splitlines()
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if line.startswith("|") and line.endswith("|") and not before.startswith("|"):
            assert re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", after.strip()), f"{page.name}: {line}"


def test_the_memory_that_the_docstring_promises_is_what_a_feature_takes() -> None:
    promised = re.search(r"slots of (\d+) bytes", ul.Learner.__doc__ or "")
    assert promised is not None
    assert round(ul.Learner(bits=16).nbytes / 2**16) == int(promised[1])
