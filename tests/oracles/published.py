"""The paper's own algorithms in plain Python, by the names of their rules and losses."""

from __future__ import annotations

from unitless.paper import algorithms

RULES = {
    "gd": algorithms.GD,
    "ag": algorithms.AG,
    "ng": algorithms.NG,
    "nag": algorithms.NAG,
    "snag": algorithms.SNAG,
}
LOSSES = {
    "squared": algorithms.Squared(),
    "logistic": algorithms.Logistic(),
    "hinge": algorithms.Hinge(),
    "quantile": algorithms.Quantile(0.3),
    "poisson": algorithms.Poisson(),
}
