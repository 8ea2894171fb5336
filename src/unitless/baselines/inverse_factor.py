"""The inverse of a matrix that grows by outer products, kept as a factor.

All full-matrix baselines need P = A⁻¹ while A ← A + c·x xᵀ. The Sherman–Morrison formula subtracts two nearly equal
matrices when a value of x is large beside what A knows: with x = 10⁸ all digits of P are gone, and P need not even
stay positive. So P is kept as a product,

    P = S Sᵀ,    f = Sᵀx,    S ← S − γ (S f) fᵀ,    γ = c / (1 + c·fᵀf + √(1 + c·fᵀf)),

which is Sherman–Morrison for the factor (Potter's square-root form, known from Kalman filters). Whatever the rounding,
P then stays positive, and values may be 10⁸ times further apart than with P itself.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..inputs import Float64

Lanes: TypeAlias = NDArray[np.intp]


class InverseFactor:
    """S for each lane.

    Args:
        precision: what A begins with on its diagonal, for each lane.
        columns: the number of features.
        scaled: if so, A begins with precision·x_i², where x_i is feature i's first non-zero value. No row before that
            one has asked for it, so that it is as if it had been known from the start.
    """

    def __init__(self, precision: Float64, columns: int, scaled: bool) -> None:
        self.S = np.zeros((len(precision), columns, columns))
        self._unseen = np.full(columns, scaled)
        self._deviation = 1 / np.sqrt(precision)
        # Large matrices are changed one by one, because to gather several costs more than Python's loop over them.
        self._large = columns > 100
        self._change = np.empty((columns, columns)) if self._large else np.empty(0)
        if not scaled:
            self.S[:, range(columns), range(columns)] = self._deviation[:, None]

    def meet(self, x: Float64) -> None:
        """Note the scale of features that are there for the first time."""
        new = np.flatnonzero(self._unseen & (x != 0))
        self.S[:, new, new] = self._deviation[:, None] / np.abs(x[new])
        self._unseen[new] = False

    def coordinates(self, x: Float64, lanes: Lanes | None = None) -> Float64:
        """f = Sᵀx of some lanes or all, of new features as well; its squared length is xᵀPx."""
        present = np.flatnonzero(x)
        S = self.S[:, present] if lanes is None else self.S[lanes[:, None], present]
        f = np.asarray(x[present] @ S)
        new = present[self._unseen[present]]
        if len(new):
            deviation = self._deviation if lanes is None else self._deviation[lanes]
            f[:, new] = deviation[:, None] * np.sign(x[new])
        return f

    def directions(self, lanes: Lanes, f: Float64) -> Float64:
        """Px = S f of some lanes."""
        if self._large:
            return np.array([self.S[lane] @ its_f for lane, its_f in zip(lanes, f, strict=True)])
        return np.asarray((self.S[lanes] @ f[:, :, None])[:, :, 0])

    def grow(self, lanes: Lanes, f: Float64, Px: Float64, c: Float64) -> None:
        """A ← A + c·x xᵀ in some lanes."""
        grown = 1 + c * np.einsum("ij,ij->i", f, f)
        step = (c / (grown + np.sqrt(grown)))[:, None] * Px
        if self._large:
            for lane, its_step, its_f in zip(lanes, step, f, strict=True):
                self.S[lane] -= np.multiply.outer(its_step, its_f, out=self._change)
        else:
            self.S[lanes] -= step[:, :, None] * f[:, None, :]
