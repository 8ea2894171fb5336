"""The options of a learner, validated in one place."""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

from .errors import Option, OptionError, Phrase

Rule = Literal["gd", "ag", "ng", "nag", "snag"]
Loss = Literal["squared", "logistic", "hinge", "quantile", "poisson"]
Schedule = Literal["sqrt", "constant"]
Order = Literal["paper", "vw"]
Clip = Literal["labels", "vw"]
Precision = Literal["float32", "float64"]
Auto = Literal["auto"]

# One side of an interaction: a feature, the beginning of features' names ("job=*"), or a list of such.
Side: TypeAlias = str | int | tuple[str | int, ...]
Interactions: TypeAlias = Literal[2, "ordered"] | tuple[tuple[Side, Side], ...]

MAX_BITS = 30


@dataclass(frozen=True)
class Options:
    """What a learner is asked to be. See `Learner` for what each means."""

    rule: Rule = "nag"
    loss: Loss = "squared"
    learning_rate: float | Auto = 0.5
    importance_aware: bool = True
    bias: bool = True
    quantile: float = 0.5
    schedule: Schedule | None = None
    order: Order = "paper"
    clip: Clip | None = None
    target: Auto | None = None
    centre: bool = False
    interactions: Interactions | None = None
    bits: int | None = None
    precision: Precision = "float64"

    def __post_init__(self) -> None:
        _one_of("rule", self.rule, get_args(Rule))
        _one_of("loss", self.loss, get_args(Loss))
        _one_of("order", self.order, get_args(Order))
        _one_of("clip", self.clip, (None, *get_args(Clip)))
        _one_of("schedule", self.schedule, (None, *get_args(Schedule)))
        _one_of("target", self.target, (None, "auto"))
        _one_of("precision", self.precision, get_args(Precision))
        for name in ("importance_aware", "bias", "centre"):
            value = getattr(self, name)
            _one_of(name, bool(value) if type(value).__name__ in ("bool", "bool_") else value, (True, False))
            object.__setattr__(self, name, bool(value))
        if not (isinstance(self.learning_rate, str) and self.learning_rate == "auto"):
            if isinstance(self.learning_rate, str) or self.learning_rate is None:
                raise OptionError(f"is {self.learning_rate!r}; it must be a number or 'auto'", option="learning_rate")
            object.__setattr__(self, "learning_rate", rate(self.learning_rate, "learning_rate"))
        object.__setattr__(self, "quantile", number("quantile", self.quantile))
        object.__setattr__(self, "interactions", _interactions(self.interactions))
        if not 0 < self.quantile < 1:
            raise OptionError(f"is {self.quantile!r}; it must lie between 0 and 1", option="quantile")
        if self.bits is not None:
            whole = hasattr(self.bits, "__index__") and not isinstance(self.bits, bool)
            if not whole or not 1 <= operator.index(self.bits) <= MAX_BITS:
                raise OptionError(
                    f"is {self.bits!r}; it must be a whole number from 1 to {MAX_BITS}, or None", option="bits"
                )
            object.__setattr__(self, "bits", operator.index(self.bits))
        self._check_combinations()

    def _check_combinations(self) -> None:
        if self.schedule is not None and self.rule not in ("gd", "ng"):
            raise OptionError(
                f"is for the rules 'gd' and 'ng'; rule {self.rule!r} adapts its rates by itself", option="schedule"
            )
        if self.clip == "labels" and self.loss not in ("squared", "quantile"):
            raise OptionError(
                Phrase(
                    Option("clip", "labels"), f" is for squared and quantile loss; {self.loss} loss predicts a score"
                )
            )
        if self.target and self.loss not in ("squared", "quantile"):
            raise OptionError(
                Phrase(
                    Option("target", "auto"), f" is for squared and quantile loss; {self.loss} loss predicts a score"
                )
            )
        if self.target and self.clip:
            raise OptionError(
                Phrase(Option("target", "auto"), " limits predictions by itself; leave out ", Option("clip"))
            )
        if self.order == "vw" and (self.target or self.centre):
            raise OptionError(
                Phrase(
                    *(Option("order", "vw"), " is Vowpal Wabbit's learner; it has neither "),
                    *(Option("target", "auto"), " nor ", Option("centre", True)),
                )
            )
        if self.centre and self.bits is not None:
            raise OptionError(
                Phrase(
                    *("hashed features are never centred: leave out either ", Option("bits")),
                    *(" or ", Option("centre", True)),
                )
            )
        if self.learning_rate == "auto":
            self.check_lanes()

    def check_lanes(self) -> None:
        """Some options are for one learner alone."""
        for name, value in (("order", "vw"), ("clip", "vw"), ("precision", "float32")):
            if getattr(self, name) == value:
                raise OptionError(
                    Phrase(
                        *(Option(name, value), " is for one learner; ", Option("learning_rate", "auto")),
                        ", OneVsAll and Sweep run several at once",
                    )
                )

    def asdict(self) -> dict[str, Any]:
        """The options as a plain dictionary."""
        return asdict(self)

    def core(self) -> dict[str, Any]:
        """The options as the core takes them."""
        kind = {None: "none", 2: "all", "ordered": "ordered"}
        listed = isinstance(self.interactions, tuple)
        return {
            "rule": self.rule,
            "loss": self.loss,
            "importance_aware": self.importance_aware,
            "bias": self.bias,
            "quantile": self.quantile,
            "schedule": self.schedule or "sqrt",
            "order": self.order,
            "clip": self.clip or "none",
            "precision": self.precision,
            "target": self.target is not None,
            "centre": self.centre,
            "pairs": "listed" if listed else kind[self.interactions],  # type: ignore[index]
            "listed": [tuple(map(_selectors, pair)) for pair in self.interactions] if listed else [],  # type: ignore[union-attr]
            "bits": self.bits,
        }


