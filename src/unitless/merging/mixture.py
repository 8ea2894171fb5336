"""What the mixtures of several models' members know together.

Sums, which fade as rows come, add up. What the stackers with a mean and a covariance know is added as information about
the same weights. Their top weighs speakers by rows.
"""

from __future__ import annotations

import numpy as np

from ..inputs import Float64

_PRIOR = 0.1  # the variance of a stacker's weights before the first row
_WALKS = (0.0, 1e-5)  # and what the two stackers' have moved before it


def merged_mixture(states: list[Float64], base: Float64 | None, offsets: list[float]) -> Float64:
    """What the mixtures know together. `offsets`: by how far the labels of each (and last of the base) are to be moved.

    Sums, which fade as rows come, add up in proportion to the rows behind them. Of stackers with a mean and a
    covariance, precisions add up, beyond that of the start.
    """
    kind, members = int(states[0][0]), int(states[0][1])
    all_states = [*states, *([base] if base is not None else [])]
    rows = np.array([state[2] for state in states])
    gained = rows if base is None else np.maximum(rows - base[2], 0.0)
    if not gained.sum() > 0:
        return np.array(states[int(np.argmax(rows))])
    total = float(gained.sum()) + (0.0 if base is None else float(base[2]))
    share = gained / gained.sum()
    heard = [k for k in range(len(states)) if gained[k] > 0]
    head = [float(kind), float(members), total]
    if kind in (0, 2):  # logistic, classes
        each = members * (members + 1)
        numbers: list[float] = []
        for i, walk in enumerate(_WALKS):
            at = slice(3 + i * each, 3 + (i + 1) * each)
            prior = np.zeros((members, members + 1))
            prior[:, 0] = 1.0 / members if kind == 2 else 0.0
            prior[:, 1:] = np.eye(members) * (_PRIOR + walk)
            first = prior if base is None else base[at].reshape(members, -1)
            numbers += _stacked([states[k][at].reshape(members, -1) for k in heard], first).ravel().tolist()
        weights = sum(share[k] * states[k][3 + 2 * each :] for k in heard)
        return np.array([*head, *numbers, *(weights / np.sum(weights)).tolist()])
    intensity = [share[k] * total / rows[k] if gained[k] > 0 else 0.0 for k in range(len(states))]
    if kind == 1:  # squared
        lows = [state[3] + offset for state, offset in zip(all_states, offsets, strict=True) if state[3] <= state[4]]
        highs = [state[4] + offset for state, offset in zip(all_states, offsets, strict=True) if state[3] <= state[4]]
        limits = [min(lows), max(highs)] if lows else [0.0, -1.0]
        unit = max(states[k][5] for k in heard)
        squares = np.zeros(len(states[0]) - 6)
        counts = [each_stacker + members * (members + 1) + 1 for each_stacker in (0, members * (members + 1) + 2)]
        for k in heard:
            scaled = np.full(len(squares), (states[k][5] / unit) ** 2)
            scaled[counts] = 1.0  # the weight of the rows has no unit
            squares += intensity[k] * scaled * states[k][6:]
        return np.array([*head, *limits, unit, *squares.tolist()])
    unit = max(states[k][3] for k in heard)
    sums = sum(intensity[k] * (states[k][3] / unit) * states[k][4:] for k in heard)
    return np.array([*head, unit, *np.asarray(sums).tolist()])


def _stacked(stackers: list[Float64], first: Float64) -> Float64:
    """Mean and covariance [member][1 + member] of several that began as `first`."""

    def information(stacker: Float64) -> tuple[Float64, Float64]:
        precision = np.asarray(np.linalg.inv(stacker[:, 1:]), np.float64)
        return precision, np.asarray(precision @ stacker[:, 0])

    precision, weighed = (np.asarray(one).copy() for one in information(first))
    least = np.inf
    if len(stackers) == 1:
        return stackers[0]
    for stacker in stackers:
        own, its = information(stacker)
        for_all, for_mean = information(first)
        precision += own - for_all
        weighed += its - for_mean
        least = min(least, float(np.linalg.eigvalsh(own)[0]))
    values, vectors = np.linalg.eigh((precision + precision.T) / 2)
    values = np.maximum(values, least)  # a walk may have lost more than was learned
    covariance = (vectors / values) @ vectors.T
    return np.column_stack([covariance @ weighed, (covariance + covariance.T) / 2])
