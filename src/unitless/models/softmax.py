"""Many classes: one model that tells all of them apart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import OptionError
from ..losses import LOSSES, names
from ..options import Auto, Loss, ModelType, Options, Rule, check_names
from .one_vs_all import OneVsAll


class Softmax(OneVsAll):
    """Multinomial logistic regression: one model of all classes, whose probabilities add up to 1 by themselves.

    It has weights for each class, as `OneVsAll`, and is used like it: what differs is how they are learned. There each
    class is told from all others by itself; here every row moves the weights of all classes together, by as much as
    their probabilities were wrong. On data in random order that is usually better, above all where no line tells a
    class from the rest; on streams in their own order `OneVsAll` often is. A score is the logarithm of a class's odds.

    Args:
        classes: the labels, as in `OneVsAll`. With None, classes join when they are first met. Up to then one more
            class that no row has is kept beside them; a class that joins begins with its weights.
        rule: see `Learner`.
        learning_rate: "auto" runs several rates and follows the one whose loss, minus the logarithm of the probability
            of each row's own class, is smallest so far: one rate for all classes.
        model_type: "linear", "curves", "trees", "auto" or "curves only"; see `Learner`.
        loss: there is only one.
        options: all further options of `Learner`.

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
