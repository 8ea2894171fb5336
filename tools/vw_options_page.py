"""Write docs/vowpal-wabbit-options.md: Vowpal Wabbit's options and what to write instead, from the code itself.

Run it after changing src/unitless/cli/vw_options.py: `python tools/vw_options_page.py`. A test fails if the page is out
of date.
"""

from __future__ import annotations

import pathlib
import re

from unitless.cli.vw_options import OPTIONS, VwOption

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "vowpal-wabbit-options.md"
INTRODUCTION = """\
# Vowpal Wabbit's options

What to write instead of the options of Vowpal Wabbit 9.11. `unitless train`, `predict`, `score`, `evaluate` and `sweep`
answer a command that has such options with these lines and, where there is one, with the whole command in the words of
`unitless`. This page is written by `tools/vw_options_page.py` from the code.

| `vw …` | `unitless …` | |
|---|---|---|
"""


def page() -> str:
    """The page as it should be."""
    return INTRODUCTION + "".join(_row(option) for option in OPTIONS)


def _row(option: VwOption) -> str:
    theirs = ", ".join(f"`{name}{' ' if option.value else ''}{option.value}`" for name in option.names)
    words = option.words(option.value)
    note = re.sub(r"--[a-z][a-z_-]*|unitless (?!with)[a-z]+", r"`\g<0>`", option.note)
    return f"| {_cell(theirs)} | {_cell(f'`{words}`' if words else '')} | {_cell(note)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
