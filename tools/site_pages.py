"""Pages of the site that are made from files outside of docs/: the changelog, and a page for every example.

This module is a hook of mkdocs (see mkdocs.yml). Pages link to `../../CHANGELOG.md` and `../../examples/*.py`, which
works in the repository. On the site these links are changed to the pages that are made from those files.
"""

from __future__ import annotations

import ast
import pathlib
import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).parent.parent


def example_page(path: pathlib.Path) -> str:
    """The docstring of the script, then the script."""
    source = path.read_text(encoding="utf-8")
    title, _, rest = (ast.get_docstring(ast.parse(source)) or path.stem).partition("\n")
    return f"# {path.name}\n\n{title}\n{rest}\n\n```python\n{source}```\n"


def _examples() -> list[pathlib.Path]:
    return sorted((ROOT / "examples").glob("*.py"))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the examples to the navigation, after the tutorials."""
    assert config.nav is not None
    entries = [{path.stem.replace("_", " "): f"examples/{path.stem}.md"} for path in _examples()]
    tutorials = next(part["Tutorials"] for part in config.nav if "Tutorials" in part)
    tutorials.append({"More scripts": entries})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=changes))
    for path in _examples():
        files.append(File.generated(config, f"examples/{path.stem}.md", content=example_page(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Change links to files outside of docs/ to their pages on the site."""
    markdown = markdown.replace("](../../CHANGELOG.md)", "](../changelog.md)")
    return re.sub(r"\]\(\.\./\.\./examples/(\w+)\.py\)", r"](../examples/\1.md)", markdown)
