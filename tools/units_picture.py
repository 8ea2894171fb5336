"""Draw docs/images/units.png: the error of each learner, depending on how much the units of the columns differ.

    python tools/units_picture.py

Shuttle, class 1 against the rest, one pass. Column j is multiplied by 10^(d·u_j), with fixed u_j from -1 to 1, so that
units spread over 2d powers of ten. AdaGrad and gradient descent use, for each spread, the best of 60 learning rates,
chosen in hindsight; unitless finds its rate during the pass. All of them have centered columns.
"""

from __future__ import annotations

import pathlib

import matplotlib as mpl
import numpy as np

import unitless as ul
from unitless.paper.datasets import load_shuttle

mpl.use("Agg")
import matplotlib.pyplot as plt

PICTURE = pathlib.Path(__file__).parent.parent / "docs" / "images" / "units.png"
DIRECTIONS = np.array([0.6, -1.0, 0.2, -0.4, 1.0, -0.8, 0.0, 0.8, -0.2])
SPREADS = np.arange(0, 5.01, 0.5)
RATES = np.geomspace(1e-14, 1e6, 60)


def errors(rows: int) -> dict[str, list[float]]:
    """The progressive error of each learner, for every spread."""
    X, classes = load_shuttle()
    X, y = X[:rows], classes[:rows] == 1
    found: dict[str, list[float]] = {"unitless": [], "AdaGrad, best rate": [], "gradient descent, best rate": []}
    for spread in SPREADS:
        scaled = X * 10.0 ** (spread * DIRECTIONS)
        model = ul.Learner(loss="logistic", learning_rate="auto", center=True)
        found["unitless"].append(float(np.mean((model.learn(scaled, y) > 0) != y)))
        for name, rule in (("AdaGrad, best rate", "ag"), ("gradient descent, best rate", "gd")):
            sweep = ul.Sweep(RATES, rule=rule, loss="logistic", center=True)
            sweep.learn(scaled, y)
            found[name].append(float(np.nanmin(sweep.errors)))
    return found


def main() -> None:
    """Compute and print the errors, and draw the picture."""
    plt.style.use("unitless.plot.style")
    found = errors(43_500)
    figure, axis = plt.subplots()
    for (name, values), color in zip(found.items(), ("C0", "C4", "C5"), strict=True):
        print(f"{name:28}", *(f"{value:7.2%}" for value in values))
        axis.plot(2 * SPREADS, 100 * np.array(values), marker="o", color=color)
        end = (2 * SPREADS[-1], 100 * values[-1])
        axis.annotate(f"  {name}", end, color=color, va="center", annotation_clip=False)
    axis.set(xlabel="powers of ten between the units of the columns", ylabel="progressive error, %", ylim=(0, None))
    figure.savefig(PICTURE)


if __name__ == "__main__":
    main()
