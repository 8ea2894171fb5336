"""Vowpal Wabbit's bandits, for `bandits.py`: its lines, its settings, and its score."""

from __future__ import annotations

import numpy as np
import pandas as pd

from unitless.bandit.simulation import Task, scored

EXPLORATIONS = ("--epsilon 0.05", "--cover 8", "--regcbopt", "--squarecb")
RATES = (0.1, 0.5, 2.0, 5.0, 10.0)
FEATURES = {"raw": "", "standardized": "", "pairs": " -q xx"}  # pairs of standardized ones
SETTINGS = [f"{one} -l {rate:g}, {features}" for features in FEATURES for one in EXPLORATIONS for rate in RATES]
DEFAULTS = [f"{one} -l 0.5, raw" for one in EXPLORATIONS]  # 0.5 is its rate
OTHER_UNIT = "--squarecb -l 0.5, raw, rewards × 1000 - 500"


class Lines:
    """The contexts of a task as Vowpal Wabbit's features, whose names must be words and not numbers."""

    def __init__(self, task: Task) -> None:
        numbers = pd.DataFrame(task.contexts)
        text = [name for name in numbers if not pd.api.types.is_numeric_dtype(numbers[name])]
        words = numbers[text].astype(object)
        numbers = numbers.drop(columns=text).astype(float)
        plain = str.maketrans(" :|", "___")
        self._words = [
            [f"w{k}_{str(value).translate(plain)}" for k, value in enumerate(row)]
            for row in words.itertuples(index=False)
        ]
        self._names = [f"n{k}" for k in range(numbers.shape[1])]
        self._raw = numbers.fillna(0.0).to_numpy()
        deviation = self._raw.std(axis=0)
        self._standardized = (self._raw - self._raw.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)

    def of(self, features: str) -> list[str]:
        """The lines of all contexts; standardized with the mean and deviation of the whole table, an advantage."""
        values = self._raw if features == "raw" else self._standardized
        return [
            "|x " + " ".join([*(f"{name}:{x:.6g}" for name, x in zip(self._names, row, strict=True) if x), *words])
            for row, words in zip(values.tolist(), self._words, strict=True)
        ]


def scores(task: Task, seed: int) -> dict[str, float]:
    """The score of each setting, and of one with rewards in another unit."""
    lines = Lines(task)
    low, high = float(task.rewards.min()), float(task.rewards.max())
    costs, found = (high - task.rewards) / (high - low), {}  # in [0, 1], as it expects
    for features, more in FEATURES.items():
        texts = lines.of(features)
        for setting in SETTINGS:
            options, _, with_features = setting.partition(", ")
            if with_features == features:
                found[setting] = _score(task, texts, costs, options + more, seed)
        if features == "raw":
            found[OTHER_UNIT] = _score(task, texts, 500 - 1000 * (1 - costs), OTHER_UNIT.partition(", ")[0], seed)
    return found


def _score(task: Task, lines: list[str], costs: np.ndarray, options: str, seed: int) -> float:
    import vowpalwabbit

    count = len(task.actions)
    workspace = vowpalwabbit.Workspace(f"--cb_explore {count} --quiet --random_seed {seed} {options}")
    draws = np.random.default_rng(seed).random(len(lines)).tolist()
    chosen = np.zeros(len(lines), int)
    for at, line in enumerate(lines):
        p = np.array(workspace.predict(line))
        p = p / p.sum()
        action = min(int(np.searchsorted(np.cumsum(p), draws[at], side="right")), count - 1)
        chosen[at] = action
        workspace.learn(f"{action + 1}:{costs[at, action]:.6g}:{max(p[action], 1e-6):.6g} {line}")
    workspace.finish()
    return scored(task, task.rewards[np.arange(len(lines)), chosen], None).score
