"""The other learners that *Normalized Online Learning* names in section 1.1, in plain NumPy.

"A comparative analysis of empirical performance would be interesting to observe": `unitless.paper.comparison` makes it.

| learner | per row | unit-free | what carries the unit |
|---|---|---|---|
| `OnlineNewtonStep` | d² | with scaled=True | ε |
| `SecondOrderPerceptron`, `DiagonalSecondOrderPerceptron` | d², d | with scaled=True | a |
| `AROW`, `DiagonalAROW` | d², d | with scaled=True | r |
| `VSGD` | d | yes | nothing |

`scaled=True` is not part of the published algorithms: it starts the initial matrix at each feature's first non-zero
value.
"""

from __future__ import annotations

from .arow import AROW, DiagonalAROW
from .lanes import Baseline
from .online_newton_step import OnlineNewtonStep
from .second_order_perceptron import DiagonalSecondOrderPerceptron, SecondOrderPerceptron
from .vsgd import VSGD

__all__ = [
    "AROW",
    "VSGD",
    "Baseline",
    "DiagonalAROW",
    "DiagonalSecondOrderPerceptron",
    "OnlineNewtonStep",
    "SecondOrderPerceptron",
]
