"""Other learners, in plain NumPy: those that *Normalized Online Learning* names in section 1.1, and later ones.

"A comparative analysis of empirical performance would be interesting to observe": `unitless.paper.experiments` makes it
for the former, and `unitless.paper.contest` holds a contest of the latter.

| learner | per row | unit-free | what carries the unit |
|---|---|---|---|
| `OnlineNewtonStep` | d² | with scaled=True | ε |
| `SecondOrderPerceptron`, `DiagonalSecondOrderPerceptron` | d², d | with scaled=True | a |
| `AROW`, `DiagonalAROW` | d², d | with scaled=True | r |
| `VSGD` | d | yes | nothing |
| `ScInOL1`, `ScInOL2`, `CoinBetting`, `KT` | d | yes | nothing |
| `KATE` | d | yes | nothing |
| `FreeGrad`, `MetaGrad` | d, d log t | with scaled=True | ε, D |
| `DoG`, `Prodigy`, `ScheduleFree` | d | no | one step size for all weights |

`scaled=True` is not part of the published algorithms: it starts the initial matrix at each feature's first non-zero
value. (For FreeGrad it is the paper's protocol with hints.)

CODE (Chen, Langford, Orabona 2022) is left out: its closed form could not be settled from the sources at hand.
"""

from __future__ import annotations

from .arow import AROW, DiagonalAROW
from .coin_betting import KT, CoinBetting
from .dog import DoG
from .freegrad import FreeGrad
from .gradient_learner import GradientLearner
from .kate import KATE
from .lanes import Baseline
from .metagrad import MetaGrad
from .online_newton_step import OnlineNewtonStep
from .prodigy import Prodigy
from .schedule_free import ScheduleFree
from .scinol import ScInOL1, ScInOL2
from .second_order_perceptron import DiagonalSecondOrderPerceptron, SecondOrderPerceptron
from .vsgd import VSGD

__all__ = [
    "AROW",
    "KATE",
    "KT",
    "VSGD",
    "Baseline",
    "CoinBetting",
    "DiagonalAROW",
    "DiagonalSecondOrderPerceptron",
    "DoG",
    "FreeGrad",
    "GradientLearner",
    "MetaGrad",
    "OnlineNewtonStep",
    "Prodigy",
    "ScInOL1",
    "ScInOL2",
    "ScheduleFree",
    "SecondOrderPerceptron",
]
