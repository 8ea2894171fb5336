"""Pictures of the results: bars of time for every workload, curves for scaling and for threads.

    python benchmarks/pictures.py        draws docs/benchmarks.png again, from published.json

published.json holds the numbers that docs/benchmarks.md prints; `pages.py` writes both after a run.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, MaxNLocator
from report import has_loss, loss, nanoseconds

PUBLISHED = pathlib.Path(__file__).with_name("published.json")
PAGE = pathlib.Path(__file__).parent.parent / "docs"

OURS, THEIRS = "#d1622b", "#4878a8"
COLOURS = {"unitless": OURS, "peer": THEIRS, "floor": "#9aa5ad"}
FAR = 15.0  # a bar that is so many times as long as the next longest one would make all the others invisible


def bars(workloads: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Time per row of each contender of `published` workloads: one panel per workload, in two columns."""
    columns: list[list[dict[str, Any]]] = [[], []]
    heights = [0.0, 0.0]
    for one in workloads:
        shorter = heights.index(min(heights))
        columns[shorter].append(one)
        heights[shorter] += len(one["contenders"]) + 4
    figure = plt.figure(figsize=(15, 0.26 * max(heights) + 0.4), layout="constrained")
    halves = figure.subfigures(1, 2)
    for half, column in zip(halves, columns, strict=True):
        if not column:
            continue
        ratios = [len(one["contenders"]) + 1 for one in column]
        axes = half.subplots(len(column), 1, gridspec_kw={"height_ratios": ratios}, squeeze=False)[:, 0]
        for axis, one in zip(axes, column, strict=True):
            _panel(axis, one)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _panel(axis: Any, workload: dict[str, Any]) -> None:
    """Bars from zero on a linear axis. A single bar that is far longer than all others is cut, and marked as cut."""
    contenders = workload["contenders"]
    names = [one["name"] for one in contenders]
    values = [one["best_ns_a_row"] for one in contenders]
    longest = sorted(values)[-2:]
    cut = 1.25 * longest[0] if longest[-1] > FAR * longest[0] else longest[-1]
    drawn = axis.barh(names, [min(value, cut) for value in values], color=[COLOURS[one["by"]] for one in contenders])
    labels = []
    for value, one in zip(values, contenders, strict=True):
        lost = f"   ({workload['loss']} {loss(one['loss'])})" if has_loss(workload, one) else ""
        labels.append(f" {nanoseconds(value)}{', bar cut' if value > cut else ''}{lost}")
    axis.bar_label(drawn, labels, fontsize=8)
    for place, value in enumerate(values):
        if value > cut:
            axis.plot([0.95 * cut] * 2, [place - 0.45, place + 0.45], color="white", linewidth=3)
    per_row = " per row" if workload["per_row"] else ""
    axis.set_title(f"{workload['title']}: time{per_row}", loc="left", fontsize=10, weight="bold")
    axis.set_xlim(0, 1.65 * cut)  # the room on the right is for the labels
    axis.invert_yaxis()
    axis.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axis.set_xticks([tick for tick in axis.get_xticks() if tick <= cut])
    axis.xaxis.set_major_formatter(lambda value, _: "0" if value == 0 else _short(value))
    axis.grid(axis="x", alpha=0.35)
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0, labelsize=8.5)
    axis.tick_params(axis="x", labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)


def _short(value: float) -> str:
    """A time on the axis: 500 ns, 1 µs, without zeros after the point."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} ns"


def curves(results: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Time against size, both on logarithmic axes."""
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
    for axis in axes.flat[len(results) :]:
        axis.remove()
    for axis, curve in zip(axes.flat, results, strict=False):
        for number, line in enumerate(curve["lines"]):
            color = (OURS, THEIRS)[number] if number < 2 else None
            axis.plot(line["points"], line["best_ns"], marker="o", color=color, label=line["name"])
        axis.set(xscale="log", yscale="log", xlabel=curve["label"], ylabel=f"nanoseconds per {curve['per']}")
        low, high = axis.get_ylim()
        middle = (low * high) ** 0.5
        axis.set_ylim(min(low, middle / 4), max(high, middle * 4))  # so that a small change looks small
        if curve["name"] in ("classes", "rates"):
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


def speedups(tasks: list[dict[str, Any]], path: pathlib.Path) -> None:
    """How much faster each task is with more threads; the gray line is as many times as there are threads."""
    groups = list(dict.fromkeys(task["group"] for task in tasks))
    counts = tasks[0]["threads"]
    figure, axes = plt.subplots(1, len(groups), figsize=(4.4 * len(groups), 6.5), layout="constrained", squeeze=False)
    for axis, group in zip(axes.flat, groups, strict=True):
        axis.plot(counts, counts, color=COLOURS["floor"], linestyle="--")
        for number, task in enumerate(one for one in tasks if one["group"] == group):
            best = [one["best_ns_a_row"] for one in task["contenders"]]
            faster = [best[0] / value for value in best]
            axis.plot(counts, faster, marker="o", color=plt.cm.tab20(number % 20), label=task["name"])
        axis.set_xscale("log", base=2)
        axis.set_yscale("log", base=2)
        axis.set(xlabel="threads", ylabel="times as fast as one thread", title=group, ylim=(0.45, 1.1 * counts[-1]))
        axis.set_xticks(counts, [str(count) for count in counts])
        axis.yaxis.set_major_formatter("{x:g}")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def published(results: dict[str, Any]) -> list[dict[str, Any]]:
    """What the picture of bars needs of a run."""
    return [
        {
            **{key: workload[key] for key in ("name", "title", "loss")},
            "per_row": any(one["rows"] > 1 for one in workload["contenders"]),
            "contenders": [
                {key: one[key] for key in ("name", "by", "best_ns_a_row", "loss")} for one in workload["contenders"]
            ],
        }
        for workload in results["workloads"]
    ]


if __name__ == "__main__":
    bars(json.loads(PUBLISHED.read_text(encoding="utf-8")), PAGE / "benchmarks.png")
