"""The documentation site: what is generated is up to date, every page has its place, it builds without a warning."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import runpy
import subprocess
import sys

import pytest

from unitless.cli.app import app

ROOT = pathlib.Path(__file__).parent.parent
NAVIGATION = re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_page_of_commands_is_what_the_code_says() -> None:
    page = runpy.run_path(str(ROOT / "tools" / "commands_page.py"))["page"]()
    written = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
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
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {command}\n")[2].partition("\n## ")[0]
    options = set(re.findall(r"(?<=\s)--[a-z][a-z-]+", shown.partition("Examples")[0])) - {"--help"}
    assert options
    assert options <= set(re.findall(r"--[a-z][a-z-]+", section))


def test_every_page_has_a_place_in_the_navigation() -> None:
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= set(NAVIGATION)


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
