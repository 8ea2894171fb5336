"""Pictures of the results: bars of time for every workload, curves for scaling and for threads.

    python benchmarks/pictures.py        draws docs/images/benchmarks.png again, from published.json

published.json holds the numbers that the pages docs/internals/benchmark*.md print; `pages.py` writes both after a run.
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
IMAGES = pathlib.Path(__file__).parent.parent / "docs" / "images"

plt.style.use("unitless.plot.style")
OURS, THEIRS = "C0", "C4"
COLORS = {"unitless": OURS, "peer": THEIRS, "floor": "C5"}
# The page shows these workloads; the tables have all of them.
PANELS = {
    "dense": "One linear learner, one pass over an array",
    "fit": "A fit of an array, all passes",
    "predict": "Predictions for an array",
    "tables": "Linear models, one pass over a file",
}
FAR = 15.0  # a bar this many times as long as the next longest one would make all others invisible


def bars(workloads: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Time per row of each contender of four `published` workloads, or of as many of them as there are."""
    shown = [_of_panel(one) for one in workloads if one["name"] in PANELS] or workloads[:4]
    heights = [len(one["contenders"]) + 1.5 for one in shown]
    figure, axes = plt.subplots(
        len(shown), 1, figsize=(8, 0.3 * sum(heights)), gridspec_kw={"height_ratios": heights}, squeeze=False
    )
    for axis, one in zip(axes[:, 0], shown, strict=True):
        _panel(axis, one)
    figure.savefig(path)
    plt.close(figure)


def _of_panel(workload: dict[str, Any]) -> dict[str, Any]:
    """The contenders that a panel shows. Where others learn, predictions are left out: they have their own panel."""
    learning = [one for one in workload["contenders"] if one["loss"] is not None]
    return {**workload, "contenders": learning or workload["contenders"]}


def _panel(axis: Any, workload: dict[str, Any]) -> None:
    """Bars from zero on a linear axis. A single bar that is far longer than all others is cut, and marked as cut."""
    contenders = workload["contenders"]
    names = [one["name"] for one in contenders]
    values = [one["best_ns_a_row"] for one in contenders]
    longest = sorted(values)[-2:]
    cut = 1.25 * longest[0] if longest[-1] > FAR * longest[0] else longest[-1]
    drawn = axis.barh(names, [min(value, cut) for value in values], color=[COLORS[one["by"]] for one in contenders])
    labels = []
    for value, one in zip(values, contenders, strict=True):
        comparable = has_loss(workload, one) and "first" not in one["name"]  # the loss of the first rows is another one
        lost = f"   loss {loss(one['loss'])}" if comparable else ""
        labels.append(f" {nanoseconds(value)}{', bar cut' if value > cut else ''}{lost}")
    axis.bar_label(drawn, labels, fontsize=9)
    for place, value in enumerate(values):
        if value > cut:
            axis.plot([0.95 * cut] * 2, [place - 0.45, place + 0.45], color="white", linewidth=3)
    per_row = ": time per row" if workload["per_row"] else ": time"
    axis.set_title(f"{PANELS.get(workload['name'], workload['title'])}{per_row}", fontsize=11)
    axis.set_xlim(0, 1.5 * cut)  # the space on the right is for the labels
    axis.invert_yaxis()
    axis.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axis.set_xticks([tick for tick in axis.get_xticks() if tick <= cut])
    axis.xaxis.set_major_formatter(lambda value, _: "0" if value == 0 else _short(value))
    axis.grid(visible=False, axis="y")
    axis.tick_params(axis="y", length=0, labelsize=9)
    axis.tick_params(axis="x", labelsize=9)


def _short(value: float) -> str:
    """A time on the axis: 500 ns, 1 µs, without zeros after the point."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} ns"


def curves(results: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Time against size, both on logarithmic axes; each line is named at its end. The table has single lines."""
    shown = [curve for curve in results if len(curve["lines"]) > 1]
    figure, axes = plt.subplots(-(-len(shown) // 2), 2, figsize=(10, 3.2 * -(-len(shown) // 2)), squeeze=False)
    for axis in axes.flat[len(shown) :]:
        axis.remove()
    for axis, curve in zip(axes.flat, shown, strict=False):
        for number, line in enumerate(curve["lines"]):
            color = (OURS, THEIRS)[number] if number < 2 else None
            axis.plot(line["points"], line["best_ns"], marker="o", color=color)
            end = (line["points"][-1], line["best_ns"][-1])
            away = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "annotation_clip": False}
            axis.annotate(line["name"], end, color=color, fontsize=9, **away)
        axis.set(xscale="log", yscale="log", ylabel=f"nanoseconds per {curve['per']}")
        axis.set_xlabel(curve["label"])
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
    figure.savefig(path, dpi=110)
    plt.close(figure)


def speedups(tasks: list[dict[str, Any]], path: pathlib.Path) -> None:
    """How much faster each task is with more threads; the gray line is as many times as there are threads."""
    groups = list(dict.fromkeys(task["group"] for task in tasks))
    counts = tasks[0]["threads"]
    figure, axes = plt.subplots(1, len(groups), figsize=(4.4 * len(groups), 6.5), layout="constrained", squeeze=False)
    for axis, group in zip(axes.flat, groups, strict=True):
        axis.plot(counts, counts, color=COLORS["floor"], linestyle="--")
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
    """The part of a run that the picture of bars needs."""
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
    bars(json.loads(PUBLISHED.read_text(encoding="utf-8")), IMAGES / "benchmarks.png")
