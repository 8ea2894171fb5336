"""Whether a scale-free learner would improve the ensemble as a further member.

    UNITLESS_DATA=datasets python benchmarks/added_members.py [ROWS]

On the tables of `unitless paper contest`, the predictions of the default model and of a learner are combined by the
mixture that combines the members of an ensemble (its oracle, tests/oracles/mixture.py). The combination alone changes
the loss, whatever is added. So the same is done with a control, a learner that is a member already, and the table shows
the loss with the learner over the loss with the control, as geometric means with an interval of 95% over tables.

One half of the tables chooses a learner and the other half judges it, in many random halves. A new member should
improve the half that did not choose it by more than 0.5%.

This is no test of a learner inside the ensemble, where stackers see its predictions next to those of all members. Only
learners without units are tested, because others would make the predictions of the ensemble depend on units.

The learner gets centered features, as members do, and for numbers it learns the unit of the label from the first five
rows, and is limited to the range of the labels so far: the contest itself tells its learners the range in advance.
"""

from __future__ import annotations

import functools
import os
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))

from oracles.mixture import Mixture

from unitless.errors import DatasetError
from unitless.inputs import Float64
from unitless.models.learner import Learner
from unitless.paper import baselines
from unitless.paper.contest.judge import judge
from unitless.paper.contest.learners import contestants
from unitless.paper.contest.sources import TABLES
from unitless.paper.contest.table import Rows

ROWS = 500
FIRST = 5
HALVES = 1000
WANTED = 0.995
"""The largest ratio that makes a learner a member."""

ADDED: dict[str, Any] = {
    "coin betting": baselines.CoinBetting,
    "KT": baselines.KT,
    "ScInOL₁": baselines.ScInOL1,
    "ScInOL₂": baselines.ScInOL2,
    "FreeGrad, scaled": functools.partial(baselines.FreeGrad, scaled=True),
    "MetaGrad, scaled": functools.partial(baselines.MetaGrad, scaled=True),
    "KATE": baselines.KATE,
    "vSGD": baselines.VSGD,
    "sNAG": "snag",
    "NG": "ng",
}
"""For numbers: a learner of `unitless.paper.baselines`, or a rule of the core."""

CONTROL = "unitless, one learner"
KINDS = {"binary": "logistic", "regression": "squared", "classes": "classes"}
BY_NAME = {one.name: one for one in contestants()}


def centered(X: Float64) -> Float64:
    """The features less their means so far."""
    size = np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)
    means = np.cumsum(X / size, axis=0) / np.arange(1, len(X) + 1)[:, None]
    return np.asarray((X / size - means) * size)


def member(name: str, rows: Rows) -> Float64:
    """The progressive predictions of a further member."""
    if name == CONTROL:
        return np.asarray(BY_NAME[name].untuned(rows)[:, 0])
    X = centered(rows.X)
    if rows.task != "regression":
        return np.asarray(BY_NAME[name].untuned(Rows(X, rows.y, rows.task))[:, 0])
    first = rows.y[0]
    unit = 4 * float(np.abs(rows.y[:FIRST] - first).max()) or 1.0
    y, X = (rows.y - first) / unit, np.hstack([np.ones((len(X), 1)), X])
    made = ADDED[name]
    p = Learner(made, "squared", 0.5, bias=False).learn(X, y) if isinstance(made, str) else made("squared").run(X, y)
    p = np.nan_to_num(first + unit * p, nan=first)
    p[:FIRST] = first
    p[1:] = np.clip(p[1:], np.minimum.accumulate(rows.y)[:-1], np.maximum.accumulate(rows.y)[:-1])
    return p


