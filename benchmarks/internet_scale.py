"""The time and network traffic of a training on many machines: 10 to 10,000 workers, 10^9 to 10^13 rows.

    python benchmarks/internet_scale.py              prints tables, draws docs/images/internet-scale.png
    python benchmarks/internet_scale.py --measure    measures the costs anew before (a minute or two)
    python benchmarks/internet_scale.py --page       puts the tables into docs/internals/scale-out-costs.md as well

The times are predicted from costs measured with little data on one machine (cluster_costs.json) and from a model of
rounds (cluster_rounds.py). Nothing ran on a cluster.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import statistics
from dataclasses import replace
from typing import Any

from cluster_costs import FAN_IN, KEPT, Costs, measure
from cluster_rounds import Cluster, Job, Outcome, Round, closed_form, one_round, simulate

ROOT = pathlib.Path(__file__).parent.parent
PAGE, PICTURE = ROOT / "docs" / "internals" / "scale-out-costs.md", ROOT / "docs" / "images" / "internet-scale.png"
WORKERS = (10, 100, 1000, 10_000)
ROWS = (10**9, 10**10, 10**11, 10**12, 10**13)
MODELS = (
    (3.0, "trees, 54 columns"),
    (50.0, "sparse, 30 features"),
    (500.0, "sparse, 30 features"),
    (5000.0, "sparse, 30 features"),
)
DRAWS = 5  # number of seeds, whose median counts
DRAWN = (10, 18, 32, 56, 100, 178, 316, 562, 1000, 1778, 3162, 5623, 10_000)  # workers in the picture
TIMES = {1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3600: "1 h", 36_000: "10 h"}  # marks of its axes
TIMES |= {days * 86_400: name for days, name in ((4, "4 days"), (36, "36 days"), (365, "1 year"), (3650, "10 years"))}
MARKED = re.compile(r"(<!-- results: ([\w ]+) -->\n).*?(<!-- end of results -->)", re.DOTALL)


def duration(seconds: float) -> str:
    """A time with two digits, in a suitable unit."""
    for name, size in (("years", 365.25 * 86_400), ("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{digits(seconds / size)} {name}" if seconds < 1e12 else "never"
    return f"{digits(seconds)} s" if seconds >= 0.1 else f"{digits(seconds * 1000)} ms"


def digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"


def volume(megabytes: float) -> str:
    """Bytes with two digits."""
    for name, size in (("EB", 1e12), ("PB", 1e9), ("TB", 1e6), ("GB", 1e3)):
        if megabytes >= size:
            return f"{digits(megabytes / size)} {name}"
    return f"{digits(megabytes)} MB"


def exponent(rows: float) -> int:
    return len(str(int(rows))) - 1


def power(rows: float) -> str:
    """Powers of ten, such as 10⁹."""
    return "10" + str(exponent(rows)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def table(header: list[str], lines: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *lines))  # the form of Markdown


class Prediction:
    """Times and traffic for one kind of cluster, whatever its size."""

    def __init__(self, costs: Costs, cluster: Cluster, seed: int = 0) -> None:
        self._costs, self._cluster, self._seed = costs, cluster, seed

    def failing(self, rate: float) -> Prediction:
        """The same cluster with another rate of failures."""
        return Prediction(self._costs, replace(self._cluster, failures=rate), self._seed)

    def calm(self, job: Job, workers: int) -> Outcome:
        """The result if nothing fails and all workers are equally fast."""
        return closed_form(job, replace(self._cluster, workers=workers), self._costs)

    def round(self, model: tuple[float, str], workers: int) -> Round:
        """A round in which no row is learned."""
        return one_round(self.job(ROWS[0], *model), replace(self._cluster, workers=workers), self._costs, 0.0)

    def job(self, rows: float, model: float, workload: str, per_worker: int = 1) -> Job:
        return Job(rows, model, self._costs.workloads[workload], per_worker=per_worker)

    def seconds(self, job: Job, workers: int) -> float:
        """The median over several random simulations."""
        cluster = replace(self._cluster, workers=workers)
        draws = [simulate(job, cluster, self._costs, self._seed + draw).seconds for draw in range(DRAWS)]
        return statistics.median(draws)

    def assumed(self) -> str:
        """One sentence on the assumptions of the tables."""
        one = self._cluster
        return (
            f"Network {one.network:g} Gbit/s for each machine of {one.workers_per_machine} workers; "
            f"{one.failures:g} failures per worker and hour; the time of a task varies by {one.spread:.0%}; "
            "8 rounds, one partition for each worker, files of text."
        )

    def sizing(self) -> str:
        """A table of total times, and the part of them that is learning."""
        parts = []
        for model, workload in MODELS:
            lines = []
            for rows in ROWS:
                job = self.job(rows, model, workload)
                cells = []
                for workers in WORKERS:
                    seconds = self.seconds(job, workers)
                    share = self.calm(job, workers).learning / seconds
                    cells.append(f"{duration(seconds)} ({share:.0%})")
                lines.append([power(rows), *cells])
            per_row = self._costs.row(self._costs.workloads[workload]) * 1e6
            parts.append(
                f"{workload.capitalize()} ({per_row:.1f} µs to read and learn a row), a model of {volume(model)}:\n"
            )
            parts.append(table(["rows", *(f"{workers:,} workers" for workers in WORKERS)], lines) + "\n")
        return "\n".join(parts).strip()

    def _memory(self, model: float, workload: str, workers: int) -> float:
        """MB of the largest merging: of sums, or of all states if they are not summed."""
        if self._costs.workloads[workload].bent:
            return workers * model
        return (FAN_IN + 1) * self._costs.sums * model

    def rounds(self) -> str:
        """A table of the time of a round in addition to learning, and of its traffic."""
        lines = []
        for model, workload in MODELS:
            for workers in WORKERS:
                one = self.round((model, workload), workers)
                parts = (one.ship, one.task, sum(one.folds), one.finish)
                lines.append(
                    [
                        volume(model),
                        f"{workers:,}",
                        *map(duration, parts),
                        duration(sum(parts)),
                        volume(one.traffic),
                        volume(self._memory(model, workload, workers)),
                    ]
                )
        names = ["ship it", "take and give it", "merge", "driver", "together", "traffic", "memory to merge"]
        return table(["model", "workers", *names], lines)


def draw(prediction: Prediction, path: pathlib.Path) -> None:
    """Draw the time against workers for each model, the cost of rounds, and the cost of failures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.style.use("unitless.plot.style")
    figure, axes = plt.subplots(2, 2, figsize=(10.5, 8.5))
    colors = plt.get_cmap("viridis")([0.85, 0.7, 0.5, 0.3, 0.1])
    for axis, model in zip(axes.flat, (MODELS[0], MODELS[2]), strict=False):
        _draw_times(axis, prediction, model, colors)
    _draw_rounds(axes.flat[2], prediction, colors)
    _draw_failures(axes.flat[3], prediction, colors)
    for axis, first in zip(axes.flat[:3], (1.8, 1.8, 8), strict=True):  # names of lines stand before the first workers
        axis.set(xlabel="workers", xscale="log", yscale="log", xlim=(first, 1.3e4))
        axis.set_xticks(WORKERS, [f"{one:,}" for one in WORKERS])
        low, high = axis.get_ylim()
        ticks = {at: name for at, name in TIMES.items() if low <= at <= high}
        axis.set_yticks(list(ticks), list(ticks.values()))
        axis.minorticks_off()
    figure.suptitle("Predicted from costs on one machine, not measured on a cluster", fontsize=10)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _name(axis: Any, name: str, x: float, y: float, color: Any, before: bool = False) -> None:
    """Name a line at one of its ends."""
    away = {"xytext": (-5 if before else 5, 0), "textcoords": "offset points", "ha": "right" if before else "left"}
    axis.annotate(name, (x, y), color=color, fontsize=9, va="center", annotation_clip=False, **away)


