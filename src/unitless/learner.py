"""The learner: one model, one pass, any input."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core, inputs
from .errors import OptionError
from .inputs import Float64
from .options import Clip, Loss, Options, Order, Precision, Rule, Schedule

BIAS = "(bias)"


def kernels() -> list[str]:
    """The instruction sets that this machine can run, slowest first. All give the same bits.

    The environment variable UNITLESS_KERNEL chooses one; otherwise it is the last.
    """
    return _core.kernels()


def chosen_kernel() -> str:
    """The instruction set for new learners."""
    name = os.environ.get("UNITLESS_KERNEL") or kernels()[-1]
    if name not in kernels():
        raise OptionError(f"UNITLESS_KERNEL is {name!r}; this machine runs {', '.join(kernels())}")
    return name


class Learner(_core.Learner):
    """A linear model that learns online, one example at a time, whatever the units of its features.

    With its defaults this is Algorithm 2 (NAG) of *Normalized Online Learning* (Ross, Mineiro, Langford 2013) with
    importance-aware steps; `importance_aware=False` gives the paper's algorithms to the letter.

    Args:
        rule: how weights are updated. "nag" (normalized adaptive gradient), "snag" (the same, scales from second
            moments: sturdier against outliers), "ng" (normalized gradient); and the baselines that do depend on
            units, "ag" (adaptive gradient, AdaGrad) and "gd" (gradient descent).
        loss: "squared", "quantile" (predicts the quantile given by `quantile`), "poisson" (counts; the score is the
            logarithm of the rate), "logistic" and "hinge" (two classes; labels {-1, +1}, {0, 1} or booleans).
        learning_rate: the step size η. For "nag", "snag", "ng" good values are near 1 whatever the data's units.
        importance_aware: never step past the label, however large the rate or an example's weight.
        bias: add a constant feature.
        quantile: which quantile "quantile" loss estimates.
        schedule: for "gd" and "ng": "sqrt" (η/√t, the default) or "constant".
        order: "paper" adapts scales, then predicts; "vw" predicts first, as Vowpal Wabbit does.
        clip: "labels" limits predictions to the range of the labels seen before; "vw" to Vowpal Wabbit's range, which
            includes the label being predicted (for comparison only: its progressive loss is too good).
        bits: None keeps every feature name exactly; a number b hashes names into 2**b slots, bounding memory.
        precision: of the stored state. "float32" takes 16 bytes per feature instead of 24; its rounding is random
            but reproducible, so that long streams go on learning.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3)) * [1e-6, 1, 1e6]  # three units
        >>> y = X @ [2e6, 1.0, -3e-6] + 1
        >>> m = ul.Learner()
        >>> p = m.learn(X, y)  # predictions made before each update
        >>> bool(np.mean((p[1000:] - y[1000:]) ** 2) < 0.01 * np.var(y))
        True
        >>> {name: float(f"{w:.2g}") for name, w in m.weights.items()}
        {'(bias)': 1.0, 0: 2000000.0, 1: 1.0, 2: -3e-06}
    """

    def __init__(
        self,
        rule: Rule = "nag",
        loss: Loss = "squared",
        learning_rate: float = 0.5,
        *,
        importance_aware: bool = True,
        bias: bool = True,
        quantile: float = 0.5,
        schedule: Schedule | None = None,
        order: Order = "paper",
        clip: Clip | None = None,
        bits: int | None = None,
        precision: Precision = "float64",
    ) -> None:
        self._options = options = Options(
            rule, loss, learning_rate, importance_aware, bias, quantile, schedule, order, clip, bits, precision
        )
        super().__init__(
            rule=options.rule,
            loss=options.loss,
            learning_rate=float(options.learning_rate),
            importance_aware=options.importance_aware,
            bias=options.bias,
            quantile=float(options.quantile),
            schedule=options.schedule or "sqrt",
            order=options.order,
            clip=options.clip or "none",
            precision=options.precision,
            bits=options.bits,
            kernel=chosen_kernel(),
        )

    @property
    def options(self) -> Options:
        """What this learner was made with."""
        return self._options

    def learn(self, X: Any, y: Any, weight: Any = None) -> Float64:
        """Learn from rows in order. Gives the predictions made before each row was learned.

        Args:
            X: a 2-D array (any numeric type and strides), a SciPy sparse matrix, a pandas, polars or pyarrow frame
                (features by column name), or a list of mappings of names to numbers.
            y: one label per row.
            weight: one importance weight per row; an example of weight 2 counts as two.

        One call, many calls, row by row, dense, sparse or by name: the same model, to the last bit.
        """
        data = inputs.read(X)
        labels = inputs.vector(y, "y", data.rows)
        weights = None if weight is None else inputs.vector(weight, "weight", data.rows)
        if isinstance(data, inputs.Dense):
            return self._learn_dense(data.array, labels, weights)
        if isinstance(data, inputs.Compressed):
            return self._learn_compressed(data.values, data.indices, data.row_starts, data.columns, labels, weights)
        if isinstance(data, inputs.Frame):
            return self._learn_frame(data.names, data.columns, labels, weights)
        return self._learn_named(list(data.mappings), labels, weights)

    def predict(self, X: Any, *, extrapolate: bool = False) -> Float64:
        """The predictions for rows; changes nothing.

        Each is what `learn` would have predicted for that row. Beyond the largest value that a feature has shown,
        "nag" holds it at that value (Algorithm 2's squash); with `extrapolate=True` the model is plainly linear.
        """
        data = inputs.read(X)
        if isinstance(data, inputs.Dense):
            return self._predict_dense(data.array, extrapolate)
        if isinstance(data, inputs.Compressed):
            return self._predict_compressed(data.values, data.indices, data.row_starts, data.columns, extrapolate)
        if isinstance(data, inputs.Frame):
            return self._predict_frame(data.names, data.columns, data.rows, extrapolate)
        return np.array([self.predict_one(row, extrapolate=extrapolate) for row in data.mappings])

    def link(self, score: Any) -> Float64:
        """What a score stands for: a probability for logistic loss, a rate for poisson, itself otherwise."""
        scores: Float64 = np.asarray(score, dtype=np.float64)
        if self._options.loss == "logistic":
            small = np.exp(-np.abs(scores))
            return np.asarray(np.where(scores >= 0, 1.0, small) / (1 + small))
        return np.asarray(np.exp(scores)) if self._options.loss == "poisson" else scores

    def losses(self, predictions: Any, y: Any) -> Float64:
        """The loss of each prediction: with the predictions of `learn`, the progressive loss."""
        scores = inputs.vector(predictions, "predictions", len(predictions))
        return self._loss(0, scores, inputs.vector(y, "y", len(scores), "predictions"), np.zeros(0))

    @property
    def weights(self) -> dict[str | int, float]:
        """w by feature, in the data's units: `predict(X, extrapolate=True)` is Σ w·x."""
        state = self._snapshot()
        return self._by_feature(state, self._in_units(state))

    @property
    def scales(self) -> dict[str | int, float]:
        """s by feature: the largest |x| ("snag": the root mean square of x)."""
        state = self._snapshot()
        return self._by_feature(state, self._scale(state))

    @property
    def importance(self) -> dict[str | int, float]:
        """|w|·s by feature: how far the feature moves the prediction. It has no unit of the feature's."""
        state = self._snapshot()
        v = np.abs(state["v"])
        return self._by_feature(state, v if self._options.rule in ("ng", "nag", "snag") else v * state["scale"])

    def _scale(self, state: _core.Snapshot) -> Float64:
        scale = state["scale"]
        return scale / np.sqrt(state["t"]) if self._options.rule == "snag" else scale

    def _in_units(self, state: _core.Snapshot) -> Float64:
        return state["v"] / self._scale(state) if self._options.rule in ("ng", "nag", "snag") else state["v"]

    def _by_feature(self, state: _core.Snapshot, values: Float64) -> dict[str | int, float]:
        names = state["names"]
        keys = ((names[slot - 1] if names is not None else int(slot) - 1) if slot else BIAS for slot in state["slots"])
        return dict(zip(keys, values.tolist(), strict=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, all of it or nothing. A loaded model goes on as if it had never stopped."""
        from . import model_file  # noqa: PLC0415  (it needs this class)

        model_file.save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        from . import model_file  # noqa: PLC0415

        return model_file.from_bytes, (model_file.to_bytes(self),)

    def __copy__(self) -> Learner:
        function, arguments = self.__reduce__()
        copy: Learner = function(*arguments)
        return copy

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Learner:
        return self.__copy__()

    def copy(self) -> Learner:
        """An independent learner in the same state."""
        return self.__copy__()

    def __sizeof__(self) -> int:
        return self.nbytes

    def __repr__(self) -> str:
        default = Options()
        changed = ", ".join(
            f"{name}={value!r}" for name, value in self._options.asdict().items() if value != getattr(default, name)
        )
        return f"<Learner({changed}): {self.examples:,} examples>"
