"""The learners of the contest: each with its default and the values of its parameter that are tried in hindsight.

Of the learners that *Normalized Online Learning* names, vSGD takes part. The second-order perceptron and AROW predict
margins for classes, neither probabilities nor numbers, so they have no log loss and no squared loss. Online Newton Step
takes d² operations for a row and has two parameters without a value that suits all data (its limit of predictions and
ε). `unitless paper comparison` compares all of them by their errors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ...inputs import Float64
from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll
from ...options import Rule
from ...training.defaults import DataFacts, new_model, resolve
from .. import baselines
from .table import Rows

Kind: TypeAlias = Literal["ours", "of the paper", "scale-free", "deep learning"]
Change: TypeAlias = Literal["units", "offsets", "label units", "order of columns"]

CHANGES: tuple[Change, ...] = ("units", "offsets", "label units", "order of columns")
"""x_i → a_i x_i; x_i → x_i + b_i; y → a·y for numbers, with ours also y → a·y + b from the second row on; and another
order of the columns. No online learner gives the same predictions for another order of the rows.
"""

LABEL_RANGE = 0.5
"""Numbers are given to all learners but ours in a range of this length around 0, taken from all labels: then squared
loss has slopes up to 1, as their analysis needs. They know the range in advance, and ours does not.
"""


@dataclass(frozen=True)
class Contestant:
    """A learner of the contest.

    Attributes:
        name: its name.
        kind: its group.
        default: the value of its parameter without tuning; None if it has no parameter.
        grid: the values that are tried in hindsight, with the default; empty if it has no parameter.
        scores: its scores for rows, with an axis for these parameters.
        exact: the changes of the data that change no bit of its predictions, where factors are powers of two.
        nearly: the changes that change its predictions by rounding errors only, for all factors.
    """

    name: str
    kind: Kind
    default: float | None
    grid: tuple[float, ...]
    scores: Callable[[Rows, tuple[float, ...]], Float64]
    exact: frozenset[Change] = frozenset()
    nearly: frozenset[Change] = frozenset()

    @property
    def default_place(self) -> int:
        """The place of the default among the values of the grid; 0 if there is no parameter."""
        return self.grid.index(self.default) if self.default is not None else 0

    def untuned(self, rows: Rows) -> Float64:
        """The scores with the default."""
        return self.scores(rows, () if self.default is None else (self.default,))

    def changes(self, change: Change) -> str:
        """Whether predictions stay the same under a change of the data, in words."""
        if change in self.exact:
            return "exactly" if change in self.nearly else "powers of two"
        return "to rounding" if change in self.nearly else "no"


def contestants() -> list[Contestant]:
    """All learners of the contest."""
    return [*_ours(), *_of_the_paper(), *_relatives()]


# ------------------------------------------------------------------------------------------------- ours, as they come

OURS: Mapping[str, dict[str, Any]] = {
    "unitless": {},
    "unitless, linear": {"model_type": "linear"},
    "unitless, one learner": {"model_type": "linear", "ensemble": False},
}
"""The options of `ul.train` for each of ours. "unitless" has the defaults: an ensemble that contains trees. "unitless,
linear" is an ensemble of linear learners. "unitless, one learner" is NAG with the automatic rate on centered features.

