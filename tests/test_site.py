"""The documentation site: generated pages are up to date, every page is in the navigation, no warning when built."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import runpy
import subprocess
import sys
from typing import Any

import pytest

import unitless as ul
from unitless.cli.app import app
from unitless.losses import LOSSES
from unitless.metrics.records import METRICS

ROOT = pathlib.Path(__file__).parent.parent
NAVIGATION = re.findall(r"(?:: |- )([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_page_of_commands_agrees_with_the_code() -> None:
    page = runpy.run_path(str(ROOT / "tools" / "commands_page.py"))["page"]()
    written = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert written == page, "run python tools/commands_page.py"
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == [command.name for command in app.registered_commands]


@pytest.mark.parametrize("command", [command.name for command in app.registered_commands])
def test_the_page_of_commands_has_every_option_that_help_shows(command: str) -> None:
    script = "from unitless.cli import main; main()"
    environment = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    shown = subprocess.run(
        [sys.executable, "-c", script, command, "--help"],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "PYTHONPATH": ":".join(sys.path)},
    ).stdout
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {command}\n")[2].partition("\n## ")[0]
    options = set(re.findall(r"(?<=\s)--[a-z][a-z-]+", shown.partition("Examples")[0])) - {"--help", "--help-all"}
    assert options
    assert options <= set(re.findall(r"--[a-z][a-z-]+", section))


def test_every_page_has_a_place_in_the_navigation() -> None:
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages == set(NAVIGATION) - {"changelog.md"}
    assert len(NAVIGATION) == len(set(NAVIGATION))


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="needs the extra 'docs'")
@pytest.mark.skipif(importlib.util.find_spec("mkdocstrings") is None, reason="needs the extra 'docs'")
def test_the_site_builds_without_a_warning_and_is_whole(tmp_path: pathlib.Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = [page.removesuffix(".md") + ".html" for page in NAVIGATION]
    assert all((tmp_path / "site" / page).exists() for page in pages)
    for page in (tmp_path / "site").glob("**/*.html"):
        html = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]*)"', html)
        assert not fetched, f"{page.name} fetches {fetched}"


def test_every_public_name_has_a_page_of_reference() -> None:
    folder = ROOT / "docs" / "reference" / "python"
    documented = set(re.findall(r"^::: unitless\.(\w+)", "\n".join(map(read, folder.glob("*.md"))), re.MULTILINE))
    errors = {name for name in ul.__all__ if name.endswith("Error")}  # on one page, with their module
    assert set(ul.__all__) - errors - {"__version__"} <= documented
    assert "errors" in documented


def test_every_metric_has_its_formula_on_the_page() -> None:
    page = read(ROOT / "docs" / "reference" / "metrics.md")
    keys = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) | {"loss"}
    assert keys == {metric.name for metric in METRICS} | {"coverage", "width", "set_size"}
    assert {loss.name for loss in LOSSES.values()} <= set(re.findall(r"^\| (\w+)", page, re.MULTILINE))


def test_every_field_of_requests_and_answers_is_on_the_page_of_http() -> None:
    wire = pytest.importorskip("unitless.serve.wire")
    listed = set(re.findall(r"`(\w+)`", read(ROOT / "docs" / "reference" / "http.md")))
    for record in (wire.PredictRequest, wire.LearnRequest, wire.LabelRequest, wire.Prediction, wire.Learned):
        assert set(record.__annotations__) <= listed


def read(path: pathlib.Path) -> str:
    return path.read_text(encoding="utf-8")


def docs_check() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "docs_check.py"))


def test_numbers_on_several_pages_are_those_of_the_results() -> None:
    check = docs_check()
    results = check["tomllib"].loads(check["RESULTS"].read_text(encoding="utf-8"))
    assert check["problems"](results, check["pages"](), check["docstrings"]()) == []


def test_a_number_that_contradicts_the_results_is_found() -> None:
    problems = docs_check()["problems"]
    table = "<!-- results: speed -->\n| | time |\n|---|---|\n| ours | 5.00 ns |\n<!-- end of results -->\n"
    result = {"value": "5.00 ns", "cell": ["speed", "ours", "time"], "on": {"a.md": "takes {}", "b.md": "in {}"}}
    agreeing = {"a.md": f"It takes\n5.00 ns.\n{table}", "b.md": "A row in 5.00 ns."}
    assert problems({"time": result}, agreeing) == []
    assert problems({"time": {**result, "value": "6.00 ns"}}, agreeing)  # neither the table nor the pages
    assert problems({"time": result}, {**agreeing, "b.md": "A row in 7.00 ns."})
    assert problems({"time": {**result, "every": r"\d\.\d+ ns"}}, {**agreeing, "c.md": "4.00 ns"})
    assert problems({"time": result}, {**agreeing, "c.md": "5.00 ns"})  # one more page, which is not listed
    assert problems({"time": {**result, "every": r"\d\.\d+ ns"}}, agreeing, {"model.py": "A row takes 4.00 ns."})
    span = {"value": "4 to 6 times", "column": ["speed", "time"]}
    assert problems({"time": result, "span": span}, agreeing) == []
    assert problems({"time": result, "span": {**span, "value": "6 to 7 times"}}, agreeing)
    assert problems({}, {"a.md": "3 µs", "b.md": "3 µs"})
    assert problems({}, {"a.md": "3 times as fast", "b.md": "3 times"})
    assert problems({}, {"a.md": "3.5% of rows", "b.md": "3.5%"})
    assert not problems({"coincidences": ["3 µs"]}, {"a.md": "3 µs", "b.md": "3 µs"})
