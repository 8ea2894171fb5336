"""Off-policy evaluation: estimates, intervals, logs in several formats."""

from __future__ import annotations

import gzip
import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unitless as ul
from unitless.bandit import Evaluator, Logged, confidence

NAMES = ["a", "b"]


def made_log(rows: int, seed: int = 0, of_b: float = 0.3, expected: bool = True) -> list[Logged]:
    """A log whose action "b" has the mean reward 0.8, and "a" 0.4, whatever the context."""
    rng, log = np.random.default_rng(seed), []
    for at in range(rows):
        action = NAMES[int(rng.random() < of_b)]
        reward = float(rng.random() < (0.8 if action == "b" else 0.4))
        known = {"a": 0.4, "b": 0.8} if expected else {}
        log.append(Logged({"x": at % 7}, NAMES, action, reward, {"a": 1 - of_b, "b": of_b}, known, f"e{at}"))
    return log


@pytest.mark.parametrize("reward_range", [(0, 1), None])
def test_all_estimates_are_near_the_value_of_the_policy(reward_range: Any) -> None:
    for policy, value in (("b", 0.8), (lambda context, actions: "a", 0.4), (lambda *_: {"a": 0.5, "b": 0.5}, 0.6)):
        found = ul.bandit.evaluate(made_log(4000), policy, reward_range=reward_range)
        for name in ("ips", "snips", "dr"):
            one = getattr(found, name)
            assert abs(one.value - value) < 0.06
            assert one.low < value < one.high
            assert one.high - one.low < 0.25
        assert found.lift.low < value - 0.52 < found.lift.high


def test_ips_snips_and_dr_are_their_formulas() -> None:
    log = made_log(50)
    found = ul.bandit.evaluate(log, lambda *_: {"a": 0.2, "b": 0.8})
    pi, h, q = {"a": 0.2, "b": 0.8}, {"a": 0.7, "b": 0.3}, {"a": 0.4, "b": 0.8}
    w = np.array([pi[str(one.action)] / h[str(one.action)] for one in log])
    r = np.array([one.reward for one in log], float)
    expected = np.array([q[str(one.action)] for one in log])
    assert math.isclose(found.ips.value, float(np.mean(w * r)), rel_tol=1e-12)
    assert math.isclose(found.snips.value, float(np.sum(w * r) / np.sum(w)), rel_tol=1e-12)
    assert math.isclose(found.dr.value, float(np.mean(w * (r - expected)) + 0.2 * 0.4 + 0.8 * 0.8), rel_tol=1e-12)
    assert math.isclose(found.effective_rows, float(w.sum() ** 2 / (w * w).sum()), rel_tol=1e-12)
    assert (found.dr.low, found.dr.high) == (-math.inf, math.inf)  # too few rows


def test_intervals_have_the_unit_of_the_rewards() -> None:
    log = made_log(500)
    other = [
        Logged(one.context, NAMES, one.action, 1000 * (one.reward or 0) - 500, one.propensities,
               {name: 1000 * value - 500 for name, value in one.expected.items()})
        for one in log
    ]  # fmt: skip
    for reward_range, moved in (((0, 1), (-500, 500)), (None, None)):
        one = ul.bandit.evaluate(log, "b", reward_range=reward_range)
        two = ul.bandit.evaluate(other, "b", reward_range=moved)
        for name in ("dr", "logged"):
            for limit in ("value", "low", "high"):
                assert math.isclose(1000 * getattr(getattr(one, name), limit) - 500, getattr(getattr(two, name), limit))
        assert math.isclose(1000 * one.lift.low, two.lift.low)


@pytest.mark.parametrize("reward_range", [(0, 1), None])
def test_a_policy_as_good_as_the_log_is_seldom_called_better(reward_range: Any) -> None:
    wrong, wide = 0, 0
    for seed in range(120):
        rng, evaluator, better = np.random.default_rng(seed), Evaluator(reward_range), False
        for reward, b in zip((rng.random(300) < 0.3).tolist(), (rng.random(300) < 0.4).tolist(), strict=True):
            logged = Logged({}, NAMES, NAMES[b], float(reward), {"a": 0.6, "b": 0.4})
            evaluator.add(logged, {"b": 1.0})
            better = better or evaluator.is_better()
        wrong += better
        found = evaluator.result()
        assert better or found.lift.low <= 0
        wide += not found.dr.low <= 0.3 <= found.dr.high
    assert wrong <= 6
    assert wide <= 6


