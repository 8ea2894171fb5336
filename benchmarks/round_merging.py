"""Compare ways to merge partitions after a round: see docs/internals/merging-rounds.md.

    UNITLESS_DATA=... python benchmarks/round_merging.py [--seeds 5] [--partitions 16] [--rows N]

Linear models with automatic rates. Partitions of random rows compare the rates and learn as in a training in
partitions; only the merging of weights and H differs. g is the growth of a partition's H, and d the change of a weight:

    mean H          d by H, H the mean                                  the way that the library uses
    total H         d by H, H = ΣH²/ΣH
    gain            d by g, H of the base plus Σg²/Σg
    sum             d by g, H of the base plus Σg
    plain mean      the mean of d, H the mean

The numbers are the loss on a fifth of the table divided by that of one stream, minus 1, in percent.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from partitions import TABLES, table

import unitless as ul
from unitless.data.columns import frame_reader, policy
from unitless.merging.engine import Kind
from unitless.merging.gathered import Gathered
from unitless.merging.layout import Lanes
from unitless.merging.rounds import Partitions
from unitless.merging.slots import OfState, sound

ROUNDS = (2, 8, 32)
READING = policy.Policy(booleans="categories", text="indicators", missing="absent", dates="error")
Array = np.ndarray[Any, np.dtype[np.float64]]
Way = Callable[[Array, Array, Array], tuple[Array, Array]]  # from g, d by partition and the base's H: how both change


def _by(weight: Array, values: Array) -> Array:
    total = weight.sum(axis=0)
    return np.divide((weight * values).sum(axis=0), total, out=np.zeros(total.shape), where=total > 0)


WAYS: dict[str, Way] = {
    "mean H": lambda g, d, H: (g.mean(axis=0), _by(g + H, d)),
    "total H": lambda g, d, H: (_by(g + H, g + H) - H, _by(g + H, d)),
    "gain": lambda g, d, H: (_by(g, g), _by(g, d)),
    "sum": lambda g, d, H: (g.sum(axis=0), _by(g, d)),
    "plain mean": lambda g, d, H: (g.mean(axis=0), d.mean(axis=0)),
}


class Study:
    """Partitions and rounds over one table."""

    def __init__(self, frame: pd.DataFrame, center: bool, seed: int) -> None:
        labels = frame["label"]
        self._y = np.where(labels == labels.value_counts().index[0], 1.0, -1.0)
        self._X = frame.drop(columns="label")
        self._center = center
        order = np.random.default_rng(seed).permutation(len(frame))
        held = len(frame) // 5
        self._test, self._order = order[:held], order[held:]

    def model(self) -> ul.Learner:
        return ul.Learner(loss="logistic", learning_rate="auto", center=self._center)

    def _rows(self, rows: Array) -> Any:
        return frame_reader.read(self._X.iloc[rows], READING)

    def _learn(self, model: ul.Learner, rows: Array) -> None:
        for some in np.array_split(rows, len(rows) // 16384 + 1):
            model._feed(self._rows(some), self._y[some], None)

    def loss(self, model: ul.Learner) -> float:
        said = model._ask(self._rows(self._test), False)
        return float(np.mean(np.logaddexp(0, -self._y[self._test] * said)))

    def alone(self) -> float:
        model = self.model()
        self._learn(model, self._order)
        return self.loss(model)

    def together(self, way: Way, partitions: int, rounds: int) -> float:
        merged = self.model()
        for cell in np.array_split(self._order, rounds):
            base = merged._state_and_labels()
            states, weights = [], []
            for rows in np.array_split(cell, partitions):
                model, judged = self.model(), 0
                model._go_back(base)
                if base[0]["examples"]:
                    judged = min(len(rows), max(256, min(4096, len(rows) // 8)))
                    model._begin_judging(self._y[rows[:judged]], None)
                    model._ask(self._rows(rows[:judged]), False)
                    model._end_judging()
                    model._choose_rates(False)
                else:
                    model._keep_rates(True)
                self._learn(model, rows)
                states.append(model._state_and_labels())
                weights.append(float(judged))
            together = Partitions(merged.options, merged._open_to_classes())
            gathered = [Gathered.of(state, judged) for state, judged in zip(states, weights, strict=True)]
            state = together.merged(base, together.folded(gathered))
            merged._go_back(_by_way(way, merged.options, state, base, states))
            merged._prune_rates()
        return self.loss(merged)


def _by_way(way: Way, options: Any, merged: Any, base: Any, states: list[Any]) -> Any:
    """The merged state with the weights and H that this way computes from the partitions."""
    kind = Kind.of(options, False, states)
    layout = kind.layout([merged, base, *states])
    lanes = Lanes.of([kind.by_label(merged)])
    scale = merged[0]["scale"]

    def in_common_scale(state: Any) -> tuple[Array, Array]:
        own, H, v = sound(OfState(options, state[0], layout, lanes.source(kind.by_label(state))).read(layout.slots))
        rho = (own / scale)[:, None]
        return H * rho**2, np.divide(v, rho, out=np.zeros_like(v), where=rho > 0)

    H, start = in_common_scale(base)
    each = [in_common_scale(state) for state in states]
    g = np.array([np.maximum(own - H, 0.0) for own, _ in each])
    d = np.array([u - start for _, u in each])
    more, moved = way(g, d, H)
    _, done = WAYS["mean H"](g, d, H)
    v = merged[0]["v"].reshape(moved.shape) + (moved - done)
    return {**merged[0], "v": v.ravel(), "H": (H + more).ravel()}, merged[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--rows", type=int, help="of each table, drawn at random. Default: all.")
    given = parser.parse_args()
    if "UNITLESS_DATA" not in os.environ:
        print("set UNITLESS_DATA to the folder of the tables")
        return 1
    print(f"{given.partitions} partitions, {given.seeds} seeds: loss over one stream's, in percent")
    print(f"{'':<24}{'':<12}" + "".join(f"{f'R = {rounds}':>9}" for rounds in ROUNDS))
    for title, (name, options) in TABLES.items():
        frame = table(name)
        if given.rows is not None and given.rows < len(frame):
            frame = frame.sample(given.rows, random_state=0).reset_index(drop=True)
        found = {(way, rounds): [] for way in WAYS for rounds in ROUNDS}
        for seed in range(given.seeds):
            study = Study(frame, options.get("center", True), seed)
            alone = study.alone()
            for (way, rounds), losses in found.items():
                losses.append(100 * (study.together(WAYS[way], given.partitions, rounds) / alone - 1))
        for way in WAYS:
            cells = "".join(f"{np.mean(found[way, rounds]):>+9.2f}" for rounds in ROUNDS)
            print(f"{title:<24}{way:<12}{cells}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
