"""Figures 2 and 3, from the results of Tables 2 and 3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ... import figures
from .printed import RULE_NAMES
from .records import DATASETS
from .tables import Result, other

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure2_points(results: Iterable[Result]) -> list[dict[str, Any]]:
    """For each dataset and normalized rule: the rule's loss on raw data, and AG's loss on pre-normalized data."""
    results = list(results)
    points = []
    for ours in results:
        if ours.rule == "ag" or ours.normalized:
            continue
        theirs = other(results, ours, "ag", True)
        points.append(
            {
                "dataset": ours.dataset,
                "rule": ours.rule,
                "loss": ours.loss,
                "pre_normalised_ag_loss": theirs.loss,
                "printed_loss": ours.printed_loss,
                "printed_pre_normalised_ag_loss": theirs.printed_loss,
                "sample": ours.sample,
            }
        )
    return points


@figures.styled
def figure2(points: Sequence[dict[str, Any]]) -> Figure:
    """Draw NAG on raw data against AG on pre-normalized data: on the diagonal, pre-normalization is not needed."""
    figure, (panel,) = figures.panels(1)
    both = [point[key] for point in points for key in ("loss", "pre_normalised_ag_loss")]
    low, high = min(both) / 1.5, max(both) * 1.5
    panel.plot([low, high], [low, high], color="0.6", linewidth=1, zorder=1)
    for rule, marker in (("nag", "o"), ("snag", "s")):
        for place, (key, dataset) in enumerate(DATASETS.items()):
            for point in points:
                if point["rule"] != rule or point["dataset"] != key:
                    continue
                name = f"{dataset.title}{' (a sample)' if point['sample'] else ''}"
                panel.plot(
                    point["loss"],
                    point["pre_normalised_ag_loss"],
                    marker,
                    color=figures.color(place),
                    markersize=9,
                    label=name if rule == "nag" else None,
                )
                if not point["sample"]:
                    panel.plot(
                        point["printed_loss"],
                        point["printed_pre_normalised_ag_loss"],
                        marker,
                        markersize=13,
                        color=figures.color(place),
                        fillstyle="none",
                    )
    panel.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    panel.set(xlabel="loss of NAG (●) and sNAG (■), raw data", ylabel="loss of AG, pre-normalized data")
    panel.legend(title="hollow: as printed", loc="center left", bbox_to_anchor=(1.02, 0.5), alignment="left")
    figure.suptitle("Normalized rules on raw data against AG on pre-normalized data")
    return figure


def figure3_ranges(results: Iterable[Result]) -> list[dict[str, Any]]:
    """For each rule and kind of data: the best rate of each dataset, as computed and as printed."""
    kinds: dict[str, list[Result]] = {}
    for one in results:
        normalization = {2: "max-norm", 3: "rms"}[one.table] if one.normalized else "raw"
        kind = f"{RULE_NAMES[one.rule]}, {normalization}"
        found = kinds.setdefault(kind, [])
        if one.dataset not in {other.dataset for other in found}:
            found.append(one)
    return [
        {
            "kind": kind,
            "low": min(one.rate for one in found),
            "high": max(one.rate for one in found),
            "printed_low": min(one.printed_rate for one in found),
            "printed_high": max(one.printed_rate for one in found),
            "rates": {one.dataset: one.rate for one in found},
            "printed_rates": {one.dataset: one.printed_rate for one in found},
            "samples": [one.dataset for one in found if one.sample],
        }
        for kind, found in kinds.items()
    ]


@figures.styled
def figure3(ranges: Sequence[dict[str, Any]]) -> Figure:
    """Draw the range of best rates over datasets: for the normalized rules it is small and near 1."""
    figure, (panel,) = figures.panels(1, width=6.5)
    for place, one in enumerate(ranges):
        height = len(ranges) - place
        color = figures.color(0 if one["kind"].startswith("NAG") else 1 if one["kind"].startswith("sNAG") else 4)
        panel.plot([one["low"], one["high"]], [height, height], color=color, linewidth=6, solid_capstyle="round")
        panel.plot([one["printed_low"], one["printed_high"]], [height - 0.28] * 2, color=color, linewidth=2, alpha=0.5)
        for dataset, rate in one["rates"].items():
            filling = color if dataset in one["samples"] else "white"
            panel.plot(rate, height, "o", color=color, markerfacecolor=filling, markersize=8, zorder=3)
        for rate in one["printed_rates"].values():
            panel.plot(rate, height - 0.28, "|", color=color, markersize=7, alpha=0.6)
    panel.set(
        xscale="log",
        xlabel="best learning rate of each dataset (thick: ours, dots filled for samples; thin: as printed)",
    )
    panel.set_yticks(range(len(ranges), 0, -1), [one["kind"] for one in ranges])
    panel.axvspan(0.01, 20, color=figures.color(0), alpha=0.06)
    figure.suptitle("The rates that are best in hindsight")
    return figure
