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
    shell = Shell(tmp_path)
    try:
        ran = [shell.run_page(DOCS / page) for page in PAGES]
    finally:
        ended = shell.close()
    assert sum(ran) > 20
    assert all(ran)
    assert ended == [0]
