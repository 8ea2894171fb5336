"""The workflows of continuous integration and of releases are well-formed, and call existing commands."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import yaml

ROOT = pathlib.Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def jobs_of(path: pathlib.Path) -> dict[str, Any]:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", True, "permissions", "jobs"} <= set(workflow)  # YAML reads the key `on` as True
    jobs: dict[str, Any] = workflow["jobs"]
    return jobs


def commands_of(path: pathlib.Path) -> list[str]:
    return [step["run"] for job in jobs_of(path).values() for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_jobs_have_what_a_job_needs(path: pathlib.Path) -> None:
    jobs = jobs_of(path)
    for job in jobs.values():
        assert {"runs-on", "steps"} <= set(job)
        assert set(job.get("needs", [])) <= set(jobs)
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@[\w./-]+", step["uses"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_matrices_define_what_jobs_use(path: pathlib.Path) -> None:
    for job in jobs_of(path).values():
        matrix = job.get("strategy", {}).get("matrix", {})
        defined = set(matrix) | {name for one in matrix.get("include", []) for name in one}
        assert set(re.findall(r"matrix\.(\w+)", str(job))) <= defined


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    called = {name for path in WORKFLOWS for run in commands_of(path) for name in re.findall(r"\bmake (\S+)", run)}
    assert called
    assert called <= targets


def line_of(file: str, pattern: str) -> str:
    """The text that the group of a pattern matches in the one matching line of a file."""
    (found,) = re.findall(rf"^{pattern}$", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    return str(found)


def test_make_installs_what_the_build_needs() -> None:
    """The build tools are in .venv, so that a second build reuses what the first one has compiled."""
    required = re.findall(r'"([^"]+)"', line_of("pyproject.toml", r"requires = \[(.*)\]"))
    installed = re.findall(r"'([^']+)'", line_of("Makefile", "BUILD_TOOLS := (.*)"))
    assert required
    assert set(required) <= set(installed)
    assert " --no-build-isolation " in line_of("Makefile", r"(.* --editable .*)")


def test_continuous_integration_runs_the_tests_in_an_empty_environment() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    tests = [line for line in lines if re.search(r"\bmake (test|sanitize)\S*($|;)", line)]
    assert len(tests) >= 5
    assert all('"${empty[@]}" make ' in line for line in tests)
    assert any(line.startswith("empty=(env -i HOME=") for line in lines)


def test_scripts_exist() -> None:
    configured = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    text = "\n".join([configured, *(run for path in WORKFLOWS for run in commands_of(path))])
    scripts = re.findall(r"python (?:\{project\}/)?(\w\S*\.py)", text)
    assert len(scripts) >= 2
    assert all((ROOT / script).exists() for script in scripts)


def test_only_publishing_may_write() -> None:
    for path in WORKFLOWS:
        allowed = {name for name, job in jobs_of(path).items() if "write" in str(job.get("permissions"))}
        assert allowed <= {"publish"}
