"""The report: one page in Markdown, the same in HTML, the pictures in PNG and SVG, the data in JSON."""

from __future__ import annotations

import contextlib
import html
import json
import pathlib
import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

from ... import figures, whole_file
from ...errors import OptionError
from ...version import __version__
from .section import Section, Table

TITLE = "Normalized Online Learning, recomputed"

_STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; padding-bottom: .3rem; }
table { border-collapse: collapse; font-size: 14px; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #e4e4e4; text-align: left; }
td { font-variant-numeric: tabular-nums; }
img { max-width: 100%; height: auto; } code { background: #f4f4f4; padding: 0 .2rem; }
@media (prefers-color-scheme: dark) {
  body { background: #16181c; color: #ddd; } th, td { border-color: #333; } code { background: #24262b; }
  h2 { border-color: #333; } a { color: #8ab4f8; } img { background: white; }
}
"""


def facts(seeds: Sequence[int], seconds: float, packages: Sequence[str] = ()) -> dict[str, Any]:
    """The facts that the numbers depend on: versions, seeds, the kind of machine; and the time they took.

    Args:
        seeds: the seeds of the orders of the rows; empty if there is only one order.
        seconds: the time of this run.
        packages: further packages whose versions matter; those that are not installed are left out.
    """
    found: dict[str, Any] = {"unitless": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", *packages):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    found["machine"] = f"{platform.system()} {platform.machine()}"
    if seeds:
        found["seeds"] = list(seeds)
    found["seconds"] = round(seconds, 1)
    return found


def write(
    folder: pathlib.Path,
    sections: Sequence[Section],
    about: dict[str, Any],
    opening: Sequence[str],
    title: str = TITLE,
) -> None:
    """Write everything into a folder: index.html, report.md, report.json, figures, other files of the sections."""
    folder.mkdir(parents=True, exist_ok=True)
    for section in sections:
        write_figures(folder, section)
        for name, content in section.files.items():
            whole_file.write(folder / name, content.encode())
    page = markdown(sections, about, opening, title)
    whole_file.write(folder / "report.md", page.encode())
    whole_file.write(folder / "index.html", as_html(page, title).encode())
    whole_file.write(folder / "report.json", (as_json(sections, about) + "\n").encode())


def as_json(sections: Iterable[Section], about: dict[str, Any]) -> str:
    """The data of the report as JSON."""
    return json.dumps({"about": about, "experiments": {one.name: one.asdict() for one in sections}}, indent=2)


def write_figures(folder: pathlib.Path, section: Section) -> list[pathlib.Path]:
    """Write the pictures of one section, each as PNG and SVG."""
    written = []
    for name, figure in section.figures.items():
        folder.mkdir(parents=True, exist_ok=True)
        for suffix in (".png", ".svg"):
            path = folder / f"{name}{suffix}"
            figures.save(figure, path)
            written.append(path)
    return written


def check_folder(folder: pathlib.Path) -> None:
    """Check, before long work, that the folder can be written to."""
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"nothing can be written to {str(folder)!r}: it is a file")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"nothing can be written to {str(folder)!r}: {error.strerror or error}") from None


def markdown(sections: Iterable[Section], about: dict[str, Any], opening: Sequence[str], title: str = TITLE) -> str:
    """The report as a page of Markdown."""
    parts = [f"# {title}", *opening]
    for section in sections:
        parts += [f"## {section.title}", *section.text]
        for one in section.tables:
            parts += [f"### {one.title}"] if one.title else []
            parts.append(_table(one))
        for name in section.figures:
            parts.append(f"![{section.captions.get(name, name)}]({name}.svg)")
            parts.append(f"{section.captions.get(name, '')} ([PNG]({name}.png), [SVG]({name}.svg))".strip())
        parts += section.notes
        parts.append(f"*Computed in {section.seconds:.1f} s.*")
    parts.append("## What the numbers depend on")
    parts.append(_table(Table(["", ""], [[key, _shown(value)] for key, value in about.items()])))
    return "\n\n".join(parts) + "\n"


def as_html(page: str, title: str = TITLE) -> str:
    """Convert a Markdown page to HTML."""
    from markdown_it import MarkdownIt  # noqa: PLC0415  (comes with rich)

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(page)
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}</body></html>\n'
    )


def _table(table: Table) -> str:
    rule = [":--" if k < table.left else "--:" for k in range(len(table.header))]
    lines = [table.header, rule, *table.rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