def _draw_times(axis: Any, prediction: Prediction, model: tuple[float, str], colors: Any) -> None:
    """Draw a line for each number of rows, and a dotted one for the time that cannot be avoided."""
    for rows, color in zip(ROWS, colors, strict=False):
        job = prediction.job(rows, *model)
        name = f"$10^{{{exponent(rows)}}}$ rows"
        times = [prediction.seconds(job, one) for one in DRAWN]
        axis.plot(DRAWN, times, color=color)
        _name(axis, name, DRAWN[0], times[0], color, before=True)
        axis.plot(DRAWN, [prediction.calm(job, one).learning for one in DRAWN], ":", color=color, linewidth=1)
    axis.set_title(f"{model[1]}: a model of {volume(model[0])}", fontsize=10)
    axis.set(ylabel="time (dotted: learning alone)", ylim=(10, 4e8))


def _draw_rounds(axis: Any, prediction: Prediction, colors: Any) -> None:
    """Draw the time of a round in which no row is learned."""
    for model, color in zip(MODELS, colors, strict=False):
        parts = [prediction.round(model, one) for one in DRAWN]
        seconds = [one.aside + one.task for one in parts]
        axis.plot(DRAWN, seconds, color=color)
        _name(axis, f"{volume(model[0])}{' (trees)' if model is MODELS[0] else ''}", DRAWN[-1], seconds[-1], color)
    axis.set_title("a round without rows, by size of the model", fontsize=10)
    axis.set(ylabel="time", ylim=(0.3, 1500))


