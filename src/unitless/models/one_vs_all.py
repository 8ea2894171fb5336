"""`OneVsAll`: one model for each of several classes, learned in one pass."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import inputs
from ..errors import InputError, Option, OptionError, Phrase
from ..inputs import Float64
from ..locks import forkable_lock
from ..losses import LOSSES, LossTask, names
from ..options import USUAL_LEVEL, Auto, Clip, Loss, ModelType, Options, Rule, check_names
from ..presentation import html
from ..rules import RULES
from . import pruning
from .by_feature import ByFeature, StateReading, ranked
from .classes import Classes, Label, label_array
from .error_quantiles import checked_level
from .file import Kind
from .form_reading import FormReading
from .model import Model, Remembered, State
from .rates import Walk

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..data.labels import RawLabels
    from ..data.sources.located_rows import Place


class OneVsAll(Model):
    """Several classes: each has a model that separates it from the others; the class with the largest score wins.

    The models share the scales of the features and are learned together in one pass, so that eight classes cost little
    more than one.

    Args:
        classes: the labels, of any type: text, numbers, booleans. A number n stands for the labels 1 … n, as in Vowpal
            Wabbit's `--oaa n`. Any other label is an error. With None, a label becomes a class when it is first seen;
            the result is exactly the same as if the class had been given from the beginning. Default: None.
        rule: how weights are updated; see `Learner`. "newton" is only for `Softmax`. Default: "nag".
        loss: the loss of each class's model. The label is +1 for the class and -1 for the others (for poisson 1 and 0).
            Default: "logistic".
        learning_rate: a number, or "auto", which runs several rates for each class and predicts with the one whose loss
            is smallest so far, for each class separately. Default: "auto".
        clip: for squared and quantile loss: "labels" limits scores to the range of their labels, [-1, 1]; None does
            not. Default: "labels".
        model_type: "linear", "curves", "trees", "auto" or "curves only", for all classes; see `Learner`. Default:
            "linear".
        ensemble: True adds members, among them a softmax model, and combines the predictions; see `Learner`. Default:
            False.
        options: all other options of `Learner`, with its defaults.

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
        self._lock = forkable_lock()  # protects the core's classes and the labels here, which change together
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

    def _go_back(self, state: State | Remembered) -> None:
        with self._lock:
            self._restore_state(state[0])
            self._classes = Classes(state[1], open=self._classes.open)

    @property
    def classes(self) -> list[Label]:
        """The labels, in the order of the columns of the scores."""
        return list(self._classes.labels)

    @property
    def task(self) -> LossTask:
        """Always "classes" (one of several)."""
        return "classes"

    @property
    def heads(self) -> int:
        """The number of scores of a row: one for each class."""
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
        """Whether labels that are seen for the first time become new classes."""
        return self._classes.open

    def learn(self, X: Any, y: Any, weight: Any = None) -> Float64:
        """Learn from rows in order. Returns the scores made before each row was learned, one column per class.

        Args:
            X: rows, as in `Learner.learn`.
            y: one label per row.
            weight: one sample weight per row. Default: None, all 1.
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
        """Learn from one row; return the scores made before.

        A model that `train` made takes rows and labels as its data had them; others take names and numbers.

        Args:
            x: the features.
            y: the label.
            weight: the sample weight. Default: 1.
        """
        if self._rows is not None:
            return self._rows.learn(self._rows.by_column(x), y, weight)  # type: ignore[no-any-return]
        return self._learn_features(x, y, weight)

    def _learn_features(self, x: Any, y: Any, weight: Any = 1.0) -> Float64:  # type: ignore[override]
        """Learn from one mapping of names to numbers, whatever the model was trained on."""
        scores = self._learn_class(x, y, weight, self._classes.by_label)
        if scores is not None:  # the class is known: only the core changes, which has its own lock
            return scores
        with self._lock:
            number, new = self._classes.number(y, weight)
            if not new:
                return self._learn_one_wide(x, number, weight)
            with self._classes.joining(new):
                return self._learn_one_wide(x, number, weight, len(new))

    def predict(self, X: Any, *, extrapolate: bool = False) -> Float64:
        """Return the scores of rows, one column per class. The model does not change.

        Args:
            X: rows, as in `Learner.learn`.
            extrapolate: see `Learner.predict`. Default: False.
        """
        return self._scores_and_labels(self._data(X), extrapolate)[0]

    def _scores_and_labels(
        self, data: inputs.Input, extrapolate: bool, offset: Any = None
    ) -> tuple[Float64, list[Label]]:
        """Return the scores of rows and the labels of their columns, while other threads may add classes."""
        lock = self._lock if self._classes.open else contextlib.nullcontext()
        one_by_one = isinstance(data, inputs.NamedRows)  # without the lock, a class could be added between two rows
        with lock if one_by_one else contextlib.nullcontext():
            flat = self._ask(data, extrapolate, offset)
        with lock:
            labels = self.classes  # classes that were added since are at the end
            if flat.size > data.rows * len(labels):  # an earlier state with fewer classes was restored since
                flat = self._ask(data, extrapolate, offset)
        scores = by_row(flat, data.rows, len(labels))
        return scores, labels[: scores.shape[1]]

    def predict_one(self, x: Any, *, extrapolate: bool = False) -> Float64:  # type: ignore[override]
        """Return the scores of one mapping of names to numbers. The model does not change.

        Args:
            x: the features.
            extrapolate: see `Learner.predict`. Default: False.
        """
        if self._rows is not None:
            return self._rows.predict(self._rows.by_column(x), extrapolate=extrapolate)  # type: ignore[no-any-return]
        return self._predict_one_wide(x, extrapolate)

    def _predict_features(self, x: Any) -> Float64:  # type: ignore[override]
        """The scores for one mapping of names to numbers, whatever the model was trained on."""
        return self._predict_one_wide(x, False)

    def predict_label(self, X: Any) -> np.ndarray[Any, Any]:
        """Return the class with the largest score, for each row."""
        if not self._classes.labels:
            raise InputError("the model has not learned any class yet")
        scores, labels = self._scores_and_labels(self._data(X), False)
        return np.asarray(label_array(labels)[scores.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Float64:
        """Return the probability of each class, one column for each of `classes`; each row adds up to 1.

        Example:
            >>> import numpy as np, unitless as ul
            >>> m = ul.OneVsAll(["a", "b", "c"])
            >>> m.predict_proba(np.zeros((1, 2))).round(2).tolist()
            [[0.33, 0.33, 0.33]]
        """
        return self._shares(self.predict(X))

    def predict_interval(self, X: Any, level: float = USUAL_LEVEL) -> list[list[Label]]:
        """Return the prediction set of each row: a list of classes, the most probable first.

        This needs a model that measures its errors, such as the models of `train`.

        Args:
            X: rows, as in `Learner.learn`.
            level: the probability that the true class is in the set. Default: 0.9.
        """
        from .prediction_errors import label_sets, quantiles_of  # noqa: PLC0415  (an import cycle: this module reads models)

        shares = self.predict_proba(X)
        reach = quantiles_of(self).known_reach(checked_level(level))
        return label_sets(shares, shares.argmax(axis=1), reach, self.classes)

    def _shares(self, scores: Any) -> Float64:
        """Convert scores to probabilities: the odds of the classes, scaled so that each row adds up to 1."""
        if not LOSSES[self._options.loss].link.gives_probabilities:
            raise OptionError(f"probabilities are for logistic loss; this model's is {self._options.loss!r}")
        try:
            array = np.asarray(scores, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("scores are not all numbers") from None
        if array.ndim == 0:
            raise InputError("scores must be what `learn` and `predict` give, one for each class")
        # The score of an unknown class is minus infinity.
        odds = self._link(np.maximum(np.minimum(array, 700.0), -700.0))
        total = np.zeros(odds.shape[:-1])
        # Always column by column, so that rounding does not depend on the array's shape.
        for column in range(odds.shape[-1]):
            total += odds[..., column]
        return np.asarray(odds / total[..., None])

    def _scores_and_truth(self, scores: Float64, y: Any, weight: Float64 | None) -> tuple[Float64, NDArray[Any]]:
        """Check predictions and labels that a user wants to compare; return them as scores and truth, see `Scored`."""
        if scores.ndim != 2 or scores.shape[1] > self.heads:
            raise InputError("predictions must be scores: one row per example, one column per class")
        numbers, new = self._classes.numbers(y, len(scores), weight)
        if new:
            raise InputError(f"class {new[0]!r} is not among the model's classes")
        return scores, numbers.astype(np.intp)

    @property
    def rates(self) -> dict[Label, dict[float | Walk, float]]:
        """For each class, the mean progressive loss of each learning rate that is running."""
        reading, labels = self._reading_and_labels()
        return {label: reading.rates(c) for c, label in enumerate(labels)}

    @property
    def learning_rate(self) -> dict[Label, float]:
        """For each class, the learning rate in use; with "auto", the best one so far."""
        reading, labels = self._reading_and_labels()
        return {label: reading.rate(reading.leader(c)) for c, label in enumerate(labels)}

    @property
    def sparsity(self) -> dict[Label, float]:
        """For each class, the sparsity in use; with "auto", the best one so far."""
        reading, labels = self._reading_and_labels()
        return {label: reading.penalty(reading.leader(c)) for c, label in enumerate(labels)}

    def prune(self) -> None:
        """Remove all features whose weights are zero in every class; see `Learner.prune`."""
        pruning.prune(self)

    @property
    def weights(self) -> dict[Label, ByFeature]:
        """The weights w by class and feature, in the data's units. Of an ensemble: those of the linear member."""
        reading, labels = self._reading_and_labels()
        return {label: reading.weights(reading.leader(c)) for c, label in enumerate(labels)}

    @property
    def importance(self) -> dict[Label, ByFeature]:
        """The importance |w|·s by class and feature, in the unit of the score; see `Learner.importance`."""
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
        """The scales s by feature, which all classes share."""
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
    """Return the clipping of the scores: as given for losses that predict numbers, otherwise None."""
    if options.get("target"):
        raise OptionError(Phrase(Option("target", "auto"), " is for numbers; one-vs-all predicts classes"))
    if clip not in (None, "labels"):
        raise OptionError(f"clip is {clip!r}; with classes it must be 'labels' or None")
    return clip if loss in names(in_label_unit=True) else None


def by_row(flat: Float64, rows: int, width: int) -> Float64:
    """Return the core's flat result as an array with this many rows; `width` is its number of columns for no rows."""
    return flat.reshape(rows, -1) if rows else flat.reshape(0, width)
