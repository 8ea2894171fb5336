"""unitless bandit: how good a contextual bandit would be, judged by a table with labels or by a log of decisions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from ..presentation import shown
from ..presentation.sections import Facts, Notes, Section, Table
from . import arguments, display, options
from .options import LEARNING, OUTPUT, Flag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..bandit import Estimate, Evaluation, Simulated

NAME = "bandit"
STOPPED = "stopped; nothing was written"
EXAMPLES = """
[bold]Examples[/]

unitless bandit simulate clicks.csv --target label

unitless bandit simulate houses.csv --target price --model-type linear

unitless bandit evaluate decisions.jsonl --reward-range 0,1

unitless bandit evaluate decisions.dsjson --policy saved.bandit

unitless bandit convert decisions.dsjson --to json --output decisions.jsonl
"""
What = Literal["simulate", "evaluate", "convert"]
_FORMAT = Literal["json", "dsjson", "cb"]
OPTIONS = (
    Flag(
        "what",
        "simulate: let a bandit choose the labels of a table, and report its rewards. evaluate: estimate from a log of "
        "decisions the rewards that policies would have had. convert: write a log in another format.",
        What,
        argument=True,
        required=True,
    ),
    options.DATA,
    options.TARGET,
    Flag("rounds", "simulate: the largest number of decisions.", int, 10_000, panel=LEARNING, least=1),
    Flag(
        "delay",
        "simulate: how many further decisions are made before a reward arrives.",
        int,
        0,
        panel=LEARNING,
        least=0,
    ),
    Flag("model_type", "What the models of rewards can express: linear, curves, trees or auto.", str, "auto", LEARNING),
    Flag("seed", "Random seed for the choice of rows and of actions.", int, 0, LEARNING, library="random_state"),
    Flag(
        "full",
        "simulate: for comparison, also run a bandit that sees the rewards of all actions.",
        bool,
        True,
        off="--no-full",
    ),
    Flag(
        "policy",
        "evaluate: the policy: an action, which is always chosen, or the file of a bandit. Default: every action, a "
        "random choice, and a new bandit that learns the log.",
        panel=LEARNING,
        many=True,
    ),
    Flag(
        "reward_range",
        "evaluate: the least and the largest possible reward, such as 0,1. Default: unknown; intervals then need at "
        "least 100 decisions.",
        metavar="LOW,HIGH",
    ),
    Flag("level", "evaluate: the level of the confidence intervals.", float, 0.95),
    Flag("to", "convert: the format to write: json, dsjson or cb.", _FORMAT, "json", panel=OUTPUT),
    Flag("output", "convert: the file to write; it must be given. Default: none.", panel=OUTPUT, short="-o"),
    options.JSON,
)


def command(
    *,
    what: What,
    data: list[str],
    target: str | None,
    rounds: int,
    delay: int,
    model_type: Any,
    seed: int,
    full: bool,
    policy: list[str] | None,
    reward_range: str | None,
    level: float,
    to: Any,
    output: str | None,
    as_json: bool,
) -> None:
    """Simulate a contextual bandit on labeled data, and evaluate policies by a log of decisions.

    A bandit chooses one of several actions and sees the reward of that action only. Logs are lines of JSON, or
    Vowpal Wabbit's dsjson or cb text. The confidence intervals of evaluate stay valid while a log grows.
    """
    from ..bandit import simulate  # noqa: PLC0415
    from ..errors import Option, OptionError, Phrase  # noqa: PLC0415

    if what == "simulate":
        how = {"rounds": rounds, "delay": delay, "full": full, "model_type": model_type, "random_state": seed}
        found = simulate(arguments.sources(data), target, **how)
        _show(found.asdict(), _simulated(found), as_json)
        return
    if len(data) > 1:
        raise OptionError(f"{what} reads one log, but {len(data)} files are given")
    if what == "convert":
        if output is None:
            raise OptionError(Phrase("name the file to write with ", Option("output")))
        _convert(data[0], output, to)
        return
    policies = _policies(data[0], arguments.listed(policy), _range(reward_range), level, model_type, seed)
    _show({name: one.asdict() for name, one in policies.items()}, _evaluated(data[0], policies), as_json)


def _convert(log: str, output: str, to: Any) -> None:
    from ..bandit import Logged, read_log, write_log  # noqa: PLC0415

    read = 0

    def counted() -> Iterator[Logged]:
        nonlocal read
        for one in read_log(log):
            read += 1
            yield one

    written = write_log(counted(), output, to)
    left_out = f"; {read - written:,} without a reward left out, as {to} needs rewards" if written < read else ""
    print(f"wrote {shown.count(written, 'decision')} to {output}{left_out}")


def _show(plain: Any, section: Section, as_json: bool) -> None:
    if as_json:
        print(json.dumps(plain, indent=2))
    else:
        display.show([section])


def _range(given: str | None) -> tuple[float, float] | None:
    from ..errors import OptionError  # noqa: PLC0415

    if given is None:
        return None
    try:
        low, high = map(float, given.split(","))
    except ValueError:
        raise OptionError(f"is {given!r}; it must be two numbers, such as 0,1", option="reward_range") from None
    return low, high


def _policies(
    log: str, named: list[str], reward_range: tuple[float, float] | None, level: float, model_type: Any, seed: int
) -> dict[str, Evaluation]:
    """Evaluate policies in one pass over the log."""
    from ..bandit import Bandit, Evaluator, evaluation, read_log  # noqa: PLC0415
    from ..bandit.state import is_bandit  # noqa: PLC0415
    from ..errors import InputError  # noqa: PLC0415

    policies: dict[str, Any] = {one: Bandit.load(one) if is_bandit(one) else one for one in named}
    evaluators: dict[str, Evaluator] = {}
    learner = Bandit(model_type=model_type, random_state=seed)
    for one in read_log(log):
        names = one.names
        chosen = {name: evaluation.probabilities(policy, one, names) for name, policy in policies.items()}
        if not named:
            chosen["random"] = dict.fromkeys(names, 1 / len(names))
            chosen["new bandit"] = (
                {} if one.reward is None else learner.observe(one.context, one.actions, one.action, one.reward)
            )
            chosen |= {f"always {name}": {name: 1.0} for name in names[:20]}
        for name, propensities in chosen.items():
            if name not in evaluators:
                evaluators[name] = Evaluator(reward_range, level)
            evaluators[name].add(one, propensities)
    if not evaluators:
        raise InputError("the log has no decisions", file=log)
    rows = max(evaluator.rows for evaluator in evaluators.values())  # of policies whose actions are always on offer
    return {name: evaluator.result() for name, evaluator in evaluators.items() if evaluator.rows == rows}


def _simulated(found: Simulated) -> Section:
    def row(name: str, reward: float) -> list[str]:
        share = (reward - found.random) / (found.best - found.random) if found.best > found.random else float("nan")
        return [name, shown.number(reward), shown.number(share)]

    rows = [row("random", found.random), row(f"best constant: {found.constant_action}", found.constant)]
    rows += [row("bandit", found.reward), row("bandit, last tenth", found.late)]
    rows += [] if found.full is None else [row("all rewards known", found.full)]
    facts = [("decisions", f"{found.rounds:,}"), ("actions", f"{found.actions:,}")]
    table = Table(["policy", "mean reward", "score"], [*rows, row("best action", found.best)])
    return Section("", [Facts(facts), table, Notes(["The score is 0 for random choices and 1 for the best actions."])])


def _evaluated(log: str, policies: dict[str, Evaluation]) -> Section:
    def interval(one: Estimate) -> str:
        return f"{shown.number(one.low)} to {shown.number(one.high)}"

    first = next(iter(policies.values()))
    facts = [
        ("log", log),
        (
            "decisions",
            f"{first.rows:,}" + (f", {first.without_reward:,} without a reward" if first.without_reward else ""),
        ),
        ("mean reward", f"{shown.number(first.logged.value)} ({interval(first.logged)})"),
    ]
    header = ["policy", "ips", "snips", "dr", f"{first.level:.0%} interval of dr", "effective rows", "better"]
    ranked = sorted(policies.items(), key=lambda item: -item[1].dr.value)
    rows = [
        [
            name,
            *(shown.number(estimate.value) for estimate in (one.ips, one.snips, one.dr)),
            interval(one.dr),
            f"{one.effective_rows:,.0f}",
            "yes" if one.lift.low > 0 else "worse" if one.lift.high < 0 else "",
        ]
        for name, one in ranked
    ]
    note = "better: the interval of the difference to the log's own policy is above 0 (worse: below 0)."
    more = "" if len(policies) < 2 else " Of many policies, some may look better by chance."
    return Section("", [Facts(facts), Table(header, rows), Notes([note + more])])
