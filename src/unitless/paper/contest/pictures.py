"""The pictures of the contest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import figures
from ...inputs import Float64
from .learners import OURS, Kind
from .ranking import Standing
from .scale_lines import EXPONENTS, TASKS, Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS: tuple[Kind, ...] = ("ours", "of the paper", "scale-free", "deep learning")
DEFAULT = next(iter(OURS))
WORST = 10.0
"""Larger ratios have the same color in the picture of all tables."""


@figures.styled
def ranks(standings: Sequence[Standing], kinds: Mapping[str, Kind], difference: float) -> Figure:
    """The mean rank of each learner; those in the gray band do not differ significantly from the first."""
    ordered = sorted(standings, key=lambda one: one.rank)
    figure, (panel,) = figures.panels(1, 7.5, 0.27 * len(ordered) + 1.2)
    panel.axvspan(ordered[0].rank, ordered[0].rank + difference, color="0.92", zorder=0)
    for place, one in enumerate(ordered):
        panel.plot([one.rank], [place], "o", color=_color(kinds[one.learner]))
        panel.annotate(
            f"{one.rank:.1f}", (one.rank, place), (8, 0), textcoords="offset points", va="center", fontsize="small"
        )
    _rows(panel, [one.learner for one in ordered], kinds)
    panel.set_xlim(1, len(ordered))
    panel.set_xlabel("mean rank over all tables by untuned loss; 1 is the best")
    panel.set_title(f"Gray band: {difference:.1f} ranks, a difference that is not significant")
    return figure


@figures.styled
def means(standings: Sequence[Standing], kinds: Mapping[str, Kind]) -> Figure:
    """The geometric mean of each learner's loss, untuned and tuned."""
    figure, (panel,) = figures.panels(1, 7.5, 0.27 * len(standings) + 1.2)
    for place, one in enumerate(standings):
        color = _color(kinds[one.learner])
        panel.plot([one.tuned_relative, one.relative], [place, place], color=color, linewidth=1, alpha=0.5)
        panel.plot([one.tuned_relative], [place], "o", color=color, markerfacecolor="white")
        panel.plot([one.relative], [place], "o", color=color)
        panel.annotate(
            f"{one.relative:.2f}",
            (one.relative, place),
            (8, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    _rows(panel, [one.learner for one in standings], kinds)
    most = max(one.relative for one in standings)
    panel.set(xscale="log", xlim=(min(one.tuned_relative for one in standings) / 1.1, most * 1.3))
    ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100) if panel.get_xlim()[0] <= tick <= most * 1.3]
    panel.set_xticks(ticks)
    figures.plain_ticks(panel, "{x:g}")
    panel.set_xlabel("loss over the least untuned loss of the table, geometric mean")
    panel.set_title("Filled: untuned. Open: with the best parameter in hindsight")
    return figure


@figures.styled
def tables(names: Sequence[str], learners: Sequence[str], ratios: Float64) -> Figure:
    """The loss of each learner over the least of the table, as colors: a row for each table."""
    figure, (panel,) = figures.panels(1, 0.27 * len(learners) + 3.4, 0.19 * len(names) + 2.2)
    shown = np.log10(np.minimum(ratios, WORST))
    image = panel.imshow(shown, cmap="Blues", aspect="auto", vmin=0, vmax=np.log10(WORST))
    panel.set_xticks(range(len(learners)), list(learners), rotation=90)
    panel.xaxis.tick_top()
    panel.set_yticks(range(len(names)), list(names))
    panel.tick_params(length=0, labelsize="small")
    panel.grid(visible=False)
    for side in panel.spines.values():
        side.set_visible(False)
    bar = figure.colorbar(image, ax=panel, location="bottom", shrink=0.6, aspect=40, pad=0.01)
    bar.set_ticks([float(np.log10(tick)) for tick in (1, 2, 5, 10)], labels=["1", "2", "5", "10 or more"])
    bar.set_label("untuned loss over the least of the table")
    return figure


