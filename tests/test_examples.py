"""The examples run as they are documented, on little data."""

from __future__ import annotations

import ast
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SMALL = {"mixed_units": ["--rows", "1200"], "out_of_core_csv": ["--megabytes", "2"]}
SHOWN = {"mixed_units": "unitless", "out_of_core_csv": "same model      yes"}
OTHERWISE_TESTED = {"mlflow_model"}  # takes a model: tests/test_example_mlflow.py


def imports_of(example: pathlib.Path) -> set[str]:
    """The libraries that it imports at its top; optional ones are imported inside functions."""
    nodes = ast.parse(example.read_text(encoding="utf-8")).body
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_the_example_runs_and_prints_its_results(example: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if example.stem in OTHERWISE_TESTED:
        pytest.skip("has a test of its own")
    absent = [name for name in imports_of(example) if importlib.util.find_spec(name) is None]
    if absent:
        pytest.skip(f"needs {', '.join(absent)}")
    done = subprocess.run(
        [sys.executable, str(example), *SMALL.get(example.stem, [])],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert SHOWN.get(example.stem, "") in done.stdout
    assert done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_the_example_explains_how_to_run_it_and_its_requirements(example: pathlib.Path) -> None:
    text = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or ""
    assert f"python examples/{example.name}" in text
    assert "pip install" in text
