"""Logs of decisions and their rewards: JSON lines, and the formats of Vowpal Wabbit."""

from __future__ import annotations

import gzip
import json
import math
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from .. import whole_file
from ..errors import InputError, OptionError
from . import vw_logs
from .decision import Name, checked_reward, named_actions

Format: TypeAlias = Literal["json", "dsjson", "cb"]
_NUMBERS = (int, float, np.number)


@dataclass(frozen=True)
class Logged:
    """A decision in a log, with its reward.

    Args:
        context: the features of the context.
        actions: the actions that were on offer, as for `Bandit.decide`.
        action: the name of the chosen action.
        reward: its reward; None if it never came.
        propensities: the probability of each action. If only that of the chosen action is known, some estimates and
            intervals are wider.
        expected: the expected reward of each action at the time of the decision, if it is known.
        event_id: the id of the event. Default: "".
        time: the time of the event. Default: None.
    """

    context: Mapping[str, Any]
    actions: Any
    action: Name
    reward: float | None
    propensities: Mapping[Name, float]
    expected: Mapping[Name, float] = field(default_factory=dict)
    event_id: Name = ""
    time: float | str | None = None

    def __post_init__(self) -> None:
        """Check what estimates need."""
        event = f"the event {self.event_id!r}"
        if self.action not in self.names:
            raise InputError(f"{event} has the action {self.action!r}, which was not on offer")
        for what, values in (("propensities", self.propensities), ("expected", self.expected)):
            if not isinstance(values, Mapping) or not all(isinstance(one, _NUMBERS) for one in values.values()):
                raise InputError(f"{event} has {what} {values!r}", advice="they must be a number for each action")
        if self.reward is None:
            return
        checked_reward(self.reward)
        propensity = self.propensities.get(self.action, 0.0)
        if not 0 < propensity <= 1 + 1e-9:
            raise InputError(f"{event} has the propensity {propensity!r} for its action; it must be in (0, 1]")

    @property
    def names(self) -> list[Name]:
        """The names of the actions that were on offer."""
        return list(named_actions(self.actions))


def read_log(path: str | os.PathLike[str], format: Format | None = None) -> Iterator[Logged]:
    """Yield the decisions of a log, one by one.

    Args:
        path: the file; with the ending .gz it is decompressed.
        format: "json": a line for each decision, with the fields of `Logged`; "dsjson" or "cb" (also with features of
            actions): the formats of Vowpal Wabbit, where a reward is the negative cost. Default: None, as the content
            suggests.

    Example:
        >>> import tempfile, unitless as ul
        >>> log = [ul.bandit.Logged({}, ["a", "b"], "ab"[i % 2], i % 2, {"a": 0.5, "b": 0.5}) for i in range(4)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = ul.bandit.write_log(log, folder + "/log.jsonl")
        ...     [one.reward for one in ul.bandit.read_log(folder + "/log.jsonl")]
        [0, 1, 0, 1]
    """
    if format is not None:
        _check(format)
    name, place = os.fspath(path), 0
    try:
        with (
            gzip.open(name, "rt", encoding="utf-8-sig")
            if name.endswith(".gz")
            else open(name, encoding="utf-8-sig") as file
        ):
            lines = enumerate(file, 1)
            first = next((line for line in lines if line[1].strip()), None)
            if first is None:
                return
            for place, fields in _READERS[format or _format_of(first[1])](chain([first], lines)):  # noqa: B007
                yield Logged(**fields)
    except InputError as error:
        raise error.at(file=name, line=error.line or place) from None
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"this is not a text file, or it is damaged: {error}", file=name) from None


def write_log(log: Iterable[Logged], path: str | os.PathLike[str], format: Format = "json") -> int:
    """Write decisions to a file, completely or not at all. Returns how many were written.

    Args:
        log: the decisions. In the formats of Vowpal Wabbit, those without a reward are left out.
        path: the file.
        format: as for `read_log`. Default: "json".

    Example:
        >>> import tempfile, unitless as ul
        >>> log = [ul.bandit.Logged({"hour": 9}, ["a", "b"], "b", 1.0, {"a": 0.5, "b": 0.5})]
        >>> with tempfile.NamedTemporaryFile(suffix=".dsjson") as file:
        ...     ul.bandit.write_log(log, file.name, "dsjson")
        1
    """
    _check(format)
    write = {"json": as_json, "dsjson": vw_logs.as_dsjson, "cb": vw_logs.as_cb}[format]
    count = 0
    with whole_file.opened(path) as file:
        for one in log:
            if one.reward is None and format != "json":
                continue
            try:
                file.write((write(one) + "\n").encode())
            except UnicodeEncodeError:
                raise InputError(f"a feature of the event {one.event_id!r} is not valid Unicode") from None
            count += 1
    return count


def as_json(one: Logged) -> str:
    """Return a decision as a line of JSON, without the line's end."""
    actions = one.actions if isinstance(one.actions, Mapping) else list(one.actions)
    if isinstance(actions, Mapping) and not all(isinstance(name, str) for name in actions):
        actions = [[name, features] for name, features in actions.items()]  # names of objects in JSON are text
    fields: dict[str, Any] = {"event_id": one.event_id, "time": one.time, "context": dict(one.context)}
    fields |= {"actions": actions, "action": one.action, "reward": one.reward}
    fields["propensities"] = [[name, value] for name, value in one.propensities.items()]
    fields["expected"] = [[name, value] for name, value in one.expected.items() if math.isfinite(value)]
    return json.dumps(fields, default=vw_logs.json_value)


def _read_json(lines: vw_logs.Lines) -> vw_logs.Decisions:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            one = json.loads(line)
            fields = {name: one[name] for name in ("context", "actions", "action")}
            fields |= {"propensities": dict(one["propensities"]), "expected": dict(one.get("expected") or {})}
            if not isinstance(fields["context"], dict):
                raise TypeError
            actions = fields["actions"]
            if isinstance(actions, list) and any(isinstance(pair, list) for pair in actions):
                fields["actions"] = dict(actions)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            missing = f"there is no {error.args[0]!r}" if isinstance(error, KeyError) else "this is not a decision"
            raise InputError(
                missing, line=number, advice="a decision is a JSON object with the fields of unitless.bandit.Logged"
            ) from None
        more = {"reward": one.get("reward"), "event_id": one.get("event_id", ""), "time": one.get("time")}
        yield number, fields | more


def _format_of(line: str) -> Format:
    if not line.lstrip().startswith("{"):
        return "cb"
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):  # reading the log tells where
        return "json"
    is_other = "context" not in fields and ("c" in fields or "EventId" in fields or "_label_cost" in fields)
    return "dsjson" if is_other else "json"


def _check(format: str) -> None:
    if format not in get_args(Format):
        raise OptionError(f"is {format!r}; it must be one of {', '.join(map(repr, get_args(Format)))}", option="format")


_READERS = {"json": _read_json, "dsjson": vw_logs.read_dsjson, "cb": vw_logs.read_cb}
