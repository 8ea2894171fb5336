"""Self-contained HTML pages: no scripts and no external files.

With styles for light and dark screens, phones and paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .html import Html, joined, tag, text
from .sections import Facts, Section, Table

# The content security policy of pages: they may use their own styles, and nothing else.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_LIGHT = """--ground:#fff;--panel:#f6f7f9;--ink:#1c2128;--quiet:#5c6670;--rule:#dfe3e8;--one:#1f6fb5;--two:#c4621b;
--good:#1a7f4b;--warn:#9a6700"""
_DARK = """--ground:#14181d;--panel:#1d2229;--ink:#e6e9ed;--quiet:#9aa5b1;--rule:#343b44;--one:#5aa9ea;--two:#ef9a56;
--good:#4cc38a;--warn:#d8a532"""
STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--ground);color:var(--ink);line-height:1.5;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-variant-numeric:tabular-nums}}
main{{max-width:62rem;margin:0 auto;padding:1.5rem 1.25rem 3rem;overflow-wrap:anywhere}}
h1{{font-size:1.75rem;line-height:1.2;margin:0 0 .3rem}}
h2{{font-size:1.15rem;margin:2.4rem 0 .6rem;padding-bottom:.3rem;border-bottom:1px solid var(--rule)}}
p{{margin:.5rem 0;max-width:48rem}}
.quiet,small,figcaption{{color:var(--quiet)}}
small,figcaption{{font-size:.85rem}}
.lead{{font-size:1.1rem}}
.tiles{{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.8rem;margin:1.2rem 0}}
.tile{{background:var(--panel);border-radius:.6rem;padding:.9rem 1rem}}
.tile b{{display:block;font-size:2rem;line-height:1.25;font-weight:650}}
.tile.main{{box-shadow:inset .25rem 0 var(--one)}}
.tile.good b{{color:var(--good)}}
.wide{{overflow-x:auto}}
table{{border-collapse:collapse;margin:.6rem 0;min-width:min(100%,24rem)}}
th,td{{padding:.35rem .9rem .35rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}}
th{{font-weight:600;font-size:.9rem;overflow-wrap:normal}}
td.number,th.number{{text-align:right;white-space:nowrap}}
td small{{display:block;max-width:24rem}}
td:first-child{{min-width:6.5rem}}
table.facts td:first-child{{color:var(--quiet);white-space:nowrap}}
table.bars{{width:100%}}
table.bars td{{vertical-align:middle;border-bottom:0;padding-top:.2rem;padding-bottom:.2rem}}
table.bars td.bar{{width:50%;min-width:6rem}}
.track{{position:relative;height:.95rem;display:block}}
.track i{{position:absolute;left:0;top:0;bottom:0;border-radius:.15rem;background:var(--one)}}
.track i.other{{background:var(--quiet);opacity:.55}}
.track i.fall{{background:var(--two)}}
.track i.thin{{height:45%;bottom:auto}}
.track i.thin.fall{{top:auto;bottom:0}}
.track u{{position:absolute;top:50%;height:2px;margin-top:-1px;background:var(--ink);text-decoration:none}}
.key{{display:inline-block;width:1.1em;height:.75em;border-radius:.15em;background:var(--one);margin:0 .35em 0 .7em}}
.key.fall{{background:var(--two)}}
.key.other{{background:var(--quiet);opacity:.55}}
.key:first-child{{margin-left:0}}
.charts{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr));
gap:1.4rem 1.6rem;margin:1rem 0}}
figure{{margin:0;max-width:32rem;break-inside:avoid}}
figure>b{{display:block;margin-bottom:.2rem}}
svg.chart{{display:block;width:100%;height:auto}}
svg text{{font-size:11px;fill:var(--quiet)}}
svg path{{fill:none}}
svg .grid{{stroke:var(--rule);stroke-width:.7}}
svg .axis{{stroke:var(--quiet);stroke-width:1}}
svg .line{{stroke:var(--one);stroke-width:2;stroke-linejoin:round}}
svg .faint{{stroke:var(--one);stroke-width:1.2;opacity:.45;stroke-linejoin:round}}
svg .level{{stroke:var(--quiet);stroke-width:1.2;stroke-dasharray:4 3}}
svg .kept{{stroke:var(--two);stroke-width:1.5;stroke-dasharray:7 3}}
svg .dots{{stroke:var(--one);stroke-linecap:round;opacity:.5}}
svg .circle{{fill:var(--one)}}
svg .bars{{fill:var(--one)}}
svg .seen{{fill:var(--quiet);opacity:.35}}
ul{{padding-left:1.2rem;margin:.5rem 0}}
li{{margin:.3rem 0;max-width:48rem}}
.warning{{background:var(--panel);border-left:.25rem solid var(--warn);padding:.6rem .9rem;border-radius:.3rem}}
code,pre{{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em}}
pre{{background:var(--panel);border-radius:.5rem;padding:.7rem .9rem;white-space:pre-wrap;margin:.6rem 0}}
summary{{cursor:pointer;color:var(--quiet);padding:.4rem 0}}
footer{{margin-top:2.5rem;padding-top:.8rem;border-top:1px solid var(--rule);color:var(--quiet);font-size:.85rem}}
@media(max-width:34rem){{main{{padding:1rem .9rem 2rem}}h1{{font-size:1.4rem}}
th,td{{padding-right:.5rem}}th.number{{white-space:normal}}
.tile{{padding:.7rem .8rem}}.tile b{{font-size:1.5rem}}table.bars td.bar{{width:34%;min-width:3rem}}
table{{font-size:.9rem}}th{{font-size:.8rem}}
table.facts td:first-child{{white-space:normal;width:30%}}td small{{max-width:9rem}}}}
@media print{{@page{{margin:1.5cm}}html{{font-size:11px}}
main{{max-width:none;padding:0}}h2,h2+p{{break-after:avoid}}tr,.tile{{break-inside:avoid}}
*{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}.charts{{grid-template-columns:1fr 1fr}}}}
"""


def page(title: str, *parts: Any) -> str:
    """A complete HTML document."""
    head = joined(
        [
            Html('<meta charset="utf-8">'),
            Html('<meta name="viewport" content="width=device-width,initial-scale=1">'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
            tag("title", title),
            tag("style", Html(STYLE)),
        ]
    )
    body = tag("body", tag("main", joined(parts)))
    return f"<!DOCTYPE html>\n{tag('html', joined([tag('head', head), body]), lang='en')}\n"


def section(title: str, *parts: Any) -> Html:
    """A heading with content; empty if there is no content."""
    content = [part for part in parts if part]
    return tag("section", joined([tag("h2", title), *content])) if content else Html("")


def described(shown: Section, *further: Any) -> Html:
    """A described section, with further content of the page."""
    parts: list[Html] = []
    for part in shown.content:
        if isinstance(part, Facts):
            parts.append(facts(part.known))
        elif isinstance(part, Table):
            parts.append(table(part.header, part.rows, left=part.left))
        else:
            parts.append(listed(f"{line[:1].upper()}{line[1:].removesuffix('.')}." for line in part.lines))
    return section(shown.title, *parts, *further)


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]], left: int = 1, kind: str = "") -> Html:
    """A table; all but the first `left` columns are numbers. On narrow screens it scrolls."""

    def line(cells: Sequence[Any], name: str) -> Html:
        made = [tag(name, cell, class_="" if k < left else "number") for k, cell in enumerate(cells)]
        return tag("tr", joined(made))

    body = [tag("tbody", joined(line(row, "td") for row in rows))]
    head = [tag("thead", line(header, "th"))] if any(header) else []
    made = tag("table", joined([*head, *body]), class_=kind)
    return tag("div", made, class_="wide")


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Names and values; entries without a value are left out."""
    rows = [pair for pair in pairs if pair[1] not in (None, "")]
    return table(["", ""], rows, left=2, kind="facts") if rows else Html("")