def combined(rows: Rows, first: Float64, second: Float64) -> Float64:
    """The progressive predictions of the mixture of two members."""
    mixture = Mixture(KINDS[rows.task], 2)
    both = np.stack([first, second], axis=1).reshape(len(rows.y), 2, -1)
    if rows.task == "regression":
        both = np.clip(both, rows.y.min(), rows.y.max())
    found = []
    for members, y in zip(np.nan_to_num(both), rows.y, strict=True):
        found.append(mixture.say(members))
        mixture.learn(members, (1.0 if y > 0 else -1.0) if rows.task == "binary" else y)
    scores = np.array(found)
    return scores[:, None] if rows.task == "classes" else scores


def of_table(rows: Rows) -> dict[str, float]:
    """The loss of the default model with each learner over its loss with the control, and that over its own loss."""
    default = BY_NAME["unitless"].untuned(rows)[:, 0]
    alone = float(judge(rows, default[:, None]).losses[0])
    together = {
        name: float(judge(rows, combined(rows, default, member(name, rows))).losses[0]) for name in (*ADDED, CONTROL)
    }
    return {**{name: together[name] / together[CONTROL] for name in ADDED}, CONTROL: together[CONTROL] / alone}


def interval(logs: Float64) -> tuple[float, float, float]:
    """The geometric mean, and an interval of 95% from tables that are drawn again."""
    drawn = np.random.default_rng(0).integers(len(logs), size=(2000, len(logs)))
    means = np.exp(logs[drawn].mean(axis=1))
    return float(np.exp(logs.mean())), float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def judged_by_halves(logs: Mapping[str, Float64]) -> tuple[Float64, list[str]]:
    """The learner that is best in one half of the tables, and its mean ratio in the other half, for random halves."""
    names, rng = list(ADDED), np.random.default_rng(0)
    all_logs = np.array([logs[name] for name in names])
    ratios, chosen = [], []
    for _ in range(HALVES):
        order = rng.permutation(all_logs.shape[1])
        choosing, judging = np.array_split(order, 2)
        best = int(all_logs[:, choosing].mean(axis=1).argmin())
        chosen.append(names[best])
        ratios.append(np.exp(all_logs[best, judging].mean()))
    return np.array(ratios), chosen


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    named = os.environ.get("UNITLESS_DATA")
    found: dict[str, list[float]] = {name: [] for name in (*ADDED, CONTROL)}
    numbers: list[bool] = []
    for table in TABLES:
        try:
            rows = table.rows(pathlib.Path(named) if named else None)
        except DatasetError as error:
            print(f"{table.name} is left out: {error}", flush=True)
            continue
        ratios = of_table(Rows(rows.X[:most], rows.y[:most], rows.task))
        for name, ratio in ratios.items():
            found[name].append(ratio)
        numbers.append(rows.task == "regression")
        print(f"{table.name}: " + ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items()), flush=True)
    logs = {name: np.log(ratios) for name, ratios in found.items()}
    which = np.array(numbers)
    print(
        f"\n{len(numbers)} tables with up to {most} rows. Loss over the loss with the control; the last line: control"
    )
    print(f"{'added':24} all tables  95% interval      classes  numbers  least  largest  tables under {WANTED}")
    for name, some in logs.items():
        mean, low, high = interval(some)
        parts = [float(np.exp(some[mask].mean())) for mask in (~which, which)]
        under = int((some < np.log(WANTED)).sum())
        print(
            f"{name:24} {mean:10.4f}  {low:.4f}–{high:.4f}  {parts[0]:9.4f}  {parts[1]:7.4f}  {np.exp(some.min()):.3f}"
            f"  {np.exp(some.max()):7.3f}  {under:4}"
        )
    ratios, chosen = judged_by_halves(logs)
    counts = {name: chosen.count(name) for name in sorted(set(chosen), key=chosen.count, reverse=True)}
    print(f"\n{HALVES} random halves choose: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    print(
        f"the other half gives the chosen learner the mean ratio {np.exp(np.log(ratios).mean()):.4f}; it is at most "
        f"{WANTED} in {np.mean(ratios <= WANTED):.0%} of the halves"
    )


if __name__ == "__main__":
    main()
