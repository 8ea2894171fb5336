"""Draw progress, learning rates, metrics and curves. This needs matplotlib: `pip install 'unitless[plot]'`.

Figures are made without pyplot: no window opens, and no global state changes. Only the functions of `ul.plot` use
pyplot, to make a figure when the caller gives none. Every figure has the style of plot/style.mplstyle. The name of a
line is written at its end, so that no legend covers the lines.

    >>> import unitless as ul
    >>> from unitless import figures
    >>> result = ul.metrics.progressive(ul.Learner(), [[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0])
    >>> figure = figures.progress({"nag": result.curve}, "squared loss", "y = 2x")
    >>> figures.save(figure, "progress.png")  # doctest: +SKIP
"""

from __future__ import annotations

import functools
import io
import math
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from . import whole_file
from .errors import OptionError
from .metrics.curves import Bars, Curve, Curves, Pairs, Reliability
from .metrics.history import Moment
from .models.curve_panels import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
STYLE = "unitless.plot.style"
GRAY = "#767676"  # reference lines
_LINES = ("-", "--", "-.", ":")  # after all colors are used, they repeat with the next line style
_NAME = "unitless-line-name"  # marks the texts that name lines
_Drawn = TypeVar("_Drawn")
_Given = ParamSpec("_Given")


def styled(draw: Callable[_Given, _Drawn]) -> Callable[_Given, _Drawn]:
    """Let a function draw in the style of this package, without changing the style of the program."""

    @functools.wraps(draw)
    def drawn(*arguments: _Given.args, **options: _Given.kwargs) -> _Drawn:
        try:
            from matplotlib import style  # noqa: PLC0415  (an optional dependency)
        except ImportError:
            raise OptionError("plots need matplotlib: pip install 'unitless[plot]'") from None
        with style.context(STYLE):
            return draw(*arguments, **options)

    return drawn


def color(place: int) -> str:
    """Return the color of the line with this number. ("C0" would be looked up later, in the style of the program.)"""
    found = _colors()
    return found[place % len(found)]


@functools.cache
def _colors() -> list[str]:
    from matplotlib import rc_params_from_file  # noqa: PLC0415  (an optional dependency)

    file = pathlib.Path(__file__).parent / "plot" / "style.mplstyle"
    cycle = rc_params_from_file(file, use_default_template=False)["axes.prop_cycle"]
    return [f"#{one.lstrip('#')}" for one in cycle.by_key()["color"]]


@styled
def progress(curves: Mapping[str, Sequence[Moment]], metric: str, title: str, *, recent: bool = False) -> Figure:
    """Draw the progressive loss against the number of examples, one line per name; for classes also the error rate.

    Args:
        curves: `Evaluation.curve` (or the coarser `history`) by the name of the line.
        metric: the name of the loss.
        title: the title of the figure.
        recent: where there is no error rate, add a panel with the loss between two moments, which large errors on the
            first examples do not influence.
    """
    has_errors = any(moments and moments[-1].error_rate is not None for moments in curves.values())
    shown = ["loss", *(["error_rate"] if has_errors else ["since_last"] if recent else [])]
    figure, axes = panels(len(shown))
    for panel, of in zip(axes, shown, strict=True):
        history(panel, curves, of, metric)
    figure.suptitle(title)
    return figure


def history(panel: Axes, curves: Mapping[str, Sequence[Moment]], of: str, metric: str) -> None:
    """Draw one field of moments against the number of examples, one line per name.

    Args:
        panel: the axis to draw on.
        curves: moments by the name of the line.
        of: the field: "loss", "error_rate" or "since_last".
        metric: the name of the loss.
    """
    curves = {name: _settled(moments) for name, moments in curves.items() if moments}
    if of == "since_last":
        _recent(panel, curves, metric)
    for place, (name, moments) in enumerate(curves.items()):
        if of == "loss":
            _mean_loss(panel, name, moments, place)
        elif of == "error_rate":
            _error_rate(panel, name, moments, place)
    if of == "loss":
        _limit(panel, [moment.loss for moments in curves.values() for moment in moments])
        panel.set_ylabel(f"progressive {metric}")
    elif of == "error_rate":
        _limit_errors(panel, curves)
    panel.set(xlabel="rows seen", xscale="log")
    plain_ticks(panel, "{x:,.0f}")
    name_lines(panel)


