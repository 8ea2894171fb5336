"""Logs of Vowpal Wabbit: dsjson, and the text of --cb and --cb_explore, also with _adf. A reward is a negative cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.writers.vw import safe_name
from ..errors import InputError
from .decision import Name, named_actions

if TYPE_CHECKING:
    from .log import Logged

Lines = Iterable[tuple[int, str]]  # with their numbers
Decisions = Iterator[tuple[int, dict[str, Any]]]  # the number of a line, and the fields of Logged
_ACTION = "action"  # the feature for the name of an action without features
_MOST_NUMBER = 10_000  # of an action in text: every decision has all actions up to the largest number


def read_dsjson(lines: Lines) -> Decisions:
    """Yield the decisions of a dsjson log. Nested objects become features such as "user.age"."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            one = json.loads(line)
            if not isinstance(one, dict) or "_label_cost" not in one:  # lines of late rewards and of other events
                continue
            context = dict(one["c"])
            listed, ranking, p = context.pop("_multi"), list(one["a"]), [float(value) for value in one["p"]]
            reward = 0.0 - float(one["_label_cost"])
            actions: list[Any] = [_flat(features) for features in listed]
            features = _flat(context)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(
                "this is not a decision in dsjson", line=number, advice="it needs c, c._multi, a, p"
            ) from None
        names: list[Name] = list(range(len(actions)))
        if all(set(own) == {_ACTION} for own in actions):
            actions = names = [str(own[_ACTION]) for own in actions]
        elif not any(actions):
            actions = names
        if len(p) != len(ranking) or not p or not all(type(at) is int and 0 < at <= len(names) for at in ranking):
            raise InputError("a and p do not name the actions of _multi", line=number)
        yield (
            number,
            {
                "context": features,
                "actions": actions,
                "action": names[ranking[0] - 1],
                "reward": reward,
                "propensities": {names[at - 1]: value for at, value in zip(ranking, p, strict=True)},
                "event_id": one.get("EventId", ""),
                "time": one.get("Timestamp"),
            },
        )


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return the features of a JSON value by name; names that begin with _ are no features."""
    if isinstance(value, Mapping):
        found: dict[str, Any] = {}
        for name, one in value.items():
            if not name.startswith("_"):
                found |= _flat(one, f"{prefix}.{name}" if prefix else name)
        return found
    if isinstance(value, list):
        found = {}
        for place, one in enumerate(value):
            found |= _flat(one, prefix if isinstance(one, Mapping) else f"{prefix}[{place}]")
        return found
    return {prefix: value}


def as_dsjson(one: Logged) -> str:
    """Return a decision as a line of dsjson."""
    offered = named_actions(one.actions)
    names = list(offered)
    at = names.index(one.action)
    ranking = [at, *(place for place in range(len(names)) if place != at)]
    fields: dict[str, Any] = {
        "_label_cost": 0.0 - (one.reward or 0.0),
        "_label_probability": one.propensities[one.action],
        "_label_Action": at + 1,
        "_labelIndex": at,
        "EventId": str(one.event_id),
        "a": [place + 1 for place in ranking],
        "c": {**one.context, "_multi": [{_ACTION: str(name)} if own is None else own for name, own in offered.items()]},
        "p": [one.propensities.get(names[place], 0.0) for place in ranking],
    }
    return json.dumps(fields | ({} if one.time is None else {"Timestamp": str(one.time)}), default=json_value)


def json_value(value: Any) -> Any:
    """Return a value of NumPy as a plain one, and any other value as text."""
    return value.item() if isinstance(value, np.generic) else str(value)


def read_cb(lines: Lines) -> Decisions:
    """Yield the decisions of a log in text: a line for each, or (with features of actions) lines up to an empty one."""
    block: list[tuple[int, str]] = []
    most = 0
    plain: list[tuple[int, dict[str, Any]]] = []  # all actions are known when all lines are
    for number, line in chain(lines, [(0, "")]):
        if line.strip():
            block.append((number, line))
        if block and (not line.strip() or _is_alone(block[0][1])):
            if _is_alone(block[0][1]):
                one = _one_line(*block[0])
                plain.append((block[0][0], one))
                most = max(most, *one["actions"])
                if min(one["actions"]) < 1 or most > _MOST_NUMBER:
                    wrong = next(action for action in one["actions"] if not 1 <= action <= _MOST_NUMBER)
                    raise InputError(f"the action is {wrong}; it must be 1 to {_MOST_NUMBER:,}", line=number)
            else:
                yield block[0][0], _with_actions(block)
            block = []
    for number, one in plain:
        yield number, one | {"actions": list(range(1, most + 1)) if len(one["actions"]) < 2 else one["actions"]}


def _is_alone(line: str) -> bool:
    """Whether a line is a decision by itself: its label begins with an action's number, and it has no "shared"."""
    return not line.startswith(("shared", "0:", "|"))


