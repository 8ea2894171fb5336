"""`Sweep`: one model for each of several learning rates, learned in one pass."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, inputs
from ..errors import InputError, Option, OptionError, Phrase
from ..inputs import Float64
from ..losses import DEFAULTS, LOSSES, LossTask
from ..options import USUAL_LEVEL, Loss, Options, Rule, check_names
from ..options import rate as checked_rate
from ..presentation import html, shown
from ..rules import RULES
from .by_feature import scored_weight
from .classes import Classes, Label, label_array
from .learner import Learner
from .model import Model
from .one_vs_all import OneVsAll, by_row, class_clip
from .rates import rate_grid
from .softmax import Softmax

if TYPE_CHECKING:
    from ..data.labels import RawLabels
    from ..data.sources.located_rows import Place


class Sweep(Model):
    """One model for each learning rate, all learned in one pass, to compare the rates.

    `learning_rate="auto"` of `Learner` chooses a rate by itself; a sweep shows the losses of all rates.

    Args:
        rates: the learning rates. Default: the grid of the paper's experiments, exp(0.2·k) for k = -23 … 12, which is
            from 0.01 to 11.
        rule: how weights are updated; see `Learner`. "newton" has no learning rate. Default: "nag".
        loss: see `Learner`. Default: "squared"; "logistic" with `classes`.
        classes: the labels of several classes; there is then a one-vs-all model for each rate (a softmax model with
            loss="softmax"). See `OneVsAll`. Default: None.
        options: all other options of `Learner`, with its defaults. `model_type` must be "linear", because other model
            types choose their rates by themselves.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3)) * [1e-6, 1, 1e6]
        >>> y = X @ [2e6, 1.0, -3e-6] + rng.normal(size=2000)
        >>> sweep = ul.Sweep([0.01, 0.1, 1.0, 10.0])
        >>> sweep.learn(X, y).shape  # a prediction for each row and rate, made before the row was learned
        (2000, 4)
        >>> sweep.losses.round(1).tolist()  # the progressive loss of each rate
        [13.8, 8.5, 1.3, 1.3]
        >>> sweep.best.learning_rate  # an ordinary learner, as if it had been alone
        1.0
    """

    _kind = "Sweep"

    def __init__(
        self,
        rates: Iterable[float] | None = None,
        rule: Rule = "nag",
        loss: Loss | None = None,
        *,
        classes: Iterable[Any] | int | None = None,
        **options: Any,
    ) -> None:
        if "learning_rate" in options:
            raise OptionError("a sweep has many learning rates: give them as `rates`")
        if isinstance(rates, str | bytes) or not (rates is None or isinstance(rates, Iterable)):
            raise OptionError(f"is {rates!r}; it must be a list of learning rates", option="rates")
        self._rates = [checked_rate(rate, "a rate") for rate in (rate_grid() if rates is None else rates)]
        if not self._rates:
            raise OptionError("is empty; a sweep needs at least one learning rate", option="rates")
        check_names(options)
        chosen: Loss = loss or DEFAULTS["regression" if classes is None else "classes"]
        if classes is not None:
            options["clip"] = class_clip(chosen, options.get("clip", "labels"), options)
        if rule in RULES and RULES[rule].second_order:
            raise OptionError(Phrase(Option("rule", rule), " has no learning rate that a sweep could compare"))
        settled = Options(rule=rule, loss=chosen, learning_rate=self._rates[0], **options)
        settled.check_lanes()
        if settled.ensemble:
            raise OptionError("is for models that predict; a sweep compares the rates of one", option="ensemble")
        if LOSSES[settled.loss].coupled and classes is None:
            raise OptionError(f"is {loss!r}, which is for several classes: name them as `classes`", option="loss")
        if settled.model_type != "linear":
            raise OptionError(
                f"is {settled.model_type!r}; a sweep compares the rates of one linear model, and other model types "
                "choose their rates by themselves",
                option="model_type",
            )
        if settled.sparsity == "auto":
            raise OptionError("is 'auto'; a sweep compares rates, all with the same sparsity", option="sparsity")
        self._classes = None if classes is None else Classes(classes, open=False)
        if self._classes is not None and len(self._classes.labels) < 2:
            raise OptionError("classes must be at least two")
        super().__init__(settled, self._rates, classes=len(self._classes.labels) if self._classes else 0)

    @classmethod
    def _fresh(
        cls, options: dict[str, Any], labels: list[Label] | None, open: bool, rates: Sequence[float] | None
    ) -> Sweep:
        others = {name: value for name, value in options.items() if name != "learning_rate"}
        return Sweep(rates, classes=labels, **others)

    @property
    def task(self) -> LossTask:
        """What is predicted: see `Learner.task`. With classes it is "classes"."""
        return super().task if self._classes is None else "classes"

    @property
    def heads(self) -> int:
        """The number of scores of a row at each rate: one, or one for each class."""
        return 1 if self._classes is None else len(self._classes.labels)

    def _class_numbers(self, labels: RawLabels, place: Place, weight: Float64 | None) -> tuple[Float64, list[Label]]:
        assert self._classes is not None
        try:
            return self._classes.numbers_of(labels, place, weight)
        except InputError as error:
            raise error.at(advice="") from None

    def _own_rates(self) -> Sequence[float]:
        return self._rates

    @property
    def rates(self) -> Float64:
        """The learning rates, in the order in which they were given."""
        return np.array(self._rates)

    @property
    def classes(self) -> list[Label] | None:
        """The class labels; None without classes."""
        return None if self._classes is None else list(self._classes.labels)

    def learn(self, X: Any, y: Any, weight: Any = None, offset: Any = None) -> np.ndarray[Any, Any]:
        """Learn from rows in order. Returns one column per rate: the predictions made before each row was learned.

        With classes, the predictions are the predicted classes.

        Args:
            X: rows, as in `Learner.learn`.
            y: one label per row.
            weight: one sample weight per row. Default: None, all 1.
            offset: one number per row that is added to the score; not for classes. Default: None, all 0.
        """
        data = self._data(X)
        if self._classes is None:
            labels = inputs.vector(y, "y", data.rows)
            return by_row(self._feed(data, labels, weight, offset=offset), data.rows, len(self._rates))
        numbers, _ = self._classes.numbers(y, data.rows)
        winners = by_row(self._feed(data, numbers, weight, offset=offset), data.rows, len(self._rates))
        return label_array(self._classes.labels)[winners.astype(np.intp)]

    def learn_one(  # type: ignore[override]
        self, x: Any, y: Any, weight: Any = 1.0, offset: Any = 0.0
    ) -> np.ndarray[Any, Any]:
        """Learn from one mapping of names to numbers. Returns the predictions made before, one per rate.

        Args:
            x: the features.
            y: the label.
            weight: the sample weight. Default: 1.
            offset: a number that is added to the score; not for classes. Default: 0.
        """
        if self._classes is None:
            return self._learn_one_wide(x, y, weight, 0, offset)
        winners = self._learn_one_wide(x, self._classes.number(y)[0], weight, 0, offset)
        return label_array(self._classes.labels)[winners.astype(np.intp)]

    def predict(self, X: Any, offset: Any = None, *, extrapolate: bool = False) -> Float64:
        """Return the predictions of the best rate so far; with classes, its scores. The model does not change.

        Args:
            X: rows, as in `Learner.learn`.
            offset: one number per row that is added to the score. Default: None, all 0.
            extrapolate: see `Learner.predict`. Default: False.
        """
        data = self._data(X)
        result = self._ask(data, extrapolate, offset)
        return result if self._classes is None else by_row(result, data.rows, len(self._classes.labels))

    def predict_one(self, x: Any, offset: Any = 0.0, *, extrapolate: bool = False) -> Any:
        """Return the best rate's prediction for one mapping; with classes, its scores. The model does not change.

        Args:
            x: the features.
            offset: a number that is added to the score. Default: 0.
            extrapolate: see `Learner.predict`. Default: False.
        """
        result = self._predict_one_wide(x, extrapolate, offset)
        return float(result[0]) if self._classes is None else result

    def predict_label(self, X: Any) -> np.ndarray[Any, Any]:
        """The label of each row, as the model of the best rate so far predicts it."""
        return self.best.predict_label(X)

    def predict_proba(self, X: Any) -> Float64:
        """The probabilities of the classes, one column each, as the model of the best rate so far predicts them."""
        return self.best.predict_proba(X)

    def predict_interval(self, X: Any, level: float = USUAL_LEVEL) -> Any:
        """Prediction intervals of the best model; an error, because a sweep does not follow its errors."""
        return self.best.predict_interval(X, level)

    @property
    def losses(self) -> Float64:
        """The weighted mean of each rate's progressive losses; with classes, the losses of all classes are added up."""
        state = self._snapshot()
        return np.asarray(self._totals(state) / max(scored_weight(state), sys.float_info.min))

    def _totals(self, state: _core.Snapshot) -> Float64:
        """Return the sum of each rate's losses over all rows and classes; in softmax, classes have one common loss."""
        by_class = state["scores"].reshape(-1, len(self._rates), 6)[:, :, 0]
        return np.asarray(by_class[0] if LOSSES[self._options.loss].coupled else by_class.sum(axis=0))

    def _leader(self) -> int:
        """Return the place of the best rate. Sums are compared, as in `predict`: equal means can have other sums."""
        return int(np.argmin(self._totals(self._snapshot())))

    @property
    def errors(self) -> Float64:
        """The progressive error rate of each rate: how often the predicted class was wrong. Only for classes."""
        if self._classes is None and not LOSSES[self._options.loss].for_classes:
            raise InputError(f"{self._options.loss} loss predicts no classes: there are no errors to count")
        state = self._snapshot()
        return np.asarray(state["errors"] / max(scored_weight(state), sys.float_info.min))

    @property
    def best_rate(self) -> float:
        """The rate with the smallest progressive loss so far."""
        return self._rates[self._leader()]

    @property
    def best(self) -> Learner | OneVsAll:
        """The model of the best rate, the same as if it had learned alone. It can predict and learn like any model."""
        return self.model(self._leader())

    def model(self, index: int) -> Learner | OneVsAll:
        """Return the model of one rate, the same as if it had learned alone.

        Args:
            index: the place of the rate in `rates`, from 0.
        """
        if not 0 <= index < len(self._rates):
            raise InputError(f"there is no rate number {index}; the {len(self._rates)} rates are numbered from 0")
        options = {**self._options.asdict(), "learning_rate": self._rates[index]}
        state = self._snapshot()
        labels = None if self._classes is None else self._classes.labels
        of_classes = Softmax if LOSSES[self._options.loss].coupled else OneVsAll
        single = Learner(**options) if labels is None else of_classes(labels, **options)
        rates, heads = len(self._rates), len(state["lane_heads"]) // len(self._rates)

        def part(values: Float64) -> Float64:
            return np.ascontiguousarray(values.reshape(len(state["slots"]), rates * heads)[:, index::rates].ravel())

        alone: _core.Snapshot = {
            **state,
            "v": part(state["v"]),
            "H": part(state["H"]),
            "average": part(state["average"]) if self._options.average else state["average"],
            "lane_heads": np.arange(heads, dtype=np.uint32),
            "lane_rates": np.zeros(heads, np.uint32),
            "scores": state["scores"].reshape(-1, rates, 6)[:, index].ravel(),
            "errors": np.zeros(0),
        }
        single._restore(alone)
        return single

    def _facts(self) -> list[tuple[str, str]]:
        return [("classes", "" if self.classes is None else f"{len(self.classes):,}")]

    def _tables(self) -> list[html.Html]:
        best, losses = self._leader(), self.losses.tolist()
        rows = [
            [html.tag("b", cell) if k == best else cell for cell in (f"{rate:.4g}", shown.number(loss))]
            for k, (rate, loss) in enumerate(zip(self._rates, losses, strict=True))
        ]
        return [html.table(["rate", "progressive loss"], rows, left=0)]

    def __repr__(self) -> str:
        options = self._changed_options("learning_rate")
        return f"<Sweep({options}): {len(self._rates)} rates, {self.examples:,} examples>"