def _mean_loss(panel: Axes, name: str, moments: Sequence[Moment], place: int) -> None:
    values = [moment.loss for moment in moments]
    examples = [moment.examples for moment in moments]
    panel.plot(examples, values, label=_named(name, _short(values[-1])), **_line(place))


def _error_rate(panel: Axes, name: str, moments: Sequence[Moment], place: int) -> None:
    known = [(moment.examples, 100 * moment.error_rate) for moment in moments if moment.error_rate is not None]
    if known:
        panel.plot(*zip(*known, strict=True), label=_named(name, f"{known[-1][1]:.3g}%"), **_line(place))


def _named(name: str, value: str) -> str:
    """The name of a line with its last value."""
    return f"{name}  {value}" if name else value


def _recent(panel: Axes, curves: Mapping[str, Sequence[Moment]], metric: str) -> None:
    """Draw the loss between two moments."""
    for place, (name, moments) in enumerate(curves.items()):
        points = [(moment.examples, moment.since_last) for moment in moments[1:] if math.isfinite(moment.since_last)]
        last = "diverged" if not points or math.isinf(moments[-1].loss) else _short(points[-1][1])
        panel.plot(*zip(*points, strict=True) if points else ([], []), label=_named(name, last), **_line(place))
    _limit(panel, [moment.since_last for moments in curves.values() for moment in moments[1:]])
    panel.set_ylabel(f"{metric} since the previous point")


@styled
def sweep(losses: Mapping[str, Mapping[float, float]], ylabel: str, title: str) -> Figure:
    """Make a figure of loss against learning rate, one line per name, with the best rate of each marked.

    Args:
        losses: the loss of each rate, by the name of the line; a rate that diverged has infinity or is absent.
        ylabel: the name of the loss.
        title: the title of the figure.
    """
    figure, axes = panels(1)
    rates(axes[0], losses, ylabel)
    figure.suptitle(title)
    return figure


def rates(panel: Axes, losses: Mapping[str, Mapping[float, float]], ylabel: str) -> None:
    """Draw loss against learning rate, one line per name, with the best rate of each marked."""
    shown: list[float] = []
    for place, (name, by_rate) in enumerate(losses.items()):
        points = sorted((rate, loss) for rate, loss in by_rate.items() if math.isfinite(loss))
        if not points:
            panel.plot([], [], label=f"{name}  diverged", **_line(place))
            continue
        best, least = min(points, key=lambda point: point[1])
        label = f"{name}  {_short(least)} at rate {best:.3g}"
        (line,) = panel.plot(*zip(*points, strict=True), label=label, marker=".", **_line(place))
        panel.plot(best, least, "o", color=line.get_color(), markersize=9, markeredgecolor="white", zorder=3)
        shown += [loss for _, loss in points]
    _limit(panel, shown)
    panel.set(xlabel="learning rate", xscale="log", ylabel=ylabel)
    plain_ticks(panel, "{x:g}")
    name_lines(panel)


@styled
def score(curves: Curves, title: str, per_class: Mapping[Any, Mapping[str, float]] | None = None) -> Figure:
    """Make a figure of an evaluation: for classes ROC, precision and recall, reliability; for numbers the residuals.

    Args:
        curves: what was computed from the predictions.
        title: the title of the figure.
        per_class: precision and recall by class, where there are more than two.
    """
    drawn: list[Any] = []
    for data, draw in (
        (curves.roc, roc),
        (curves.precision_recall, precision_recall),
        (per_class or None, by_class),
        (curves.reliability, reliability),
        (curves.pairs, against),
        (curves.residuals, residuals),
    ):
        if data is not None:
            drawn.append((data, draw))
    figure, axes = panels(max(1, len(drawn)))
    for (data, draw), panel in zip(drawn, axes, strict=False):
        draw(panel, data)
    figure.suptitle(title)
    return figure