def test_a_better_policy_is_found() -> None:
    for reward_range in ((0, 1), None):
        found = ul.bandit.evaluate(made_log(1500), "b", reward_range=reward_range)
        assert found.lift.low > 0
        assert ul.bandit.evaluate(made_log(1500), "a", reward_range=reward_range).lift.high < 0


def test_the_lower_limit_solves_the_inequality_of_the_paper() -> None:
    rng, limit = np.random.default_rng(0), confidence.LowerLimit()
    values = rng.exponential(0.3, size=400)
    predictions, total = [], 0.0
    for at, x in enumerate(values.tolist()):
        predictions.append(min(1.0, (total + 0.25) / (at + 0.5)))
        total += x
        limit.add(x)
    low = limit.value(0.05)
    spread = float(np.sum((values - predictions) ** 2))
    exponents = confidence.LAMBDAS * (values.sum() - 400 * low) - confidence.PSI * spread
    assert math.isclose(float(np.mean(np.exp(exponents))), 1 / 0.05, rel_tol=1e-9)
    assert 0.15 < low < 0.3


def test_one_step_of_the_lower_limit_is_a_supermartingale() -> None:
    """The mean of exp(l (X - E X) - psi(l) (X - m)^2) is at most 1 for every X >= 0, here of two values."""
    for large in (0.2, 1.0, 5.0, 100.0):
        for p in (0.01, 0.3, 0.9):
            for m in (0.0, 0.5, 1.0):
                x, mean = np.array([0.0, large]), p * large
                each = np.exp(np.outer(confidence.LAMBDAS, x - mean) - np.outer(confidence.PSI, (x - m) ** 2))
                assert (each @ [1 - p, p] <= 1 + 1e-12).all()


def test_replay_shows_what_a_bandit_would_have_learned() -> None:
    rng, log = np.random.default_rng(0), []
    for at in range(1200):
        side, action = float(rng.normal()), NAMES[int(rng.random() < 0.5)]
        reward = float((action == "b") == (side > 0))
        log.append(Logged({"side": side}, NAMES, action, reward, {"a": 0.5, "b": 0.5}, {}, at))
    bandit = ul.Bandit(model_type="linear")
    found = ul.bandit.replay(log, bandit, reward_range=(0, 1))
    assert found.dr.value > 0.8
    assert found.lift.low > 0.1
    assert bandit.rewards == 1200
    assert ul.bandit.evaluate(log, bandit).rows == 1200  # a bandit is a policy, too


@pytest.mark.parametrize("format", ["json", "dsjson", "cb"])
def test_logs_are_read_as_they_were_written(format: Any, tmp_path: Path) -> None:
    log = [
        Logged({"age": 31.0, "city": "Rome"}, NAMES, "b", 0.25, {"a": 0.75, "b": 0.25}, {"a": 0.1, "b": 0.2}, "e1"),
        Logged({"age": 20.0}, NAMES, "a", -1.0, {"a": 0.75, "b": 0.25}, {}, "e2"),
    ]
    assert ul.bandit.write_log(log, tmp_path / "log", format) == 2
    again = list(ul.bandit.read_log(tmp_path / "log"))
    assert [one.reward for one in again] == [0.25, -1.0]
    if format == "json":
        assert again == log
    elif format == "dsjson":
        assert [(one.context, one.action, one.propensities) for one in again] == [
            (one.context, one.action, one.propensities) for one in log
        ]
    else:
        assert [(one.action, one.actions, one.propensities) for one in again] == [
            (2, [1, 2], {2: 0.25}),
            (1, [1, 2], {1: 0.75}),
        ]
        assert again[0].context == {"age": 31.0, "city=Rome": 1.0}


