"""The gallery: every script runs, every page matches its script, and the site has all pages."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import runpy
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
PAGES = ROOT / "docs" / "tutorials"
TOOL = runpy.run_path(str(ROOT / "tools" / "gallery.py"))


def name_of(script: pathlib.Path) -> str:
    return script.stem


# The messages of Matplotlib when the home folder is empty or read-only.
ABOUT_ITS_CACHE = re.compile(
    r"^(mkdir -p failed for path .*matplotlib|Matplotlib (created a temporary cache|is building the font cache)).*\n",
    re.MULTILINE,
)


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_the_script_runs_on_little_data(script: pathlib.Path, tmp_path: pathlib.Path) -> None:
    needed = {"sklearn", "pandas", "pyarrow", "matplotlib"}
    used = {
        name for name in needed if re.search(rf"^(?:import|from) {name}\b", script.read_text("utf-8"), re.MULTILINE)
    }
    absent = [name for name in used if importlib.util.find_spec(name) is None]
    if absent:
        pytest.skip(f"needs {', '.join(absent)}")
    done = subprocess.run(
        [sys.executable, "-W", "ignore:FigureCanvasAgg", str(script), "--quick"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not ABOUT_ITS_CACHE.sub("", done.stderr)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_the_page_is_that_of_the_script(script: pathlib.Path) -> None:
    page, source = (PAGES / f"{script.stem}.md").read_text("utf-8"), script.read_text("utf-8")
    for cell in TOOL["cells"](source):
        assert (cell.content if cell.text else f"```python\n{cell.content}\n```") in page, "run make gallery"
    assert page.startswith(f"# {TOOL['title'](source)[0]}\n")
    pictures = re.findall(r"\]\(([\w-]+\.png)\)", page)
    assert pictures
    assert all((PAGES / picture).stat().st_size < 150_000 for picture in pictures)


def test_every_page_belongs_to_a_script_and_is_on_the_site() -> None:
    names = {script.stem for script in SCRIPTS}
    assert len(names) == 9
    assert {page.stem for page in PAGES.glob("*.md")} == {"index", *names}
    assert {re.sub(r"-\d+$", "", picture.stem) for picture in PAGES.glob("*.png")} == names
    navigation = set(re.findall(r"tutorials/(\w+)\.md", (ROOT / "mkdocs.yml").read_text("utf-8")))
    assert navigation == {"index", *names}
    assert TOOL["index"](SCRIPTS) == (PAGES / "index.md").read_text("utf-8"), "run make gallery"


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_the_script_asks_a_question_and_explains_how_to_run_it(script: pathlib.Path) -> None:
    source = script.read_text("utf-8")
    question, takeaway = TOOL["title"](source)
    assert "?" in question
    assert takeaway
    assert f"python examples/gallery/{script.name}" in source
    assert "pip install" in source
    said = source.replace("\n# ", " ")
    assert "**simulated**" in said or "is real" in said or "are real" in said