The fourth of ours, "NAG, automatic rate" (`_of_the_paper`), is that learner on the rows that all others get.
"""


def _ours() -> list[Contestant]:
    units: frozenset[Change] = frozenset({"units"})
    found = []
    for name, options in OURS.items():
        nearly: set[Change] = {"units", "offsets", "label units"}
        if options:  # trees draw columns at random, by their number
            nearly.add("order of columns")
        found.append(Contestant(name, "ours", None, (), functools.partial(_trained, options), units, frozenset(nearly)))
    return found


def _trained(options: dict[str, Any], rows: Rows, values: tuple[float, ...]) -> Float64:
    """The progressive scores of a model with the defaults of `ul.train` for streams: raw labels, nothing known."""
    classes = range(rows.classes) if rows.task == "classes" else None
    model: Any = new_model(resolve(rows.task, DataFacts(), options), rows.task, classes)
    y = rows.y.astype(np.int64) if rows.task == "classes" else rows.y
    return np.asarray(model.learn(rows.X, y)[:, None])


# ---------------------------------------------------------------------------------------------------------- the paper's

UNIT_FREE_RATES = (*(10.0 ** (k / 3) for k in range(-9, 5)), 0.5)
RATES = (*(10.0 ** (k / 2) for k in range(-32, 5)), 0.5)


def _of_the_paper() -> list[Contestant]:
    units: frozenset[Change] = frozenset({"units"})
    linear: frozenset[Change] = frozenset({"label units"})
    order: frozenset[Change] = frozenset({"order of columns"})
    found = [
        Contestant("NAG, automatic rate", "ours", None, (), functools.partial(_core, "nag"), units, units | order),
    ]
    listed: list[tuple[str, Rule, frozenset[Change]]] = [
        ("NAG", "nag", units),
        ("sNAG", "snag", units),
        ("NG", "ng", units | linear),
        ("AG", "ag", frozenset()),
        ("GD", "gd", linear),
    ]
    for name, rule, same in listed:
        grid = UNIT_FREE_RATES if "units" in same else RATES
        found.append(
            Contestant(name, "of the paper", 0.5, grid, functools.partial(_core, rule), same, same | order),
        )
    return found


def _core(rule: Rule, rows: Rows, values: tuple[float, ...]) -> Float64:
    """A rule of the compiled core with each rate, on rows with the constant that all but ours get."""
    X, y, _ = prepared(rows)
    made = []
    rates: tuple[Any, ...] = values or ("auto",)
    for rate in rates:
        if rows.task == "classes":
            made.append(OneVsAll(range(rows.classes), rule, "logistic", rate, bias=False).learn(X, y.astype(np.int64)))
        else:
            loss: Any = "squared" if rows.task == "regression" else "logistic"
            made.append(Learner(rule, loss, rate, bias=False).learn(X, y))
    return _in_label_unit(rows, np.stack(made, axis=1))


# ------------------------------------------------------------------------------------------------------- the relatives

WEALTHS = tuple(10.0 ** (k / 2) for k in range(-6, 5))
RADII = (0.01, 0.1, 1.0, 10.0, 100.0)


def _relatives() -> list[Contestant]:
    alone: frozenset[Change] = frozenset()
    units: frozenset[Change] = frozenset({"units"})
    listed: list[tuple[str, Any, dict[str, Any], str | None, float | None, tuple[float, ...], frozenset[Change]]] = [
        ("ScInOL₁", baselines.ScInOL1, {}, "epsilon", 1.0, WEALTHS, units),
        ("ScInOL₂", baselines.ScInOL2, {}, "epsilon", 1.0, WEALTHS, units),
        ("coin betting", baselines.CoinBetting, {}, "wealth", 4.0, (*WEALTHS, 4.0), units),
        ("KT", baselines.KT, {}, "wealth", 1.0, WEALTHS, units),
        ("FreeGrad", baselines.FreeGrad, {}, "epsilon", 1.0, WEALTHS, alone),
        ("FreeGrad, scaled", baselines.FreeGrad, {"scaled": True}, "epsilon", 1.0, WEALTHS, units),
        ("MetaGrad", baselines.MetaGrad, {}, "radius", 1.0, RADII, alone),
        ("MetaGrad, scaled", baselines.MetaGrad, {"scaled": True}, "radius", 1.0, RADII, units),
        ("KATE", baselines.KATE, {}, "rate", 0.01, tuple(10.0 ** (k / 2) for k in range(-10, 3)), units),
        ("vSGD", baselines.VSGD, {}, None, None, (), units | {"label units"}),
    ]
    found = [
        _relative(name, "scale-free", make, options, parameter, default, grid, exact)
        for name, make, options, parameter, default, grid, exact in listed
    ]
    coefficients = tuple(10.0 ** (k / 2) for k in range(-6, 7))
    steps = tuple(10.0**k for k in range(-12, 3))
    rates = (*(10.0 ** (k / 2) for k in range(-12, 3)), 0.0025)
    found += [
        _relative("DoG", "deep learning", baselines.DoG, {}, "r_epsilon", 1e-6, steps, alone),
        _relative("Prodigy", "deep learning", baselines.Prodigy, {}, "coefficient", 1.0, coefficients, alone),
        _relative("schedule-free", "deep learning", baselines.ScheduleFree, {}, "rate", 0.0025, rates, alone),
    ]
    return found


def _relative(
    name: str,
    kind: Kind,
    make: Callable[..., Any],
    options: dict[str, Any],
    parameter: str | None,
    default: float | None,
    grid: tuple[float, ...],
    exact: frozenset[Change],
) -> Contestant:
    scores = functools.partial(_oracle, make, options, parameter)
    nearly: frozenset[Change] = exact | {"order of columns"}
    if make is baselines.MetaGrad:  # its rates are powers of two: rounding can add one or leave one out
        nearly -= {"units"}
    return Contestant(name, kind, default, grid, scores, exact, nearly)


def _oracle(
    make: Callable[..., Any], options: dict[str, Any], parameter: str | None, rows: Rows, values: tuple[float, ...]
) -> Float64:
    """A learner of `unitless.paper.baselines`, all values of its parameter in one pass."""
    X, y, limits = prepared(rows)
    chosen = dict(options)
    if limits is not None and issubclass(make, baselines.GradientLearner):  # type: ignore[arg-type]
        chosen["limits"] = limits
    if parameter is not None:
        chosen[parameter] = list(values)
    if rows.task == "classes":
        chosen["classes"] = rows.classes
    if parameter is None and rows.task != "classes":
        return _in_label_unit(rows, make(_loss(rows), **chosen).run(X, y)[:, None])
    made = make(_loss(rows), **chosen).run(X, y)
    return _in_label_unit(rows, made if parameter is not None else made[:, None])


def _loss(rows: Rows) -> str:
    return "squared" if rows.task == "regression" else "logistic"


def prepared(rows: Rows) -> tuple[Float64, Float64, tuple[float, float] | None]:
    """The features with a constant, the labels as all learners but ours get them, and the limits of predictions."""
    X = np.hstack([np.ones((len(rows.X), 1)), rows.X])
    if rows.task != "regression":
        return X, rows.y, None
    low, high = float(rows.y.min()), float(rows.y.max())
    y = LABEL_RANGE * ((rows.y - low) / (high - low) - 0.5)
    return X, y, (-LABEL_RANGE / 2, LABEL_RANGE / 2)


def _in_label_unit(rows: Rows, scores: Float64) -> Float64:
    if rows.task != "regression":
        return scores
    low, high = float(rows.y.min()), float(rows.y.max())
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(low + (scores / LABEL_RANGE + 0.5) * (high - low))
