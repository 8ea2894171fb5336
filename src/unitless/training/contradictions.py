"""Whether the metrics on held-out rows can be trusted: the model must not do worse on the rows that it has learned.

In a list of all pairs of a name and a label, each pair once, the held-out rows have by construction the labels that the
learned rows lack. Weights that do well on these held-out rows do badly on all others. Three checks find such data: the
model is worse than the baseline on learned rows, it is worse there than on held-out rows beyond chance, or it ranks
either of them the wrong way round. (Rows with equal features are held out together if their labels are opposed; here
further columns make them different.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..errors import Phrase
from ..inputs import Float64
from ..metrics.evaluation import Evaluation

if TYPE_CHECKING:
    from .training import Training

FEW = 15  # rows: fewer do not tell
BEYOND_CHANCE = 3.5  # standard deviations of an AUC, of a rank sum, or of the difference of two error rates
ADVICE = "rows with the same values may have different labels on purpose; do not rely on these metrics"


def contradiction(training: Training) -> Phrase | None:
    """A note if the metrics of a fit on learned rows and on held-out rows contradict each other."""
    learned, held = training.findings.in_sample, training.findings.holdout
    if not training.fitted or learned is None or held is None or min(learned.equal_examples, held.equal_examples) < FEW:
        return None
    by = learned.judged_by
    if by not in learned.metrics or by not in held.metrics:
        return None
    title = {"error_rate": "error", "rmse": "RMSE"}.get(by, by)
    form = ".2%" if by == "error_rate" else ".4g"
    own, other = f"{learned.metrics[by]:{form}}", f"{held.metrics[by]:{form}}"
    design = training.design_effect
    if learned.hold_out_interval(design=design)[0] > _baseline(learned):
        return Phrase(
            f"the model predicts the rows that it has learned worse than the best constant does ({title} {own}, not "
            f"{_baseline(learned):{form}}), though its {title} on held-out rows is {other}: {ADVICE}"
        )
    if _clearly_larger(learned, held, design) and _usually_larger(training, design):
        return Phrase(
            f"the model predicts the rows that it has learned worse ({title} {own}) than the held-out rows ({other}), "
            f"beyond chance: {ADVICE}"
        )
    for which, evaluation in (("held-out rows", held), ("rows that it has learned", learned)):
        if _ranks_backwards(evaluation, design):
            return Phrase(
                f"the model ranks the {which} the wrong way round (AUC {evaluation.metrics['auc']:.3f}, below 0.5 "
                f"beyond chance): the labels of learned and of held-out rows contradict each other; {ADVICE}"
            )
    return None


def _clearly_larger(learned: Evaluation, held: Evaluation, design: float) -> bool:
    """Whether the error on learned rows is larger than that on held-out rows beyond chance."""
    if learned.judged_by != "error_rate":
        return learned.hold_out_interval(design=design)[0] > held.hold_out_interval(design=design)[1]
    (own, rows), (other, others) = ((one.metrics["error_rate"], one.equal_examples / design) for one in (learned, held))
    share = (own * rows + other * others) / (rows + others)
    return own - other > BEYOND_CHANCE * math.sqrt(share * (1 - share) * (1 / rows + 1 / others))


def _baseline(evaluation: Evaluation) -> float:
    """The error of the best constant answer for the same rows; infinite if it is not known."""
    if evaluation.judged_by == "error_rate":
        return 1 - max(label_shares(evaluation), default=-math.inf)
    metrics = evaluation.metrics
    if evaluation.judged_by == "rmse" and metrics.get("r2", -math.inf) < 1:
        return metrics["rmse"] / math.sqrt(1 - metrics["r2"])  # the standard deviation of the labels
    return math.inf


def label_shares(evaluation: Evaluation) -> list[float]:
    """The share of each class in the weight of the rows."""
    if (ranking := evaluation.ranking) is not None:
        share = float(ranking.by_score[2].sum()) / evaluation.weight
        return [1 - share, share]
    return [row["share"] for row in evaluation.per_class.values()]


def _usually_larger(training: Training, design: float) -> bool:
    """Whether most errors are larger on learned rows, and not only a few very large ones that the hold-out lacks."""
    if training.target is None or training.target.task != "regression":
        return True
    learned, held = training.findings.learned_errors, training.findings.row_errors
    if learned is None or held is None:
        return False
    own, other = np.abs(learned.errors), np.abs(held.errors)
    return _larger_share(own, other) > 0.5 + BEYOND_CHANCE * math.sqrt(design) * _deviation(len(own), len(other))


def _larger_share(some: Float64, others: Float64) -> float:
    """The share of pairs of which the first number, one of `some`, is the larger one; equal ones count half."""
    others = np.sort(others)
    below = np.searchsorted(others, some, "left") + np.searchsorted(others, some, "right")
    return float(below.mean() / 2 / len(others))


def _deviation(some: float, others: float) -> float:
    """The standard deviation of that share if chance decides: of the rank sum of Wilcoxon, Mann and Whitney."""
    return math.sqrt((some + others + 1) / (12 * some * others))


def _ranks_backwards(held: Evaluation, design: float) -> bool:
    """Whether the AUC of two classes is below 1/2 beyond chance."""
    auc, shares = held.metrics.get("auc", math.nan), label_shares(held)
    if math.isnan(auc) or not all(shares):
        return False
    negative, positive = (share * held.examples for share in shares)
    return auc < 0.5 - BEYOND_CHANCE * math.sqrt(design) * _deviation(positive, negative)
