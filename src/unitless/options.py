"""The options of a learner, validated in one place."""

# ruff: noqa: RUF009  (a field that is declared by a function is a field)
from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeAlias, get_args

from . import losses
from .errors import Option, OptionError, Phrase
from .losses import LOSSES, LossName
from .presentation import shown
from .rules import RULES, RuleName

Rule: TypeAlias = RuleName
Loss: TypeAlias = LossName
Schedule = Literal["sqrt", "constant"]
Order = Literal["paper", "vw"]
Clip = Literal["labels", "vw"]
Auto = Literal["auto"]
Kept = Literal["last", "averaged"]  # which weights are used for predictions
ModelType = Literal["linear", "curves", "trees", "auto", "curves only"]
EnsembleKind = Literal["none", "newton", "snag", "softmax"]  # which members ensemble=True has added

# The default level of prediction intervals.
USUAL_LEVEL = 0.9

# One side of an interaction: a feature, a prefix of feature names ("job=*"), a prefix of namespaces ("a*^*"), or a list
# of these.
Side: TypeAlias = str | int | tuple[str | int, ...]
Interactions: TypeAlias = Literal[2, "ordered"] | tuple[tuple[Side, Side], ...]

MAX_BITS = 30
MOST_TREES = 1024  # core/trees/trees.hpp has arrays of this size
MOST_TREE_LEAVES = 4096
MOST_PATIENCE = 1000
# Options that only a single linear learner supports.
_SINGLE = (("order", "vw"), ("clip", "vw"))


def _declared(
    default: Any,
    check: Callable[[str, Any], Any],
    core: Callable[[Any], Any] | None = None,
    *,
    passed: bool = True,
    rare: bool = False,
) -> Any:
    """Declare an option as a field of `Options`.

    Args:
        default: the default value.
        check: called with the name and the value; returns the value in its normal form, or raises an `OptionError`.
        core: converts the value for the core. Default: unchanged.
        passed: whether the core takes the option under the same name. Default: True.
        rare: whether model files name the option only if its value is not the default. Default: False.
    """
    return field(default=default, metadata={"check": check, "core": core, "passed": passed, "rare": rare})


def _choice(*allowed: object) -> Callable[[str, Any], Any]:
    """Return a check that a value is one of the allowed values."""

    def check(name: str, value: Any) -> Any:
        _one_of(name, value, allowed)
        return value

    return check


def _flag(name: str, value: Any) -> bool:
    _one_of(name, bool(value) if type(value).__name__ in ("bool", "bool_") else value, (True, False))
    return bool(value)


def _rate_or_auto(name: str, value: Any) -> float | Auto:
    return _or_auto(name, value) or rate(value, name)


def _fraction(name: str, value: Any) -> float:
    result = number(name, value)
    if not 0 < result < 1:
        raise OptionError(f"is {result!r}; it must lie between 0 and 1", option=name)
    return result


def _penalty(name: str, value: Any) -> float:
    result = number(name, value)
    if not 0 <= result < math.inf:
        raise OptionError(f"is {result:g}; it must be finite and not negative", option=name)
    return result


def _penalty_or_auto(name: str, value: Any) -> float | Auto:
    return _or_auto(name, value) or _penalty(name, value)


