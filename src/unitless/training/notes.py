"""What a careful colleague would remark: about the order of the rows, and about what was asked for in vain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..data.named_text import NamedText
from ..data.schema import DATES
from ..errors import Option, Phrase
from ..inputs import Float64
from ..metrics.evaluation import Evaluation
from ..metrics.stream_baselines import MEAN, REPEAT, shown_name

if TYPE_CHECKING:
    from .run import Run

MUCH = 1.25  # times the progressive error is much worse
FOLLOWED = 0.2  # of a prediction, by an member that forgets fast, is much
LITTLE = 0.95  # times it is more than a little better
BLOCKS = 10  # into which the data is cut to see whether errors drift along it
DRIFTING = 10.0  # how much larger than by chance their means differ (an F of 9 and many degrees of freedom)
FEW = 100  # rows in which a model cannot be expected to be better than the simplest answers
LEAST = 500  # rows below which nothing is said about it


def notes(run: Run) -> list[Phrase]:
    """One line each."""
    found = [
        _in_time(run) if run.fitted else _forgotten(run),
        _no_better(run),
        _known(run),
        _idle(run),
        _far_labels(run),
    ]
    return [note for note in found if note is not None]


def _known(run: Run) -> Phrase | None:
    """A model goes on with data from which it has learned before."""
    if not run.known or run.score is None or not run.source.identity:
        return None
    return Phrase(
        f"the model has learned from {run.source.name} before, so that its score there may be too good: "
        "score it on new rows"
    )


def _far_labels(run: Run) -> Phrase | None:
    """Single labels were so far from all others that the model learned nearer ones instead."""
    count = 0 if run.model is None else run.model.limited_labels
    if not count:
        return None
    times = "once" if count == 1 else f"{count:,} times in all passes"
    return Phrase(
        f"a label lay far outside the range of all labels before it ({times}), and the model learned the nearest label "
        "of that range instead, so that a wrong label cannot ruin it: check the largest and the smallest labels"
    )


def _idle(run: Run) -> Phrase | None:
    """Namespaces that were to be left out or used are not there."""
    idle = run.source.idle if isinstance(run.source, NamedText) else []
    if not idle:
        return None
    return Phrase(
        *(Option("ignore"), " or ", Option("only")),
        f" names {', '.join(map(repr, idle))}, but {run.source.name} has no such namespace; namespaces are meant by "
        "name, by their first letter, or with * for any letters",
    )


def _error(evaluation: Evaluation) -> float:
    metrics = evaluation.metrics
    return metrics.get("error_rate", metrics.get("rmse", metrics.get("loss", math.nan)))


def _forgotten(run: Run) -> Phrase | None:
    """The kept weights of a stream do badly on its past."""
    if run.past is None or run.evaluation is None or not run.evaluation.examples:
        return None
    now, then = _error(run.past), _error(run.evaluation)
    if not (now > MUCH * then and run.past.interval[0] > run.evaluation.interval[1]):
        return None
    shown = (f"{now:.2%} errors", f"{then:.2%}") if "error_rate" in run.past.metrics else (f"{now:.4g}", f"{then:.4g}")
    return Phrase(
        f"the order of the rows matters: the kept model does worse on rows of the past ({shown[0]}) than the "
        f"progressive score ({shown[1]}). If the data is a sample and not a stream, fit it: a file, with ",
        Option("shuffle", True),
        *_without_followers(run),
    )


def _without_followers(run: Run) -> tuple[str | Option, ...]:
    """Advice against what follows the labels of the last rows, where much is made of that."""
    if run.model is None or run.model.members.get("forgetting", 0.0) < FOLLOWED:
        return ()
    said = "; if it is to predict far ahead, leave out what follows the labels of the last rows: "
    return said, Option("ensemble", False)


def _no_better(run: Run) -> Phrase | None:
    """An answer that knows nothing but the labels before was better than the model."""
    if run.fitted or run.stream_baselines is None or run.evaluation is None or run.evaluation.examples < FEW:
        return None
    assert run.target is not None
    own, others = run.evaluation.metrics, run.stream_baselines.metrics
    by = "error_rate" if "error_rate" in own else "rmse" if run.evaluation.is_squared_error else "loss"
    # Of errors, beyond what chance explains; of numbers, by more than a little.
    limit = run.evaluation.interval[0] if by == "error_rate" else LITTLE * own[by]
    better = {name: values[by] for name, values in others.items() if by in values and values[by] < limit}
    if not better:
        return None
    best = min(better, key=lambda name: better[name])
    form = ".2%" if by == "error_rate" else ".4g"
    title = {"error_rate": "error", "rmse": "RMSE"}.get(by, by)
    advice = {
        REPEAT: "the labels are autocorrelated; a column with the label of the row before would help the model",
        MEAN: "the columns say little about the target, or it takes more rows to learn what they say",
    }
    return Phrase(
        f"{shown_name(best, run.target.task)}: that simple answer had a smaller progressive {title} "
        f"({better[best]:{form}}) than the model ({own[by]:{form}}); {advice[best]}"
    )


def _in_time(run: Run) -> Phrase | None:
    """The rows that were fitted may be in the order of time."""
    dates = [name for name, kind in run.schema.columns if kind in DATES]
    if not dates and not run.drifting:
        return None
    why = f"column {dates[0]!r} is a date" if dates else "errors drift along the data"
    return Phrase(
        f"{why}: if the rows are in the order of time and the future is to be predicted, ",
        *(Option("shuffle", False), " ", Option("holdout", "last"), " scores the future from the past"),
    )


def drifts(errors: Float64, numbers: NDArray[np.intp]) -> bool:
    """Whether errors differ along the data by more than chance: their means in blocks of rows, by an F-test."""
    if len(errors) < LEAST or len(errors) != len(numbers) or not np.isfinite(errors).all():
        return False
    blocks = np.array_split(errors[np.argsort(numbers, kind="stable")], BLOCKS)
    means = np.array([block.mean() for block in blocks])
    sizes = np.array([len(block) for block in blocks])
    between = float((sizes * (means - errors.mean()) ** 2).sum()) / (BLOCKS - 1)
    within = sum(float(((block - mean) ** 2).sum()) for block, mean in zip(blocks, means, strict=True))
    within /= len(errors) - BLOCKS
    return bool(between > DRIFTING * within)
