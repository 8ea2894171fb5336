"""A decision of a bandit, and the names of actions and events."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .. import limits
from ..errors import InputError

Name: TypeAlias = str | int
Actions: TypeAlias = Sequence[Name] | Sequence[Mapping[str, Any]] | Mapping[Name, Mapping[str, Any]]

MOST_REWARD = limits.MOST_LABEL / 10  # rewards are learned less the first one


@dataclass(frozen=True)
class Decision:
    """Which action was chosen, and with which probability each action was.

    Attributes:
        event_id: the id of the event, for `Bandit.learn`.
        action: the name of the chosen action.
        propensities: the probability of each action, in the order of the names. They add up to 1.
        expected: the expected reward of each action; NaN before the first reward.
    """

    event_id: Name
    action: Name
    propensities: dict[Name, float]
    expected: dict[Name, float]

    @property
    def propensity(self) -> float:
        """The probability with which the chosen action was chosen."""
        return self.propensities[self.action]


def as_name(value: Any) -> Name | None:
    """Return the name of an action or the id of an event as text or a whole number; None if it is neither."""
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if type(plain) is str or type(plain) is int else None


def checked_id(event_id: Any) -> Name:
    """Return the id of an event, if it is one."""
    found = as_name(event_id)
    if found is None:
        raise InputError(f"the event id is {event_id!r}; it must be text or a whole number")
    return found


def checked_reward(reward: Any) -> float:
    """Return a reward, if it is a number that is not too large."""
    try:
        found = math.nan if isinstance(reward, str | bytes) else float(reward)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not abs(found) <= MOST_REWARD:
        raise InputError(f"the reward is {reward!r}; it must be a number, and not beyond 1e59: use larger units")
    return found


def named_actions(actions: Any) -> dict[Name, Mapping[str, Any] | None]:
    """Return the actions on offer by name, in the order of their names, with their features (None: a name alone).

    The order must not depend on the order in which they are given, because the draw depends on it. Mappings in a list
    have their positions as names.
    """
    if (
        type(actions) is list and actions and set(map(type, actions)) == {str}
    ):  # the most frequent case, and the fastest
        found: dict[Any, Any] = dict.fromkeys(sorted(actions))
        if len(found) < len(actions):
            raise _twice(actions)
        return found
    if isinstance(actions, Mapping):
        found = {_checked_name(name): features for name, features in actions.items()}
    elif isinstance(actions, str) or not hasattr(actions, "__iter__"):
        raise InputError(f"the actions are {actions!r}; they must be a list of names, or of mappings of features")
    else:
        listed = list(actions)
        if any(isinstance(one, Mapping) for one in listed):
            found = dict(enumerate(listed))
        else:
            found = {_checked_name(name): None for name in listed}
            if len(found) < len(listed):
                raise _twice(listed)
    if not found:
        raise InputError("there is no action to choose from; give at least one")
    with_features = sum(isinstance(features, Mapping) for features in found.values())
    if 0 < with_features < len(found) or (isinstance(actions, Mapping) and not with_features):
        raise InputError("some actions have features and others have none; give a mapping of features for each action")
    return {name: found[name] for name in sorted(found, key=_order)}


def _checked_name(name: Any) -> Name:
    found = as_name(name)
    if found is None:
        raise InputError(f"an action is {name!r}; it must be text, a whole number or a mapping of features")
    return found


def _twice(names: Sequence[Any]) -> InputError:
    twice = next(name for at, name in enumerate(names) if name in names[:at])
    return InputError(f"the action {twice!r} is on offer twice; give each action once")


def _order(name: Name) -> tuple[bool, Any]:
    return type(name) is str, name


def drawn(propensities: Sequence[float], uniform: float) -> int:
    """Return the position that a number in [0, 1) draws."""
    total = math.fsum(propensities)
    below = 0.0
    for position, propensity in enumerate(propensities):
        below += propensity
        if uniform * total < below:
            return position
    return len(propensities) - 1
