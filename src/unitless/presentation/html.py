"""Small pieces of HTML for notebooks and reports: tables, facts, bars. Self-contained and without scripts.

Each element has its own style, because untrusted notebooks remove style sheets. Colors are inherited or translucent, so
that everything can be read on light and on dark pages. All content that is not `Html` is treated as text and escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from . import shown
from .sections import Facts, Section, Table

RISE, FALL = "#2f81c9", "#d9772b"  # colors of bars that can be seen on white and on black
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = "padding:.15em .7em;border:0;background:none;white-space:nowrap;"
_QUIET = "opacity:.7;"


class Html(str):
    """Text that is HTML already. Only this module makes it."""

    __slots__ = ()


def text(value: Any) -> Html:
    """Return a value as HTML; everything that is not `Html` is escaped.

    >>> from unitless.presentation import html
    >>> print(html.text("a < b"))
    a &lt; b
    """
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def tag(name: str, content: Any, style: str = "", **attributes: str) -> Html:
    """Return an element. Empty attributes are left out; `class_` stands for the attribute `class`, a word of Python."""
    given = {key: value for key, value in {"style": style, **attributes}.items() if value}
    inside = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"' for key, value in given.items())
    return Html(f"<{name}{inside}>{text(content)}</{name}>")


def joined(parts: Iterable[Any]) -> Html:
    """Return pieces of HTML joined to one."""
    return Html("".join(map(text, parts)))


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]], left: int = 1, total: int = 0) -> Html:
    """Return a table; the first `left` columns are aligned left, the other columns (numbers) right.

    Args:
        header: the names of the columns.
        rows: the cells, as text or HTML.
        left: the number of columns that are text. Default: 1.
        total: the number of rows at the end that are sums of the rows above. Default: 0.
    """
    every = [[*row] for row in rows]

    def line(cells: Sequence[Any], kind: str, style: str) -> Html:
        made = [
            tag(kind, cell, f"{_CELL}{style}text-align:{'left' if k < left else 'right'};")
            for k, cell in enumerate(cells)
        ]
        return tag("tr", joined(made), "background:none;")

    head = line(header, "th", f"font-weight:600;border-bottom:{_LINE};") if any(header) else Html("")
    first_total = len(every) - total
    body = [line(row, "td", f"border-top:{_LINE};" if k == first_total else "") for k, row in enumerate(every)]
    return tag(
        "table",
        joined([tag("thead", head), tag("tbody", joined(body))]),
        "border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums;",
    )


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Return names and values as a list; pairs without a value are left out."""
    rows = [(tag("span", name, _QUIET), value) for name, value in pairs if value not in (None, "")]
    return table(["", ""], rows, left=2) if rows else Html("")


def bar(value: float, largest: float) -> Html:
    """Return a number as a bar that starts in the middle: to the right if positive. `largest` fills a whole side."""
    width = min(100.0, 100.0 * abs(value) / largest) if largest > 0 else 0.0
    one = f"height:.8em;width:{width:.1f}%;min-width:{1 if value else 0}px;background:"
    left = tag("div", "", f"{one}{FALL};") if value < 0 else Html("")
    right = tag("div", "", f"{one}{RISE};") if value > 0 else Html("")
    half = "width:50%;display:flex;align-items:center;"
    sides = [
        tag("div", left, f"{half}justify-content:flex-end;"),
        tag("div", right, f"{half}border-left:{_LINE};min-height:1.2em;"),
    ]
    return tag("div", joined(sides), "display:flex;width:12em;", aria_hidden="true")


def share_bar(value: float, largest: float) -> Html:
    """Return a non-negative number as a bar that starts on the left; `largest` fills the whole width."""
    width = min(100.0, 100.0 * value / largest) if largest > 0 else 0.0
    inner = tag("div", "", f"height:.8em;width:{width:.1f}%;min-width:{1 if value else 0}px;background:{RISE};")
    return tag("div", inner, "width:9em;", aria_hidden="true")


def note(content: Any) -> Html:
    """Return a remark in a small font."""
    return tag("div", content, f"{_QUIET}margin:.2em .7em;font-size:90%;max-width:60em;")


def card(title: Any, *parts: Any) -> Html:
    """Return the card that a notebook shows for an object: a title and the given parts."""
    heading = tag("div", title, "font-weight:600;margin:.2em .7em;")
    return tag("div", joined([heading, *parts]), "overflow-x:auto;line-height:1.35;font-size:90%;")


def sections(title: str, described: Iterable[Section]) -> Html:
    """Return the card that a notebook shows for a result: a title and sections."""
    parts: list[Any] = []
    for section in described:
        content = section.content
        if content and section.title:
            parts.append(tag("div", section.title, "font-weight:600;margin:.6em .7em 0;"))
        for part in content:
            if isinstance(part, Facts):
                parts.append(facts(part.known))
            elif isinstance(part, Table):
                parts.append(_table(part))
            else:
                parts += map(note, part.lines)
    return card(title, *parts)


def _table(described: Table) -> Html:
    """Return a table as HTML; bars stand after the text columns."""
    if described.lengths is None:
        return table(described.header, described.rows, left=described.left)
    k = described.left
    rows = [
        [*row[:k], share_bar(length, 1.0), *row[k:]]
        for row, length in zip(described.rows, described.lengths, strict=True)
    ]
    return table([*described.header[:k], "", *described.header[k:]], rows, left=k + 1)


def name(value: Any) -> str:
    """Return a name shortened so that it fits into a cell."""
    return shown.short(str(value), 60)
