"""The pictures of the contest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import figures
from .learners import Kind
from .ranking import Standing
from .scale_lines import EXPONENTS, TASKS, Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS: tuple[Kind, ...] = ("ours", "of the paper", "scale-free", "deep learning")


@figures.styled
def ranks(standings: Sequence[Standing], kinds: Mapping[str, Kind], difference: float) -> Figure:
    """The mean rank of each learner; those in the gray band do not differ significantly from the first."""
    ordered = sorted(standings, key=lambda one: one.rank)
    figure, (panel,) = figures.panels(1, 6.5, 0.26 * len(ordered) + 1.2)
    panel.axvspan(ordered[0].rank, ordered[0].rank + difference, color="0.9", zorder=0)
    for place, one in enumerate(ordered):
        panel.plot([one.rank], [place], "o", color=_color(kinds[one.learner]))
    _rows(panel, [one.learner for one in ordered])
    panel.set_xlabel("mean rank over all tables, by untuned loss")
    panel.set_title(f"Gray: {difference:.1f} ranks, not significant")
    _legend(panel)
    return figure


@figures.styled
def means(standings: Sequence[Standing], kinds: Mapping[str, Kind]) -> Figure:
    """The geometric mean of each learner's loss, untuned and tuned."""
    figure, (panel,) = figures.panels(1, 6.5, 0.26 * len(standings) + 1.2)
    for place, one in enumerate(standings):
        color = _color(kinds[one.learner])
        panel.plot([one.tuned_relative, one.relative], [place, place], color=color, linewidth=1, alpha=0.5)
        panel.plot([one.relative], [place], "o", color=color)
        panel.plot([one.tuned_relative], [place], "o", color=color, fillstyle="none")
    _rows(panel, [one.learner for one in standings])
    panel.set(xscale="log", xlabel="loss over the least untuned loss of the table, geometric mean")
    panel.set_title("Filled: untuned. Open: the best parameter in hindsight")
    _legend(panel)
    return figure


@figures.styled
def scales(lines: Sequence[Line], kinds: Mapping[str, Kind], tuned: bool) -> Figure:
    """The loss of each learner against the scale of one of two features."""
    figure, panels = figures.panels(2, 6.4, 7.2)
    titles = {"regression": "y = x₁ + x₂ + noise", "binary": "sign of x₁ + x₂"}
    for panel, task in zip(panels, TASKS, strict=True):
        for line in lines:
            if line.task != task:
                continue
            style: dict[str, Any] = {"color": _color(kinds[line.learner]), "linewidth": 2.4 if line.flat else 1.2}
            style["linestyle"] = "-" if line.flat else "--"
            losses = line.tuned_losses if tuned else line.losses
            panel.plot([2.0**k for k in EXPONENTS], losses, label=line.learner, **style)
        panel.set(title=titles[task], xscale="log", yscale="log", xlabel="scale of the first feature")
        panel.set_ylabel("progressive squared loss" if task == "regression" else "progressive log loss")
        figures.name_lines(panel)
    what = "best parameter at each scale" if tuned else "untuned"
    figure.suptitle(f"Solid: predictions that do not depend on the unit, to the last bit ({what})")
    return figure


def _color(kind: Kind) -> str:
    return "0.55" if kind == "deep learning" else figures.color(KINDS.index(kind))


def _rows(panel: Axes, names: Sequence[str]) -> None:
    panel.set_yticks(range(len(names)), list(names))
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.grid(axis="y", alpha=0.3)


def _legend(panel: Axes) -> None:
    for kind in KINDS:
        panel.plot([], [], "o", color=_color(kind), label=kind)
    panel.legend(loc="upper right")
