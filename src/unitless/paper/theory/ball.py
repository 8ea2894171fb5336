"""The class of predictors that regret is measured against (section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import OptionError
from ...inputs import Float64
from .projections import project_l1, project_l2


@dataclass(frozen=True)
class Ball:
    """W = {w : ‖S^(−1/2) w‖_q ≤ C}: by Hölder, every |w·x_t| ≤ C when ‖S^(1/2) x_t‖_p ≤ 1, 1/p + 1/q = 1.

    The paper writes it as {w : w·x_t ≤ C for all t}. That is one-sided, and for the inputs seen it is larger; the two
    agree only over all inputs that the adversary may choose. The theorems use the ball, and so does this package.

    Example:
        >>> import numpy as np
        >>> from unitless.paper.theory import Ball, largest
        >>> X = np.array([[2.0, 100.0], [-4.0, 50.0]])
        >>> ball = Ball(largest(X), C=1.0, q=1)
        >>> ball.norm(np.array([0.125, -0.005]))
        1.0
        >>> ball.support(X.sum(axis=0))  # the largest Σ_t w·x_t of any w in it
        1.5

    Attributes:
        scale: s = S^(−1/2), see `largest` and `ellipsoid`.
        C: the bound on every prediction.
        q: 1 for inputs in a box (p = ∞), 2 for inputs in an ellipsoid (p = 2).
    """

    scale: Float64
    C: float
    q: int = 1

    def __post_init__(self) -> None:
        if self.q not in (1, 2):
            raise OptionError(f"q is {self.q!r}; it must be 1 (p = ∞) or 2 (p = 2)")
        if not self.C > 0:
            raise OptionError(f"C is {self.C!r}; it must be positive")

    @property
    def p(self) -> float:
        """The norm of the inputs, 1/p + 1/q = 1."""
        return np.inf if self.q == 1 else 2.0

    def norm(self, w: Float64) -> float:
        """‖S^(−1/2) w‖_q."""
        return float(np.linalg.norm(self.scale * w, self.q))

    def project(self, w: Float64, A: Float64) -> Float64:
        """Π^A_{S,C,q}(w)."""
        return (project_l1 if self.q == 1 else project_l2)(w, A, self.scale, self.C)

    def support(self, direction: Float64) -> float:
        """max_{w ∈ W} w·direction = C ‖S^(1/2) direction‖_p."""
        used = self.scale > 0
        return self.C * float(np.linalg.norm(direction[used] / self.scale[used], self.p)) if used.any() else 0.0
