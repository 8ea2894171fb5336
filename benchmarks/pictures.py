"""Results as pictures: bars for every workload, curves for scaling."""

from __future__ import annotations

import pathlib
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator
from report import has_loss, loss, nanoseconds

OURS, THEIRS, FLOOR = "#d1622b", "#4878a8", "#9aa5ad"
FLOORS = ("NumPy X @ w", "reading the bytes once")
OURS_BEGIN = ("unitless", "one rate", "automatic rate", "16 rates")


def _colour(name: str) -> str:
    return FLOOR if name in FLOORS else OURS if name.startswith(OURS_BEGIN) else THEIRS


def bars(workloads: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Time a row of each contender, one panel for each workload, in two columns of about the same height."""
    columns: list[list[dict[str, Any]]] = [[], []]
    heights = [0.0, 0.0]
    for one in workloads:
        shorter = heights.index(min(heights))
        columns[shorter].append(one)
        heights[shorter] += len(one["contenders"]) + 2.5
    figure = plt.figure(figsize=(15, 0.27 * max(heights) + 0.4), layout="constrained")
    halves = figure.subfigures(1, 2)
    for half, column in zip(halves, columns, strict=True):
        if not column:
            continue
        ratios = [len(one["contenders"]) + 2 for one in column]
        axes = half.subplots(len(column), 1, gridspec_kw={"height_ratios": ratios}, squeeze=False)[:, 0]
        for axis, one in zip(axes, column, strict=True):
            _panel(axis, one)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _panel(axis: Any, workload: dict[str, Any]) -> None:
    contenders = workload["contenders"]
    names = [one["name"] for one in contenders]
    values = [one["best_ns_a_row"] for one in contenders]
    drawn = axis.barh(names, values, color=[_colour(name) for name in names])
    labels = [
        f" {nanoseconds(value)}" + (f"   ({workload['loss']} {loss(one['loss'])})" if has_loss(workload, one) else "")
        for value, one in zip(values, contenders, strict=True)
    ]
    axis.bar_label(drawn, labels, fontsize=8)
    several = any(one["rows"] > 1 for one in contenders)
    axis.set_title(f"{workload['title']}: time{' a row' if several else ''}", loc="left", fontsize=10, weight="bold")
    axis.set(xscale="log", xlim=(min(values) / 2, max(values) * (max(values) / min(values)) ** 0.6 * 2))
    axis.invert_yaxis()
    axis.xaxis.set_visible(False)
    axis.tick_params(axis="y", length=0, labelsize=8.5)
    axis.spines[["top", "right", "bottom"]].set_visible(False)


def curves(results: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Time against size, both on logarithmic axes."""
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
    for axis, curve in zip(axes.flat, results, strict=True):
        for number, line in enumerate(curve["lines"]):
            colour = (OURS, THEIRS)[number] if number < 2 else None
            axis.plot(line["points"], line["best_ns"], marker="o", color=colour, label=line["name"])
        axis.set(xscale="log", yscale="log", xlabel=curve["label"], ylabel=f"nanoseconds a {curve['per']}")
        low, high = axis.get_ylim()
        axis.set_ylim(min(low, (low * high) ** 0.5 / 4), max(high, (low * high) ** 0.5 * 4))  # a wobble looks like one
        if curve["name"] in ("classes", "rates", "threads"):
            axis.set_xscale("log", base=2)
            axis.xaxis.set_major_formatter("{x:.0f}")
            axis.set_xticks(curve["lines"][0]["points"])
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.yaxis.set_minor_formatter("{x:g}")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
