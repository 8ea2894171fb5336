"""Bandit feedback made from a table with labels: how good a bandit would have been.

For classes, the actions are the classes, and the right one has the reward 1. For numbers, such as what somebody would
pay, the actions are ten prices, the deciles of the labels; a price up to the label is the reward, and a higher one has
the reward 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..data.label_values import LabelValues
from ..data.labels import Numbers, infer_target
from ..data.read_options import Reading, ReadOptions, given_reading
from ..data.reader import Reader
from ..data.sources.open_data import open_source
from ..errors import InputError, OptionError
from ..inputs import FlagColumn, Float64, Frame, TextColumn, WordsColumn, pick
from ..options import ModelType
from .context import Features, with_constant
from .decision import Name
from .learning import Bandit
from .reward_models import RewardModel

PRICES = 10
MOST_ACTIONS = 1000


@dataclass(frozen=True)
class Task:
    """Contexts, and the reward of each action in each context."""

    contexts: list[dict[str, Any]]
    actions: list[Name]
    rewards: Float64

    @classmethod
    def of_labels(cls, contexts: list[dict[str, Any]], labels: list[Any], classes: bool) -> Task:
        """Return the task of a table.

        Args:
            contexts: the features of its rows.
            labels: a label for each row.
            classes: whether labels are classes; otherwise they are numbers.
        """
        if not contexts:
            raise InputError("the data has no rows with a label")
        if classes:
            names = sorted({str(label) for label in labels})
            if not 2 <= len(names) <= MOST_ACTIONS:
                raise InputError(f"the number of classes is {len(names):,}; it must be 2 to {MOST_ACTIONS:,}")
            at = {name: place for place, name in enumerate(names)}
            return cls(contexts, list(names), np.eye(len(names))[[at[str(label)] for label in labels]])
        values = np.array(labels, float)
        prices = np.unique(np.quantile(values, (np.arange(PRICES) + 0.5) / PRICES))
        if len(prices) < 2:
            raise InputError("the labels hardly differ, so that there are no two prices to choose from")
        return cls(contexts, [f"{price:.6g}" for price in prices], np.where(prices <= values[:, None], prices, 0.0))


@dataclass(frozen=True)
class Simulated:
    """How good a bandit was.

    Attributes:
        rounds: the number of decisions.
        actions: how many actions there were.
        reward: the mean reward of the bandit.
        late: its mean reward in the last tenth of the rounds.
        random: the mean reward of a random choice.
        constant: the mean reward of the best constant action, known afterwards.
        constant_action: that action.
        full: the mean reward of the same models if they learn the rewards of all actions; None if not computed.
        best: the mean of the largest rewards.
        score: (reward - random) / (best - random).
    """

    rounds: int
    actions: int
    reward: float
    late: float
    random: float
    constant: float
    constant_action: Name
    full: float | None
    best: float
    score: float

    def asdict(self) -> dict[str, Any]:
        """Return the attributes as plain values."""
        return asdict(self)


def simulate(
    data: Any,
    target: str | int | None = None,
    *,
    rounds: int = 10_000,
    delay: int = 0,
    full: bool = True,
    model_type: ModelType = "auto",
    random_state: int = 0,
    reading: Reading | None = None,
) -> Simulated:
    """Learn a table as a bandit would: of each row, only the reward of one action is seen.

    Args:
        data: a file, several files, or a frame, as for `unitless.train`.
        target: the column of the labels: classes, or numbers, which are taken as what somebody would pay.
        rounds: the largest number of rows, chosen at random and in random order. Default: 10,000.
        delay: after how many further decisions a reward comes. Default: 0.
        full: also learn the rewards of all actions, for comparison; this takes more time. Default: True.
        model_type: as for `Bandit`.
        random_state: the seed of the choice of rows and of the bandit. Default: 0.
        reading: how the data is read. Default: as by `unitless.train`.

    Example:
        >>> import numpy as np, pandas as pd, unitless as ul
        >>> x = np.random.default_rng(0).normal(size=1000)
        >>> frame = pd.DataFrame({"x": x, "sign": np.where(x > 0, "plus", "minus")})
        >>> found = ul.bandit.simulate(frame, "sign", full=False)
        >>> found.reward > 0.9 > found.constant
        True
    """
    for name, value, least in (("rounds", rounds, 1), ("delay", delay, 0)):
        if type(value) is not int or value < least:
            raise OptionError(f"is {value!r}; it must be a whole number from {least} on", option=name)
    task = read_task(data, target, rounds, random_state, reading)
    bandit = Bandit(model_type=model_type, random_state=random_state)
    rewards = np.array(list(play(bandit, task, delay)))
    of_all = None
    if full:
        of_all = float(np.mean(list(with_full_information(task, model_type))))
    return scored(task, rewards, of_all)


def play(bandit: Bandit, task: Task, delay: int = 0) -> Iterator[float]:
    """Yield the reward of each round."""
    at, waiting = {name: place for place, name in enumerate(task.actions)}, []
    for event, context in enumerate(task.contexts):
        decision = bandit.decide(event, context, task.actions)
        reward = float(task.rewards[event, at[decision.action]])
        waiting.append(reward)
        if event >= delay:
            bandit.learn(event - delay, waiting[event - delay])
        yield reward


def with_full_information(task: Task, model_type: ModelType) -> Iterator[float]:
    """Yield the reward of each round if the action with the largest expected reward is chosen, and all are learned."""
    features, models = Features(), [RewardModel.new(model_type, False) for _ in task.actions]
    for context, rewards in zip(task.contexts, task.rewards, strict=True):
        row = with_constant(features.scaled(*features.read(context)))
        expected = [model.predict(row) if model.model.examples else 0.0 for model in models]
        yield float(rewards[int(np.argmax(expected))])
        for model, reward in zip(models, rewards.tolist(), strict=True):
            model.learn(row, reward)


def read_task(data: Any, target: str | int | None, rounds: int, random_state: int, reading: Reading | None) -> Task:
    """Return the task of some rows of a table, in random order."""
    options = ReadOptions(**given_reading(reading), target=None if target is None else str(target))
    parts = [batch for batch in Reader(open_source(data, options), options, drop_invalid=True).batches() if batch.rows]
    if any(not isinstance(part.data, Frame) for part in parts):
        raise InputError("a simulation needs a table with named columns, such as a CSV file or a frame")
    values, contexts = LabelValues(), []
    labels: list[Any] = []
    for part in parts:
        assert part.labels is not None
        values.add(part.labels)
    total = sum(part.rows for part in parts)
    chosen = np.random.default_rng(random_state).permutation(total)[:rounds]
    first = 0
    for part in parts:
        inside = np.sort(chosen[(chosen >= first) & (chosen < first + part.rows)]) - first
        assert part.labels is not None
        some, raw = pick(part.data, inside), part.labels.take(inside)  # type: ignore[arg-type]
        contexts += rows_of_frame(some)  # type: ignore[arg-type]
        labels += (
            raw.values.tolist()
            if isinstance(raw, Numbers)
            else [None if code < 0 else raw.values[code] for code in raw.codes.tolist()]
        )
        first += part.rows
    order = [
        at for at in np.argsort(np.argsort(chosen)).tolist() if labels[at] is not None and labels[at] == labels[at]
    ]
    classes = infer_target(values, None, None, None).task != "regression"
    return Task.of_labels([contexts[at] for at in order], [labels[at] for at in order], classes)


def rows_of_frame(frame: Frame) -> list[dict[str, Any]]:
    """Return rows as mappings; missing values are left out."""
    columns: list[tuple[str, list[Any]]] = []
    for name, column in zip(frame.names, frame.columns, strict=True):
        if isinstance(column, TextColumn | WordsColumn):
            text = column.texts if isinstance(column, WordsColumn) else column
            values = [text.value(code) for code in range(len(text.ends) - 1)]
            columns.append((name, [None if code < 0 else values[code] for code in text.codes.tolist()]))
        else:
            columns.append((name, (column.numbers if isinstance(column, FlagColumn) else column).tolist()))
    names = [name for name, _ in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*(values for _, values in columns), strict=True)]


def scored(task: Task, rewards: Float64, full: float | None) -> Simulated:
    """Return how good the rewards of a bandit are."""
    means, best, random = task.rewards.mean(axis=0), float(task.rewards.max(axis=1).mean()), float(task.rewards.mean())
    constant = int(means.argmax())
    reward, late = float(rewards.mean()), float(rewards[-max(1, len(rewards) // 10) :].mean())
    score = (reward - random) / (best - random) if best > random else math.nan
    names = task.actions[constant]
    rounds, actions = task.rewards.shape
    return Simulated(rounds, actions, reward, late, random, float(means[constant]), names, full, best, score)
