"""The inverse of a matrix that grows by outer products, stored as a factor.

All full-matrix baselines need P = A⁻¹ while A ← A + c·x xᵀ. The Sherman–Morrison formula subtracts two nearly equal
matrices when a value of x is large compared with those before: with x = 10⁸ all digits of P are lost, and P need not
even stay positive. So P is stored as a product,

    P = S Sᵀ,    f = Sᵀx,    S ← S − γ (S f) fᵀ,    γ = c / (1 + c·fᵀf + √(1 + c·fᵀf)),

which is Sherman–Morrison for the factor (Potter's square-root form, known from Kalman filters). Whatever the rounding,
P then stays positive, and values may be 10⁸ times further apart than with P itself.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...inputs import Float64

Lanes: TypeAlias = NDArray[np.intp]


class InverseFactor:
    """The factor S for each lane.

    Args:
        precision: the initial value of the diagonal of A, for each lane.
        columns: the number of features.
        scaled: if True, A begins with precision·x_i², where x_i is feature i's first non-zero value. Rows before that
            one do not depend on the entry, so the result is the same as if x_i had been known from the start.
    """

    def __init__(self, precision: Float64, columns: int, scaled: bool) -> None:
        self._S = np.zeros((len(precision), columns, columns))
        self._unseen = np.full(columns, scaled)
        self._deviation = 1 / np.sqrt(precision)
        if not scaled:
            self._S[:, range(columns), range(columns)] = self._deviation[:, None]

    def meet(self, x: Float64) -> None:
        """Record the scale of features that are non-zero for the first time."""
        new = np.flatnonzero(self._unseen & (x != 0))
        self._S[:, new, new] = self._deviation[:, None] / np.abs(x[new])
        self._unseen[new] = False

    def coordinates(self, lanes: Lanes, x: Float64) -> Float64:
        """The vector f = Sᵀx for some lanes, including new features; its squared length is xᵀPx."""
        present = np.flatnonzero(x)
        f = np.asarray(x[present] @ self._S[lanes[:, None], present])
        new = present[self._unseen[present]]
        f[:, new] = self._deviation[lanes, None] * np.sign(x[new])
        return f

    def directions(self, lanes: Lanes, f: Float64) -> Float64:
        """The vector Px = S f for some lanes."""
        return np.asarray((self._S[self._where(lanes)] @ f[:, :, None])[:, :, 0])

    def grow(self, lanes: Lanes, f: Float64, Px: Float64, c: Float64) -> None:
        """Add an outer product in some lanes: A ← A + c·x xᵀ."""
        self._S[self._where(lanes)] -= _step(f, Px, c)[:, :, None] * f[:, None, :]

    def _where(self, lanes: Lanes) -> Lanes | slice:
        """An index of lanes that avoids copying S if all lanes are selected."""
        return slice(None) if len(lanes) == len(self._S) else lanes


class LargeInverseFactor(InverseFactor):
    """The factor S for many features, where updating the whole matrix at each row would be slow.

    The last updates are stored separately, S = S_0 − Σ_k u_k f_kᵀ, and S_0 is updated by all of them at once. That is a
    product of matrices, which is much faster than the same number of outer products.
    """

    PENDING = 32

    def __init__(self, precision: Float64, columns: int, scaled: bool) -> None:
        super().__init__(precision, columns, scaled)
        self._u = np.zeros((len(precision), self.PENDING, columns))
        self._f = np.zeros((len(precision), self.PENDING, columns))
        self._pending = np.zeros(len(precision), np.intp)

    def coordinates(self, lanes: Lanes, x: Float64) -> Float64:
        f = super().coordinates(lanes, x)
        for place, lane in enumerate(lanes):
            f[place] -= (self._u[lane] @ x) @ self._f[lane]
        return f

    def directions(self, lanes: Lanes, f: Float64) -> Float64:
        pairs = zip(lanes, f, strict=True)
        return np.array([self._S[lane] @ its_f - (self._f[lane] @ its_f) @ self._u[lane] for lane, its_f in pairs])

    def grow(self, lanes: Lanes, f: Float64, Px: Float64, c: Float64) -> None:
        self._u[lanes, self._pending[lanes]] = _step(f, Px, c)
        self._f[lanes, self._pending[lanes]] = f
        self._pending[lanes] += 1
        for lane in lanes[self._pending[lanes] == self.PENDING]:
            self._S[lane] -= self._u[lane].T @ self._f[lane]
            self._u[lane] = self._f[lane] = self._pending[lane] = 0


def inverse_factor(precision: Float64, columns: int, scaled: bool) -> InverseFactor:
    """The faster implementation of the factor for a number of features."""
    return (LargeInverseFactor if columns > 100 else InverseFactor)(precision, columns, scaled)


def _step(f: Float64, Px: Float64, c: Float64) -> Float64:
    """The update vector u = γ·Px."""
    grown = 1 + c * np.einsum("ij,ij->i", f, f)
    return np.asarray((c / (grown + np.sqrt(grown)))[:, None] * Px)