def _or_auto(name: str, value: Any) -> Auto | None:
    """Return "auto" if that is the value, and None for what may be a number."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    if isinstance(value, str) or value is None:
        raise OptionError(f"is {value!r}; it must be a number or 'auto'", option=name)
    return None


def _whole(least: int, most: int) -> Callable[[str, Any], int]:
    """Make a function that checks that a value is a whole number in a range."""

    def check(name: str, value: Any) -> int:
        whole = hasattr(value, "__index__") and not isinstance(value, bool)
        if not whole or not least <= operator.index(value) <= most:
            raise OptionError(f"is {value!r}; it must be a whole number from {least:,} to {most:,}", option=name)
        return operator.index(value)

    return check


def _bits(name: str, value: Any) -> int | None:
    return None if value is None else _whole(1, MAX_BITS)(name, value)


@dataclass(frozen=True)
class Options:
    """The options of a learner. An option is declared here once: its name, type, default, check, and what the core
    takes.

    The texts below are the help of the command line. `Learner` has longer explanations.

    Args:
        rule: the update rule: nag, snag or ng; newton (second order); ag or gd, which depend on units. Default: nag.
        loss: the loss to minimize. Default: squared for numbers, logistic for classes.
        learning_rate: the learning rate: auto, or a number. Default: auto.
        importance_aware: take steps that never pass the label, however large the learning rate or the sample weight.
            Default: on.
        bias: add the bias, a feature that is 1 in every row. Default: on.
        quantile: the quantile to predict with the quantile loss, between 0 and 1. Default: 0.5.
        schedule: how the learning rate of the rules gd and ng falls: sqrt or constant. Default: sqrt.
        order: what a step does first: paper (adapt the scales) or vw (predict, as Vowpal Wabbit does; one linear
            learner, without centering and without an ensemble). Default: paper.
        clip: limit predictions to the range of the labels so far (labels), or as Vowpal Wabbit does (vw). Default: no
            limits, except those that follow from learning the unit of the labels.
        target: learn the unit and the offset of the labels, too: auto.
        center: subtract the running means from the columns. Default: on where rows have columns.
        falling_scales: let the scale of a column fall when its values become far smaller. Default: as center.
        interactions: products of features: 2 (all pairs), ordered (all pairs, both ways), or certain pairs. Default:
            none.
        bits: hash the names of features into 2^BITS places, to bound the memory: 1 to 30. Default: no hashing.
        average: also compute the average of the weights; a fit then uses the average or the last weights, whichever
            predict the held-out rows better. Default: on for a linear fit.
        model_type: what the model can express: linear; curves (3 to 4 times the time), trees (10 to 20 times), auto
            (trees unless the data is wide or sparse), or 'curves only'. Default: auto.
        ensemble: combine several learners: second order for tables, softmax for classes, snag for wide and sparse data.
            Default: on, but off where rules are compared or the learning rate is a number.
        sparsity: set the weights of features with little effect to zero: auto, or a number; a larger one sets more
            weights to zero. For a linear model 1 is a good value; for curves and trees, whose leaves it penalizes,
            it is rarely needed, auto is 0, and 0.1 is much. Default: 0.
        l2: pull weights toward zero, with curves and trees those of leaves, by this number, which does not depend on
            units; rarely needed. Default: 0.
        n_trees: the number of trees, from 1 to 1024; rarely needed. Default: 64.
        max_leaves: the largest number of leaves of a tree, from 2 to 4096; rarely needed. Default: 256,
            and 1,024 for a fit of 50,000 rows or more.
        tree_patience: how long a leaf of a tree with n leaves collects evidence before it is split: for 16 rows, and
            this number times the square root of n more; rarely needed. Default: 32 for a fit, otherwise 0.
    """

    rule: Rule = _declared("nag", _choice(*RULES))
    loss: Loss = _declared("squared", _choice(*LOSSES))
    learning_rate: float | Auto = _declared(0.5, _rate_or_auto, passed=False)
    importance_aware: bool = _declared(True, _flag)
    bias: bool = _declared(True, _flag)
    quantile: float = _declared(0.5, _fraction)
    schedule: Schedule | None = _declared(None, _choice(None, *get_args(Schedule)), lambda value: value or "sqrt")
    order: Order = _declared("paper", _choice(*get_args(Order)))
    clip: Clip | None = _declared(None, _choice(None, *get_args(Clip)), lambda value: value or "none")
    target: Auto | None = _declared(None, _choice(None, "auto"), lambda value: value is not None)
    center: bool = _declared(False, _flag)
    falling_scales: bool = _declared(False, _flag)
    interactions: Interactions | None = _declared(None, lambda _, value: _interactions(value), passed=False)
    bits: int | None = _declared(None, _bits)
    average: bool = _declared(False, _flag)
    model_type: ModelType = _declared("linear", _choice(*get_args(ModelType)), passed=False)
    ensemble: bool = _declared(False, _flag, lambda value: "auto" if value else "none")
    sparsity: float | Auto = _declared(0.0, _penalty_or_auto, passed=False)
    l2: float = _declared(0.0, _penalty)
    n_trees: int = _declared(64, _whole(1, MOST_TREES), rare=True)
    max_leaves: int = _declared(256, _whole(2, MOST_TREE_LEAVES), rare=True)
    tree_patience: int = _declared(0, _whole(0, MOST_PATIENCE), rare=True)

    def __post_init__(self) -> None:
        for one in fields(self):
            object.__setattr__(self, one.name, one.metadata["check"](one.name, getattr(self, one.name)))
        self._check_combinations()

    def _check_combinations(self) -> None:
        if self.schedule is not None and RULES[self.rule].adaptive:
            others = shown.listed([rule.name for rule in RULES.values() if not rule.adaptive], "and")
            raise OptionError(
                f"is for the rules {others}; rule {self.rule!r} adapts its rates by itself", option="schedule"
            )
        if not LOSSES[self.loss].in_label_unit and (self.target or self.clip == "labels"):
            asked = Option("clip", "labels") if self.clip == "labels" else Option("target", "auto")
            fitting = shown.listed(losses.names(in_label_unit=True), "and", str)
            raise OptionError(Phrase(asked, f" is for {fitting} loss; {self.loss} loss predicts a score"))
        if self.target and self.clip:
            raise OptionError(
                Phrase(Option("target", "auto"), " limits predictions by itself; leave out ", Option("clip"))
            )
        if self.order == "vw" and (self.target or self.center):
            raise OptionError(
                Phrase(
                    *(Option("order", "vw"), " is Vowpal Wabbit's learner; it has neither "),
                    *(Option("target", "auto"), " nor ", Option("center", True)),
                )
            )
        if self.center and self.bits is not None:
            raise OptionError(
                Phrase(
                    *("hashed features are never centered: leave out either ", Option("bits")),
                    *(" or ", Option("center", True)),
                )
            )
        if self.falling_scales and not self.center:
            raise OptionError(
                Phrase(
                    Option("falling_scales", True), " is for columns that are centered: use ", Option("center", True)
                )
            )
        if self.falling_scales and not RULES[self.rule].unit_free:
            raise OptionError(
                Phrase(Option("falling_scales", True), f" is for rules with scales; rule {self.rule!r} has none")
            )
        if RULES[self.rule].second_order:
            self._check_second_order()
        if self.learning_rate == "auto":
            self.check_lanes()
        if is_penalized(vars(self)):
            self._check_penalty()
        if self.model_type not in ("linear", "auto"):
            self._check_model_type()

    def _check_second_order(self) -> None:
        """Refuse options that rules of second order do not support."""
        rule = Option("rule", self.rule)
        if not LOSSES[self.loss].second_order:
            fitting = shown.listed(losses.names(second_order=True), "and", str)
            raise OptionError(Phrase(rule, f" is for {fitting} loss, not for {self.loss} loss"))
        if self.learning_rate not in ("auto", Options.learning_rate):
            raise OptionError(Phrase(rule, " has no learning rate: leave out ", Option("learning_rate")))
        for name, value in (*_SINGLE, ("importance_aware", False)):
            if getattr(self, name) == value:
                raise OptionError(
                    Phrase(Option(name, value), " is for rules of first order; leave it out, or leave out ", rule)
                )
        if self.model_type not in ("linear", "auto"):
            raise OptionError(
                Phrase(rule, " is for linear models: leave out either it or ", Option("model_type", self.model_type))
            )

    @property
    def several_lanes(self) -> bool:
        """Whether several candidate learners run at once, of which the best one predicts."""
        return self.learning_rate == "auto" or RULES[self.rule].second_order

    def check_lanes(self) -> None:
        """Refuse options that only a single learner supports."""
        for name, value in _SINGLE:
            if getattr(self, name) == value:
                raise OptionError(
                    Phrase(
                        *(Option(name, value), " is for one learner; ", Option("learning_rate", "auto")),
                        ", OneVsAll and Sweep run several at once",
                    )
                )

    def _check_penalty(self) -> None:
        """Refuse options that do not go with penalties."""
        asked = self._penalty
        if not RULES[self.rule].penalized:
            fitting = shown.listed([rule.name for rule in RULES.values() if rule.penalized], "and")
            raise OptionError(
                Phrase(asked, f" is for rule {fitting}; leave it out, or leave out ", Option("rule", self.rule))
            )
        if LOSSES[self.loss].coupled:
            raise OptionError(
                Phrase(asked, " is for classes that learn apart: leave it out, or leave out ")
                + Phrase(Option("loss", self.loss))
            )
        if LOSSES[self.loss].has_quantile and self.target:
            raise OptionError(
                Phrase(asked, " is not free of the label's unit with ", Option("loss", self.loss), ": leave out ")
                + Phrase(Option("target", "auto"))
            )
        for name, value in (*_SINGLE, ("average", True)):
            if getattr(self, name) == value and (self.sparse or name != "average"):
                raise OptionError(Phrase(Option(name, value), " does not go with ", asked, ": leave out one of them"))

    def _check_model_type(self) -> None:
        """Refuse options that only linear models support."""
        model_type = Option("model_type", self.model_type)
        for name, value in _SINGLE:
            if getattr(self, name) == value:
                raise OptionError(
                    Phrase(Option(name, value), " is for linear models; leave it out, or leave out ", model_type)
                )
        if self.bits is not None:
            raise OptionError(
                Phrase(
                    *("hashed features have no columns, which ", model_type, " needs: leave out either "),
                    *(Option("bits"), " or ", Option("model_type")),
                )
            )
        if self.model_type == "curves only" and self.average:
            raise OptionError(
                Phrase(
                    *(model_type, " has no weights that are averaged: leave out ", Option("average", True)),
                    *(", or take ", Option("model_type", "curves")),
                )
            )
        if self.model_type == "curves only" and self.interactions is not None:
            raise OptionError(
                Phrase(
                    *(model_type, " sees only the order of a column's numbers, which products do not keep: leave out "),
                    *(Option("interactions"), ", or take ", Option("model_type", "curves")),
                )
            )

    @property
    def sparse(self) -> bool:
        """Whether the model is linear, and a penalty makes some weights zero or small."""
        return is_penalized(vars(self)) and self.known_model_type == "linear"

    @property
    def _penalty(self) -> Option:
        """The option that penalizes weights: `sparsity`, or else `l2`."""
        return Option("l2") if self.sparsity == 0 else Option("sparsity")

    @property
    def penalty_note(self) -> Phrase | None:
        """A note that a penalty, and not the data, has made the model linear; None if this is not so."""
        if not self.sparse or self.model_type != "auto":
            return None
        return Phrase(
            *(self._penalty, " makes the model linear: give ", Option("model_type", "linear"), " to confirm, "),
            *(Option("model_type", "trees"), " to penalize the weights of trees, or leave out ", self._penalty),
            " to let the data choose the model type",
        )

    @property
    def known_model_type(self) -> ModelType | None:
        """The model type that follows from the options; None if it is "auto" and the first row will decide."""
        return known_model_type(vars(self))

    def asdict(self) -> dict[str, Any]:
        """The options as a plain dictionary."""
        return asdict(self)

    def written(self) -> dict[str, Any]:
        """Return the options in the form that a model file names."""
        rare = {one.name: one.default for one in fields(self) if one.metadata["rare"]}
        return {name: value for name, value in self.asdict().items() if name not in rare or value != rare[name]}

    def core(self) -> dict[str, Any]:
        """Return the options in the form that the core takes."""
        kind = {None: "none", 2: "all", "ordered": "ordered"}
        listed = isinstance(self.interactions, tuple)
        passed = {one.name: (getattr(self, one.name), one.metadata) for one in fields(self) if one.metadata["passed"]}
        return {
            **{
                name: value if about["core"] is None else about["core"](value)
                for name, (value, about) in passed.items()
            },
            "model_type": self.known_model_type or "auto",
            "proximal": self.sparse,
            "leaf_l1": 0.0 if self.sparse or self.sparsity == "auto" else self.sparsity,
            "leaf_l2": 0.0 if self.sparse else self.l2,
            "pairs": "listed" if listed else kind[self.interactions],  # type: ignore[index]
            "listed": [tuple(map(_selectors, pair)) for pair in self.interactions] if listed else [],  # type: ignore[union-attr]
        }


def known_model_type(options: Mapping[str, Any]) -> ModelType | None:
    """Return the model type that follows from options; None if it is "auto" and the first row will decide."""
    model_type: ModelType = options.get("model_type", "linear")
    if model_type != "auto":
        return model_type
    rule = RULES.get(options.get("rule", Options.rule))
    second_order = rule is not None and rule.second_order
    return (
        "linear"
        if is_single(options) or second_order or options.get("bits") is not None or is_penalized(options)
        else None
    )


def is_penalized(options: Mapping[str, Any]) -> bool:
    """Return whether options ask for a penalty on the weights."""
    return any(options.get(name) not in (None, 0) for name in ("sparsity", "l2"))


def can_fall(options: Mapping[str, Any]) -> bool:
    """Return whether scales can fall: columns are centered, and the rule has scales."""
    rule = RULES.get(options.get("rule", "nag"))
    return bool(options.get("center")) and rule is not None and rule.unit_free


def is_single(options: Mapping[str, Any]) -> bool:
    """Return whether options need a single linear learner: Vowpal Wabbit's order of steps, or its clipping."""
    return any(options.get(name) == value for name, value in _SINGLE)


