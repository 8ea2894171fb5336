"""The results of a run as tables: text for a terminal, Markdown for a page."""

from __future__ import annotations

from typing import Any

import machine
import scaling
from goals import ALL as ALL_GOALS

Cells = list[list[str]]


def nanoseconds(value: float) -> str:
    """A time with three digits, in a suitable unit."""
    for unit, size in (("ns", 1e3), ("µs", 1e6), ("ms", 1e9)):
        if value < 0.9995 * size:
            return f"{value / (size / 1e3):#.3g}".rstrip(".") + f" {unit}"
    return f"{value / 1e9:#.3g} s".replace(". ", " ")


def times(ratio: float) -> str:
    """A ratio, such as 8.1 ×."""
    return f"{ratio:.0f} ×" if ratio >= 99.5 else f"{ratio:.1f} ×" if ratio >= 0.995 else f"{ratio:.2f} ×"


def has_loss(workload: dict[str, Any], contender: dict[str, Any]) -> bool:
    """Whether the contender has a loss, in a workload where losses can be compared."""
    return bool(workload["loss"]) and contender["loss"] is not None


def loss(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}" if value < 1e4 else f"{value:.1e}"


def workload(result: dict[str, Any]) -> Cells:
    """The heading, then one row for each contender."""
    first = result["contenders"][0]
    several = any(one["rows"] > 1 for one in result["contenders"])
    head = ["", "time per row" if several else "time", "median round", "relative time", result["loss"] or "", "peak MB"]
    cells = [head]
    for one in result["contenders"]:
        cells.append(
            [
                one["name"],
                nanoseconds(one["best_ns_a_row"]),
                nanoseconds(one["median_ns_a_row"]),
                "" if one is first else times(one["best_ns_a_row"] / first["best_ns_a_row"]),
                loss(one["loss"]) if has_loss(result, one) else "",
                f"{one['peak_mb']:,.0f}",
            ]
        )
    return _without_empty_columns(cells)


def goals(results: list[dict[str, Any]]) -> Cells:
    """The heading, then one row for each goal."""
    cells = [["workload: ours", "compared with", "goal", "best rounds", "median rounds", "losses", "reached"]]
    for one in results:
        aim = f"≥ {one['at_least']:g} ×" if one["at_least"] is not None else f"≤ {one['at_most']:g} × its time"
        losses = "" if None in one["losses"] else " and ".join(loss(value) for value in one["losses"])
        reached = "yes" if one["reached"] else "no: higher loss" if one["fast"] else "no"
        ratios = [times(one["best"]), times(one["median"])]
        cells.append([f"{one['workload']}: {one['ours']}", one["other"], aim, *ratios, losses, reached])
    return cells


def curve(result: dict[str, Any]) -> Cells:
    """One row for each line of the picture, one column for each point."""
    points = result["lines"][0]["points"]
    cells = [[f"time per {result['per']}; {result['label']}:", *(f"{point:,}" for point in points)]]
    cells += [[line["name"], *(nanoseconds(value) for value in line["best_ns"])] for line in result["lines"]]
    return cells


def straightness(results: list[dict[str, Any]]) -> str:
    """A sentence about whether the time is linear in the number of rows."""
    ratio, straight = scaling.linear(next(one for one in results if one["name"] == "rows"))
    verdict = "linear" if straight else "NOT linear"
    return (
        f"From the middle of the curve to its end, the time per row changes by a factor of {ratio:.2f}: "
        f"{verdict} in the number of rows."
    )


def threads(tasks: list[dict[str, Any]]) -> Cells:
    """One row for each task, one column for each number of threads: the time per row, and how much faster that is."""
    cells = [["time per row; threads:", *(str(count) for count in tasks[0]["threads"])]]
    for task in tasks:
        best = [one["best_ns_a_row"] for one in task["contenders"]]
        faster = [nanoseconds(value) + (f" ({times(best[0] / value)})" if at else "") for at, value in enumerate(best)]
        cells.append([task["name"], *faster])
    return cells


def memory(cases: list[dict[str, Any]]) -> Cells:
    """One row for each kind of model."""
    cells = [["bytes", "of each", "how many", "by its own count", "measured"]]
    for one in cases:
        own = "" if one["own"] is None else f"{one['own']:,.0f}"
        cells.append([one["name"], one["unit"], f"{one['count']:,}", own, f"{one['measured']:,.0f}"])
    return cells


def comparison(result: dict[str, Any]) -> Cells:
    """One row for each contender: both versions, and the time of the new one over that of the old one."""
    cells = [["", "now", result["commit"], "now / before", "median rounds", "loss"]]
    for pair in result["pairs"]:
        new, old = pair["new"], pair["old"]
        same = "" if new["loss"] is None else "same" if new["loss"] == old["loss"] else "differs"
        ratios = [f"{new[key] / old[key]:.3f}" for key in ("best_ns_a_row", "median_ns_a_row")]
        each = [nanoseconds(one["best_ns_a_row"]) for one in (new, old)]
        cells.append([new["name"], *each, *ratios, same])
    return cells


STUDIES = ("threads", "memory", "scaling")


def study(name: str, results: list[dict[str, Any]]) -> tuple[list[Cells], list[str]]:
    """The tables of a study, and sentences about them."""
    if name == "scaling":
        return [curve(one) for one in results], [straightness(results)]
    return [threads(results) if name == "threads" else memory(results)] if results else [], []


def study_as_text(name: str, results: list[dict[str, Any]]) -> str:
    tables, after = study(name, results)
    return "\n\n".join([*map(as_text, tables), *(f"  {sentence}" for sentence in after)])


def _without_empty_columns(cells: Cells) -> Cells:
    filled = [any(row[j] for row in cells[1:]) for j in range(len(cells[0]))]
    return [[cell for cell, keep in zip(row, filled, strict=True) if keep] for row in cells]


def as_text(cells: Cells) -> str:
    widths = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
    lines = []
    for row in cells:
        rest = "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append(f"  {row[0]:{widths[0]}}{rest}".rstrip())
    return "\n".join(lines)


def as_markdown(cells: Cells) -> str:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in cells]
    lines = ["| " + " | ".join(row) + " |" for row in escaped]
    lines.insert(1, "|---|" + "---:|" * (len(cells[0]) - 1))
    return "\n".join(lines)


def page(results: dict[str, Any]) -> dict[str, str]:
    """The parts of a run that a page can show, as Markdown, by name."""
    parts = {
        "machine": f"{results['data']}; {results['rounds']} rounds. {machine.sentence(results['machine'])}",
    }
    if len(results["goals"]) == len(ALL_GOALS):  # tables of some workloads do not replace a table of all
        parts["goals"] = as_markdown(goals(results["goals"]))
    for one in results["workloads"]:
        parts[f"workload {one['name']}"] = as_markdown(workload(one))
    for name in STUDIES:
        if results[name]:
            tables, after = study(name, results[name])
            parts[name] = "\n\n".join([*map(as_markdown, tables), *after])
    return parts


def markdown(results: dict[str, Any]) -> str:
    """All results as one document."""
    parts = page(results)
    blocks = ["# Results", parts["machine"]]
    if results["goals"]:
        blocks += ["## Goals", as_markdown(goals(results["goals"]))]
    for one in results["workloads"]:
        blocks += [f"## {one['title']}", one["note"], parts[f"workload {one['name']}"]]
    for name in STUDIES:
        if name in parts:
            blocks += [f"## {name.capitalize()}", parts[name]]
    return "\n\n".join(blocks) + "\n"
