"""What all models have in common: options, learning and predicting any kind of input, saving, display in notebooks."""

from __future__ import annotations

import contextlib
import importlib
import os
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, get_args

import numpy as np

from .. import _core, inputs
from ..errors import InputError, Option, OptionError, Phrase
from ..inputs import Float64
from ..losses import LOSSES, LossTask
from ..options import EnsembleKind, Kept, ModelType, Options
from ..presentation import html
from ..rules import RULES
from . import file as model_file
from .error_quantiles import ErrorQuantiles
from .extra_members import shares_shown
from .kernels import chosen_kernel
from .number_intervals import NumberIntervals
from .rates import Candidates

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..data.labels import RawLabels
    from ..data.sources.located_rows import Place
    from .classes import Label
    from .form_reading import FormReading
    from .trained_rows import TrainedRows

BIAS = "(bias)"
LARGE = 64 << 20  # bytes: notebooks show no features of larger models, because ranking them takes too long

Feature: TypeAlias = str | int
State: TypeAlias = "tuple[_core.Snapshot, list[Label] | None]"
Remembered: TypeAlias = "tuple[_core.Remembered, list[Label] | None]"


def _offsets(offset: Any, rows: int) -> Float64 | None:
    return None if offset is None else inputs.vector(offset, "offset", rows)


class _RowAccess:
    """How the core leaves single rows to a model that `train` made. It does not keep the model alive."""

    def __init__(self, model: Model) -> None:
        self._model = weakref.ref(model)

    def _rows(self) -> TrainedRows:
        model = self._model()
        assert model is not None  # it is the one that asks
        assert model._rows is not None
        return model._rows

    def learn(self, x: Any, y: Any, weight: Any, offset: Any) -> Any:
        rows = self._rows()
        return rows.learn(rows.by_column(x), y, weight, offset)

    def predict(self, x: Any, offset: Any, extrapolate: bool) -> Any:
        rows = self._rows()
        return rows.predict(rows.by_column(x), offset, extrapolate)


