"""Pictures of progress, of learning rates, of scores, of curves. They need matplotlib: `pip install 'unitless[plot]'`.

Figures are made without pyplot, so that nothing is shown, no window system is needed and no global state is touched.
The functions `ul.plot_*`, which draw on an axis, are in plotting.py; only they use pyplot, if they are given no axis.

    >>> import unitless as ul
    >>> from unitless import figures
    >>> result = ul.metrics.progressive(ul.Learner(), [[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0])
    >>> figure = figures.progress({"nag": result.curve}, "squared loss", "y = 2x")
    >>> figures.save(figure, "progress.png")  # doctest: +SKIP
"""

from __future__ import annotations

import io
import math
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import whole_file
from .errors import OptionError
from .metrics.curves import Bars, Curve, Curves, Pairs, Reliability
from .metrics.history import Moment
from .models.curve_panels import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
_STYLES = ("-", "--", "-.", ":")  # from the eleventh line on colours come again, in another style
_COLOURS = 10


def progress(curves: Mapping[str, Sequence[Moment]], metric: str, title: str, *, recent: bool = False) -> Figure:
    """Progressive loss against examples, one line per name; beside it the error rate, where there is one.

    Args:
        curves: what `Evaluation.curve` (or the coarser `history`) gave, by the name for the legend.
        metric: what the loss is called.
        title: what stands above.
        recent: where there is no error rate, show beside it the loss since the moment before, which the first examples,
            however far off they were, do not weigh upon.
    """
    curves = {name: _settled(moments) for name, moments in curves.items() if moments}
    errors = {name: moments for name, moments in curves.items() if moments[-1].error_rate is not None}
    figure, axes = panels(2 if errors or recent else 1)
    for place, (name, moments) in enumerate(curves.items()):
        _mean_loss(axes[0], name, moments, place)
        if name in errors:
            _error_rate(axes[1], name, moments, place)
    _limit(axes[0], [moment.loss for moments in curves.values() for moment in moments])
    axes[0].set_ylabel(f"progressive {metric}")
    if errors:
        axes[1].set_ylabel("progressive error, %")
        axes[1].set_ylim(bottom=0)
    elif recent:
        _recent(axes[1], curves, metric)
    for panel in axes:
        _along_examples(panel)
    figure.suptitle(title)
    return figure


def history(panel: Axes, curves: Mapping[str, Sequence[Moment]], of: str, metric: str) -> None:
    """One field of moments against examples, one line per name.

    Args:
        panel: where to draw.
        curves: moments by the name for the legend.
        of: the field: "loss", "error_rate" or "since_last".
        metric: what the loss is called.
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
        panel.set_ylabel("progressive error, %")
        panel.set_ylim(bottom=0)
    _along_examples(panel)


def _along_examples(panel: Axes) -> None:
    panel.set(xlabel="examples seen", xscale="log")
    finish(panel, "at the end", "{x:,.0f}")


def _mean_loss(panel: Axes, name: str, moments: Sequence[Moment], place: int) -> None:
    values = [moment.loss for moment in moments]
    examples = [moment.examples for moment in moments]
    panel.plot(examples, values, label=_named(name, _short(values[-1])), **_line(place))


def _error_rate(panel: Axes, name: str, moments: Sequence[Moment], place: int) -> None:
    known = [(moment.examples, 100 * moment.error_rate) for moment in moments if moment.error_rate is not None]
    if known:
        panel.plot(*zip(*known, strict=True), label=_named(name, f"{known[-1][1]:.3g}%"), **_line(place))


def _named(name: str, value: str) -> str:
    """An entry of a legend."""
    return f"{name}  {value}" if name else value


def _recent(panel: Axes, curves: Mapping[str, Sequence[Moment]], metric: str) -> None:
    """The loss of each stretch between two moments."""
    for place, (name, moments) in enumerate(curves.items()):
        points = [(moment.examples, moment.since_last) for moment in moments[1:] if math.isfinite(moment.since_last)]
        last = "diverged" if not points or math.isinf(moments[-1].loss) else _short(points[-1][1])
        panel.plot(*zip(*points, strict=True) if points else ([], []), label=_named(name, last), **_line(place))
    _limit(panel, [moment.since_last for moments in curves.values() for moment in moments[1:]])
    panel.set_ylabel(f"{metric} since the point before")


def sweep(losses: Mapping[str, Mapping[float, float]], ylabel: str, title: str) -> Figure:
    """Loss against learning rate, one line per name, with the best rate of each marked.

    Args:
        losses: by the name for the legend, the loss of each rate; rates that diverged may have infinity or nothing.
        ylabel: what the loss is called.
        title: what stands above.
    """
    figure, axes = panels(1)
    rates(axes[0], losses, ylabel)
    figure.suptitle(title)
    return figure


def rates(panel: Axes, losses: Mapping[str, Mapping[float, float]], ylabel: str) -> None:
    """Loss against learning rate, one line per name, with the best rate of each marked."""
    shown: list[float] = []
    for place, (name, by_rate) in enumerate(losses.items()):
        points = sorted((rate, loss) for rate, loss in by_rate.items() if math.isfinite(loss))
        if not points:
            panel.plot([], [], label=f"{name}  diverged", **_line(place))
            continue
        best, least = min(points, key=lambda point: point[1])
        label = f"{name}  {_short(least)} at {best:.3g}"
        (line,) = panel.plot(*zip(*points, strict=True), label=label, marker=".", **_line(place))
        panel.plot(best, least, "o", color=line.get_color(), markersize=9, markeredgecolor="white", zorder=3)
        shown += [loss for _, loss in points]
    _limit(panel, shown)
    panel.set(xlabel="learning rate", xscale="log", ylabel=ylabel)
    finish(panel, "best", "{x:g}")


def score(curves: Curves, title: str, per_class: Mapping[Any, Mapping[str, float]] | None = None) -> Figure:
    """What there is to see of a score: ROC, precision against recall and reliability; or numbers and their residuals.

    Args:
        curves: what was collected of the predictions.
        title: what stands above.
        per_class: by class, its precision and recall, where there are more than two.
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
    """The ROC curve, as `name` in the legend; on the diagonal lies what knows nothing."""
    panel.plot(curve.x, curve.y, label=name, **_line(_named_lines(panel)))
    panel.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle=":")
    panel.set(xlabel="false positives, of all negative", ylabel="found, of all positive", xlim=(0, 1), ylim=(0, 1.01))
    finish(panel, "")
    panel.set_title("ROC")


