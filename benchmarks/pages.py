"""Numbers on pages come from a run: what stands between marks is written anew from its results.

    python benchmarks/pages.py [benchmarks/results]

A mark names what belongs there, as `report.page` does: `<!-- results: workload dense -->`; the block ends with
`<!-- end of results -->`. The pictures go to docs/ too. `python benchmarks/run.py --page` does this after its run.
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import sys
from typing import Any

import report

ROOT = pathlib.Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "river.md")
PICTURES = ("benchmarks.png", "scaling.png")
MARKED = re.compile(r"(<!-- results: ([\w ]+) -->\n).*?(<!-- end of results -->)", re.DOTALL)


def filled(text: str, parts: dict[str, str]) -> str:
    """The page with every marked block written anew; what the run has nothing for stays as it is."""
    return MARKED.sub(lambda m: f"{m[1]}\n{parts[m[2]]}\n\n{m[3]}" if m[2] in parts else m[0], text)


def write(results: dict[str, Any], folder: pathlib.Path) -> None:
    parts = report.page(results)
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), parts), encoding="utf-8")
    for picture in PICTURES:
        if (folder / picture).exists():
            shutil.copy(folder / picture, ROOT / "docs" / picture)


if __name__ == "__main__":
    where = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("results")
    if not (where / "benchmarks.json").exists():
        sys.exit(f"{where} has no benchmarks.json: python benchmarks/run.py writes one")
    write(json.loads((where / "benchmarks.json").read_text(encoding="utf-8")), where)