@pytest.mark.parametrize("format", ["json", "dsjson", "cb"])
def test_logs_of_actions_with_features_are_read_as_written(format: Any, tmp_path: Path) -> None:
    actions = [{"price": 2.0}, {"price": 3.0}]
    log = [Logged({"age": 31.0}, actions, 1, 2.5, {0: 0.25, 1: 0.75}, {}, 7)] * 2
    ul.bandit.write_log(log, tmp_path / "log", format)
    for one in ul.bandit.read_log(tmp_path / "log"):
        assert (one.context, one.actions, one.action, one.reward) == ({"age": 31.0}, actions, 1, 2.5)
        assert one.propensities[1] == 0.75


def test_nested_objects_of_dsjson_become_features(tmp_path: Path) -> None:
    line = {
        "_label_cost": -1,
        "_label_probability": 0.8,
        "_label_Action": 2,
        "_labelIndex": 1,
        "EventId": "x",
        "a": [2, 1],
        "c": {"GUser": {"age": 3, "tags": ["new", "vip"]}, "_multi": [{"TAction": {"n": 1}}, {"TAction": {"n": 2}}]},
        "p": [0.8, 0.2],
    }
    (tmp_path / "log").write_text(json.dumps(line) + '\n{"RewardValue": 1, "EventId": "x"}\n')
    (one,) = ul.bandit.read_log(tmp_path / "log")
    assert one.context == {"GUser.age": 3, "GUser.tags[0]": "new", "GUser.tags[1]": "vip"}
    assert (one.action, one.reward, one.propensities) == (1, 1.0, {1: 0.8, 0: 0.2})
    assert one.actions == [{"TAction.n": 1}, {"TAction.n": 2}]


