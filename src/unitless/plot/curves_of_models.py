"""Pictures of a model's curves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import figures
from ..errors import OptionError
from ..inference.curve_panels import curve_panels
from ..models.curve_panels import MOST, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@figures.styled
def curves(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    column: Any = None,
    ax: Axes | None = None,
    most: int | None = MOST,
    label: Any = None,
) -> Any:
    """Draw what each column adds to the score: a panel for each column, the most important first.

    The line of a numeric column is the sum of its linear term and its curve, relative to the mean. The gray bars below
    it are the distribution of the values; a dotted line is what a missing value adds. A column of text has a bar for
    each value. What trees add depends on several columns, and is not shown.

    Args:
        model: any model with a model type other than "linear", the result of `train`, or a `Predictor`.
        path: the file to save the picture to (.png, .svg or .pdf). Default: it is not saved.
        column: the only column to draw. Default: all, up to `most`.
        ax: the axis for one column: `column`, or the most important one. Default: a new figure.
        most: the largest number of columns; None for all. Default: 12.
        label: the class to show, if there are several. Default: the classes with the largest curves.

    Returns:
        The axis of the only column, or a list of axes, one for each column.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 2))
        >>> m = ul.Learner(model_type="curves")
        >>> _ = m.learn(X, np.abs(X[:, 0]))
        >>> axes = ul.plot.curves(m)  # or: ul.plot.curves(m, "curves.png")
        >>> [ax.get_title() for ax in axes]
        ['0', '1']
        >>> ul.plot.curves(m, column=1).get_xlabel()
        '1'
    """
    if path is not None:
        figures.check_path(path)
    if column is not None or ax is not None:
        drawn, names = curve_panels(model, None, label)
        panel = _chosen(drawn, column)
        ax = figures.axis(ax) if path is None or ax is not None else figures.panels(1)[1][0]
        figures.curve(ax, panel, names)
        if path is not None:
            figure = ax.get_figure(root=True)
            assert figure is not None
            figures.save(figure, path)
        return ax
    drawn, names = curve_panels(model, most, label)
    figure = figures.curves(drawn, names, figure=None if path is not None else figures.new_figure())
    if path is not None:
        figures.save(figure, path)
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