@figures.styled
def scales(lines: Sequence[Line], kinds: Mapping[str, Kind], tuned: bool) -> Figure:
    """The loss of each learner against the scale of one of two features: a row of panels for each kind of learner, and
    our default in all of them.
    """
    from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415  (an optional dependency)

    there = [kind for kind in KINDS if any(kinds[line.learner] == kind for line in lines)]
    figure = NewFigure(figsize=(10, 3.0 * len(there) + 0.6))
    panels = figure.subplots(len(there), len(TASKS), sharex=True, sharey="col", squeeze=False)
    titles = {"regression": "Squared loss of y = x₁ + x₂ + noise", "binary": "Log loss of the sign of x₁ + x₂"}
    for row, kind in zip(panels, there, strict=True):
        for panel, task in zip(row, TASKS, strict=True):
            _scale_panel(panel, [line for line in lines if line.task == task], kinds, kind, tuned)
        row[0].set_ylabel(kind, fontweight="bold")
    for panel, task in zip(panels[0], TASKS, strict=True):
        panel.set_title(titles[task])
    for panel in panels[-1]:
        panel.set_xlabel("scale of the first feature")
    what = "with the best parameter at each scale" if tuned else "untuned"
    figure.suptitle(f"Progressive loss, {what}\nSolid: no bit of an untuned prediction depends on the scale")
    figure.draw_without_rendering()  # the places of the names depend on the layout
    for panel in panels.flat:
        _name(panel)
    return figure


def _scale_panel(panel: Axes, lines: Sequence[Line], kinds: Mapping[str, Kind], kind: Kind, tuned: bool) -> None:
    from matplotlib.ticker import NullFormatter  # noqa: PLC0415

    families: list[str] = []  # a learner and its scaled variant have the same color
    for line in lines:
        reference = line.learner == DEFAULT and kind != "ours"
        if kinds[line.learner] != kind and not reference:
            continue
        family = line.learner.removesuffix(", scaled")
        if family not in families and not reference:
            families.append(family)
        style: dict[str, Any] = {"linestyle": "-" if line.flat else "--", "linewidth": 2.0}
        style["color"] = figures.GRAY if reference else PALETTE[families.index(family) % len(PALETTE)]
        losses = line.tuned_losses if tuned else line.losses
        panel.plot([2.0**k for k in EXPONENTS], losses, label=line.learner, **style)
    panel.set(xscale="log", yscale="log")
    panel.set_xticks([1e-12, 1e-6, 1.0, 1e6, 1e12])
    panel.yaxis.set_minor_formatter(NullFormatter())


PALETTE = ("#1f6cb0", "#c2571a", "#2a8a6e", "#7a4fa3", "#b8860b", "#b0418f", "#333333", "#17a2b8")
"""Colors for up to eight lines in one panel; gray is our default where it is a reference."""


def _name(panel: Axes) -> None:
    """Write the names of lines at the right, and connect each with the end of its line."""
    figures.name_lines(panel)
    names: list[Any] = list(panel.texts)  # annotations; matplotlib declares them as texts
    for text in names:
        end, place = text.xy[1], text.get_position()[1]
        text.set_position((1.07, place))
        panel.plot(
            [1.0, 1.06],
            [end, place],
            color=text.get_color(),
            linewidth=0.8,
            transform=panel.transAxes,
            clip_on=False,
        )


def _color(kind: Kind) -> str:
    return "0.55" if kind == "deep learning" else figures.color(KINDS.index(kind))


def _rows(panel: Axes, names: Sequence[str], kinds: Mapping[str, Kind]) -> None:
    """A row for each learner, its name in the color of its kind, and a legend of the kinds."""
    panel.set_yticks(range(len(names)), list(names))
    for label, name in zip(panel.get_yticklabels(), names, strict=True):
        label.set_color(_color(kinds[name]))
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.grid(axis="y", alpha=0.3)
    for kind in KINDS:
        panel.plot([], [], "o", color=_color(kind), label=kind)
    panel.legend(loc="upper right", handletextpad=0.1, frameon=True, facecolor="white", edgecolor="none", framealpha=1)
