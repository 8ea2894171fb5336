"""The page of `bandits.py`: its results as tables, in the text of bandit_page.md."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import NamedTuple

import bandit_ours
import bandit_tasks
import bandit_vw
import machine
import numpy as np

NEAR = 0.01  # a score so little below another one is not worse
Scores = dict[str, dict[str, float]]  # of a task: each score, on average over the seeds
Table = list[list[str]]


class Results(NamedTuple):
    """What a run has measured."""

    by_seed: dict[str, list[dict[str, float]]]  # by task
    wrong: dict[str, int]  # logs with a false promotion
    logs: int
    times: dict[str, tuple[float, float]]  # by model type: microseconds of a decision, and of a reward


def written(results: Results) -> str:
    """The whole page."""
    scores = {
        task: {name: float(np.mean([one[name] for one in seeds])) for name in seeds[0]}
        for task, seeds in results.by_seed.items()
    }
    single, default = _best(scores, bandit_vw.SETTINGS), _best(scores, bandit_vw.DEFAULTS)
    tuned = {task: _tuned(found) for task, found in scores.items()}
    worse = [task for task, found in scores.items() if found["ours"] < tuned[task] - NEAR]
    wrong = [count for name, count in results.wrong.items() if not name.startswith("plain")]
    return (
        pathlib.Path(__file__)
        .with_suffix(".md")
        .read_text(encoding="utf-8")
        .format(
            tasks=len(scores),
            seeds=len(next(iter(results.by_seed.values()))),
            above=sum(found["ours"] > tuned[task] for task, found in scores.items()),
            near=NEAR,
            worse=", ".join(worse) or "no task",
            linear_us=results.times["linear"][0],
            trees_us=results.times["trees"][0],
            logs=f"{results.logs:,}",
            most_wrong=f"{max(wrong) / results.logs:.2%}",
            rounds=f"{max(found['rounds'] for found in scores.values()):,.0f}",
            settings=len(bandit_vw.SETTINGS),
            single=single,
            default=default,
            explorations=", ".join(f"`{one}`" for one in bandit_vw.EXPLORATIONS),
            rates=", ".join(f"{rate:g}" for rate in bandit_vw.RATES),
            log_rows=bandit_ours.LOG_ROWS,
            plain_from=bandit_ours.PLAIN_FROM,
            machine=machine.sentence(machine.describe()),
            summary=_markdown(_summary(scores, single, default)),
            means=_markdown(_means(scores, single)),
            each_task=_markdown(_each_task(scores, single, default, results)),
            times=_markdown(_times(results)),
            promotions=_markdown(_promotions(results)),
        )
    )


def _mean(scores: Scores, name: str) -> float:
    return float(np.mean([found[name] for found in scores.values()]))


def _best(scores: Scores, settings: list[str]) -> str:
    """The setting of Vowpal Wabbit with the largest mean over the tasks."""
    return max(settings, key=lambda setting: _mean(scores, setting))


def _tuned(found: dict[str, float], features: str = "") -> float:
    """Vowpal Wabbit's score of a task with the setting that is the best one for it, among those with these features."""
    return max(found[setting] for setting in bandit_vw.SETTINGS if setting.endswith(features))


def _markdown(table: Table) -> str:
    head, *rows = (f"| {' | '.join(row)} |" for row in table)
    return "\n".join([head, "|---|" + "---:|" * (len(table[0]) - 1), *rows])


def _summary(scores: Scores, single: str, default: str) -> Table:
    tuned = float(np.mean([_tuned(found) for found in scores.values()]))
    return [
        ["mean over all tasks", "score"],
        ["**`ul.Bandit()`, no option**", f"**{_mean(scores, 'ours'):.3f}**"],
        [
            f"Vowpal Wabbit, the best of {len(bandit_vw.SETTINGS)} settings of each task, chosen afterwards",
            f"{tuned:.3f}",
        ],
        ["Vowpal Wabbit, the best single setting of all tasks, chosen afterwards", f"{_mean(scores, single):.3f}"],
        [
            "Vowpal Wabbit, default rate and raw features, the best of four explorations",
            f"{_mean(scores, default):.3f}",
        ],
        [
            "the same models as in `ul.Bandit()`, but the rewards of all actions are seen",
            f"{_mean(scores, 'full'):.3f}",
        ],
        ["the best constant action, chosen afterwards", f"{_mean(scores, 'constant'):.3f}"],
    ]


def _means(scores: Scores, single: str) -> Table:
    groups = {
        "classes": {task: found for task, found in scores.items() if task in bandit_tasks.CLASSES},
        "prices": {task: found for task, found in scores.items() if task in bandit_tasks.PRICES},
        "all": scores,
    }
    groups = {name: group for name, group in groups.items() if group}

    def row(name: str, score: Callable[[dict[str, float]], float]) -> list[str]:
        return [name, *(f"{np.mean([score(found) for found in group.values()]):.3f}" for group in groups.values())]

    names = {"`ul.Bandit()`": "ours", '`ul.Bandit(model_type="linear")`': "linear"}
    of_vw = {f"VW `{single}`, the best single setting": single}
    of_vw |= {f"VW `{setting}`, default rate": setting for setting in bandit_vw.DEFAULTS}
    of_vw |= {f"VW `{bandit_vw.OTHER_UNIT}`": bandit_vw.OTHER_UNIT}
    others = {"all rewards seen": "full", "best constant action": "constant"}
    return [
        ["", *groups],
        *(row(name, lambda found, key=key: found[key]) for name, key in names.items()),
        row("VW, best setting of each task", _tuned),
        row("VW, best setting of each task, raw features", lambda found: _tuned(found, "raw")),
        *(row(name, lambda found, key=key: found[key]) for name, key in (of_vw | others).items()),
    ]


def _each_task(scores: Scores, single: str, default: str, results: Results) -> Table:
    table = [["task", "actions", "rounds", "ours", "±", "VW, best of task", "VW, one setting", "VW, default rate"]]
    table[0] += ["all rewards seen", "constant"]
    for task, found in scores.items():
        values = [found["ours"], _tuned(found), found[single], found[default]]
        ours, *others = [f"**{value:.3f}**" if value == max(values) else f"{value:.3f}" for value in values]
        spread = np.std([one["ours"] for one in results.by_seed[task]])
        sizes = [f"{found['actions']:.0f}", f"{found['rounds']:,.0f}"]
        limits = [f"{found['full']:.3f}", f"{found['constant']:.3f}"]
        table.append([task, *sizes, ours, f"{spread:.3f}", *others, *limits])
    return table


def _times(results: Results) -> Table:
    rows = [[name, f"{decide:.0f} µs", f"{learn:.0f} µs"] for name, (decide, learn) in results.times.items()]
    return [["model type", "a decision", "a reward"], *rows]


def _promotions(results: Results) -> Table:
    kinds = {"range": "with `reward_range`", "no range": "without it", "plain": "usual intervals"}
    table = [["the log has the policy's action in", *kinds.values()]]
    for share in bandit_ours.SHARES:
        cells = [f"{results.wrong[f'{kind}, {share:g}'] / results.logs:.2%}" for kind in kinds]
        table.append([f"{share:.0%} of its rows", *cells])
    return table
