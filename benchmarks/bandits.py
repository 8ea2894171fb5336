"""Contextual bandits next to Vowpal Wabbit: python benchmarks/bandits.py [--rounds N] [--seeds N] [--vw] [--false N]

Bandit feedback is made from tables: of each row, only the reward of the chosen action is seen. The score is 0 for
random choices and 1 for the best action of each row. Vowpal Wabbit gets costs between 0 and 1, features whose names are
words, each of its explorations at several learning rates, raw features, standardized ones, and pairs of features
(-q xx). `--false` counts how often a policy that is as good as the log's own is called better, with a look after every
row.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import unitless as ul
from unitless.bandit.simulation import Task, play, read_task, scored, with_full_information

EXPLORATIONS = ("--epsilon 0.05", "--cover 8", "--regcbopt", "--squarecb")
RATES = (0.1, 0.5, 2.0, 5.0, 10.0)
FEATURES = ("raw", "standardized", "pairs")


def folder() -> pathlib.Path | None:
    """The directory with the larger tables, if UNITLESS_DATA is set."""
    return pathlib.Path(os.environ["UNITLESS_DATA"]) if "UNITLESS_DATA" in os.environ else None


def table(name: str, target: str, without: tuple[str, ...] = ()) -> Callable[[int], tuple[Any, str]]:
    """A table of UNITLESS_DATA."""

    def read(_: int) -> tuple[Any, str]:
        path = (folder() or pathlib.Path()) / name
        frame = pd.read_parquet(path) if name.endswith("parquet") else pd.read_csv(path)
        frame = frame.drop(columns=[column for column in without if column in frame]).dropna(subset=[target])
        return frame, target

    return read


def bundled(name: str, classes: bool) -> Callable[[int], tuple[Any, str]]:
    """A table of scikit-learn."""

    def read(_: int) -> tuple[Any, str]:
        from sklearn import datasets

        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
        return (frame.astype({"target": str}) if classes else frame), "target"

    return read


def letters(seed: int) -> tuple[Any, str]:
    """26 classes of 16 whole numbers from 0 to 15, each in two forms, like the letters of UCI."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(26, 2, 16)) * 2.2
    label, form = rng.integers(26, size=20_000), rng.integers(2, size=20_000)
    X = np.round(np.clip(7 + 2 * (centers[label, form] + rng.normal(size=(20_000, 16))), 0, 15))
    frame = pd.DataFrame(X, columns=[f"box{k}" for k in range(16)])
    return frame.assign(letter=[chr(65 + one) for one in label]), "letter"


def regions(seed: int) -> tuple[Any, str]:
    """Five classes in regions with straight borders, in ten columns of different units."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20_000, 10))
    label = np.argmax(X[:, :5] + X[:, 5:] @ rng.normal(size=(5, 5)) + 0.5 * rng.normal(size=(20_000, 5)), axis=1)
    frame = pd.DataFrame(X * 10.0 ** rng.integers(-4, 5, 10), columns=[f"column{k}" for k in range(10)])
    return frame.assign(label=[f"class{one}" for one in label]), "label"


def checkerboard(seed: int) -> tuple[Any, str]:
    """Three classes by the signs and sizes of two columns among eight."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20_000, 8))
    label = (X[:, 0] * X[:, 1] > 0).astype(int) + (np.abs(X[:, 2]) > 1)
    return pd.DataFrame(X, columns=[f"c{k}" for k in range(8)]).assign(label=[f"class{one}" for one in label]), "label"


def offers(seed: int) -> tuple[Any, str]:
    """What somebody would pay, by six numbers and a text."""
    rng = np.random.default_rng(seed)
    X, kind = rng.normal(size=(20_000, 6)), rng.integers(4, size=20_000)
    worth = np.exp(0.4 * X[:, 0] + 0.3 * np.abs(X[:, 1]) + 0.5 * kind + 0.2 * rng.normal(size=20_000)) * 1000
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(6)])
    return frame.assign(kind=[f"kind {one}" for one in kind], worth=worth), "worth"


TASKS: dict[str, Callable[[int], tuple[Any, str]]] = {
    "covertype": table("covertype.parquet", "label"),
    "shuttle": table("shuttle.parquet", "label"),
    "bank": table("bank.parquet", "label"),
    "census": table("census.parquet", "label"),
    "credit": table("raw/credit_default.csv.gz", "Y", ("ID",)),
    "diamonds (cut)": table("raw/diamonds.csv.gz", "cut"),
    "diamonds (price)": table("raw/diamonds.csv.gz", "price"),
    "houses (price)": table("raw/kc_house.csv.gz", "price", ("id",)),
    "digits": bundled("digits", True),
    "breast cancer": bundled("breast_cancer", True),
    "diabetes (price)": bundled("diabetes", False),
    "letters": letters,
    "regions": regions,
    "checkerboard": checkerboard,
    "offers (price)": offers,
}


def tasks(names: list[str]) -> Iterator[tuple[str, Callable[[int], tuple[Any, str]]]]:
    """The tasks whose tables are here."""
    for name, read in TASKS.items():
        if (not names or name in names) and (folder() is not None or read.__qualname__.split(".")[0] != "table"):
            yield name, read


def ours(task: Task, seed: int, model_type: Any) -> tuple[float, float]:
    """The score of a bandit, and the microseconds of a round."""
    start = time.process_time()
    rewards = np.array(list(play(ul.Bandit(model_type=model_type, random_state=seed), task)))
    seconds = time.process_time() - start
    return scored(task, rewards, None).score, seconds / len(rewards) * 1e6