def _label(text: str, number: int) -> tuple[int, float, float]:
    try:
        action, cost, propensity = text.split(":")
        return int(action), float(cost), float(propensity)
    except ValueError:
        raise InputError(f"the label is {text!r}; it must be action:cost:probability", line=number) from None


def _one_line(number: int, line: str) -> dict[str, Any]:
    head, _, rest = line.partition("|")
    labels = head.split()
    full = [label for label in labels if ":" in label and not label.startswith("'")]
    if len(full) != 1:
        raise InputError("there must be one label action:cost:probability before the bar", line=number)
    action, cost, propensity = _label(full[0], number)
    offered = sorted({action, *(int(label) for label in labels if label.isdecimal())})
    found = {"context": _features(f"|{rest}", number), "actions": offered, "action": action, "reward": 0.0 - cost}
    return found | {"propensities": {action: propensity}}


def _with_actions(block: list[tuple[int, str]]) -> dict[str, Any]:
    context: dict[str, Any] = {}
    actions: list[Any] = []
    chosen: list[tuple[int, float, float]] = []
    for number, line in block:
        head, _, rest = line.partition("|")
        features = _features(f"|{rest}", number)
        # Before the bar, there is also a tag: 'tag, or a word that touches the bar.
        word = next((one for one in head.split() if not one.startswith("'")), "")
        if word == "shared":
            context = features
            continue
        if word and (":" in word or head[-1].isspace()):
            _, cost, propensity = _label(word, number)
            chosen.append((len(actions), cost, propensity))
        actions.append(features)
    if len(chosen) != 1:
        raise InputError("one of the actions must have the label 0:cost:probability", line=block[0][0])
    action, cost, propensity = chosen[0]
    return {
        "context": context,
        "actions": actions if any(actions) else list(range(len(actions))),
        "action": action,
        "reward": 0.0 - cost,
        "propensities": {action: propensity},
    }


def _features(text: str, number: int) -> dict[str, Any]:
    """Return the features of "|space a:1 b |other c": a word without a value is 1."""
    found: dict[str, Any] = {}
    for part in text.split("|")[1:]:
        words = part.split()
        space = ""
        if words and not part[0].isspace():
            space = words.pop(0).partition(":")[0] + "^"
        for word in words:
            name, colon, value = word.partition(":")
            try:
                found[space + name] = float(value) if colon else 1.0
            except ValueError:
                raise InputError(f"the value of {name!r} is {value!r}, not a number", line=number) from None
    return found


def as_cb(one: Logged) -> str:
    """Return a decision as text; actions are numbered from 1 in the order of their names."""
    offered = named_actions(one.actions)
    names, label = list(offered), f"{0.0 - (one.reward or 0.0)!r}:{one.propensities[one.action]!r}"
    if all(features is None for features in offered.values()):
        numbers = [f"{at}:{label}" if name == one.action else str(at) for at, name in enumerate(names, 1)]
        return f"{' '.join(numbers)} | {_written(one.context)}"
    lines = [f"shared | {_written(one.context)}"]
    for name, features in offered.items():
        lines.append(f"{f'0:{label} ' if name == one.action else ''}| {_written(features or {})}")
    return "\n".join([*lines, ""])


def _written(features: Mapping[str, Any]) -> str:
    words = []
    for name, value in features.items():
        if value is None or value != value:  # noqa: PLR0124  (a missing value)
            continue
        if isinstance(value, bool | int | float | np.bool_ | np.number):
            words.append(f"{safe_name(name)}:{float(value)!r}")
        else:  # text, or a date
            words.append(safe_name(f"{name}={value}"))
    return " ".join(words)
