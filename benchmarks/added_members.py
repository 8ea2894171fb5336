"""Whether a scale-free learner would improve the ensemble as a further member.

    UNITLESS_DATA=datasets python benchmarks/added_members.py [ROWS]

On the tables of `unitless paper contest`, the predictions of the default model and of a learner are combined by the
mixture that combines the members of an ensemble (its oracle, tests/oracles/mixture.py). The table shows the loss of the
combination over that of the default model, as geometric means over one half of the tables and over the other one. A
learner that was chosen by the first half should improve the second by more than 0.5%. As a control, the last line adds
a learner that is a member already.

The learner gets centered features, as members do, and for numbers it learns the unit of the label from the first five
rows, and is limited to the range of the labels so far: the contest itself tells its learners the range in advance.
"""

from __future__ import annotations

import os
import pathlib
import sys
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

ROWS = 1200
FIRST = 5
ADDED: dict[str, Any] = {
    "coin betting": baselines.CoinBetting,
    "ScInOL₂": baselines.ScInOL2,
    "vSGD": baselines.VSGD,
    "sNAG": None,
}
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
    if ADDED[name] is None:
        p = Learner("snag", "squared", 0.5, bias=False).learn(X, y)
    else:
        p = ADDED[name]("squared").run(X, y)
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


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    named = os.environ.get("UNITLESS_DATA")
    ratios: dict[str, list[tuple[int, str, float]]] = {name: [] for name in (*ADDED, CONTROL)}
    for place, table in enumerate(sorted(TABLES, key=lambda one: one.name)):
        try:
            rows = table.rows(pathlib.Path(named) if named else None)
        except DatasetError as error:
            print(f"{table.name} is left out: {error}", flush=True)
            continue
        rows = Rows(rows.X[:most], rows.y[:most], rows.task)
        default = BY_NAME["unitless"].untuned(rows)[:, 0]
        alone = float(judge(rows, default[:, None]).losses[0])
        for name, found in ratios.items():
            together = float(judge(rows, combined(rows, default, member(name, rows))).losses[0])
            found.append((place % 2, rows.task, together / alone))
        print(f"{table.name}: " + ", ".join(f"{name} {found[-1][2]:.3f}" for name, found in ratios.items()), flush=True)
    print(f"\n{'added':24} first half  second half  classes  numbers  worst")
    for name, found in ratios.items():
        halves = [[ratio for half, _, ratio in found if half == wanted] for wanted in (0, 1)]
        tasks = [[ratio for _, task, ratio in found if (task == "regression") == number] for number in (False, True)]
        means = [float(np.exp(np.mean(np.log(some)))) for some in (*halves, *tasks)]
        print(f"{name:24} " + "  ".join(f"{mean:10.4f}" for mean in means) + f"  {max(r for *_, r in found):.3f}")


if __name__ == "__main__":
    main()
