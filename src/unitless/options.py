"""The options of a learner, validated in one place."""

from __future__ import annotations

import math
import operator
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from .errors import OptionError

Rule = Literal["gd", "ag", "ng", "nag", "snag"]
Loss = Literal["squared", "logistic", "hinge", "quantile", "poisson"]
Schedule = Literal["sqrt", "constant"]
Order = Literal["paper", "vw"]
Clip = Literal["labels", "vw"]
Precision = Literal["float32", "float64"]

MAX_BITS = 30


@dataclass(frozen=True)
class Options:
    """What a learner is asked to be. See `Learner` for what each means."""

    rule: Rule = "nag"
    loss: Loss = "squared"
    learning_rate: float = 0.5
    importance_aware: bool = True
    bias: bool = True
    quantile: float = 0.5
    schedule: Schedule | None = None
    order: Order = "paper"
    clip: Clip | None = None
    bits: int | None = None
    precision: Precision = "float64"

    def __post_init__(self) -> None:
        _one_of("rule", self.rule, get_args(Rule))
        _one_of("loss", self.loss, get_args(Loss))
        _one_of("order", self.order, get_args(Order))
        _one_of("clip", self.clip, (None, *get_args(Clip)))
        _one_of("schedule", self.schedule, (None, *get_args(Schedule)))
        _one_of("precision", self.precision, get_args(Precision))
        for name in ("importance_aware", "bias"):
            value = getattr(self, name)
            _one_of(name, bool(value) if type(value).__name__ in ("bool", "bool_") else value, (True, False))
            object.__setattr__(self, name, bool(value))
        for name in ("learning_rate", "quantile"):  # as a plain float, whatever kind of number it was
            object.__setattr__(self, name, _number(name, getattr(self, name)))
        if not 0 < self.learning_rate < math.inf:
            raise OptionError(f"learning_rate is {self.learning_rate:g}; it must be positive and finite")
        if not 0 < self.quantile < 1:
            raise OptionError(f"quantile is {self.quantile!r}; it must lie between 0 and 1")
        if self.schedule is not None and self.rule not in ("gd", "ng"):
            raise OptionError(f"schedule is for the rules 'gd' and 'ng'; rule {self.rule!r} adapts its rates by itself")
        if self.clip == "labels" and self.loss not in ("squared", "quantile"):
            raise OptionError(f"clip='labels' is for squared and quantile loss; {self.loss} loss predicts a score")
        if self.bits is not None:
            whole = hasattr(self.bits, "__index__") and not isinstance(self.bits, bool)
            if not whole or not 1 <= operator.index(self.bits) <= MAX_BITS:
                raise OptionError(f"bits is {self.bits!r}; it must be a whole number from 1 to {MAX_BITS}, or None")
            object.__setattr__(self, "bits", operator.index(self.bits))

    def asdict(self) -> dict[str, Any]:
        """The options as a plain dictionary."""
        return asdict(self)


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in allowed):
        choices = ", ".join(repr(choice) for choice in allowed)
        raise OptionError(f"{name} is {value!r}; it must be one of {choices}")


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise OptionError(f"{name} is {value!r}; it must be a number")
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        raise OptionError(f"{name} is not a number that a float64 can hold") from None
