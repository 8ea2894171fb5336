"""`Softmax`: one model for several classes, whose probabilities are learned together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import OptionError
from ..losses import LOSSES, names
from ..options import Auto, Loss, ModelType, Options, Rule, check_names
from .one_vs_all import OneVsAll


class Softmax(OneVsAll):
    """Multinomial logistic regression: one model for several classes, whose probabilities add up to 1.

    It has weights for each class and is used like `OneVsAll`, but it learns differently. `OneVsAll` learns to separate
    each class from all others independently. In `Softmax`, each row changes the weights of all classes, in proportion
    to the errors of their probabilities. For data in random order `Softmax` is usually better, above all if no single
    line separates a class from the rest. For streams in their own order, `OneVsAll` often is better. A score is the log
    odds of a class.

    Args:
        classes: the labels; see `OneVsAll`. With None, a label becomes a class when it is first seen. Until then the
            model has one additional class without rows, and a new class begins with its weights. Default: None.
        rule: how weights are updated; see `Learner`. Default: "nag".
        learning_rate: a number, or "auto", which runs several rates and predicts with the one whose loss (minus the
            logarithm of the true class's probability) is smallest so far; all classes have the same rate. Default:
            "auto".
        model_type: "linear", "curves", "trees", "auto" or "curves only"; see `Learner`. Default: "linear".
        loss: "softmax" is the only value. Default: "softmax".
        options: all other options of `Learner`, with its defaults.

    Example:
        >>> import numpy as np, unitless as ul
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(3000, 1)) * 1000
        >>> y = np.where(X[:, 0] < -500, "low", np.where(X[:, 0] > 500, "high", "between"))
        >>> m = ul.Softmax(["low", "between", "high"])
        >>> scores = m.learn(X, y)  # made before each row was learned
        >>> bool(np.mean(np.array(m.classes)[scores[1000:].argmax(axis=1)] == y[1000:]) > 0.95)
        True
        >>> m.predict_label([[-2000.0], [0.0], [2000.0]]).tolist()
        ['low', 'between', 'high']
    """

    _kind = "Softmax"

    def __init__(
        self,
        classes: Iterable[Any] | int | None = None,
        rule: Rule = "nag",
        learning_rate: float | Auto = "auto",
        *,
        model_type: ModelType = "linear",
        loss: Loss = "softmax",
        **options: Any,
    ) -> None:
        check_names(options)
        settled = Options(rule=rule, loss=loss, learning_rate=learning_rate, model_type=model_type, **options)
        if not LOSSES[settled.loss].coupled:
            one = names(task="classes")[0]
            raise OptionError(f"is {loss!r}; that of a Softmax is {one!r}; ul.OneVsAll takes others", option="loss")
        self._begin(settled, classes)