class Model(_core.Learner):
    """The core's learner with its options, and input of any kind."""

    _kind: ClassVar[model_file.Kind]  # the kind in model files

    @classmethod
    def _fresh(
        cls, options: dict[str, Any], labels: list[Label] | None, open: bool, rates: Sequence[float] | None
    ) -> Model:
        """Make a new model of this kind with these options."""
        raise NotImplementedError

    def _own_rates(self) -> Sequence[float] | None:
        """The rates of a sweep; None for other models."""
        return None

    def _open_to_classes(self) -> bool:
        """Whether labels that are seen for the first time become new classes."""
        return False

    def _has_one_lane(self) -> bool:
        """Whether there is a single set of weights, whose losses are not recorded by rate."""
        return False

    def __init__(
        self, options: Options, rates: Sequence[float] | None = None, classes: int = 0, open: bool = False
    ) -> None:
        self._options = options
        self._earlier: Remembered | None = None  # the best state so far in an interrupted training
        self._errors: NumberIntervals | ErrorQuantiles | None = None  # None if errors of predictions were not counted
        self._record: dict[str, Any] | None = None
        self._trained_rows: TrainedRows | None = None
        self._predict_only = False  # whether the state lacks what only learning needs
        self._settled: ModelType | None = None  # what "auto" has become; read from the core when needed
        self._ensemble: EnsembleKind | None = None  # the added members; read from the core when needed
        self._candidates = Candidates.of(options, rates)
        several = len(self._candidates.rates) > 1
        super().__init__(
            **options.core(),
            rates=list(self._candidates.rates),
            penalties=list(self._candidates.penalties),
            across=self._candidates.across,
            first_rate=self._candidates.first,
            last_rate=self._candidates.last,
            selecting="sweep" if rates else "follow" if several else "none",
            classes=classes,
            open=open,
            kernel=chosen_kernel(),
        )

    @property
    def options(self) -> Options:
        """The options of this model."""
        return self._options

    @property
    def task(self) -> LossTask:
        """What is predicted: "regression" (a number), "binary" (one of two classes) or "classes" (one of several).

        Example:
            >>> import unitless as ul
            >>> ul.Learner(loss="logistic").task
            'binary'
        """
        return LOSSES[self._options.loss].task

    @property
    def heads(self) -> int:
        """The number of scores of a row: one, or one for each class."""
        return 1

    def _number_of(self, label: Any) -> Any:
        """Return the core's number for a label that was learned."""
        return label

    def _of_heads(self, what: str) -> list[Any]:
        """Return a property of the model, such as "weights", as a list with one entry for each head."""
        return [getattr(self, what)]

    @property
    def _class_labels(self) -> list[Label]:
        """The labels of several classes, in the order of the heads; empty for other models."""
        return []

    def predict_label(self, X: Any) -> np.ndarray[Any, Any]:
        """The label of each row: the class, or the number that is predicted."""
        raise NotImplementedError

    def predict_label_one(self, x: Any) -> Any:
        """The label of one row, which `predict_label` would give.

        Example:
            >>> import unitless as ul
            >>> m = ul.Learner(loss="logistic")
            >>> for x in (1.0, -1.0) * 50:
            ...     _ = m.learn_one({"x": x}, x > 0)
            >>> m.predict_label_one({"x": 2.0})
            True
        """
        label = self.predict_label([x])[0]
        return label.item() if isinstance(label, np.generic) else label

    def _scores(self, data: inputs.Input, offset: Any = None, extrapolate: bool = False) -> Float64:
        """Return the scores of rows, one column per head. The model does not change."""
        return self._ask(data, extrapolate, offset).reshape(data.rows, 1)

    def _scores_and_labels(
        self, data: inputs.Input, extrapolate: bool, offset: Any = None
    ) -> tuple[Float64, list[Label]]:
        """Return the scores of rows as `predict` does, and for several classes the labels of their columns."""
        return self._ask(data, extrapolate, offset), self._class_labels

    @property
    def model_type(self) -> ModelType | None:
        """The model type: the given one; for "auto", the one that the first row has determined (None before that row).

        Example:
            >>> import unitless as ul
            >>> ul.Learner(model_type="curves").model_type
            'curves'
            >>> print(ul.Learner(model_type="auto").model_type)
            None
        """
        if self._options.known_model_type is not None:
            return self._options.known_model_type
        if self._settled is None:
            self._settled = self._snapshot()["form"]["settled"]
        return self._settled

    @property
    def ensemble(self) -> EnsembleKind:
        """Which members `ensemble=True` has added to the model's own rule.

        "newton": second-order learners and, for more than two classes, a softmax model; "snag": a learner with that
        rule; "softmax": a softmax model; "none": no member, because `ensemble` is False or no row was learned.

        Example:
            >>> import numpy as np, unitless as ul
            >>> m = ul.Learner(ensemble=True)
            >>> _ = m.learn(np.eye(3), [1.0, 2.0, 3.0])
            >>> m.ensemble
            'newton'
        """
        if self._options.ensemble is False:
            return "none"
        if self._ensemble is None:
            self._ensemble = self._snapshot()["ensemble"]
        return self._ensemble or "none"

    @property
    def members(self) -> dict[str, float]:
        """The share of each member in the predictions of the ensemble; the shares add up to 1.

        "linear" is the learner with the model's own rule; "curves" and "trees" have linear terms as well; the other
        names are those of the members that `ensemble=True` has added.

        Example:
            >>> import numpy as np, unitless as ul
            >>> rng = np.random.default_rng(0)
            >>> x = rng.normal(size=(2000, 1))
            >>> m = ul.Learner(model_type="curves")
            >>> _ = m.learn(x, np.abs(x[:, 0]))
            >>> m.members["curves"] > m.members["linear"]
            True
        """
        from .form_reading import member_shares  # noqa: PLC0415  (an import cycle: this module reads models)

        return member_shares(self._snapshot(False))

    def _form_reading(self) -> FormReading:
        from .form_reading import FormReading  # noqa: PLC0415  (an import cycle: this module reads models)

        return FormReading(self._options, self._candidates, self._snapshot())

    def _mixes(self) -> bool:
        """Whether the model has several members, or curves or trees."""
        return self._bends() or self.ensemble != "none"

    def _adds_up(self) -> bool:
        """Whether a score is a single sum of weights times values."""
        options = self._options
        return not (self._mixes() or LOSSES[options.loss].coupled or RULES[options.rule].second_order)

    def _bends(self) -> bool:
        """Whether the model has curves or trees."""
        return self.model_type not in (None, "linear")

    def _check_linear(self, what: str) -> None:
        """Raise an error if the model is not linear; `what` completes "this model cannot be ..."."""
        if not self._mixes():
            return
        plain = (Option("model_type", "linear"), " and ", Option("ensemble", False))
        who = f"of model type {self.model_type!r}" if self._bends() else f"with an ensemble ({self.ensemble})"
        raise OptionError(
            f"a model {who} cannot be {what} yet", advice=Phrase("a model that is made with ", *plain, " can")
        )

    @property
    def kept(self) -> Kept:
        """The weights that predict: the "last" ones or the "averaged" ones; see `keep`."""
        return "averaged" if self._keeps_average else "last"

    def keep(self, kept: Kept) -> None:
        """Choose the weights that predict, are shown and are exported: the "last" ones or the "averaged" ones.

        Learning always continues from the last weights, predicts with them, and updates the average. While there is no
        average yet (with `bits`, for the first 2**bits/16 examples), the last weights are used instead.

        Example:
            >>> import numpy as np, unitless as ul
            >>> rng = np.random.default_rng(0)
            >>> X = rng.normal(size=(2000, 3)) * [1e-6, 1, 1e6]
            >>> truth = X @ [2e6, 1.0, -3e-6]
            >>> m = ul.Learner(learning_rate=2, average=True)
            >>> _ = m.learn(X, truth + 3 * rng.normal(size=2000))
            >>> last = np.mean((m.predict(X) - truth) ** 2)
            >>> m.keep("averaged")
            >>> bool(np.mean((m.predict(X) - truth) ** 2) < last / 2)
            True
        """
        if kept not in get_args(Kept):
            raise OptionError(f"is {kept!r}; it must be one of {', '.join(map(repr, get_args(Kept)))}", option="kept")
        if kept == "averaged" and not self._options.average:
            raise OptionError(Phrase("this model does not average its weights; make it with ", Option("average", True)))
        self._keeps_average = kept == "averaged"

    def _choose_rates(self, choose: bool) -> None:
        """Set whether candidate rates are compared by their losses. If not, the best rate so far stays in use.

        Rates must not be compared on rows that were learned before, because these losses do not show how new rows are
        predicted.
        """
        self._chooses_rates = choose

    def _remember(self) -> Remembered:
        """Return the current state, for `_go_back`."""
        with self._locked():
            return self._remembered(), getattr(self, "classes", None)

    def _go_back(self, state: State | Remembered) -> None:
        """Restore an earlier state of this model, or of another one with the same options."""
        with self._locked():
            self._restore_state(state[0])

    def _restore_state(self, state: _core.Snapshot | _core.Remembered) -> None:
        self._restore(state)
        self._settled = self._ensemble = None

    @property
    def _training(self) -> dict[str, Any] | None:
        """How it was trained, where `train` made it: then it takes rows and labels as the data had them."""
        return self._record

    @_training.setter
    def _training(self, record: dict[str, Any] | None) -> None:
        self._record = record
        self._trained_rows = None
        self._access_rows_with(None if record is None else _RowAccess(self))

    @property
    def _rows(self) -> TrainedRows | None:
        """Reads rows and labels as training did, where `train` made the model."""
        if self._trained_rows is None and self._record is not None:
            from .trained_rows import TrainedRows  # noqa: PLC0415  (only models of train need it)

            self._trained_rows = TrainedRows(self._record, self)
        return self._trained_rows

    @property
    def predictor(self) -> Any:
        """A `Predictor` of this model, which `train` must have made."""
        # The modules of Predictor import this one, so it is imported here, through the package.
        return importlib.import_module(__name__.partition(".")[0]).Predictor(self)

    def _data(self, X: Any) -> inputs.Input:
        """Convert X for the core. A model that `train` made reads the columns of a frame as in training."""
        return self._data_and_offset(X)[0]

    def _data_and_offset(self, X: Any) -> tuple[inputs.Input, Float64 | None]:
        """X as the core reads it, and the offsets of its rows, if `train` was told which column has them."""
        if isinstance(X, np.ndarray | inputs.Input) or hasattr(X, "tocsr"):
            return inputs.read(X), None
        if self._rows is not None and inputs.has_named_rows(X):
            return self._rows.read(X)
        if isinstance(X, list):
            return inputs.read(X), None
        from ..data.columns import frame_reader, policy  # noqa: PLC0415  (only frames need them)

        numbers_only = policy.Policy(booleans="indicator", text="error", missing="error", dates="error")
        return frame_reader.read(X, numbers_only), None

    def _feed(
        self, data: inputs.Input, labels: Float64, weight: Any, new_classes: int = 0, offset: Any = None
    ) -> Float64:
        """Learn rows, and return the predictions made before as the core's flat array."""
        weights = None if weight is None else inputs.vector(weight, "weight", data.rows)
        given = (labels, weights, new_classes, _offsets(offset, data.rows))
        if isinstance(data, inputs.Dense):
            return self._learn_dense(data.array, *given)
        if isinstance(data, inputs.Compressed):
            return self._learn_compressed(data.values, data.indices, data.row_starts, data.columns, *given)
        if isinstance(data, inputs.Frame):
            return self._learn_table(data.names, data.columns, data.missing, data.indicators, data.whole, *given)
        if isinstance(data, inputs.TextRows):
            return self._learn_rows(data.read, *given)
        return self._learn_named(list(data.mappings), *given)

    def _ask(self, data: inputs.Input, extrapolate: bool, offset: Any = None) -> Float64:
        """Predict rows, and return the core's flat array."""
        given = (extrapolate, _offsets(offset, data.rows))
        if isinstance(data, inputs.Dense):
            return self._predict_dense(data.array, *given)
        if isinstance(data, inputs.Compressed):
            return self._predict_compressed(data.values, data.indices, data.row_starts, data.columns, *given)
        if isinstance(data, inputs.Frame):
            return self._predict_table(data.names, data.columns, data.missing, data.indicators, data.rows, *given)
        if isinstance(data, inputs.TextRows):
            return self._predict_rows(data.read, *given)
        rows = []
        for number, row in enumerate(data.mappings):
            try:
                own = 0.0 if given[1] is None else float(given[1][number])
                rows.append(self._predict_one_wide(row, extrapolate, own))
            except InputError as error:
                raise error.at(row=number) from None
        return np.concatenate(rows) if rows else np.zeros(0)

    def _class_numbers(self, labels: RawLabels, place: Place, weight: Float64 | None) -> tuple[Float64, list[Label]]:
        """Convert class labels for the core; also return the classes that are new."""
        raise NotImplementedError

    def _class_number(self, label: Any, weight: Any) -> tuple[float, list[Label]]:
        """One label as the core takes it, and the classes that join with it."""
        return label, []

    def _joining(self, new: list[Label]) -> contextlib.AbstractContextManager[None]:
        """Return a context in which rows with new classes are learned; see `Classes.joining`."""
        return contextlib.nullcontext()

    def _locked(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which no class can be added, so that the core's state and the labels belong together."""
        lock: contextlib.AbstractContextManager[Any] | None = getattr(self, "_lock", None)
        return contextlib.nullcontext() if lock is None else lock

    def _state_and_labels(self, slots: bool = True) -> State:
        """Return the core's state, with or without slots, and the class labels at the same moment."""
        with self._locked():
            return self._snapshot(slots), getattr(self, "classes", None)

    def _link(self, score: Any) -> Float64:
        """Convert scores to predictions: probabilities (logistic), rates (poisson), or the scores themselves."""
        return LOSSES[self._options.loss].link.function(np.asarray(score, dtype=np.float64))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, completely or not at all. `ul.load` reads it, and the model can learn on.

        Args:
            path: the file; an existing file is replaced.

        Example:
            >>> import os, tempfile, unitless as ul
            >>> m = ul.Learner()
            >>> _ = m.learn([[1.0], [2.0]], [1.0, 2.0])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     m.save(os.path.join(folder, "model.unitless"))
            ...     ul.load(os.path.join(folder, "model.unitless")).examples
            2
        """
        model_file.save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        return model_file.from_bytes, (model_file.to_bytes(self),)

    def __copy__(self) -> Self:
        function, arguments = self.__reduce__()
        copy: Self = function(*arguments)
        return copy

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self.__copy__()

    def copy(self) -> Self:
        """An independent copy of the model, in the same state.

        Example:
            >>> import unitless as ul
            >>> m = ul.Learner()
            >>> copy = m.copy()
            >>> _ = m.learn([[1.0]], [1.0])
            >>> m.examples, copy.examples
            (1, 0)
        """
        return self.__copy__()

    def __sizeof__(self) -> int:
        return self.nbytes

    def _repr_html_(self) -> str:
        small = self.nbytes < LARGE
        facts = [("options", self._changed_options()), ("model type", self._found_model_type())]
        facts += [("members", shares_shown(self.members))] if small and self._mixes() else []
        facts += [("examples", f"{self.examples:,}"), *self._facts()]
        return html.card(self._kind, html.facts(facts), *(self._tables() if small and self.examples else ()))

    def _facts(self) -> list[tuple[str, str]]:
        """Return the facts that a notebook shows in addition to the options."""
        return []

    def _tables(self) -> list[html.Html]:
        """Return the tables that a notebook shows; called if the model is not too large."""
        return []

    def _found_model_type(self) -> str:
        """Return what "auto" has become; empty for a given model type, which is shown among the options."""
        return self.model_type or "" if self._options.model_type == "auto" else ""

    @property
    def _of_weights(self) -> str:
        """A note for tables of weights that are not the whole model; empty for a linear model."""
        if not self._mixes():
            return ""
        others = "curves and trees" if self._bends() else "the other members"
        return f"Weights and scales are those of the linear terms; effects count {others} too."

    def _counted(self, *facts: str) -> str:
        """Return the text that the model's repr shows after its options."""
        ensemble = "" if self.ensemble == "none" else f"with {self.ensemble}"
        return ", ".join(filter(None, [self._found_model_type(), ensemble, *facts, f"{self.examples:,} examples"]))

    def _changed_options(self, *hidden: str) -> str:
        default = Options()
        return ", ".join(
            f"{name}={value!r}"
            for name, value in self._options.asdict().items()
            if value != getattr(default, name) and name not in hidden
        )
