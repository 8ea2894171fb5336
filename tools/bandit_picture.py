"""Draw docs/images/bandits.png: the probability of each action by the context, after more and more rewards.

    python tools/bandit_picture.py

Three actions; which one is the best depends on a number between 0 and 100. Rewards are noisy. The seed is fixed.
"""

from __future__ import annotations

import pathlib

import matplotlib as mpl
import numpy as np

import unitless as ul

mpl.use("Agg")
import matplotlib.pyplot as plt

PICTURE = pathlib.Path(__file__).parent.parent / "docs" / "images" / "bandits.png"
AFTER = (10, 100, 1000)
ACTIONS = ["A", "B", "C"]


def reward(action: str, x: float) -> float:
    """The mean reward of an action."""
    return {"A": 60 - x, "B": 30.0, "C": x - 50}[action]


def main() -> None:
    """Let a bandit learn, and draw its probabilities."""
    plt.style.use("unitless.plot.style")
    rng, bandit, grid = (
        np.random.default_rng(0),
        ul.Bandit(model_type="linear", random_state=4),
        np.linspace(0, 100, 201),
    )
    figure, axes = plt.subplots(1, len(AFTER), figsize=(11, 3.6), sharey=True)
    learned = 0
    for axis, after in zip(axes, AFTER, strict=True):
        for event in range(learned, after):
            x = float(rng.uniform(0, 100))
            action = str(bandit.decide(event, {"x": x}, ACTIONS).action)
            bandit.learn(event, reward(action, x) + 20 * float(rng.normal()))
        learned = after
        shares = [bandit.propensities({"x": float(x)}, ACTIONS) for x in grid]
        for name, color, place in (("A", "C0", 12), ("B", "C1", 55), ("C", "C2", 92)):
            axis.plot(grid, [100 * one[name] for one in shares], color=color)
            axis.text(place, 104, name, color=color, ha="center")
        axis.set(xlabel="context x", ylim=(0, 112))
        axis.set_title(f"after {after:,} rewards", loc="center", pad=14)
    axes[0].set_ylabel("probability of the action, %")
    figure.savefig(PICTURE)


if __name__ == "__main__":
    main()