def check_names(options: Iterable[str]) -> None:
    """Options by another name get a hint instead of a surprise."""
    for name in options:
        if name not in Options.__dataclass_fields__:
            near = difflib.get_close_matches(name, Options.__dataclass_fields__, 1, 0.5)
            near = ["learning_rate"] if name in ("rate", "lr", "eta") else near
            raise OptionError(f"there is no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def rate(value: object, name: str) -> float:
    """A learning rate: positive and finite."""
    result = number(name, value)
    if not 0 < result < math.inf:
        raise OptionError(f"is {result:g}; it must be positive and finite", option=name)
    return result


def number(name: str, value: object) -> float:
    """A plain float, whatever kind of number it was."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise OptionError(f"is {value!r}; it must be a number", option=name)
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        raise OptionError("is not a number that a float64 can hold", option=name) from None


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in allowed):
        choices = ", ".join(repr(choice) for choice in allowed)
        raise OptionError(f"is {value!r}; it must be one of {choices}", option=name)


def _interactions(value: Any) -> Interactions | None:
    """In the one form in which they are kept: tuples all the way down."""
    if value is None or (isinstance(value, str) and value == "ordered"):
        return value  # type: ignore[return-value]
    if not isinstance(value, str | bool) and hasattr(value, "__index__") and operator.index(value) == 2:
        return 2
    usage = "it must be None, 2, 'ordered', or a list of pairs such as [('age', 'income'), ('job=*', 'city=*')]"
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise OptionError(f"is {value!r}; {usage}", option="interactions")
    pairs = []
    for pair in value:
        sides = tuple(pair) if isinstance(pair, Iterable) and not isinstance(pair, str | bytes) else ()
        if len(sides) != 2:
            raise OptionError(f"has {pair!r}, which is no pair; {usage}", option="interactions")
        pairs.append((_side(sides[0]), _side(sides[1])))
    if not pairs:
        raise OptionError(f"is empty; {usage}", option="interactions")
    return tuple(pairs)


def _side(value: Any) -> Side:
    if isinstance(value, str):
        if not value.isascii() and value != value.encode(errors="replace").decode():
            raise OptionError(f"an interaction names {value!r}, which is not valid Unicode")
        return value
    if hasattr(value, "__index__") and not isinstance(value, bool):
        if not 0 <= operator.index(value) < 2**32:
            raise OptionError(f"an interaction names column {value!r}; columns count from 0")
        return operator.index(value)
    if isinstance(value, Iterable) and not isinstance(value, bytes | bool):
        members = tuple(_side(member) for member in value)
        if members and all(not isinstance(member, tuple) for member in members):
            return members  # type: ignore[return-value]
    raise OptionError(f"an interaction names {value!r}; name a feature, a column's number, or a list of such")


def _selectors(side: Side) -> list[tuple[str, bool, int]]:
    """(name, is it only the beginning, column or -1) for each."""
    members = side if isinstance(side, tuple) else (side,)
    return [
        ("", False, member) if isinstance(member, int) else (member.removesuffix("*"), member.endswith("*"), -1)
        for member in members
    ]
