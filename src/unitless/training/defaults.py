"""The defaults of a learner's options: no other code knows any of them.

`train`, the command line, the estimators of scikit-learn and River, the server and distributed training all call
`resolve` with the options that their user gave, and make their model from what it returns.

Example:
    >>> resolve("binary", DataFacts(), {}).loss
    'logistic'
    >>> resolve("regression", DataFacts(), {"learning_rate": 0.1}).ensemble
    False
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import inputs, losses
from ..errors import OptionError
from ..losses import DEFAULTS, LOSSES
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..models.softmax import Softmax
from ..options import Options, can_fall, check_names, is_penalized, is_single, known_model_type
from ..presentation import shown
from ..rules import RULES

# With more columns than this, model_type="auto" becomes linear (the core decides it by the first row).
WIDE = 1000
# In a fit only the final model counts, so trees take more rows to choose a split than in a stream, where every row is
# predicted. Smaller and larger numbers gave larger errors.
PATIENCE = 32
# A fit of so many rows has trees of so many leaves. In a stream they would take more time for each row.
MANY_ROWS, LARGE_TREES = 50_000, 1024


@dataclass(frozen=True)
class DataFacts:
    """What the defaults depend on, besides the task.

    Args:
        columns: whether rows have columns, whose mean can be subtracted; rows of VW text and libsvm have none.
        fitted: whether the data is learned as a fit; then the average of the weights is a candidate as well.
        rows: the first rows, if they are known.
        count: the number of rows of a fit, if it is known; otherwise 0.
    """

    columns: bool = True
    fitted: bool = False
    rows: inputs.Input | None = None
    count: int = 0


def resolve(task: str, data: DataFacts, given: Mapping[str, Any]) -> Options:
    """All options of a learner: those that were given, and defaults for the task and the data for the others.

    Args:
        task: "regression", "binary" or "classes".
        data: what is known about the data.
        given: options by name; None stands for one that is not given.
    """
    # target=None is a value that a user can give (labels keep their unit), so it does not mean "not given".
    options = {name: value for name, value in given.items() if value is not None or name == "target"}
    check_names(options)
    options.setdefault("rule", Options.rule)
    options["loss"] = _loss(task, options)
    single = is_single(options)  # Vowpal Wabbit's own learner is never part of an ensemble
    options.setdefault("learning_rate", Options.learning_rate if single else "auto")
    options.setdefault("model_type", "auto")
    # A user who gives a learning rate wants one learner with this rate.
    options.setdefault("ensemble", options["learning_rate"] == "auto" and not single)
    options.setdefault("center", data.columns and options.get("bits") is None and not single)
    options.setdefault("falling_scales", can_fall(options))
    if task == "regression" and options["loss"] in LOSSES:  # `Options` refuses others
        # With quantile loss, a penalty depends on the label's unit.
        unit_free = LOSSES[options["loss"]].in_label_unit and not (
            is_penalized(options) and LOSSES[options["loss"]].has_quantile
        )
        if unit_free and not single and "clip" not in options:
            options.setdefault("target", "auto")
    if data.fitted and known_model_type(options) != "linear":
        options.setdefault("tree_patience", PATIENCE)
        if data.count >= MANY_ROWS:
            options.setdefault("max_leaves", LARGE_TREES)
    options.setdefault("average", data.fitted and not single and _averages(options, data.rows))
    return Options(**options)


def estimator_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a learner among the parameters of an estimator, as `resolve` takes them.

    An estimator's `target="auto"` means that none was given: the default depends on the loss.
    """
    given = {name: parameters[name] for name in Options.__dataclass_fields__ if name in parameters}
    return {name: value for name, value in given.items() if (name, value) != ("target", "auto")}


def new_model(options: Options, task: str, classes: Iterable[Any] | None = None) -> Learner | OneVsAll:
    """A model with these options that has learned nothing.

    Args:
        options: what `resolve` gave.
        task: "regression", "binary" or "classes".
        classes: the labels of several classes. None: classes are added when they are first met.
    """
    if task != "classes":
        return Learner(**options.asdict())
    return (Softmax if LOSSES[options.loss].coupled else OneVsAll)(classes, **options.asdict())


def _loss(task: str, options: Mapping[str, Any]) -> str:
    """The loss of the model: the given one, if it is for the task, otherwise the task's default."""
    given = options.get("loss")
    loss: str = DEFAULTS[task] if given is None else given
    of_classes = task != "regression"
    if loss in LOSSES and LOSSES[loss].for_classes != of_classes:
        labels, others = ("numbers", "classes") if of_classes else ("classes", "numbers")
        fitting = shown.listed(losses.names(for_classes=of_classes))
        raise OptionError(f"loss {loss!r} is for {labels}; to predict {others}, use {fitting}")
    second_order = (rule := RULES.get(options["rule"])) is not None and rule.second_order
    if task == "classes" and second_order and given in (None, DEFAULTS["classes"]):
        return losses.names(task="classes")[0]  # a second-order rule learns all classes at once
    # A softmax over two classes is the logistic loss of one score.
    return LOSSES[loss].of_a_score if task == "binary" and loss in LOSSES else loss


def _averages(options: Mapping[str, Any], rows: inputs.Input | None) -> bool:
    """Whether a fit keeps the average of the weights: if the model will be linear, as far as that is known."""
    if is_penalized(options):  # an average of weights that are sometimes zero is not sparse
        return False
    model_type = known_model_type(options)
    if model_type is not None:
        return model_type == "linear"
    if isinstance(rows, inputs.Dense):
        return bool(rows.array.shape[1] > WIDE)
    if isinstance(rows, inputs.Frame):
        others = sum(not isinstance(column, inputs.WordsColumn) for column in rows.columns)
        return others > WIDE or (others == 0 and bool(rows.columns))
    return isinstance(
        rows, inputs.Compressed | inputs.TextRows
    )  # rows of single features, without columns: the model will be linear