def _draw_failures(axis: Any, prediction: Prediction, colors: Any) -> None:
    """Draw the increase of the time with the rate of failures, by the number of partitions."""
    rows, workers, rates = 10**12, 1000, [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1]
    usual = prediction.calm(prediction.job(rows, *MODELS[0]), workers).seconds
    for per_worker, color in zip((1, 4, 16), colors[1:], strict=False):
        job = prediction.job(rows, *MODELS[0], per_worker)
        times = [prediction.failing(rate).seconds(job, workers) / usual for rate in rates]
        axis.plot(rates, times, color=color, marker="o", markersize=3)
        _name(axis, str(per_worker), rates[-1], times[-1], color)
    axis.set_title("failures, by partitions for each worker", fontsize=10)
    axis.set(
        xlabel="failures per worker and hour", ylabel="time, relative to no failures", xscale="log", ylim=(0.9, 2.8)
    )


def filled(text: str, parts: dict[str, str]) -> str:
    """The page with new tables between their marks."""
    return MARKED.sub(lambda m: f"{m[1]}\n{parts[m[2]]}\n\n{m[3]}" if m[2] in parts else m[0], text)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure the costs anew, and keep them")
    parser.add_argument("--quick", action="store_true", help="measure far too little: to try whether it works")
    parser.add_argument("--costs", type=pathlib.Path, default=KEPT, help="where the costs are kept")
    parser.add_argument("--network", type=float, default=10.0, help="Gbit/s of a machine")
    parser.add_argument("--workers-per-machine", type=int, default=16)
    parser.add_argument("--failures", type=float, default=0.001, help="of a worker, per hour")
    parser.add_argument("--spread", type=float, default=0.1, help="of the logarithm of a task's time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", type=pathlib.Path, default=PICTURE)
    parser.add_argument("--page", action="store_true", help="put the tables into docs/internals/scale-out-costs.md")
    given = parser.parse_args(arguments)
    if given.measure:
        measure(given.costs, given.quick)
    costs = Costs.read(given.costs)
    cluster = Cluster(1, given.network, given.workers_per_machine, given.failures, given.spread)
    prediction = Prediction(costs, cluster, given.seed)
    parts = {"assumed": prediction.assumed(), "sizing": prediction.sizing(), "rounds": prediction.rounds()}
    print(f"Costs measured on {costs.machine}\n")
    print("\n\n".join(parts.values()))
    draw(prediction, given.picture)
    if given.page:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")


if __name__ == "__main__":
    main()
