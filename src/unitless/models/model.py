"""What every model here shares: options, ways of feeding it, reading it, keeping it."""

from __future__ import annotations

import contextlib
import importlib
import os
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, get_args

import numpy as np

from .. import _core, html, inputs
from ..errors import Error, InputError, Option, OptionError, Phrase
from ..inputs import Float64
from ..losses import LOSSES, LossTask
from ..options import EnsembleKind, Kept, ModelType, Options
from ..rates import Candidates
from ..rules import RULES
from . import file as model_file
from .error_quantiles import ErrorQuantiles
from .extra_members import shares_shown
from .kernels import chosen_kernel

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..data.labels import RawLabels
    from ..data.sources.located_rows import Place
    from .classes import Label
    from .form_reading import FormReading
    from .trained_rows import TrainedRows

BIAS = "(bias)"
LARGE = 64 << 20  # bytes: of a model of this size notebooks show no features, because looking for them takes too long

Feature: TypeAlias = str | int
State: TypeAlias = "tuple[_core.Snapshot, list[Label] | None]"


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
        return self._rows().learn(x, y, weight, offset)

    def predict(self, x: Any, offset: Any, extrapolate: bool) -> Any:
        return self._rows().predict(x, offset, extrapolate)


class Model(_core.Learner):
    """The core's learner with its options, and input of any kind."""

    _kind: ClassVar[model_file.Kind]  # what model files call it

    @classmethod
    def _fresh(
        cls, options: dict[str, Any], labels: list[Label] | None, open: bool, rates: Sequence[float] | None
    ) -> Model:
        """A model of this kind that has seen nothing."""
        raise NotImplementedError

    def _own_rates(self) -> Sequence[float] | None:
        """The rates of a sweep."""
        return None

    def _open_to_classes(self) -> bool:
        """Whether classes join when they are first met."""
        return False

    def _has_one_lane(self) -> bool:
        """Whether there is one set of weights, without scores of its rate."""
        return False

    def __init__(
        self, options: Options, rates: Sequence[float] | None = None, classes: int = 0, open: bool = False
    ) -> None:
        self._options = options
        self._earlier: State | None = None  # the best state so far of an interrupted training
        self._errors: ErrorQuantiles | None = None  # None if the errors of predictions were not counted
        self._record: dict[str, Any] | None = None
        self._trained_rows: TrainedRows | None = None
        self._predict_only = False  # whether the state lacks what only learning needs
        self._settled: ModelType | None = None  # the model type of "auto", read from the core when needed
        self._ensemble: EnsembleKind | None = None  # the members, read from the core when needed
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
        """What this model was made with."""
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
        """How many scores a row has: one, or one for each class."""
        return 1

    def _number_of(self, label: Any) -> Any:
        """A label that was learned, as the core has it."""
        return label

    def _of_heads(self, what: str) -> list[Any]:
        """A property of the model, such as "weights", once for each head."""
        return [getattr(self, what)]

    @property
    def _class_labels(self) -> list[Label]:
        """Of several classes their labels, in the order of the heads."""
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
        """The scores of rows, one column for each head; changes nothing."""
        return self._ask(data, extrapolate, offset).reshape(data.rows, 1)

    @property
    def model_type(self) -> ModelType | None:
        """The model type: the given one, or for "auto" the one that the first row determined; None before that row.

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
        from .form_reading import member_shares  # noqa: PLC0415  (which reads models)

        return member_shares(self._snapshot(False))

    def _form_reading(self) -> FormReading:
        from .form_reading import FormReading  # noqa: PLC0415  (which reads models)

        return FormReading(self._options, self._candidates, self._snapshot())

    def _mixes(self) -> bool:
        """Whether the model has several members, or curves or trees."""
        return self._bends() or self.ensemble != "none"

    def _adds_up(self) -> bool:
        """Whether a score is one sum of weights by values."""
        options = self._options
        return not (self._mixes() or LOSSES[options.loss].coupled or RULES[options.rule].second_order)

    def _bends(self) -> bool:
        """Whether the model has curves or trees."""
        return self.model_type not in (None, "linear")

    def _check_linear(self, what: str, kind: type[Error] = OptionError) -> None:
        """Refuse what only linear models can do so far; `what` completes "cannot be"."""
        if not self._mixes():
            return
        plain = (Option("model_type", "linear"), " and ", Option("ensemble", False))
        who = f"of model type {self.model_type!r}" if self._bends() else f"with an ensemble ({self.ensemble})"
        raise kind(f"a model {who} cannot be {what} yet", advice=Phrase("a model that is made with ", *plain, " can"))

    @property
    def kept(self) -> Kept:
        """Which weights predict: the "last" ones, or the "averaged" ones (see `keep`)."""
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
        """Set whether the candidate rates are compared by their losses. If not, the best rate so far stays in use.

        Rates are not compared on rows that were learned before: their losses do not tell how new rows are predicted.
        """
        self._chooses_rates = choose

    def _remembered(self) -> State:
        """The current state, for `_go_back`."""
        return self._state_and_labels()

    def _go_back(self, state: State) -> None:
        """Restore an earlier state of this model, or of another one with the same options."""
        with self._locked():
            self._restore_state(state[0])

    def _restore_state(self, state: _core.Snapshot) -> None:
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
        """What to put into service, where `train` made the model: see `Predictor`."""
        # A predictor is made of models, so that their modules cannot know it; the package as a whole does.
        return importlib.import_module(__name__.partition(".")[0]).Predictor(self)

    def _data(self, X: Any) -> inputs.Input:
        """X as the core reads it. A model that `train` made knows what a frame's columns are."""
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
        """Learn; the predictions made before, as the core gives them."""
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
        """Predict; as the core gives it."""
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
        """Labels of classes as the core takes them, and the classes that join with them."""
        raise NotImplementedError

    def _class_number(self, label: Any, weight: Any) -> tuple[float, list[Label]]:
        """One label as the core takes it, and the classes that join with it."""
        return label, []

    def _joining(self, new: list[Label]) -> contextlib.AbstractContextManager[None]:
        """While this is held new classes are learned; they stay unless the data turns out to be bad."""
        return contextlib.nullcontext()

    def _locked(self) -> contextlib.AbstractContextManager[Any]:
        """While this is held no class joins: what the core knows and the labels outside fit together."""
        lock: contextlib.AbstractContextManager[Any] | None = getattr(self, "_lock", None)
        return contextlib.nullcontext() if lock is None else lock

    def _state_and_labels(self, slots: bool = True) -> State:
        """All that the core knows, with or without slots, and the classes' labels of the same moment."""
        with self._locked():
            return self._snapshot(slots), getattr(self, "classes", None)

    def _link(self, score: Any) -> Float64:
        """What a score stands for, by the loss: a probability (logistic), a rate (of counts), or the score itself."""
        return LOSSES[self._options.loss].link.function(np.asarray(score, dtype=np.float64))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, completely or not at all; `ul.load` reads it, and it can learn further rows.

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
        """The facts that a notebook shows in addition to the options."""
        return []

    def _tables(self) -> list[html.Html]:
        """What a notebook shows of a model that is not too large."""
        return []

    def _found_model_type(self) -> str:
        """What "auto" has become, for those who read; a model type that was asked for stands among the options."""
        return self.model_type or "" if self._options.model_type == "auto" else ""

    @property
    def _of_weights(self) -> str:
        """A remark for tables of weights that are not the whole model; empty otherwise."""
        if not self._mixes():
            return ""
        others = "curves and trees" if self._bends() else "the other members"
        return f"Weights and scales are those of the linear terms; importance counts {others} too."

    def _counted(self, *facts: str) -> str:
        """What a model shows of itself after its options."""
        ensemble = "" if self.ensemble == "none" else f"with {self.ensemble}"
        return ", ".join(filter(None, [self._found_model_type(), ensemble, *facts, f"{self.examples:,} examples"]))

    def _changed_options(self, *hidden: str) -> str:
        default = Options()
        return ", ".join(
            f"{name}={value!r}"
            for name, value in self._options.asdict().items()
            if value != getattr(default, name) and name not in hidden
        )