def tile(name: Any, number: str, about: Any, kind: str = "") -> Html:
    """A number in large type."""
    content = joined([tag("small", name), tag("b", number), tag("small", about)])
    return tag("div", content, class_=f"tile {kind}".strip())


def bar(share: float, kind: str = "", whisker: tuple[float, float] | None = None) -> Html:
    """A bar whose length is a share of the width; a whisker shows an interval over it."""
    inner = [tag("i", "", f"width:{_percent(share)}", class_=kind)]
    if whisker is not None:
        low, high = whisker
        inner.append(tag("u", "", f"left:{_percent(low)};width:{_percent(high - low)}"))
    return tag("span", joined(inner), class_="track", aria_hidden="true")


def bar_table(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Html:
    """Rows of a name, a bar and numbers."""

    def line(cells: Sequence[Any], name: str) -> Html:
        kinds = ["", "bar", *["number"] * (len(cells) - 2)]
        made = [tag(name, cell, class_=kind) for cell, kind in zip(cells, kinds, strict=True)]
        return tag("tr", joined(made))

    head = [tag("thead", line(header, "th"))] if any(header) else []
    body = tag("tbody", joined(line(row, "td") for row in rows))
    return tag("div", tag("table", joined([*head, body]), class_="bars"), class_="wide")


def figure(title: Any, chart: Html, caption: Any = "") -> Html:
    """A chart with a title above and a caption below."""
    return tag("figure", joined([tag("b", title), chart, *([tag("figcaption", caption)] if caption else [])]))


def listed(items: Iterable[Any]) -> Html:
    """A list of notes; empty if there are none."""
    made = [tag("li", item) for item in items]
    return tag("ul", joined(made)) if made else Html("")


def paragraph(*content: Any, kind: str = "") -> Html:
    """A paragraph of sentences."""
    return tag("p", joined(map(text, content)), class_=kind)


def folded(summary: str, content: Html) -> Html:
    """Content that is shown when the reader opens it."""
    return tag("details", joined([tag("summary", summary), content]))


def _percent(share: float) -> str:
    return f"{100 * min(1.0, max(0.0, share)):.2f}%"