def precision_recall(panel: Axes, curve: Curve, name: str | None = None) -> None:
    """Precision against recall; the dotted line is the share of positive rows."""
    panel.plot(curve.x, curve.y, label=name, **_line(_named_lines(panel)))
    panel.axhline(float(curve.y[-1]), color="grey", linewidth=1, linestyle=":")
    panel.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.01))
    finish(panel, "")
    panel.set_title("precision and recall")


def reliability(panel: Axes, data: Reliability, name: str | None = None) -> None:
    """How often what was given a probability was true; on the diagonal, as often as was said."""
    panel.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle=":")
    (line,) = panel.plot(data.predicted, data.observed, label=name, **_line(_named_lines(panel)))
    size = 20 + 180 * data.weight / data.weight.max()
    panel.scatter(data.predicted, data.observed, s=size, color=line.get_color(), zorder=3)
    panel.set(xlabel="predicted probability", ylabel="how often it was so", xlim=(0, 1), ylim=(0, 1.01))
    finish(panel, "")
    panel.set_title("reliability")


def _named_lines(panel: Axes) -> int:
    """How many lines are in the legend so far: the next one has the next colour."""
    return len(panel.get_legend_handles_labels()[1])


def residuals(panel: Axes, data: Bars) -> None:
    """How far the truth is from the prediction."""
    panel.bar(data.edges[:-1], data.weight, data.edges[1:] - data.edges[:-1], align="edge", color="C0")
    panel.axvline(0.0, color="grey", linewidth=1, linestyle=":")
    panel.set(xlabel="truth - prediction", ylabel="rows")
    finish(panel, None)
    panel.set_title("residuals" + (f" ({data.beyond:.1%} further out)" if data.beyond >= 0.001 else ""))


def against(panel: Axes, data: Pairs) -> None:
    """What was predicted against what was true, in a sample of rows."""
    from numpy import concatenate, quantile  # noqa: PLC0415

    both = concatenate([data.predicted, data.truth])
    low, high = quantile(both[abs(both) < math.inf], [0.001, 0.999]).tolist()
    panel.scatter(data.predicted, data.truth, s=8, alpha=0.4, linewidths=0)
    panel.plot([low, high], [low, high], color="grey", linewidth=1, linestyle=":")
    room = 0.03 * (high - low) or 1.0
    panel.set(xlabel="prediction", ylabel="truth", xlim=(low - room, high + room), ylim=(low - room, high + room))
    finish(panel, None)
    panel.set_title("prediction and truth")


