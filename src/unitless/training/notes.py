"""The notes of a training: about the order of the rows, baselines that are better, and options without effect."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..data.columns.schema import DATES
from ..errors import Option, Phrase
from ..inputs import Float64
from ..metrics.evaluation import Evaluation
from ..metrics.stream_baselines import MEAN, REPEAT
from .contradictions import contradiction, label_shares

if TYPE_CHECKING:
    from .training import Training

MUCH = 1.25  # an error above this multiple of the progressive error is worth a note
FORGETTING = 0.2  # the share of a prediction by the forgetting learner that is worth a note
LITTLE = 0.95  # a baseline below this multiple of the model's error is worth a note
COPIES = 0.01  # the share of copies among the rows that is worth a note
UNGROUPED = 0.01  # the share of rows without a group that is worth a note
BLOCKS = 10  # the data is cut into this many blocks to see whether errors drift along it
DRIFTING = 10.0  # the F statistic above which errors drift (9 and many degrees of freedom: far beyond chance)
FEW = 100  # with fewer rows a model is not expected to be better than the baselines
LEAST = 500  # with fewer rows drift is not tested


def notes(training: Training) -> list[Phrase]:
    """What is worth knowing about the data and the model, one sentence each."""
    found = [
        None if training.findings.leak is None else training.findings.leak.note(),
        training.findings.new_values,
        _copies(training),
        _few_different(training),
        _opposed(training),
        _ungrouped(training),
        None if training.findings.identifier is None else training.findings.identifier.note(),
        contradiction(training),
        _one_label(training),
        _in_time(training) if training.fitted else _forgotten(training),
        _still_improving(training),
        _no_better(training),
        _known(training),
        _idle(training),
        _far_labels(training),
        None if training.model is None else training.model.options.penalty_note,
    ]
    return [note for note in found if note is not None]


def _copies(training: Training) -> Phrase | None:
    """A note if many rows are copies of others, or if the rows were not compared."""
    kin = training.findings.kin
    if kin is None:
        return None
    if kin.duplicates is None:
        return Phrase(
            "the table has too many rows to look for copies in so little memory: if rows are repeated, the metrics may "
            "be too good; use more ",
            Option("memory"),
        )
    if not kin.copied or kin.duplicates < COPIES * kin.rows:
        return None
    return Phrase(
        f"{kin.duplicates:,} rows are copies of other rows ({kin.duplicates / kin.rows:.1%}); copies were held out "
        "together with their original, because a model predicts a row too well if it has learned a copy of it"
    )


def _few_different(training: Training) -> Phrase | None:
    """A note if most rows are copies, but too few are different to hold copies out together."""
    kin = training.findings.kin
    if kin is None or not kin.known or kin.duplicates is None or 2 * kin.duplicates < kin.rows:
        return None
    return Phrase(
        f"only {kin.rows - kin.duplicates:,} of {kin.rows:,} rows are different, so that held-out rows equal learned "
        "ones: the metrics do not show how well other rows will be predicted"
    )


def _opposed(training: Training) -> Phrase | None:
    """A note if rows with equal features have different labels on purpose."""
    kin = training.findings.kin
    if kin is None or not kin.opposed:
        return None
    return Phrase(
        f"{kin.opposed:,} rows have the same values as another row, but mostly another label, as in a list of all "
        "combinations: their labels contradict each other. Such rows were held out together, so that the metrics are "
        "those of rows with other values"
    )


def _ungrouped(training: Training) -> Phrase | None:
    """A note if many rows have no value in the column of groups."""
    kin = training.findings.kin
    if kin is None or kin.ungrouped < UNGROUPED * kin.rows or not kin.ungrouped:
        return None
    return Phrase(
        f"{kin.ungrouped:,} rows have no group, and each of them counts as a group of its own: if they belong to "
        "groups that were learned, the metrics are too good"
    )


def _one_label(training: Training) -> Phrase | None:
    """A note if all held-out rows have the same label, though others were learned."""
    held, labels = training.findings.holdout, training.findings.labels
    if not training.fitted or held is None or training.target is None or training.target.task == "regression":
        return None
    shares = label_shares(held)
    if max(shares, default=0.0) < 1 or labels.rows < FEW:
        return None
    others = labels.rows - max(labels.counts.values())
    return Phrase(
        f"all {held.examples:,} held-out rows have the same label, so that the metrics do not show how well other "
        f"labels are predicted; only {others:,} of {labels.rows:,} rows have another one. To hold out more rows: ",
        Option("holdout", 0.5),
    )


def _still_improving(training: Training) -> Phrase | None:
    """A note if a fit has reached its limit of passes while another one was expected to help."""
    done, passes = training.progress.passes, training.passes
    if training.interrupted or not (training.fitted and training.plan.is_auto and passes.losses and not passes.stale):
        return None
    return Phrase(
        f"the fit ended at its limit of {done} passes; the last one still lowered the loss on the held-out rows by "
        f"{passes.gain:.1%}. For more passes, with about the same time for each: ",
        Option("passes", 2 * done),
    )


def _known(training: Training) -> Phrase | None:
    """A note if a resumed model has learned the same data before."""
    if not training.earlier.known or training.findings.holdout is None or not training.identity:
        return None
    return Phrase(
        f"the model has learned from {training.source.name} before, so that its metrics there may be too good: "
        "evaluate it on new rows"
    )


def _far_labels(training: Training) -> Phrase | None:
    """A note if labels lay so far outside the others that the model learned nearer ones instead."""
    count = 0 if training.model is None else training.model.limited_labels
    if not count:
        return None
    times = "once" if count == 1 else f"{count:,} times in all passes"
    return Phrase(
        f"a label lay far outside the range of all labels before it ({times}), and the model learned the nearest label "
        "of that range instead, so that a wrong label cannot ruin it: check the largest and the smallest labels"
    )


def _idle(training: Training) -> Phrase | None:
    """A note if `ignore` or `only` names namespaces that the data does not have."""
    idle = training.reader.idle
    if not idle:
        return None
    return Phrase(
        *(Option("ignore"), " or ", Option("only")),
        f" names {', '.join(map(repr, idle))}, but {training.source.name} has no such namespace; give a "
        "namespace by its name, by its first letter, or with * for any letters",
    )


def _error(evaluation: Evaluation) -> float:
    means = evaluation.sums.means
    return means.get("error_rate", means.get("rmse", means.get("loss", math.nan)))


def _forgotten(training: Training) -> Phrase | None:
    """A note if the final model of a stream does much worse on the rows that it learned long ago."""
    past, progressive = training.findings.in_sample, training.evaluation
    if past is None or progressive is None or not progressive.examples:
        return None
    now, then = _error(past), _error(progressive)
    if not (now > MUCH * then and past.interval[0] > progressive.interval[1]):
        return None
    shown = (f"{now:.2%} errors", f"{then:.2%}") if "error_rate" in past.sums.means else (f"{now:.4g}", f"{then:.4g}")
    return Phrase(
        f"the order of the rows matters: the final model does worse on earlier rows ({shown[0]}) than the "
        f"progressive metrics show ({shown[1]}). If the data is a sample and not a stream, fit it: a file, with ",
        Option("shuffle", True),
        *_without_forgetting(training),
    )


def _without_forgetting(training: Training) -> tuple[str | Option, ...]:
    """Advice to leave out the forgetting learner, where it makes much of the predictions."""
    if training.model is None or training.model.members.get("forgetting", 0.0) < FORGETTING:
        return ()
    advice = "; if the model is to predict far ahead, leave out the learner that adapts to the last labels: "
    return advice, Option("ensemble", False)


def _no_better(training: Training) -> Phrase | None:
    """A note if a baseline that knows only the earlier labels was better than the model."""
    session = training.session
    if training.fitted or session is None or session.evaluation.examples < FEW:
        return None
    own, others = session.evaluation.sums.means, session.metrics.stream_baselines.means
    by = "error_rate" if "error_rate" in own else "rmse" if session.evaluation.is_squared_error else "loss"
    # An error rate must be better by more than chance explains. Numbers have no such interval here: by more than 5%.
    limit = session.evaluation.interval[0] if by == "error_rate" else LITTLE * own[by]
    better = {name: values[by] for name, values in others.items() if by in values and values[by] < limit}
    if not better:
        return None
    best = min(better, key=lambda name: better[name])
    form = ".2%" if by == "error_rate" else ".4g"
    title = {"error_rate": "error", "rmse": "RMSE"}.get(by, by)
    advice = {
        REPEAT: "the labels are autocorrelated; a column with the label of the row before would help the model",
        MEAN: "the columns tell little about the target, or more rows are needed to learn it",
    }
    constant = "mean" if session.target.task == "regression" else "most frequent class"
    answer = {
        REPEAT: "the last-label baseline (predicting the label of the row before)",
        MEAN: f"the baseline (always predicting the {constant} so far)",
    }[best]
    return Phrase(
        f"{answer} had a smaller progressive {title} ({better[best]:{form}}) than the model ({own[by]:{form}}); "
        f"{advice[best]}"
    )


def _in_time(training: Training) -> Phrase | None:
    """A note if the rows of a fit may be in the order of time."""
    dates = [name for name, kind in training.schema.columns if kind in DATES]
    if not dates and not training.findings.drifting:
        return None
    why = (
        f"column {dates[0]!r} is a date"
        if dates
        else f"errors differ along the {'file' if training.source.files else 'data'}"
    )
    return Phrase(
        f"{why}: if the rows are in the order of time and the future is to be predicted, ",
        *("evaluate it on the last rows with ", Option("shuffle", False), " and ", Option("holdout", "last")),
    )


def drifts(errors: Float64, numbers: NDArray[np.intp]) -> bool:
    """Whether errors drift along the data: an F-test of their means in blocks of rows."""
    if len(errors) < LEAST or len(errors) != len(numbers) or not np.isfinite(errors).all():
        return False
    blocks = np.array_split(errors[np.argsort(numbers, kind="stable")], BLOCKS)
    means = np.array([block.mean() for block in blocks])
    sizes = np.array([len(block) for block in blocks])
    between = float((sizes * (means - errors.mean()) ** 2).sum()) / (BLOCKS - 1)
    within = sum(float(((block - mean) ** 2).sum()) for block, mean in zip(blocks, means, strict=True))
    within /= len(errors) - BLOCKS
    return bool(between > DRIFTING * within)
