"""Write the results of a benchmark run into the documentation, between marks that name the results.

    python benchmarks/pages.py [benchmarks/results]

A mark has a name of `report.page`: `<!-- results: workload dense -->`. The block ends with `<!-- end of results -->`.
The pictures are copied to docs/images, and the numbers of the bars are stored in published.json, from which
`pictures.py` can draw them again. `python benchmarks/run.py --page` does all this after its run.
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import sys
from typing import Any

import report
import workloads

ROOT = pathlib.Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = (DOCS / "concepts" / "fit-and-stream.md", *sorted((DOCS / "internals").glob("benchmark*.md")))
PUBLISHED = pathlib.Path(__file__).with_name("published.json")
PICTURES = ("benchmarks.png", "scaling.png")
MARKED = re.compile(r"(<!-- results: ([\w ]+) -->\n).*?(<!-- end of results -->)", re.DOTALL)


def filled(text: str, parts: dict[str, str]) -> str:
    """The page with new results in every marked block; a block for which the run has no results stays as it is."""
    return MARKED.sub(lambda m: f"{m[1]}\n{parts[m[2]]}\n\n{m[3]}" if m[2] in parts else m[0], text)


def merged(before: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The published workloads, with those that the run has measured, in the order of their declaration."""
    by_name = {one["name"]: one for one in [*before, *new]}
    return [by_name[name] for name in workloads.ALL if name in by_name]


def write(results: dict[str, Any], folder: pathlib.Path) -> None:
    parts = report.page(results)
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), parts), encoding="utf-8")
    import pictures  # it imports matplotlib, which the tests of `filled` do not need

    shown = merged(json.loads(PUBLISHED.read_text(encoding="utf-8")), pictures.published(results))
    PUBLISHED.write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    pictures.bars(shown, folder / "benchmarks.png")
    for picture in PICTURES:
        if (folder / picture).exists():
            shutil.copy(folder / picture, DOCS / "images" / picture)


if __name__ == "__main__":
    where = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("results")
    if not (where / "benchmarks.json").exists():
        sys.exit(f"{where} has no benchmarks.json: python benchmarks/run.py writes one")
    write(json.loads((where / "benchmarks.json").read_text(encoding="utf-8")), where)
