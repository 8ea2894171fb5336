"""The pages about the server show what their commands print."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from page_commands import Shell

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("get-started/server.md", "how-to/serve.md", "reference/http.md")  # one session, in this order


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_commands_of_the_pages_print_what_they_say(tmp_path: Path) -> None:
    ran = _run(tmp_path, *PAGES)
    assert sum(ran) > 20
    assert all(ran)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_commands_of_the_page_of_bandits_print_what_it_says(tmp_path: Path) -> None:
    assert _run(tmp_path, "how-to/serve-bandits.md")[0] > 8


def _run(folder: Path, *pages: str) -> list[int]:
    """Run the commands of pages in one session; returns how many each has."""
    shell = Shell(folder)
    try:
        ran = [shell.run_page(DOCS / page) for page in pages]
    finally:
        ended = shell.close()
    assert ended == [0]
    return ran