def by_class(panel: Axes, per_class: Mapping[Any, Mapping[str, float]]) -> None:
    """Precision and recall of the most frequent classes."""
    shown = sorted(per_class.items(), key=lambda item: -item[1]["share"])[:12][::-1]
    for place, name in enumerate(("precision", "recall")):
        values = [of[name] if math.isfinite(of[name]) else 0.0 for _, of in shown]
        panel.barh([k + 0.2 - 0.4 * place for k in range(len(shown))], values, 0.38, label=name, color=f"C{place}")
    panel.set_yticks(range(len(shown)), [short_name(label) for label, _ in shown])
    panel.set(xlim=(0, 1))
    finish(panel, "")
    panel.set_title("by class")


def short_name(label: Any) -> str:
    """What stands beside a picture, not too long."""
    text = str(label)
    return text if len(text) <= 16 else f"{text[:13]}..."


def importance(panel: Axes, ranked: Sequence[tuple[str, float]]) -> None:
    """Bars, the largest on top."""
    panel.barh(range(len(ranked)), [value for _, value in ranked], 0.7, color="C0")
    panel.set_yticks(range(len(ranked)), [_side_name(name) for name, _ in ranked])
    panel.invert_yaxis()
    panel.set_xlabel("importance: how far the feature moves the prediction")
    finish(panel, None)
    panel.grid(visible=False, axis="y")


def steps(panel: Axes, start: float, parts: Sequence[tuple[str, float]], xlabel: str) -> None:
    """From `start` one part after the other to the sum of all: where each begins and ends."""
    from .html import FALL, RISE  # noqa: PLC0415  (the colours that explanations have in notebooks)

    before, ends = start, []
    for _, amount in parts:
        ends.append((before, amount))
        before += amount
    for place, (low, amount) in enumerate(ends):
        panel.barh(place, amount, 0.7, left=low, color=RISE if amount >= 0 else FALL)
        panel.plot(
            [low + amount] * 2, [place - 0.35, min(place + 1.35, len(parts) - 0.65)], color="grey", linewidth=0.8
        )
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
    panel.axvline(start, color="grey", linewidth=1, linestyle=":")
    reached = [start, *(low + amount for low, amount in ends)]
    room = 0.15 * (max(reached) - min(reached)) or 1.0  # for the numbers beside the bars
    panel.set_xlim(min(reached) - room, max(reached) + room)
    panel.set_yticks(range(len(parts)), [_side_name(name) for name, _ in parts])
    panel.invert_yaxis()
    panel.set_xlabel(xlabel)
    finish(panel, None)
    panel.grid(visible=False, axis="y")


def _side_name(label: Any) -> str:
    """What stands at the left of a bar."""
    text = str(label)
    return text if len(text) <= 32 else f"{text[:29]}..."


def axis(ax: Axes | None, width: float = 6.4, height: float = 4.4) -> Axes:
    """The axis that was given, or one of a new figure."""
    return ax if ax is not None else new_figure(width, height).subplots()


def new_figure(width: float = 6.4, height: float = 4.4) -> Figure:
    """A figure of pyplot: notebooks show it by themselves, scripts with `pyplot.show()`."""
    try:
        from matplotlib import pyplot  # noqa: PLC0415  (an optional dependency)
    except ImportError:
        raise OptionError("plots need matplotlib: pip install 'unitless[plot]'") from None
    return pyplot.figure(figsize=(width, height), layout="constrained")


_ACROSS = 4  # panels of curves
_CURVES_TITLE = "what each column adds to the score"


def curve(panel: Axes, of: Panel, names: Sequence[str]) -> None:
    """The curve of one column, on a scale of its own."""
    _curve(panel, of, names)
    heights = [float(height) for height in of.heights()]
    if heights and not of.texts:
        room = 0.08 * (max(heights) - min(heights)) or 1.0
        panel.set_ylim(min(heights) - 3 * room, max(heights) + room)
        _density(panel, of, min(heights) - 3 * room, 2.6 * room)
    panel.set_xlabel("adds to the score" if of.texts else str(of.column))
    panel.set_ylabel(str(of.column) if of.texts else "adds to the score")
    finish(panel, "" if len(names) > 1 else None)


