"""What it is about, in one picture: learn the same data in two sets of units.

Run it with `make demo` or `python -m unitless.paper.demo`.
"""

from __future__ import annotations

import pathlib
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.learner import Learner
from .datasets import load_shuttle

LEARNERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("auto  NAG, rate and offsets learned too", {"rule": "nag", "learning_rate": "auto", "center": True}),
    ("NAG   normalized adaptive gradient", {"rule": "nag"}),
    ("sNAG  the same, scaled by second moments", {"rule": "snag"}),
    ("AG    adaptive gradient (AdaGrad)", {"rule": "ag"}),
    ("GD    gradient descent", {"rule": "gd"}),
)
# Nine columns, nine other units: metres to feet, seconds to hours, grams to tonnes, and so on.
UNITS = np.array([3.28084, 1 / 3600, 1e-6, 1000.0, 0.0254, 60.0, 1e6, 0.001, 453.59237])

Curve = NDArray[np.float64]


def progressive_loss(
    options: dict[str, Any], X: NDArray[np.float64], y: NDArray[np.bool_]
) -> tuple[float, float, Curve]:
    """Mean log loss, error rate and the error rate so far, each row predicted before it was learned."""
    learner = Learner(loss="logistic", **options)
    predictions = learner.learn(X, y)
    curve = np.cumsum((predictions > 0) != y) / np.arange(1, len(y) + 1)
    return float(learner.losses(predictions, y).mean()), float(curve[-1]), curve


def short(loss: float) -> str:
    """A loss as a table wants it, however large."""
    return f"{loss:.4f}" if loss < 1000 else f"{loss:.1e}"


def main(folder: str = "out") -> None:
    """Print the table and write the picture."""
    X, classes = load_shuttle()
    y = classes == 1
    print(f"Shuttle: {len(y):,} rows, {X.shape[1]} columns with largest values from", end=" ")
    print(f"{np.abs(X).max(0).min():,.0f} to {np.abs(X).max(0).max():,.0f}. Is it class 1?")
    print("One pass, every row predicted before it is learned; learning rate 0.5 where it is not automatic.\n")
    print(f"{'':42}{'raw data':>18}{'other units':>18}")
    print(f"{'learner':42}{'log loss  error':>18}{'log loss  error':>18}", flush=True)
    results: dict[str, tuple[Curve, Curve]] = {}
    start = time.perf_counter()
    for title, options in LEARNERS:
        loss, error, curve = progressive_loss(options, X, y)
        other_loss, other_error, other_curve = progressive_loss(options, X * UNITS, y)
        results[title.split()[0]] = (curve, other_curve)
        verdict = "the same" if abs(other_loss - loss) < 1e-9 * loss else "CHANGED"
        row = f"{title:42}{short(loss):>10}{error:8.2%}{short(other_loss):>10}{other_error:8.2%}  {verdict}"
        print(row, flush=True)
    seconds = time.perf_counter() - start
    print(f"\n{2 * len(LEARNERS) * len(y):,} rows learned in {seconds:.2f} s.")
    path = plot(results, pathlib.Path(folder))
    print(f"Picture: {path}" if path else "No picture: it needs matplotlib (pip install 'unitless[plot]').")


def plot(results: dict[str, tuple[Curve, Curve]], folder: pathlib.Path) -> pathlib.Path | None:
    """Progressive error over time, raw beside rescaled."""
    try:
        import matplotlib  # noqa: PLC0415  (an optional dependency)
    except ImportError:
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
    for panel, which, title in zip(panels, (0, 1), ("raw data", "every column in another unit"), strict=True):
        for name, curves in results.items():
            curve = 100 * curves[which]
            shown = np.unique(np.geomspace(100, len(curve) - 1, 400).astype(int))
            panel.plot(shown, curve[shown], label=f"{name}  {curve[-1]:.1f}%", linewidth=2)
        panel.set(title=title, xlabel="examples seen", xscale="log", ylim=(0, 55))
        panel.legend(title="at the end", frameon=False, loc="upper right")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("progressive error, %")
    figure.suptitle("Shuttle, class 1 against the rest: auto, NAG and sNAG do not notice the change of units")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "demo.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


if __name__ == "__main__":
    main(*sys.argv[1:2])
