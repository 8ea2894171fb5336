"""What the mixtures of the partitions of a round's members are together: that of one partition's stream.

The order of its numbers is that of `numbers` in core/ensemble/mixture.cpp.
"""

from __future__ import annotations

import numpy as np

from ..inputs import Float64

_LOGISTIC, _SQUARED, _CLASSES = 0, 1, 2  # kinds; what is none of them mixes by losses alone


def round_mixture(states: list[Float64], base: Float64 | None, offsets: list[float]) -> Float64:
    """Means, by the rows that each has learned since the base; of stackers with a covariance, of what they know.

    `offsets`: by how far the labels of each, and last of the base, are to be moved.
    """
    before = 0.0 if base is None else float(base[2])
    gained = np.maximum(np.array([state[2] for state in states]) - before, 0.0)
    if not gained.any():
        return np.array(states[0] if base is None else base)
    heard = [state for state, rows in zip(states, gained, strict=True) if rows > 0]
    share = gained[gained > 0] / gained.sum()
    rows = before + float(gained[gained > 0].mean())
    kind, members = int(states[0][0]), int(states[0][1])
    head = [float(kind), float(members), rows]
    if kind in (_LOGISTIC, _CLASSES):
        each = members * (members + 1)
        slices = [slice(3, 3 + each), slice(3 + each, 3 + 2 * each)]
        stackers = [_stacked([state[at].reshape(members, -1) for state in heard], share) for at in slices]
        weights = sum(part * state[3 + 2 * each :] for part, state in zip(share, heard, strict=True))
        return np.concatenate([head, *(one.ravel() for one in stackers), weights / np.sum(weights)])
    # Sums that fade as rows come are as large as the rows behind them.
    parts = share * rows / np.array([state[2] for state in heard])
    if kind == _SQUARED:
        unit = max(float(state[5]) for state in heard)
        squares = np.zeros(len(heard[0]) - 6)
        count = members * (members + 1) + 2  # numbers of a stacker; the last is the weight of the rows: it has no unit
        for part, state in zip(parts, heard, strict=True):
            ratio = np.full(len(squares), (state[5] / unit) ** 2)
            ratio[[count - 1, 2 * count - 1]] = 1.0
            squares += part * ratio * state[6:]
        everyone = [*states, *([] if base is None else [base])]
        return np.concatenate([head, _limits(everyone, offsets[: len(everyone)]), [unit], squares])
    unit = max(float(state[3]) for state in heard)
    sums = sum(part * (state[3] / unit) * state[4:] for part, state in zip(parts, heard, strict=True))
    return np.concatenate([head, [unit], np.asarray(sums)])


def _limits(states: list[Float64], offsets: list[float]) -> list[float]:
    """The least and the largest label, of those that have met any; otherwise the largest is below the least."""
    known = [(state[3] + offset, state[4] + offset) for state, offset in zip(states, offsets, strict=True)]
    known = [(low, high) for low, high in known if low <= high]
    return [min(low for low, _ in known), max(high for _, high in known)] if known else [0.0, -1.0]


def _stacked(stackers: list[Float64], share: Float64) -> Float64:
    """The mean and covariance [member][1 + member] whose information is the mean of several."""
    precisions = [np.linalg.inv(one[:, 1:]) for one in stackers]
    known = sum(part * precision for part, precision in zip(share, precisions, strict=True))
    meant = sum(
        part * (precision @ one[:, 0]) for part, precision, one in zip(share, precisions, stackers, strict=True)
    )
    covariance = np.linalg.inv(np.asarray(known))
    return np.column_stack([covariance @ meant, (covariance + covariance.T) / 2])