def logged(**changed: Any) -> str:
    """A line of a log."""
    fields = {"context": {}, "actions": ["a"], "action": "a", "propensities": {"a": 1}, "reward": 1}
    return json.dumps(fields | changed) + "\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}\n", "no 'context'"),
        ("1:2 | a\n", "action:cost:probability"),
        ("1:2:0.5 | a:b\n", "not a number"),
        ('{"_label_cost": 1}\n', "not a decision in dsjson"),
        (logged(propensities={"a": 0}), "line 1: .*propensity 0"),
        (logged(context={"x": "?"}).replace('"?"', "[" * 5000), "line 1: this is not a decision"),
        ('{"EventId": "a"}\n{"_label_cost": ' + "[" * 5000, "line 2: this is not a decision in dsjson"),
        ("1:1:0.5 | a\n1000000000:1:0.5 | a\n", "line 2: the action is 1000000000"),
        ("-1:1:0.5 | a\n", "line 1: the action is -1"),
        (logged() + logged(propensities={"a": "x"}), "line 2: .*a number for each action"),
        (logged() + logged(propensities=5), "line 2: this is not a decision"),
        (logged() + logged(expected={"a": "x"}), "line 2: .*a number for each action"),
        (logged() + logged(context=5), "line 2: this is not a decision"),
        (logged() + logged(actions="a"), "line 2: the actions"),
        (logged() + logged(action="b"), "line 2: .*was not on offer"),
        (logged() + "\n" + logged(reward="x"), "line 3: the reward is 'x'"),
        (logged(reward=math.nan), "line 1: the reward is nan"),
        (logged() + "[1, 2]\n", "line 2: this is not a decision"),
        ("1:2:0 | a\n", "line 1: .*propensity 0"),
        ("\udcff\n", "not a text file"),
    ],
)
def test_damaged_logs_are_errors_with_their_place(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(ul.InputError, match=message) as error:
        ul.bandit.evaluate(tmp_path / "log", "a")
    assert error.value.file == str(tmp_path / "log")


def test_names_of_actions_that_are_numbers_stay_numbers(tmp_path: Path) -> None:
    shares: dict[str | int, float] = {3: 0.25, "3": 0.75}
    log = [Logged({}, {3: {"x": 1}, "3": {"x": 2}}, 3, 1.0, shares)]
    ul.bandit.write_log(log, tmp_path / "log")
    assert list(ul.bandit.read_log(tmp_path / "log")) == log


@pytest.mark.parametrize("name", ["_multi", "_label", "c"])
def test_features_may_be_named_as_fields_of_dsjson(name: str, tmp_path: Path) -> None:
    log = [Logged({name: name}, ["a", "b"], "a", 1.0, {"a": 0.5, "b": 0.5})]
    ul.bandit.write_log(log, tmp_path / "log")
    assert list(ul.bandit.read_log(tmp_path / "log")) == log


def test_a_dsjson_log_may_begin_with_a_reward_that_came_late(tmp_path: Path) -> None:
    one = Logged({"x": 1}, ["a", "b"], "a", 1.0, {"a": 0.5, "b": 0.5}, event_id="e")
    ul.bandit.write_log([one], tmp_path / "log", "dsjson")
    late = '{"RewardValue": 1.0, "EventId": "d"}\n'
    (tmp_path / "log").write_text("\ufeff" + late + (tmp_path / "log").read_text())
    assert list(ul.bandit.read_log(tmp_path / "log")) == [one]


def test_dates_are_text_in_every_format_and_invalid_unicode_is_refused(tmp_path: Path) -> None:
    names, p = ["a", "b"], {"a": 0.5, "b": 0.5}
    ul.bandit.write_log([Logged({"t": date(2024, 1, 1)}, names, "a", 1.0, p)], tmp_path / "log", "cb")
    assert (tmp_path / "log").read_text() == "1:-1.0:0.5 2 | t=2024-01-01\n"
    with pytest.raises(ul.InputError, match="not valid Unicode"):
        ul.bandit.write_log([Logged({"t": "\ud800"}, names, "a", 1.0, p)], tmp_path / "log", "cb")


def test_tags_of_vowpal_wabbit_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("shared 'one | a\n'two | b\n0:1:0.5 'three:3 | c\nfour| d\n\n")
    (one,) = ul.bandit.read_log(tmp_path / "log")
    assert (one.context, one.actions, one.action) == ({"a": 1.0}, [{"b": 1.0}, {"c": 1.0}, {"d": 1.0}], 1)
    (tmp_path / "log").write_text("1:1:0.5 'five:5 | a\n2:1:0.5 six| b\n")
    assert [one.action for one in ul.bandit.read_log(tmp_path / "log")] == [1, 2]


def test_a_compressed_log_that_ends_early_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(gzip.compress((logged() * 100).encode())[:-20])
    with pytest.raises(ul.InputError, match=r"log.gz: this is not a text file, or it is damaged"):
        ul.bandit.evaluate(tmp_path / "log.gz", "a")


def test_numbers_of_numpy_are_written_as_numbers(tmp_path: Path) -> None:
    log = [Logged({"age": np.int64(31)}, ["a", "b"], "a", np.float32(0.5), {"a": np.float32(0.5), "b": 0.5})]
    for format in ("json", "dsjson"):
        ul.bandit.write_log(log, tmp_path / "log", format)
        (one,) = ul.bandit.read_log(tmp_path / "log")
        assert (one.context, one.reward, one.propensities) == ({"age": 31}, 0.5, {"a": 0.5, "b": 0.5})


def test_policies_that_are_none_are_refused() -> None:
    wrong = ({"a": 0.5}, {"a": 1.5, "b": -0.5}, {"a": 0.5, "c": 0.5}, {"a": "1"}, {"a": math.nan}, 1.5, None)
    for policy in ("c", *(lambda *_, one=one: one for one in wrong)):
        with pytest.raises(ul.InputError, match="policy"):
            ul.bandit.evaluate(made_log(10), policy)
    with pytest.raises(ul.InputError, match="outside the reward_range"):
        ul.bandit.evaluate(made_log(10), "a", reward_range=(0, 0.5))
    with pytest.raises(ul.InputError, match="no decision"):
        ul.bandit.evaluate([], "a")
