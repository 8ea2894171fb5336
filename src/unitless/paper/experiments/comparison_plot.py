"""Draw the comparison of rules. This needs matplotlib: `pip install 'unitless[plot]'`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import figures
from ...errors import OptionError
from .comparison import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 3


@figures.styled
def plot(results: Sequence[Result]) -> Figure:
    """Draw the loss of every rule before and after a change of units, one panel per dataset; unit-free rules in bold.

    A dot is the loss in the data's units. A circle is the loss in other units after the hyperparameter was tuned again,
    a cross the loss in other units with the hyperparameter from before. For a unit-free rule all three coincide.
    """
    if not results:
        raise OptionError("there are no results to show")
    names = list(dict.fromkeys(result.dataset for result in results))
    rules = list(dict.fromkeys(result.rule for result in results))
    figure, panels = figures.panels(len(names), 4.2 if len(names) > 1 else 6.6, 1.2 + 0.27 * len(rules), ACROSS)
    for place, (panel, name) in enumerate(zip(panels, names, strict=True)):
        shown = [result for result in results if result.dataset == name]
        _panel(panel, shown, rules)
        panel.set_yticks(range(len(rules)), rules if place % ACROSS == 0 else [])
    unit_free = {result.rule for result in results if result.unit_free}
    for panel in panels[::ACROSS]:
        for label in panel.get_yticklabels():
            label.set_fontweight("bold" if label.get_text() in unit_free else "normal")
    handles, texts = panels[0].get_legend_handles_labels()
    figure.legend(handles[::-1], texts[::-1], loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("Best loss of each grid, before and after a change of units (bold: unit-free rules)")
    return figure


def _panel(panel: Axes, results: Sequence[Result], rules: Sequence[str]) -> None:
    scale = 100 if results[0].task != "number" else 1
    ran = [result for result in results if result.raw_loss is not None]
    places = [rules.index(result.rule) for result in ran]

    def values(name: str) -> list[float]:
        return [scale * getattr(result, name) for result in ran]

    raw, retuned, unnoticed = values("raw_loss"), values("rescaled_loss"), values("rescaled_loss_at_raw_best")
    finite = [value for value in (*raw, *retuned, *unnoticed) if math.isfinite(value)]
    least, most = min(finite, default=0.0), max(finite, default=1.0)
    room = 0.06 * (most - least) or 1.0
    edge = most + room
    low = [min(group) for group in zip(raw, retuned, unnoticed, strict=True)]
    high = [min(edge, max(group)) for group in zip(raw, retuned, unnoticed, strict=True)]
    panel.hlines(places, low, high, color="0.8", linewidth=2, zorder=1)
    panel.plot(unnoticed, places, "x", color=figures.color(1), markersize=6, label="other units, not tuned again")
    panel.plot(
        retuned, places, "o", color=figures.color(2), markersize=9, fillstyle="none", label="other units, tuned again"
    )
    panel.plot(raw, places, "o", color=figures.color(0), markersize=4.5, label="the data's units, tuned")
    for result in results:
        if result.skipped:
            at = (0.03, rules.index(result.rule))
            panel.annotate(result.skipped, at, xycoords=("axes fraction", "data"), va="center", color="0.5", fontsize=8)
    first = results[0]
    panel.set_title(f"{first.dataset}: {first.rows:,} rows, {first.features} features", fontsize=10, loc="center")
    panel.set_xlabel("progressive error, %" if scale == 100 else "progressive squared loss / range²")
    panel.set_xlim(least - room, edge)
    panel.set_ylim(len(rules) - 0.4, -0.6)
    panel.grid(visible=False, axis="y")
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
