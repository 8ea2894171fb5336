"""Run the scripts of examples/gallery and write a page with their text, code, output and pictures for each.

python tools/gallery.py [NAME ...]      all, or those that are named; `make gallery` runs all

A script is cut at its lines `# %%`: a cell after `# %% [markdown]` is text, everything else is code. What a cell
prints, and the pictures that it leaves open, appear below it on the page. Pages and pictures go to docs/tutorials/.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import pathlib
import re
import sys
import time
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).parent.parent
SCRIPTS = ROOT / "examples" / "gallery"
PAGES = ROOT / "docs" / "tutorials"
DOTS_PER_INCH = 120


@dataclass(frozen=True)
class Cell:
    """A cell of a script: text, or code that begins after a number of lines."""

    text: bool
    content: str
    before: int


def cells(source: str) -> list[Cell]:
    """The pieces of a script, without its docstring."""
    lines = source.splitlines()
    found: list[Cell] = []
    kind, start = "", None
    for number, line in enumerate([*lines, "# %%"]):
        if not line.startswith("# %%"):
            continue
        if start is not None:
            piece = lines[start:number]
            is_text = "[markdown]" in kind
            if is_text:
                piece = [re.sub(r"^# ?", "", one) for one in piece]
            content = "\n".join(piece).strip("\n")
            if content:
                found.append(
                    Cell(is_text, content, start + len(piece) - len("\n".join(piece).lstrip("\n").splitlines()))
                )
        kind, start = line, number + 1
    return found


def title(source: str) -> tuple[str, str]:
    """The first line of the docstring, which is the question, and the second part, which is the takeaway."""
    first, _, rest = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    takeaway = re.search(r"^Takeaway: (.*?)(?:\n\n|\Z)", rest, re.MULTILINE | re.DOTALL)
    return first, " ".join(takeaway[1].split()) if takeaway else ""


def page(path: pathlib.Path) -> str:
    """Run a script cell by cell; return its page, and save its pictures next to it."""
    from matplotlib import pyplot  # noqa: PLC0415  (the backend is chosen before)

    source = path.read_text(encoding="utf-8")
    question, takeaway = title(source)
    parts = [f"# {question}", f"*Takeaway: {takeaway}*"]
    names: dict[str, object] = {"__name__": "__main__", "__file__": str(path)}
    pictures = 0
    pyplot.show = lambda *_, **__: None  # the pictures are taken from the open figures
    for cell in cells(source):
        if cell.text:
            parts.append(cell.content)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * cell.before + cell.content, str(path), "exec"), names)
        parts.append(f"```python\n{cell.content}\n```")
        if printed.getvalue().strip():
            parts.append("\n".join(f"    {line}".rstrip() for line in printed.getvalue().rstrip().splitlines()))
        for number in pyplot.get_fignums():
            pictures += 1
            name = f"{path.stem}.png" if pictures == 1 else f"{path.stem}-{pictures}.png"
            pyplot.figure(number).savefig(PAGES / name, dpi=DOTS_PER_INCH)
            parts.append(f"![{question}]({name})")
        pyplot.close("all")
    parts.append(f"The script: `examples/gallery/{path.name}`.")
    return "\n\n".join(parts) + "\n"


def index(paths: list[pathlib.Path]) -> str:
    """The page with links to all others."""
    rows = [(path.stem, *title(path.read_text(encoding="utf-8"))) for path in paths]
    lines = [
        "# Tutorials",
        "",
        "Questions that people have, each answered by a short script that runs as it is. `make gallery` runs them all",
        "and writes these pages; the scripts are in `examples/gallery`. Simulated data is called so.",
        "",
        "| question | what to take away |",
        "|---|---|",
        *(f"| [{question}]({name}.md) | {takeaway} |" for name, question, takeaway in rows),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the pages."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    every = sorted(SCRIPTS.glob("*.py"))
    wanted = sys.argv[1:]
    sys.argv = sys.argv[:1]  # the scripts look for `--quick`
    PAGES.mkdir(exist_ok=True)
    for path in every:
        if not wanted or path.stem in wanted:
            start = time.monotonic()
            (PAGES / f"{path.stem}.md").write_text(page(path), encoding="utf-8")
            print(f"{path.stem}: {time.monotonic() - start:.1f} s", flush=True)
    (PAGES / "index.md").write_text(index(every), encoding="utf-8")


if __name__ == "__main__":
    main()
