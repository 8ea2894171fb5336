"""The analysis of the paper (sections 4 and 5) as code: conditioners, projections, bounds, adversaries.

Everything is NumPy in float64, to be read together with the paper; the best predictor for hinge and quantile losses
needs SciPy. For practical work use `unitless.Learner`.

    >>> import numpy as np
    >>> from unitless.paper import theory
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.5, 1, size=(300, 3)) * [1e-6, 1, 1e6]  # any units
    >>> y = rng.choice([-1.0, 1.0], size=300)
    >>> run = theory.streaming(X, y, theory.Linear(), C=1.0)
    >>> best = theory.best_predictor(X, y, theory.Linear(), theory.Ball(theory.largest(X), C=1.0))
    >>> theory.regret(run, best) <= theory.theorem_2(run, C=1.0)
    True
"""

from .adversary import BoundedInputs, Regrets, UnitSecondMoment, attack, regrets
from .ball import Ball
from .bounds import (
    adaptive_gradient_bound,
    corollary_1,
    hindsight_bound,
    lemma_1,
    lemma_1_as_printed,
    lemma_2,
    p2_bound,
    scale_ratio_bound,
    sharper_lemma_2,
    sharper_theorem_1,
    theorem_1,
    theorem_2,
    zinkevich,
)
from .comparator import Comparator, best_predictor, regret
from .descent import Conditioner, Run, descend
from .learners import (
    adaptive_gradient,
    gradient_descent,
    hindsight,
    online,
    sharper_hindsight,
    sharper_transductive,
    streaming,
    transductive,
    worst_case_hindsight,
)
from .losses import Linear, largest_regret, truncated_slope
from .projections import project_l1, project_l2
from .relatives import Game, coin_betting_bound, freegrad_bound, play, scinol1_bound, scinol2_bound
from .scales import Ellipsoid, ellipsoid, largest, running_largest

__all__ = [
    "Ball",
    "BoundedInputs",
    "Comparator",
    "Conditioner",
    "Ellipsoid",
    "Game",
    "Linear",
    "Regrets",
    "Run",
    "UnitSecondMoment",
    "adaptive_gradient",
    "adaptive_gradient_bound",
    "attack",
    "best_predictor",
    "coin_betting_bound",
    "corollary_1",
    "descend",
    "ellipsoid",
    "freegrad_bound",
    "gradient_descent",
    "hindsight",
    "hindsight_bound",
    "largest",
    "largest_regret",
    "lemma_1",
    "lemma_1_as_printed",
    "lemma_2",
    "online",
    "p2_bound",
    "play",
    "project_l1",
    "project_l2",
    "regret",
    "regrets",
    "running_largest",
    "scale_ratio_bound",
    "scinol1_bound",
    "scinol2_bound",
    "sharper_hindsight",
    "sharper_lemma_2",
    "sharper_theorem_1",
    "sharper_transductive",
    "streaming",
    "theorem_1",
    "theorem_2",
    "transductive",
    "truncated_slope",
    "worst_case_hindsight",
    "zinkevich",
]
