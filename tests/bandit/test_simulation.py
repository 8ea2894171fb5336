"""Bandit feedback from tables, and the command `bandit`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.cli import app


def classes(rows: int = 1500) -> pd.DataFrame:
    x = np.random.default_rng(0).normal(size=(rows, 2))
    return pd.DataFrame({"x": x[:, 0], "y": x[:, 1], "label": np.where(x[:, 0] > 0, "plus", "minus")})


def test_a_simulation_lies_between_random_and_full_information() -> None:
    found = ul.bandit.simulate(classes(), "label", model_type="linear")
    assert (found.actions, found.rounds, found.random, found.best) == (2, 1500, 0.5, 1.0)
    assert found.constant < found.reward <= (found.full or 0) <= 1
    assert found == ul.bandit.simulate(classes(), "label", model_type="linear")
    assert found.late > found.reward


def test_numbers_are_what_somebody_would_pay() -> None:
    rng = np.random.default_rng(0)
    rich = rng.random(2000) < 0.5
    frame = pd.DataFrame(
        {"rich": rich, "other": rng.normal(size=2000), "price": np.where(rich, 100.0, 10.0) + rng.random(2000)}
    )
    found = ul.bandit.simulate(frame, "price", model_type="linear", full=False)
    assert found.actions == 10
    assert found.constant < found.late < found.best
    assert found.late > 0.95 * found.best


def test_rewards_that_come_late_cost_little() -> None:
    at_once = ul.bandit.simulate(classes(3000), "label", model_type="linear", full=False)
    late = ul.bandit.simulate(classes(3000), "label", model_type="linear", full=False, delay=100)
    assert at_once.score - 0.15 < late.score < at_once.score + 0.02


def test_the_command_simulates_evaluates_and_converts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    classes(300).to_csv(tmp_path / "data.csv", index=False)
    assert app.run(["bandit", "simulate", str(tmp_path / "data.csv"), "--target", "label", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 300
    bandit, log = ul.Bandit(model_type="linear"), []
    for at in range(300):
        made = bandit.decide(at, {"x": at % 3}, ["a", "b"])
        reward = float(made.action == "a")
        bandit.learn(at, reward)
        log.append(ul.bandit.Logged({"x": at % 3}, ["a", "b"], made.action, reward, made.propensities, {}, at))
    bandit.save(tmp_path / "saved")
    ul.bandit.write_log(log, tmp_path / "log.jsonl")
    for to in ("dsjson", "cb", "json"):
        assert app.run(["bandit", "convert", str(tmp_path / "log.jsonl"), "--to", to, "-o", str(tmp_path / to)]) == 0
        assert "300 decisions" in capsys.readouterr().out
        assert app.run(["bandit", "evaluate", str(tmp_path / to), "--reward-range", "0,1"]) == 0
        shown = capsys.readouterr().out
        assert "random" in shown
        assert "new bandit" in shown
    which = f"{tmp_path / 'saved'},b"
    assert app.run(["bandit", "evaluate", str(tmp_path / "log.jsonl"), "--policy", which, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found[str(tmp_path / "saved")]["dr"]["value"] > found["b"]["dr"]["value"]


def test_the_command_leaves_out_what_cannot_be_compared_or_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = [ul.bandit.Logged({}, ["a"], "a", 0.0, {"a": 1.0}), ul.bandit.Logged({}, ["a", "b"], "b", 1.0, {"b": 0.5})]
    log.append(ul.bandit.Logged({}, ["a", "c"], "c", None, {"c": 0.5}))
    ul.bandit.write_log(log, tmp_path / "log")
    assert app.run(["bandit", "evaluate", str(tmp_path / "log"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: one["rows"] for name, one in found.items()} == {"random": 2, "new bandit": 2, "always a": 2}
    assert app.run(["bandit", "convert", str(tmp_path / "log"), "--to", "cb", "-o", str(tmp_path / "cb")]) == 0
    assert "2 decisions" in (out := capsys.readouterr().out)
    assert "1 without a reward left out" in out
    (tmp_path / "empty").touch()
    assert app.run(["bandit", "evaluate", str(tmp_path / "empty")]) != 0
    assert "no decisions" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "no-file.csv", "--target", "y"], "no-file.csv"),
        (["evaluate", "one", "two"], "one log"),
        (["convert", "one"], "--output"),
        (["evaluate", "one", "--reward-range", "1"], "two numbers"),
    ],
)
def test_wrong_command_lines_say_what_to_do(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["bandit", *arguments]) != 0
    assert message in capsys.readouterr().err