def curves(
    drawn: Sequence[Panel], names: Sequence[str], title: str = _CURVES_TITLE, figure: Figure | None = None
) -> Figure:
    """Panels of curves, all on one scale; in a figure that is given, or in a new one."""
    figure, axes = panels(max(1, len(drawn)), 3.6, 3.0, _ACROSS, figure)
    for place, (panel, of) in enumerate(zip(axes, drawn, strict=False)):
        _curve(panel, of, names)
        panel.set_title(short_name(of.column))
        finish(panel, "" if place == 0 and len(names) > 1 else None)
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
    figure.suptitle(title)
    return figure


def _curve(panel: Axes, of: Panel, names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        if of.texts:
            thick = 0.8 / len(names)
            at = [k + thick * (place - (len(names) - 1) / 2) for k in range(len(of.texts))]
            panel.barh(at, of.y[:, place], thick, label=name, color=f"C{place}")
        else:
            panel.plot(of.x, of.y[:, place], label=name, **_line(place))
            if of.missing is not None:
                panel.axhline(float(of.missing[place]), color=f"C{place}", linewidth=1, linestyle=":")
    if of.texts:
        panel.axvline(0.0, color="grey", linewidth=1)
        panel.set_yticks(range(len(of.texts)), [short_name(text) for text in of.texts])
        panel.invert_yaxis()


def _density(panel: Axes, of: Panel, bottom: float, height: float) -> None:
    """Where the values are, along the lower edge."""
    most = float(of.rows.max(initial=0.0))
    if most > 0:
        widths = of.edges[1:] - of.edges[:-1]
        panel.bar(of.edges[:-1], height * of.rows / most, widths, bottom, align="edge", color="0.8", zorder=0)


def check_path(path: str | os.PathLike[str]) -> None:
    """Before long work: could a picture be saved there?"""
    target = pathlib.Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise OptionError(f"a picture cannot be saved as {target.name!r}; its name must end in {', '.join(SUFFIXES)}")
    if not target.absolute().parent.is_dir():
        raise OptionError(f"a picture cannot be saved as {str(path)!r}: there is no folder {str(target.parent)!r}")
    panels(1)


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a PNG, SVG or PDF, which the name's ending decides: whole or not at all."""
    target = pathlib.Path(path)
    check_path(path)
    content = io.BytesIO()
    figure.savefig(content, format=target.suffix[1:].lower(), dpi=130)
    whole_file.write(target, content.getvalue())


def panels(
    count: int, width: float = 5.2, height: float = 4.4, across: int | None = None, figure: Figure | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, side by side or so many across."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (an optional dependency)
    except ImportError:
        raise OptionError("plots need matplotlib: pip install 'unitless[plot]'") from None
    across = min(count, across or count)
    down = -(-count // across)
    size = (width * across + (1.8 if count == 1 else 0), height * down)
    if figure is None:
        figure = Figure(figsize=size, layout="constrained")
    else:
        figure.set_size_inches(size)
    found = list(figure.subplots(down, across, squeeze=False).ravel())
    for unused in found[count:]:
        unused.remove()
    return figure, found[:count]


def finish(panel: Axes, legend: str | None, ticks: str | None = None) -> None:
    """What all panels have in common: a grid, no box, a legend if there is something to name, plain numbers below."""
    from matplotlib.ticker import NullFormatter, StrMethodFormatter  # noqa: PLC0415

    if ticks is not None:
        panel.xaxis.set_major_formatter(StrMethodFormatter(ticks))
        panel.xaxis.set_minor_formatter(NullFormatter())
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
    if legend is not None and panel.get_legend_handles_labels()[1]:
        panel.legend(title=legend, framealpha=0.8, edgecolor="none", alignment="left")


def _line(place: int) -> dict[str, Any]:
    style = _STYLES[place // _COLOURS % len(_STYLES)]
    return {"color": f"C{place % _COLOURS}", "linestyle": style, "linewidth": 2}


def _settled(moments: Sequence[Moment]) -> Sequence[Moment]:
    """Without the first few examples, whose means are noise: of n, those before the cube root of n."""
    start = moments[-1].examples ** (1 / 3)
    return [moment for moment in moments if moment.examples >= start]


def _limit(panel: Axes, values: list[float]) -> None:
    """An axis on which what ran away does not flatten all the rest.

    Logarithmic if values are more than a hundredfold apart, up to ten thousand times the least. Otherwise the largest
    quarter is cut off where it goes far beyond the others.
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


def _short(value: float) -> str:
    """Three digits, or an exponent for what is far from 1."""
    return f"{value:.3g}" if math.isfinite(value) else "diverged"
