"""What `bandits.py` measures of `ul.Bandit`: scores, times, and false promotions by logs."""

from __future__ import annotations

import statistics
import time

import numpy as np

import unitless as ul
from unitless.bandit.simulation import Task, play, scored, with_full_information

LOG_ROWS = 500  # decisions in a simulated log
SHARES = (0.5, 0.1)  # how often such a log has chosen the action that the other policy always chooses
PLAIN_FROM = 30  # rows before usual intervals are looked at


def scores(task: Task, seed: int) -> dict[str, float]:
    """The score of a bandit with no option, of others to compare it with, and the time of a round in microseconds."""
    began = time.process_time()
    rewards = np.array(list(play(ul.Bandit(random_state=seed), task)))
    microseconds = 1e6 * (time.process_time() - began) / len(rewards)
    of_linear = np.array(list(play(ul.Bandit(model_type="linear", random_state=seed), task)))
    found = scored(task, rewards, None)
    full = np.array(list(with_full_information(task, "auto")))
    return {
        "ours": found.score,
        "linear": scored(task, of_linear, None).score,
        "full": scored(task, full, None).score,
        "constant": (found.constant - found.random) / (found.best - found.random),
        "us": microseconds,
        "actions": len(task.actions),
        "rounds": len(task.contexts),
    }


def false_promotions(seeds: range) -> dict[str, int]:
    """In how many logs a policy that is exactly as good as the log's own is called better after some row."""
    wrong: dict[str, int] = {}
    for share in SHARES:
        for seed in seeds:
            rng = np.random.default_rng(seed)
            chosen, rewards = rng.random(LOG_ROWS) < share, (rng.random(LOG_ROWS) < 0.3).astype(float)
            log = _log(chosen.tolist(), rewards.tolist(), share)
            for name, reward_range in (("range", (0.0, 1.0)), ("no range", None)):
                key = f"{name}, {share:g}"
                wrong[key] = wrong.get(key, 0) + _is_promoted(log, reward_range)
            key = f"plain, {share:g}"
            wrong[key] = wrong.get(key, 0) + _is_promoted_by_plain_intervals(chosen, rewards, share)
    return wrong


def _log(chosen: list[bool], rewards: list[float], share: float) -> list[ul.bandit.Logged]:
    p = {"a": 1 - share, "b": share}
    return [
        ul.bandit.Logged({}, ["a", "b"], "b" if is_b else "a", reward, p)
        for is_b, reward in zip(chosen, rewards, strict=True)
    ]


def _is_promoted(log: list[ul.bandit.Logged], reward_range: tuple[float, float] | None) -> bool:
    evaluator = ul.bandit.Evaluator(reward_range)
    for one in log:
        evaluator.add(one, {"b": 1.0})
        if evaluator.is_better():
            return True
    return False


def _is_promoted_by_plain_intervals(chosen: np.ndarray, rewards: np.ndarray, share: float) -> bool:
    """Whether the mean is 1.96 standard errors above 0 after some row, as in a test that is looked at only once."""
    lift = np.where(chosen, rewards / share, 0.0) - rewards
    rows = np.arange(1, len(lift) + 1)
    mean = lift.cumsum() / rows
    deviation = np.sqrt(np.maximum((lift * lift).cumsum() / rows - mean * mean, 0.0))
    return bool((mean > 1.96 * deviation / np.sqrt(rows))[PLAIN_FROM:].any())


def speed(model_type: str, rounds: int = 5000) -> tuple[float, float]:
    """The median microseconds of a decision among 10 actions by 20 features, and of a reward, in the last half."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(rounds, 20)), rng.normal(size=(20, 10))
    rewards = X @ weights + rng.normal(size=(rounds, 10))
    actions, names = [f"action{k}" for k in range(10)], [f"feature{k}" for k in range(20)]
    bandit, decisions, learned = ul.Bandit(model_type=model_type), [], []
    for event, row in enumerate(X.tolist()):
        context = dict(zip(names, row, strict=True))
        began = time.perf_counter()
        decision = bandit.decide(event, context, actions)
        decided = time.perf_counter()
        bandit.learn(event, rewards[event, actions.index(decision.action)])
        decisions.append(decided - began)
        learned.append(time.perf_counter() - decided)
    return tuple(1e6 * statistics.median(each[rounds // 2 :]) for each in (decisions, learned))