def roc(panel: Axes, curve: Curve, name: str | None = None) -> None:
    """Draw a ROC curve; a random answer lies on the diagonal."""
    panel.plot(curve.x, curve.y, label=name, **_line(_named_lines(panel)))
    panel.plot([0, 1], [0, 1], color=GRAY, linewidth=1, linestyle=":")
    panel.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 1), ylim=(0, 1.01))
    legend_below(panel)
    panel.set_title("ROC", loc="center")


def precision_recall(panel: Axes, curve: Curve, name: str | None = None) -> None:
    """Draw precision against recall; the dotted line is the share of positive rows."""
    panel.plot(curve.x, curve.y, label=name, **_line(_named_lines(panel)))
    panel.axhline(float(curve.y[-1]), color=GRAY, linewidth=1, linestyle=":")
    panel.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.01))
    legend_below(panel)
    panel.set_title("Precision and recall", loc="center")


def reliability(panel: Axes, data: Reliability, name: str | None = None) -> None:
    """Draw the observed share of positive rows against the predicted probability; a perfect model is on the diagonal.

    The area of a dot grows with its number of rows.
    """
    panel.plot([0, 1], [0, 1], color=GRAY, linewidth=1, linestyle=":")
    (line,) = panel.plot(data.predicted, data.observed, label=name, **_line(_named_lines(panel)))
    size = 20 + 180 * data.weight / data.weight.max()
    panel.scatter(data.predicted, data.observed, s=size, color=line.get_color(), zorder=3)
    panel.set(xlabel="predicted probability", ylabel="observed share", xlim=(0, 1), ylim=(0, 1.01))
    legend_below(panel)
    panel.set_title("Reliability", loc="center")


def _named_lines(panel: Axes) -> int:
    """How many named lines the axis has; the next one gets the next color."""
    return len(panel.get_legend_handles_labels()[1])


def residuals(panel: Axes, data: Bars) -> None:
    """Draw a histogram of the differences between truth and prediction."""
    panel.bar(data.edges[:-1], data.weight, data.edges[1:] - data.edges[:-1], align="edge", color=color(0))
    panel.axvline(0.0, color=GRAY, linewidth=1, linestyle=":")
    panel.set(xlabel="truth − prediction, in the label's unit", ylabel="rows")
    panel.set_title("Residuals" + (f" ({data.beyond:.1%} not shown)" if data.beyond >= 0.001 else ""), loc="center")


def against(panel: Axes, data: Pairs) -> None:
    """Draw the truth against the prediction, for a sample of rows."""
    from numpy import concatenate, quantile  # noqa: PLC0415

    both = concatenate([data.predicted, data.truth])
    low, high = quantile(both[abs(both) < math.inf], [0.001, 0.999]).tolist()
    panel.scatter(data.predicted, data.truth, s=8, alpha=0.4, linewidths=0, color=color(0))
    panel.plot([low, high], [low, high], color=GRAY, linewidth=1, linestyle=":")
    room = 0.03 * (high - low) or 1.0
    panel.set(xlabel="prediction", ylabel="truth", xlim=(low - room, high + room), ylim=(low - room, high + room))
    panel.set_title("Prediction and truth", loc="center")


def by_class(panel: Axes, per_class: Mapping[Any, Mapping[str, float]]) -> None:
    """Draw precision and recall of the twelve most frequent classes as bars."""
    shown = sorted(per_class.items(), key=lambda item: -item[1]["share"])[:12][::-1]
    for place, name in enumerate(("precision", "recall")):
        values = [of[name] if math.isfinite(of[name]) else 0.0 for _, of in shown]
        panel.barh([k + 0.2 - 0.4 * place for k in range(len(shown))], values, 0.38, label=name, color=color(place))
    panel.set_yticks(range(len(shown)), [short_name(label) for label, _ in shown])
    panel.set(xlim=(0, 1), xlabel="share")
    panel.grid(visible=False, axis="y")
    legend_below(panel)
    panel.set_title("By class", loc="center")


def short_name(label: Any) -> str:
    """A label of at most 16 letters."""
    text = str(label)
    return text if len(text) <= 16 else f"{text[:13]}..."