class Lines:
    """The contexts of a task as Vowpal Wabbit's features."""

    def __init__(self, task: Task) -> None:
        numbers = pd.DataFrame(task.contexts)
        text = [name for name in numbers if not pd.api.types.is_numeric_dtype(numbers[name])]
        words = numbers[text].astype(object)
        numbers = numbers.drop(columns=text).astype(float)
        self._words = [
            [f"w{k}_{str(value).replace(' ', '_').replace(':', '_').replace('|', '_')}" for k, value in enumerate(row)]
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


def vowpal_wabbit(task: Task, lines: list[str], options: str, seed: int) -> float:
    """The score of Vowpal Wabbit with these options."""
    import vowpalwabbit

    count = len(task.actions)
    low, high = float(task.rewards.min()), float(task.rewards.max())
    costs = (high - task.rewards) / (high - low)
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


def all_settings(task: Task, seed: int) -> dict[str, float]:
    """The score of every setting of Vowpal Wabbit."""
    found: dict[str, float] = {}
    lines = Lines(task)
    for features in FEATURES:
        texts = lines.of(features)
        pairs = " -q xx" if features == "pairs" else ""
        for exploration in EXPLORATIONS:
            for rate in RATES:
                options = f"{exploration} -l {rate}{pairs}"
                found[f"{exploration} -l {rate} {features}"] = vowpal_wabbit(task, texts, options, seed)
    return found


def false_promotions(logs: int, rows: int) -> dict[str, float]:
    """The share of logs in which a policy that is as good as the log's own is called better at some row."""
    shares: dict[str, float] = {}
    for reward_range in ((0.0, 1.0), None):
        for of_b in (0.5, 0.1):
            wrong = 0
            for seed in range(logs):
                rng = np.random.default_rng(seed)
                chosen, rewards = rng.random(rows) < of_b, (rng.random(rows) < 0.3).astype(float)
                evaluator = ul.bandit.Evaluator(reward_range)
                p = {"a": 1 - of_b, "b": of_b}
                for b, reward in zip(chosen.tolist(), rewards.tolist(), strict=True):
                    evaluator.add(ul.bandit.Logged({}, ["a", "b"], "b" if b else "a", reward, p), {"b": 1.0})
                    if evaluator.is_better():
                        wrong += 1
                        break
            shares[f"range {reward_range}, propensity {of_b}"] = wrong / logs
    return shares


def main() -> None:
    """Print a line for each task, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tasks", default="")
    parser.add_argument("--vw", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--false", type=int, default=0, metavar="LOGS")
    parser.add_argument("--out")
    given = parser.parse_args()
    if given.false:
        for name, share in false_promotions(given.false, 500).items():
            print(f"{name}: {share:.2%} of {given.false:,} logs")
        return
    results: dict[str, Any] = {}
    for name, read in tasks([one for one in given.tasks.split(",") if one]):
        found: dict[str, list[float]] = {}
        for seed in range(given.seeds):
            frame, target = read(seed)
            task = read_task(frame, target, given.rounds, seed, None)
            for model_type in ("linear", "trees"):
                score, microseconds = ours(task, seed, model_type)
                found.setdefault(model_type, []).append(score)
                found.setdefault(f"{model_type}, us", []).append(microseconds)
                if given.full:
                    rewards = np.array(list(with_full_information(task, model_type)))
                    found.setdefault(f"{model_type}, all rewards", []).append(scored(task, rewards, None).score)
            if given.vw:
                for setting, score in all_settings(task, seed).items():
                    found.setdefault(setting, []).append(score)
        results[name] = {setting: float(np.mean(scores)) for setting, scores in found.items()}
        results[name] |= {"actions": len(task.actions), "rounds": len(task.contexts)}
        report(name, results[name])
        if given.out:
            pathlib.Path(given.out).write_text(json.dumps(results, indent=1))
    summary(results)


def settings_of(found: dict[str, Any]) -> dict[str, float]:
    """The settings of Vowpal Wabbit among the results of a task."""
    return {name: score for name, score in found.items() if name.startswith("--")}


def report(name: str, found: dict[str, Any]) -> None:
    """Print the results of a task."""
    parts = [f"linear {found['linear']:.3f}, trees {found['trees']:.3f}"]
    parts += [f"all rewards {found['trees, all rewards']:.3f}"] if "trees, all rewards" in found else []
    if settings := settings_of(found):
        best = max(settings, key=lambda one: settings[one])
        parts += [f"VW best {settings[best]:.3f} ({best}), squarecb default {settings['--squarecb -l 0.5 raw']:.3f}"]
    print(f"{name}: {found['actions']} actions, {found['rounds']:,} rounds: {', '.join(parts)}", flush=True)


def summary(results: dict[str, Any]) -> None:
    """Print means over the tasks."""
    for name in ("linear", "trees", "linear, us", "trees, us", "linear, all rewards", "trees, all rewards"):
        if all(name in found for found in results.values()):
            print(f"mean {name}: {np.mean([found[name] for found in results.values()]):.3f}")
    every = [settings_of(found) for found in results.values()]
    if not all(every):
        return
    means = {setting: float(np.mean([found[setting] for found in every])) for setting in every[0]}
    for exploration in EXPLORATIONS:
        print(f"mean VW {exploration}, default rate, raw features: {means[f'{exploration} -l 0.5 raw']:.3f}")
    best = max(means, key=lambda one: means[one])
    print(f"mean VW, best single setting ({best}): {means[best]:.3f}")
    raw = float(np.mean([max(score for one, score in found.items() if one.endswith("raw")) for found in every]))
    print(f"mean VW, best setting per task: {np.mean([max(found.values()) for found in every]):.3f}; raw {raw:.3f}")


if __name__ == "__main__":
    main()