# What other libraries call options, and what they are called here.
_SYNONYMS = {
    **dict.fromkeys(("rate", "lr", "eta", "eta0"), "learning_rate"),
    **dict.fromkeys(("seed", "random_seed"), "random_state"),
    **dict.fromkeys(("n_iter", "max_iter", "epochs", "n_epochs"), "passes"),
    "shape": "model_type",
    "experts": "ensemble",
    "centre": "center",
}


def check_names(options: Iterable[str], others: Iterable[str] = ()) -> None:
    """Raise an error that suggests a similar option for a name that is not an option of learners.

    Args:
        options: the names.
        others: further options of the caller, which may be suggested too, such as `random_state` of `train`.
    """
    known = {*Options.__dataclass_fields__, *others}
    for name in options:
        if name not in Options.__dataclass_fields__:
            synonym = _SYNONYMS.get(name)
            near = difflib.get_close_matches(name, sorted(known), 1, 0.5) if synonym is None else [synonym]
            hint = f"did you mean {near[0]!r}?" if near and near[0] in known else ""
            raise OptionError(f"there is no option {name!r}", advice=hint)


def rate(value: object, name: str) -> float:
    """Check a learning rate, which must be positive and finite, and return it as a float."""
    result = number(name, value)
    if not 0 < result < math.inf:
        raise OptionError(f"is {result:g}; it must be positive and finite", option=name)
    return result


def number(name: str, value: object) -> float:
    """Convert a number of any type to a float; anything else is an `OptionError`."""
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
    """Return interactions in their normal form: tuples of tuples."""
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
            raise OptionError(f"has {pair!r}, which is not a pair; {usage}", option="interactions")
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


def _selectors(side: Side) -> list[tuple[str, bool, int, bool]]:
    """Return for each feature of a side: name, whether that is a prefix, column or -1, whether it is a namespace."""
    members = side if isinstance(side, tuple) else (side,)
    return [_selector(member) for member in members]


def _selector(member: str | int) -> tuple[str, bool, int, bool]:
    if isinstance(member, int):
        return "", False, member, False
    if member.endswith("*^*"):
        return member.removesuffix("*^*"), True, -1, True
    return member.removesuffix("*"), member.endswith("*"), -1, False
