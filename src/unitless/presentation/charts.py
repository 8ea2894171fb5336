"""Small charts as SVG in HTML: lines, dots and bars between two axes, written as text without further libraries.

Colors and fonts are classes (`line`, `other`, `dots`, ...) that the page's style sheet defines, so that a chart follows
the page's dark and print styles. Numbers that are not finite are left out, and lines end at the edge of the axes.

    >>> from unitless.presentation import charts
    >>> frame = charts.Frame("a parabola", charts.Axis("x", 0, 2), charts.Axis("y", 0, 4))
    >>> print(frame.drawn(frame.line([0, 1, 2], [0, 1, 4]))[:4])
    <svg
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .html import Html, joined, tag

WIDTH, HEIGHT = 360, 260
_LETTER = 6.2  # the largest width of a letter in the axis labels
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def amount(value: float, step: float = 0.0) -> str:
    """A number at an axis: 0.25, 1,500, 20k, 3M; `step` is the distance between the numbers of the axis.

    >>> from unitless.presentation import charts
    >>> [charts.amount(x) for x in (0.25, 1500, 20000, 3e6, 1e-7)]
    ['0.25', '1,500', '20k', '3M', '1e-07']
    """
    size = max(abs(value), step)
    if value == 0:
        return "0"
    if not 1e-4 <= size < 1e15:
        return f"{value:.3g}"
    for unit, letter in _UNITS:
        if size >= 10 * unit or size >= unit > 1e3:
            return f"{_plain(value / unit, step / unit)}{letter}"
    return _plain(value, step)


def percent(value: float, step: float = 0.0) -> str:
    """A share at an axis, in percent."""
    return f"{_plain(100 * value, 100 * step)}%"


def _plain(value: float, step: float) -> str:
    """A number with enough digits to distinguish it from its neighbors on the axis."""
    if not step:
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    text = f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9) + 1)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True)
class Axis:
    """The range and the title of an axis."""

    label: str
    low: float
    high: float
    log: bool = False
    form: Callable[[float, float], str] = amount

    def share(self, value: float) -> float:
        """The position of a number on the axis, from 0 to 1."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, self.low))
        along = (value - low) / (high - low) if high > low else 0.5
        return min(1.0, max(0.0, along))

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """Round numbers on the axis, with their text."""
        if not self.high > self.low:
            return [(self.low, self.form(self.low, 0.0))]
        if self.log and self.high >= 3 * self.low:
            return [(value, self.form(value, 0.0)) for value in self._powers(most)]
        step = _step((self.high - self.low) / most)
        if not step:
            return [(self.low, self.form(self.low, 0.0))]
        first, last = math.ceil(self.low / step - 1e-6), math.floor(self.high / step + 1e-6)
        return [(k * step, self.form(k * step, step)) for k in range(first, last + 1)]

    def _powers(self, most: int) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1.0, 2.0, 5.0) if last - first <= most / 2 else (1.0,)
        every = max(1, math.ceil((last - first) / most))
        found = [step * 10.0**k for k in range(first, last + 1, every) for step in steps]
        return [value for value in found if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


def _step(least: float) -> float:
    """The smallest of 1, 2, 2.5, 5, 10, ... that is not below `least`."""
    if not (math.isfinite(least) and least > 1e-300):
        return 0.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(size * power for size in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0) if size * power >= least * (1 - 1e-9))