def importance(panel: Axes, bars: Sequence[tuple[str, float, float, float]], xlabel: str) -> None:
    """Draw values with intervals as bars, the largest on top: a name, the value, and the ends of its interval."""
    panel.barh(range(len(bars)), [value for _, value, _, _ in bars], 0.7, color=color(0))
    for place, (_, _, low, high) in enumerate(bars):
        if low < high:
            panel.plot([low, high], [place, place], color=GRAY, linewidth=1.5, solid_capstyle="butt")
    panel.set_yticks(range(len(bars)), [_side_name(name) for name, *_ in bars])
    panel.invert_yaxis()
    panel.set_xlabel(xlabel)
    panel.grid(visible=False, axis="y")


def steps(panel: Axes, start: float, parts: Sequence[tuple[str, float]], xlabel: str) -> None:
    """Draw how a sum is reached: from `start`, a bar for each part, which begins where the previous one ends."""
    from .presentation.html import FALL, RISE  # noqa: PLC0415  (the colors of explanations in notebooks)

    before, ends = start, []
    for _, amount in parts:
        ends.append((before, amount))
        before += amount
    for place, (low, amount) in enumerate(ends):
        panel.barh(place, amount, 0.7, left=low, color=RISE if amount >= 0 else FALL)
        panel.plot([low + amount] * 2, [place - 0.35, min(place + 1.35, len(parts) - 0.65)], color=GRAY, linewidth=0.8)
        inside, away = ("left", 3) if amount >= 0 else ("right", -3)
        panel.annotate(
            f"{amount:+.3g}",
            (low + amount, place),
            xytext=(away, 0),
            textcoords="offset points",
            ha=inside,
            va="center",
            fontsize="small",
        )
    panel.axvline(start, color=GRAY, linewidth=1, linestyle=":")
    reached = [start, *(low + amount for low, amount in ends)]
    room = 0.15 * (max(reached) - min(reached)) or 1.0  # for the numbers next to the bars
    panel.set_xlim(min(reached) - room, max(reached) + room)
    panel.set_yticks(range(len(parts)), [_side_name(name) for name, _ in parts])
    panel.invert_yaxis()
    panel.set_xlabel(xlabel)
    panel.grid(visible=False, axis="y")


def _side_name(label: Any) -> str:
    """The name of a bar, of at most 32 letters."""
    text = str(label)
    return text if len(text) <= 32 else f"{text[:29]}..."


def axis(ax: Axes | None, width: float = 6.4, height: float = 4.4) -> Axes:
    """Return the axis that was given, or the axis of a new figure."""
    return ax if ax is not None else new_figure(width, height).subplots()


def new_figure(width: float = 6.4, height: float = 4.4) -> Figure:
    """Make a figure of pyplot, which notebooks show by themselves and scripts with `pyplot.show()`."""
    try:
        from matplotlib import pyplot  # noqa: PLC0415  (an optional dependency)
    except ImportError:
        raise OptionError("plots need matplotlib: pip install 'unitless[plot]'") from None
    return pyplot.figure(figsize=(width, height), layout="constrained")


def curve(panel: Axes, of: Panel, names: Sequence[str]) -> None:
    """Draw the curve of one column, on its own scale."""
    _curve(panel, of, names)
    heights = [float(height) for height in of.heights()]
    if heights and not of.texts:
        room = 0.08 * (max(heights) - min(heights)) or 1.0
        panel.set_ylim(min(heights) - 3 * room, max(heights) + room)
        _density(panel, of, min(heights) - 3 * room, 2.6 * room)
    panel.set_xlabel("adds to the score" if of.texts else str(of.column))
    panel.set_ylabel(str(of.column) if of.texts else "adds to the score")
    if len(names) > 1:
        legend_below(panel)


@styled
def curves(drawn: Sequence[Panel], names: Sequence[str], figure: Figure | None = None) -> Figure:
    """Draw the curves of several columns, a panel for each, all on one scale.

    Args:
        drawn: the panels.
        names: the names of the lines; empty for a single one.
        figure: the figure to draw on; None for a new one.
    """
    across = 3 if len(drawn) in (5, 6, 9) else 4  # the fewest empty places
    figure, axes = panels(max(1, len(drawn)), 3.6, 3.0, across, figure)
    for place, (panel, of) in enumerate(zip(axes, drawn, strict=False)):
        _curve(panel, of, names)
        panel.set_title(short_name(of.column), loc="center")
        if place % across == 0 and not of.texts:
            panel.set_ylabel("adds to the score")
    heights = [float(height) for of in drawn for height in of.heights()]
    if heights:
        low, high = min(heights), max(heights)
        room = 0.08 * (high - low) or 1.0
        for panel, of in zip(axes, drawn, strict=False):
            if not of.texts:
                panel.set_ylim(low - 3 * room, high + room)
                _density(panel, of, low - 3 * room, 2.6 * room)
            else:
                panel.set_xlim(low - room, high + room)
    if len(names) > 1 and drawn:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=min(6, len(names)))
    figure.suptitle("What each column adds to the score")
    return figure


