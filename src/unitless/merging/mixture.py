"""Merge the mixtures of several models' members: their mean, weighted by rows.

The order of the numbers is that of `numbers` in core/ensemble/mixture.cpp.
"""

from __future__ import annotations

import numpy as np

from ..inputs import Float64

_LOGISTIC, _SQUARED, _CLASSES = 0, 1, 2  # kinds; all others mix by losses alone
ROWS = 2  # the index of the number of rows


def merged_mixture(states: list[Float64], offsets: list[float], rows: float) -> Float64:
    """Compute the merged mixture.

    Args:
        states: the mixtures of the models.
        offsets: the shift of each model's labels.
        rows: the number of rows that the merged mixture stands for.
    """
    known = [(state, offset) for state, offset in zip(states, offsets, strict=True) if state[ROWS] > 0]
    if not known:
        return states[0]
    states, offsets = [state for state, _ in known], [offset for _, offset in known]
    behind = np.array([state[ROWS] for state in states])
    share = behind / behind.sum()
    kind, members = int(states[0][0]), int(states[0][1])
    head = [float(kind), float(members), rows]
    if kind in (_LOGISTIC, _CLASSES):
        inputs = members + 1  # of a stacker: the members and the last label
        each = inputs * (inputs + 1)
        slices = [slice(4, 4 + each), slice(4 + each, 4 + 2 * each)]
        stackers = [_stacked([state[at].reshape(inputs, -1) for state in states], share) for at in slices]
        weights = sum(part * state[4 + 2 * each :] for part, state in zip(share, states, strict=True))
        none = 0.0 if kind == _LOGISTIC else -1.0  # rows of several streams have no last label
        last = float(states[0][3]) if len(states) == 1 else none
        return np.concatenate([head, [last], *(one.ravel() for one in stackers), weights / np.sum(weights)])
    factor = rows / behind.sum()  # sums that decay with rows are proportional to the rows behind them
    if kind == _SQUARED:
        unit = max(float(state[5]) for state in states)
        squares = np.zeros(len(states[0]) - 6)
        # the size of a stacker; the last number is the weight of the rows, without a unit
        count = members * (members + 1) + 2
        for state in states:
            ratio = np.full(len(squares), (state[5] / unit) ** 2)
            ratio[[count - 1, 2 * count - 1]] = 1.0
            squares += factor * ratio * state[6:]
        return np.concatenate([head, _limits(states, offsets), [unit], squares])
    unit = max(float(state[3]) for state in states)
    sums = sum(factor * (state[3] / unit) * state[4:] for state in states)
    return np.concatenate([head, [unit], np.asarray(sums)])


def _limits(states: list[Float64], offsets: list[float]) -> list[float]:
    """The smallest and the largest label; before any label, the largest is below the smallest."""
    known = [(state[3] + offset, state[4] + offset) for state, offset in zip(states, offsets, strict=True)]
    known = [(low, high) for low, high in known if low <= high]
    return [min(low for low, _ in known), max(high for _, high in known)] if known else [0.0, -1.0]


def _stacked(stackers: list[Float64], share: Float64) -> Float64:
    """The mean and covariance [input][1 + input] whose information is the weighted mean of several."""
    precisions = [np.linalg.inv(one[:, 1:]) for one in stackers]
    known = sum(part * precision for part, precision in zip(share, precisions, strict=True))
    meant = sum(
        part * (precision @ one[:, 0]) for part, precision, one in zip(share, precisions, stackers, strict=True)
    )
    covariance = np.linalg.inv(np.asarray(known))
    return np.column_stack([covariance @ meant, (covariance + covariance.T) / 2])