class Frame:
    """Two axes, and the marks that are drawn between them.

    Args:
        title: the description for readers who cannot see the chart.
        x: the horizontal axis.
        y: the vertical axis.
        width: the width of the chart; the page stretches it to the available width.
    """

    def __init__(self, title: str, x: Axis, y: Axis, width: int = WIDTH) -> None:
        self.title, self.x, self.y = title, x, y
        self._x_ticks, self._y_ticks = x.ticks(max(3, width // 70)), y.ticks()
        widest = max((len(text) for _, text in self._y_ticks), default=1)
        self._width = width
        self._left, self._right = 24 + _LETTER * widest, width - 14
        self._top, self._bottom = 10, HEIGHT - 42

    def at(self, x: float, y: float) -> str:
        """The pixel position of a point."""
        return f"{_short(self._across(x))} {_short(self._down(y))}"

    def _across(self, x: float) -> float:
        return self._left + self.x.share(x) * (self._right - self._left)

    def _down(self, y: float) -> float:
        return self._bottom - self.y.share(y) * (self._bottom - self._top)

    def line(self, x: Sequence[float], y: Sequence[float], kind: str = "line") -> Html:
        """A line through points, in order."""
        points = [self.at(a, b) for a, b in _finite(x, y)]
        return tag("path", "", d="M" + "L".join(points), class_=kind) if points else Html("")

    def dots(self, x: Sequence[float], y: Sequence[float]) -> Html:
        """Points of one size; points beyond the axes are left out."""
        inside = [
            self.at(a, b) for a, b in _finite(x, y) if self.x.low <= a <= self.x.high and self.y.low <= b <= self.y.high
        ]
        path = "".join(f"M{point}h0" for point in inside)
        return tag("path", "", d=path, class_="dots", stroke_width="3") if path else Html("")

    def circles(self, x: Sequence[float], y: Sequence[float], share: Sequence[float]) -> Html:
        """Circles whose area shows a share; `share` is relative to the largest circle, which is 1."""
        made = []
        for a, b, part in zip(x, y, share, strict=True):
            across, down = self.at(a, b).split()
            made.append(tag("circle", "", cx=across, cy=down, r=f"{2 + 5 * math.sqrt(part):.1f}", class_="circle"))
        return joined(made)

    def bars(self, edges: Sequence[float], heights: Sequence[float], kind: str = "bars") -> Html:
        """Bars from the horizontal axis, between edges (one more than bars)."""
        path = ""
        for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
            if self._down(height) < self._bottom:
                a, b = self._across(left), self._across(right)
                gap = min(0.5, (b - a) / 8)
                path += f"M{_short(a + gap)} {_short(self._bottom)}V{_short(self._down(height))}"
                path += f"H{_short(b - gap)}V{_short(self._bottom)}Z"
        return tag("path", "", d=path, class_=kind) if path else Html("")

    def level(self, y: float, kind: str = "level") -> Html:
        """A horizontal line."""
        if not (math.isfinite(y) and self.y.low <= y <= self.y.high):
            return Html("")
        return self.line([self.x.low, self.x.high], [y, y], kind)

    def upright(self, x: float, kind: str = "level") -> Html:
        """A vertical line."""
        if not (math.isfinite(x) and self.x.low <= x <= self.x.high):
            return Html("")
        return self.line([x, x], [self.y.low, self.y.high], kind)

    def drawn(self, *marks: Html) -> Html:
        """The chart, with its axes below the marks."""
        return tag(
            "svg",
            joined([tag("title", self.title), self._axes(), *marks]),
            viewBox=f"0 0 {self._width} {HEIGHT}",
            role="img",
            class_="chart",
        )

    def _axes(self) -> Html:
        grid, texts = "", []
        for value, text in self._y_ticks:
            down = self._down(value)
            grid += f"M{_short(self._left)} {_short(down)}H{_short(self._right)}"
            texts.append(_text(text, self._left - 6, down + 3.5, "end"))
        for value, text in self._x_ticks:
            across = self._across(value)
            grid += f"M{_short(across)} {_short(self._top)}V{_short(self._bottom)}"
            last = across > self._right - _LETTER * len(text) / 2 + 10
            texts.append(
                _text(text, self._right + 10 if last else across, self._bottom + 15, "end" if last else "middle")
            )
        middle, height = (self._left + self._right) / 2, (self._top + self._bottom) / 2
        texts.append(_text(self.x.label, middle, HEIGHT - 8, "middle"))
        turned = f"rotate(-90 11 {_short(height)})"
        texts.append(tag("text", self.y.label, x="11", y=_short(height), text_anchor="middle", transform=turned))
        base = f"M{_short(self._left)} {_short(self._bottom)}H{_short(self._right)}"
        return joined([tag("path", "", d=grid, class_="grid"), tag("path", "", d=base, class_="axis"), *texts])


def _text(content: str, x: float, y: float, anchor: str) -> Html:
    return tag("text", content, x=_short(x), y=_short(y), text_anchor=anchor)


def _short(value: float) -> str:
    """A number rounded to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def _finite(x: Iterable[float], y: Iterable[float]) -> Iterator[tuple[float, float]]:
    return ((a, b) for a, b in zip(x, y, strict=True) if math.isfinite(a) and math.isfinite(b))


def limits(values: Iterable[float], from_zero: bool = False) -> tuple[float, float, bool]:
    """The range of an axis, and whether it is logarithmic, which keeps small values visible next to very large ones.

    >>> from unitless.presentation import charts
    >>> charts.limits([1.0, 1.5, 2.0])
    (0.9, 2.1, False)
    >>> charts.limits([0.001, 0.1, 1e6])[2]
    True
    """
    found = sorted(value for value in values if math.isfinite(value))
    if not found:
        return 0.0, 1.0, False
    least, most = found[0], found[-1]
    if not from_zero and least > 0 and most > 100 * least:
        return least / 1.5, min(1.5 * most, 1e4 * least), True
    usual = found[(3 * (len(found) - 1)) // 4]
    if most > usual + 3 * (usual - least) > least:
        most = usual + 2 * (usual - least)
    room = 0.1 * (most - least) or abs(most) / 2 or 0.5
    return (0.0 if from_zero or 0 <= least < room else least - room), most + room, False