def _curve(panel: Axes, of: Panel, names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        if of.texts:
            thick = 0.8 / len(names)
            at = [k + thick * (place - (len(names) - 1) / 2) for k in range(len(of.texts))]
            panel.barh(at, of.y[:, place], thick, label=name, color=color(place))
        else:
            panel.plot(of.x, of.y[:, place], label=name, **_line(place))
            if of.missing is not None:
                panel.axhline(float(of.missing[place]), color=color(place), linewidth=1, linestyle=":")
    if of.texts:
        panel.axvline(0.0, color=GRAY, linewidth=1)
        panel.set_yticks(range(len(of.texts)), [short_name(text) for text in of.texts])
        panel.invert_yaxis()


def _density(panel: Axes, of: Panel, bottom: float, height: float) -> None:
    """Draw the distribution of the values along the lower edge."""
    most = float(of.rows.max(initial=0.0))
    if most > 0:
        widths = of.edges[1:] - of.edges[:-1]
        panel.bar(of.edges[:-1], height * of.rows / most, widths, bottom, align="edge", color="0.8", zorder=0)


def check_path(path: str | os.PathLike[str]) -> None:
    """Raise an error if a picture cannot be saved there; called before long work."""
    target = pathlib.Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise OptionError(f"a picture cannot be saved as {target.name!r}; its name must end in {', '.join(SUFFIXES)}")
    if not target.absolute().parent.is_dir():
        raise OptionError(f"a picture cannot be saved as {str(path)!r}: there is no folder {str(target.parent)!r}")
    panels(1)


@styled
def save(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """Write a PNG, SVG or PDF, as the name ends: completely or not at all. Without a path nothing is written."""
    if path is None:
        return figure
    target = pathlib.Path(path)
    check_path(path)
    content = io.BytesIO()
    figure.savefig(content, format=target.suffix[1:].lower())
    whole_file.write(target, content.getvalue())
    return figure


@styled
def panels(
    count: int, width: float = 5.2, height: float = 4.4, across: int | None = None, figure: Figure | None = None
) -> tuple[Figure, list[Axes]]:
    """Make a figure with panels.

    Args:
        count: the number of panels.
        width: the width of a panel in inches.
        height: its height in inches.
        across: the number of panels in a row; None for all.
        figure: the figure to draw on; None for a new one.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  (an optional dependency)

    across = min(count, across or count)
    down = -(-count // across)
    size = (width * across + (1.8 if count == 1 else 0), height * down)  # one panel has room for names at its right
    if figure is None:
        figure = Figure(figsize=size, layout="constrained")
    else:
        figure.set_size_inches(size)
    found = list(figure.subplots(down, across, squeeze=False).ravel())
    for unused in found[count:]:
        unused.remove()
    return figure, found[:count]


def plain_ticks(panel: Axes, written: str) -> None:
    """Write the numbers below a logarithmic axis in full, such as 10,000."""
    from matplotlib.ticker import NullFormatter, StrMethodFormatter  # noqa: PLC0415

    panel.xaxis.set_major_formatter(StrMethodFormatter(written))
    panel.xaxis.set_minor_formatter(NullFormatter())


def legend_below(panel: Axes) -> None:
    """Name lines that end in the same point, or bars, below the axis, where the legend covers nothing."""
    names = panel.get_legend_handles_labels()[1]
    if names:
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=min(3, len(names)), borderaxespad=0.0)


def name_lines(panel: Axes) -> None:
    """Write the name of each line at the right of the axis, at the height at which the line ends, in its color.

    Call this when the limits of the axis are set. Names that would overlap are moved apart.
    """
    for text in [one for one in panel.texts if one.get_gid() == _NAME]:
        text.remove()
    found = panel.get_legend_handles_labels()
    lines: list[Any] = list(found[0])  # lines, which have a color; matplotlib declares them as artists
    names = found[1]
    ends = [_end(panel, line) for line in lines]
    figure = panel.get_figure(root=True)
    height = 72 * panel.get_position().height * (4.0 if figure is None else figure.get_size_inches()[1])
    places = _apart(ends, 14 / max(height, 14.0))
    for line, name, end, place in zip(lines, names, ends, places, strict=True):
        annotation = panel.annotate(
            name,
            (1.0, end),
            xycoords="axes fraction",
            xytext=(1.02, place),
            color=line.get_color(),
            va="center",
            fontsize="small",
            annotation_clip=False,
        )
        annotation.set_gid(_NAME)


def _end(panel: Axes, line: Any) -> float:
    """The height at which a line ends, as a fraction of the axis; the middle for a line without points."""
    points = [value for value in line.get_ydata() if math.isfinite(value)]
    if not points:
        return 0.5
    at = panel.transAxes.inverted().transform(panel.transData.transform((panel.get_xlim()[1], points[-1])))[1]
    return float(min(1.0, max(0.0, at))) if math.isfinite(at) else 1.0


def _apart(ends: Sequence[float], least: float) -> list[float]:
    """Heights close to the ends of lines and at least so far apart, in the same order.

    >>> _apart([0.5, 0.5, 0.9], 0.1)
    [0.45, 0.55, 0.9]
    """
    groups: list[list[float]] = []  # center, number of names
    order = sorted(range(len(ends)), key=lambda k: ends[k])
    for k in order:
        groups.append([ends[k], 1.0])
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < least * (groups[-1][1] + groups[-2][1]) / 2:
            center, size = groups.pop()
            below = groups[-1]
            below[0] = (below[0] * below[1] + center * size) / (below[1] + size)
            below[1] += size
    heights = [center + least * (k - (size - 1) / 2) for center, size in groups for k in range(int(size))]
    heights = [max(height, least * (k + 0.5)) for k, height in enumerate(heights)]  # not below the axis
    return [height for _, height in sorted(zip(order, heights, strict=True))]


def _line(place: int) -> dict[str, Any]:
    style = _LINES[place // len(_colors()) % len(_LINES)]
    return {"color": color(place), "linestyle": style, "linewidth": 2}


def _settled(moments: Sequence[Moment]) -> Sequence[Moment]:
    """Leave out the moments before the cube root of the number of examples, whose means are noise."""
    start = moments[-1].examples ** (1 / 3)
    return [moment for moment in moments if moment.examples >= start]


def _limit(panel: Axes, values: list[float]) -> None:
    """Set the limits of the vertical axis so that a line that diverges does not flatten the others.

    The axis is logarithmic if values differ by more than a factor of 100; it ends at 10,000 times the least value.
    Otherwise the largest quarter of the values is cut off where it is far above the others.
    """
    values = sorted(value for value in values if math.isfinite(value))
    if not values:
        return
    least, most = values[0], values[-1]
    if least > 0 and most > 100 * least:
        panel.set_yscale("log")
        if most > 1e4 * least:
            panel.set_ylim(least / 2, 1e4 * least)
        return
    usual = values[(3 * (len(values) - 1)) // 4]
    room = usual + (usual - least)
    if most > usual + 3 * (usual - least) and room > least:
        panel.set_ylim(least - 0.05 * (room - least), room)


def _limit_errors(panel: Axes, curves: Mapping[str, Sequence[Moment]]) -> None:
    """Name the axis of error rates. It is logarithmic, as in `_limit`, where the lines would end in one point."""
    panel.set_ylabel("progressive error, %")
    rates = [moment.error_rate for moments in curves.values() for moment in moments if moment.error_rate is not None]
    if rates and 0 < 20 * min(rates) < max(rates):
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")
    else:
        panel.set_ylim(bottom=0)


def _short(value: float) -> str:
    """A number with three digits; "diverged" for infinity."""
    return f"{value:.3g}" if math.isfinite(value) else "diverged"
