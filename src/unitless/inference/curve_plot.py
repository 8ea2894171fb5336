"""A picture of a model's curves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import plots
from ..errors import Option, OptionError, Phrase
from ..models.curve_panels import MOST, Panel, panels
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from .explanation import class_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLASSES = 6  # of several, those whose curves are drawn


def plot_curves(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    column: Any = None,
    ax: Axes | None = None,
    most: int | None = MOST,
    label: Any = None,
) -> Any:
    """What each column adds to the score, one panel for each, the most important first.

    A line is a column of numbers: its linear term and its curve, from its mean on, in the model of the mixture that has
    both. The grey bars below show where the values are, the dotted line what a missing value adds. Bars are the values
    of a column of text. What trees add depends on several columns, and is not shown.

    Args:
        model: any model with a shape other than "linear", what `train` gave, or a `Predictor`.
        path: where to save it (.png, .svg or .pdf).
        column: the one column to draw.
        ax: the axis to draw one column on: `column`, or the most important one.
        most: how many columns, at most; None for all.
        label: of several classes, the one to show; otherwise those whose curves reach furthest.

    Gives the axis of the one column, or a list of axes, one for each column.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 2))
        >>> m = ul.Learner(shape="curves")
        >>> _ = m.learn(X, np.abs(X[:, 0]))
        >>> axes = ul.plot_curves(m)  # or: ul.plot_curves(m, "curves.png")
        >>> [ax.get_title() for ax in axes]
        ['0', '1']
        >>> ul.plot_curves(m, column=1).get_xlabel()
        '1'
    """
    if path is not None:
        plots.check_path(path)
    if column is not None or ax is not None:
        drawn, names = curve_panels(model, None, label)
        panel = _chosen(drawn, column)
        ax = plots.axis(ax) if path is None or ax is not None else plots.panels(1)[1][0]
        plots.curve(ax, panel, names)
        if path is not None:
            figure = ax.get_figure(root=True)
            assert figure is not None
            plots.save(figure, path)
        return ax
    drawn, names = curve_panels(model, most, label)
    figure = plots.curves(drawn, names, figure=None if path is not None else plots.new_figure())
    if path is not None:
        plots.save(figure, path)
    return figure.axes


def _chosen(drawn: list[Panel], column: Any) -> Panel:
    if not drawn:
        raise OptionError("the model has no curves yet: it has learned nothing")
    if column is None:
        return drawn[0]
    found = {str(panel.column): panel for panel in drawn}
    if str(column) not in found:
        known = ", ".join(list(found)[:8]) + (", ..." if len(found) > 8 else "")
        raise OptionError(f"is {column!r}, which has no curve; these have one: {known}", option="column")
    return found[str(column)]


def curve_panels(model: Any, most: int | None = MOST, label: Any = None) -> tuple[list[Panel], list[str]]:
    """The panels of a model's curves, and the names of their lines: the classes, if there are several."""
    model = model if isinstance(model, Learner | OneVsAll) else getattr(model, "model", model)
    if not isinstance(model, Learner | OneVsAll):
        raise OptionError(f"{type(model).__name__} has no curves; give a Learner, a OneVsAll, or what train gave")
    if not model._bends():
        raise OptionError(
            "a linear model has no curves",
            advice=Phrase("train it with ", Option("shape", "curves"), " or ", Option("shape", "trees")),
        )
    shaped = model._shape_reading()
    if not isinstance(model, OneVsAll):
        if label is not None:
            raise OptionError(f"class {label!r}: this model has no classes of its own; leave it out")
        return panels(shaped, [0], most), [""]
    if label is not None:
        heads = [class_number(model, label)]
    else:
        reach = dict.fromkeys(range(len(model.classes)), 0.0)
        for by_head in shaped.importance().values():
            reach = {head: max(reach[head], float(by_head[head])) for head in reach}
        heads = sorted(sorted(reach, key=lambda head: -reach[head])[:CLASSES])
    return panels(shaped, heads, most), [plots.short_name(model.classes[head]) for head in heads]
