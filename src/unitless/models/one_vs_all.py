"""Many classes: one learner for each, over one pass."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import html, inputs
from ..errors import InputError, Option, OptionError, Phrase
from ..inputs import Float64
from ..locks import forkable_lock
from ..losses import LOSSES, LossTask, names
from ..options import USUAL_LEVEL, Auto, Clip, Loss, ModelType, Options, Rule, check_names
from ..rates import Walk
from ..rules import RULES
from . import pruning
from .by_feature import ByFeature, StateReading, ranked
from .classes import Classes, Label, label_array
from .error_quantiles import checked_level
from .file import Kind
from .form_reading import FormReading
from .model import Model, State

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..data.labels import RawLabels
    from ..data.sources.located_rows import Place


class OneVsAll(Model):
    """One model per class, each learning to tell its class from all others; the largest score wins.

    The models share the features' scales, N and t, and are learned together in one pass: eight classes cost little
    more than one.

    Args:
        classes: the labels, of any kind: text, numbers, booleans; or a number n for the labels 1 … n, as Vowpal
            Wabbit's `--oaa n`. A label that is not one of them is an error. With None, classes join when they are first
            met: a class joins in exactly the state that it would have had if it had been named from the beginning,
            because up to then all its labels were negative, and one more model that never sees its class is kept for
            this.
        rule: see `Learner`.
        loss: the loss of each class's model, its labels being +1 for the class and -1 for others (of counts 1 and 0).
        learning_rate: "auto" runs several rates for each class and follows the one whose loss is smallest so far, as
            `Learner` does; each class finds its own.
        clip: with squared or quantile loss "labels" limits scores to the range of their labels, [-1, 1]; None does not.
        model_type: "linear", "curves", "trees", "auto" or "curves only", for all classes alike; see `Learner`.
        ensemble: True adds a softmax model and combines its predictions with this one's; see `Learner`. Default: False.
        options: all further options of `Learner`.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(3000, 2)) * [0.001, 1000]
        >>> y = np.where(X[:, 0] > 0, "right", np.where(X[:, 1] > 0, "upper left", "lower left"))
        >>> m = ul.OneVsAll()
        >>> scores = m.learn(X, y)  # made before each row was learned
        >>> m.classes
        ['right', 'upper left', 'lower left']
        >>> bool(np.mean(np.array(m.classes)[scores.argmax(axis=1)] == y) > 0.9)
        True
        >>> m.predict_label([[0.002, 0.0], [-0.002, 5000.0]]).tolist()
        ['right', 'upper left']
    """

    _kind: ClassVar[Kind] = "OneVsAll"

    def __init__(
        self,
        classes: Iterable[Any] | int | None = None,
        rule: Rule = "nag",
        loss: Loss = "logistic",
        learning_rate: float | Auto = "auto",
        *,
        clip: Clip | None = "labels",
        model_type: ModelType = "linear",
        ensemble: bool = False,
        **options: Any,
    ) -> None:
        check_names(options)
        clip = class_clip(loss, clip, options)
        settled = Options(
            rule=rule,
            loss=loss,
            learning_rate=learning_rate,
            clip=clip,
            model_type=model_type,
            ensemble=ensemble,
            **options,
        )
        if LOSSES[settled.loss].coupled:
            raise OptionError(f"is {loss!r}, by which one model tells all classes apart: use ul.Softmax", option="loss")
        if RULES[rule].second_order:
            raise OptionError(
                Phrase(Option("rule", rule), " learns all classes at once: use Softmax instead of OneVsAll")
            )
        self._begin(settled, classes)

    def _begin(self, settled: Options, classes: Iterable[Any] | int | None) -> None:
        settled.check_lanes()
        self._lock = forkable_lock()  # what the core and this class know of the classes changes together
        self._classes = Classes(classes, open=classes is None)
        if not self._classes.open and len(self._classes.labels) < 2:
            raise OptionError("classes must be at least two, or None to let them join when they are first met")
        Model.__init__(self, settled, classes=len(self._classes.labels), open=self._classes.open)

    @classmethod
    def _fresh(
        cls, options: dict[str, Any], labels: list[Label] | None, open: bool, rates: Sequence[float] | None
    ) -> Self:
        model = cls(None if open else labels, **options)
        if open:
            model._classes.accept(Classes(labels, open=True).labels)
        return model

    def _open_to_classes(self) -> bool:
        return self._classes.open

    def _go_back(self, state: State) -> None:
        with self._lock:
            self._restore_state(state[0])
            self._classes = Classes(state[1], open=self._classes.open)

    @property
    def classes(self) -> list[Label]:
        """The labels, in the order of the scores' columns."""
        return list(self._classes.labels)

    @property
    def task(self) -> LossTask:
        """Always "classes": one of several."""
        return "classes"

    @property
    def heads(self) -> int:
        """How many scores a row has: one for each class."""
        return len(self._classes.labels)

    def _number_of(self, label: Any) -> Any:
        return self._classes.known(label)

    def _of_heads(self, what: str) -> list[Any]:
        return list(getattr(self, what).values())

    @property
    def _class_labels(self) -> list[Label]:
        return self.classes

    def _scores(self, data: inputs.Input, offset: Any = None, extrapolate: bool = False) -> Float64:
        return self._scores_and_labels(data, extrapolate, offset)[0]

    def _class_numbers(self, labels: RawLabels, place: Place, weight: Float64 | None) -> tuple[Float64, list[Label]]:
        return self._classes.numbers_of(labels, place, weight)

    def _class_number(self, label: Any, weight: Any) -> tuple[float, list[Label]]:
        return self._classes.number(label, weight)

    def _joining(self, new: list[Label]) -> contextlib.AbstractContextManager[None]:
        return self._classes.joining(new)

    @property
    def open(self) -> bool:
        """Do classes join when they are first met?"""
        return self._classes.open

    def learn(self, X: Any, y: Any, weight: Any = None) -> Float64:
        """Learn from rows in order. Gives the scores made before each row was learned: one row each, one column per
        class of `classes`.
        """
        data = self._data(X)
        with self._lock:
            if self._rows is None:
                numbers, new = self._classes.numbers(y, data.rows, weight)
            else:
                numbers, new = self._rows.class_numbers(y, data.rows, weight)
            with self._classes.joining(new):
                scores = self._feed(data, numbers, weight, len(new))
            return by_row(scores, data.rows, len(self._classes.labels))

    def learn_one(self, x: Any, y: Any, weight: Any = 1.0) -> Float64:  # type: ignore[override]
        """Learn from one mapping of names to numbers; gives the scores made before.

        A model that `train` made takes rows and labels as its data had them.
        """
        if self._rows is not None:
            return self._rows.learn(x, y, weight)  # type: ignore[no-any-return]
        return self._learn_features(x, y, weight)

    def _learn_features(self, x: Any, y: Any, weight: Any = 1.0) -> Float64:  # type: ignore[override]
        """Learn from one mapping of names to numbers, whatever the model was trained on."""
        scores = self._learn_class(x, y, weight, self._classes.by_label)
        if scores is not None:  # a class that is known: only the core changes, which has a lock of its own
            return scores
        with self._lock:
            number, new = self._classes.number(y, weight)
            if not new:
                return self._learn_one_wide(x, number, weight)
            with self._classes.joining(new):
                return self._learn_one_wide(x, number, weight, len(new))

    def predict(self, X: Any, *, extrapolate: bool = False) -> Float64:
        """The scores for rows, one column per class; changes nothing."""
        return self._scores_and_labels(self._data(X), extrapolate)[0]

    def _scores_and_labels(
        self, data: inputs.Input, extrapolate: bool, offset: Any = None
    ) -> tuple[Float64, list[Label]]:
        """The scores for rows, and the labels of their columns. Others may predict meanwhile, and classes join."""
        lock = self._lock if self._classes.open else contextlib.nullcontext()
        one_by_one = isinstance(data, inputs.NamedRows)  # between two of them, classes could join
        with lock if one_by_one else contextlib.nullcontext():
            flat = self._ask(data, extrapolate, offset)
        with lock:
            labels = self.classes  # of which those that have joined since are the last
            if flat.size > data.rows * len(labels):  # it has gone back to an earlier state since
                flat = self._ask(data, extrapolate, offset)
        scores = by_row(flat, data.rows, len(labels))
        return scores, labels[: scores.shape[1]]

    def predict_one(self, x: Any, *, extrapolate: bool = False) -> Float64:  # type: ignore[override]
        """The scores for one mapping of names to numbers; changes nothing."""
        if self._rows is not None:
            return self._rows.predict(x, extrapolate=extrapolate)  # type: ignore[no-any-return]
        return self._predict_one_wide(x, extrapolate)

    def _predict_features(self, x: Any) -> Float64:  # type: ignore[override]
        """The scores for one mapping of names to numbers, whatever the model was trained on."""
        return self._predict_one_wide(x, False)

    def predict_label(self, X: Any) -> np.ndarray[Any, Any]:
        """The class with the largest score, for each row."""
        if not self._classes.labels:
            raise InputError("the model has not learned any class yet")
        scores, labels = self._scores_and_labels(self._data(X), False)
        return np.asarray(label_array(labels)[scores.argmax(axis=1)])

    def predict_label_one(self, x: Any) -> Label:
        """The class with the largest score for one mapping of names to numbers."""
        if not self._classes.labels:
            raise InputError("the model has not learned any class yet")
        with self._lock:
            return self._classes.labels[int(self.predict_one(x).argmax())]

    def predict_proba(self, X: Any) -> Float64:
        """The probability of each class, one column for each of `classes`; each row adds up to 1.

        Example:
            >>> import numpy as np, unitless as ul
            >>> m = ul.OneVsAll(["a", "b", "c"])
            >>> m.predict_proba(np.zeros((1, 2))).round(2).tolist()
            [[0.33, 0.33, 0.33]]
        """
        return self._shares(self.predict(X))

    def predict_interval(self, X: Any, level: float = USUAL_LEVEL) -> list[list[Label]]:
        """The prediction set of each row: the classes that contain the true one with this probability, likeliest first.

        Only for models that have followed their errors, as those of `train` have.
        """
        from .prediction_errors import label_sets, quantiles_of  # noqa: PLC0415  (which reads models)

        shares = self.predict_proba(X)
        reach = quantiles_of(self).known_reach(checked_level(level))
        return label_sets(shares, shares.argmax(axis=1), reach, self.classes)

    def _shares(self, scores: Any) -> Float64:
        """The probabilities that scores stand for: the odds of each class, scaled so that each row adds up to 1."""
        if not LOSSES[self._options.loss].link.gives_probabilities:
            raise OptionError(f"probabilities are for logistic loss; this model's is {self._options.loss!r}")
        try:
            array = np.asarray(scores, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("scores are not all numbers") from None
        if array.ndim == 0:
            raise InputError("scores must be what `learn` and `predict` give, one for each class")
        odds = self._link(np.maximum(np.minimum(array, 700.0), -700.0))  # a class that was not known has minus infinity
        total = np.zeros(odds.shape[:-1])
        for column in range(odds.shape[-1]):  # in this order whatever the array's shape, so that bits do not differ
            total += odds[..., column]
        return np.asarray(odds / total[..., None])

    def _scores_and_truth(self, scores: Float64, y: Any, weight: Float64 | None) -> tuple[Float64, NDArray[Any]]:
        """What a user gives to be compared, checked: see `Scored`."""
        if scores.ndim != 2 or scores.shape[1] > self.heads:
            raise InputError("predictions must be scores: one row per example, one column per class")
        numbers, new = self._classes.numbers(y, len(scores), weight)
        if new:
            raise InputError(f"class {new[0]!r} is not among the model's classes")
        return scores, numbers.astype(np.intp)

    @property
    def rates(self) -> dict[Label, dict[float | Walk, float]]:
        """By class: the rates that are running, and the mean progressive loss of each ("auto")."""
        reading, labels = self._reading_and_labels()
        return {label: reading.rates(c) for c, label in enumerate(labels)}

    @property
    def learning_rate(self) -> dict[Label, float]:
        """By class: the rate in use; with "auto", that of the rate that leads now."""
        reading, labels = self._reading_and_labels()
        return {label: reading.rate(reading.leader(c)) for c, label in enumerate(labels)}

    @property
    def sparsity(self) -> dict[Label, float]:
        """By class: the sparsity in use; with "auto", that of the lane that leads now."""
        reading, labels = self._reading_and_labels()
        return {label: reading.penalty(reading.leader(c)) for c, label in enumerate(labels)}

    def prune(self) -> None:
        """Keep the features to which some class gives a weight other than zero; see `Learner.prune`."""
        pruning.prune(self)

    @property
    def weights(self) -> dict[Label, ByFeature]:
        """w by class and feature, in the data's units. Of several members: those of the linear ones."""
        reading, labels = self._reading_and_labels()
        return {label: reading.weights(reading.leader(c)) for c, label in enumerate(labels)}

    @property
    def importance(self) -> dict[Label, ByFeature]:
        """|w|·s by class and feature, which has no unit. Of several members see `Learner.importance`."""
        if self._mixes():
            state, classes = self._state_and_labels()
            found = FormReading(self._options, self._candidates, state).importance()
            return {
                label: {feature: float(by_head[c]) for feature, by_head in found.items()}
                for c, label in enumerate(classes or [])
            }
        reading, labels = self._reading_and_labels()
        return {label: reading.importance(reading.leader(c)) for c, label in enumerate(labels)}

    @property
    def scales(self) -> ByFeature:
        """s by feature, which all classes share."""
        return self._reading().scales()

    def _reading(self) -> StateReading:
        return self._reading_and_labels()[0]

    def _reading_and_labels(self) -> tuple[StateReading, list[Label]]:
        state, labels = self._state_and_labels()
        return StateReading(self._options, self._candidates, state), labels or []

    def _facts(self) -> list[tuple[str, str]]:
        return [("classes", f"{len(self.classes):,}")]

    def _tables(self) -> list[html.Html]:
        rates = self.learning_rate
        rows = [
            [html.name(label), ", ".join(html.name(name) for name, _ in ranked(one, 4)), f"{rates[label]:.4g}"]
            for label, one in itertools.islice(self.importance.items(), 20)
        ]
        more = len(rates) - len(rows)
        return [
            html.table(["class", "most important features", "rate"], rows, left=2),
            *([html.note(f"and {more:,} further classes")] if more else []),
        ]

    def __repr__(self) -> str:
        return f"<{self._kind}({self._changed_options()}): {self._counted(f'{len(self.classes)} classes')}>"


def class_clip(loss: Loss, clip: Clip | None, options: dict[str, Any]) -> Clip | None:
    """Scores of losses that predict numbers can be limited to the range of their labels; others need not."""
    if options.get("target"):
        raise OptionError(Phrase(Option("target", "auto"), " is for numbers; one-vs-all predicts classes"))
    if clip not in (None, "labels"):
        raise OptionError(f"clip is {clip!r}; with classes it must be 'labels' or None")
    return clip if loss in names(in_label_unit=True) else None


def by_row(flat: Float64, rows: int, width: int) -> Float64:
    """The core's results as one row each, with as many columns as it gave; `width` is for no rows at all."""
    return flat.reshape(rows, -1) if rows else flat.reshape(0, width)
