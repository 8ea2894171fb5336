"""The demonstration: a stream in which the units of two sensors change.

`make demo` and `unitless demo` draw it; so does `python -m unitless.paper.demo FOLDER`.
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np
from numpy.typing import NDArray

from ..models.learner import Learner
from .datasets import load_shuttle

CHANGE = 20_000
"""The row from which two sensors report in thousandths of their unit, so that their numbers are 1,000 times as large.
"""

Wrong = dict[str, NDArray[np.bool_]]


def write_table(path: pathlib.Path) -> None:
    """Write the bundled readings as a CSV file: nine columns, and whether the state is the usual one."""
    X, classes = load_shuttle()
    names = ["time", *(f"sensor{place}" for place in range(1, X.shape[1])), "state"]
    lines = [",".join(names)]
    for row, label in zip(X, classes, strict=True):
        lines.append(",".join([*(f"{value:g}" for value in row), "usual" if label == 1 else "unusual"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def errors() -> Wrong:
    """Whether each learner's progressive prediction of each row is wrong; the first learner is unitless.

    The other learners get columns that a scaler has standardized, which was fitted on the first 2,000 rows. All
    learners choose their learning rates while they learn.
    """
    X, classes = load_shuttle()
    unusual = classes != 1
    X[CHANGE:, [1, 6]] *= 1000.0
    spread = X[:2000].std(axis=0)
    scaled = (X - X[:2000].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    learners = {
        "unitless": (Learner("nag", loss="logistic", learning_rate="auto", center=True), X),
        "scaler + AdaGrad": (Learner("ag", loss="logistic", learning_rate="auto"), scaled),
        "scaler + gradient descent": (Learner("gd", loss="logistic", learning_rate="auto"), scaled),
    }
    return {name: (model.learn(rows, unusual) > 0) != unusual for name, (model, rows) in learners.items()}


def table(found: Wrong) -> str:
    """The share of errors before and after the change of units."""
    lines = [f"{'errors':28}{'before':>10}{'after the change of units':>28}"]
    for name, wrong in found.items():
        lines.append(f"{name:28}{wrong[2000:CHANGE].mean():>10.1%}{wrong[CHANGE:].mean():>28.1%}")
    return "\n".join(lines)


def picture(found: Wrong, path: pathlib.Path) -> bool:
    """Draw the errors of the last 1,000 rows along the stream; returns False if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: PLC0415  (an optional dependency)
    except ImportError:
        return False
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    window = 1000
    with plt.style.context("unitless.plot.style"):
        figure, axis = plt.subplots()
        for color, (name, wrong) in zip(("C0", "C4", "C5"), found.items(), strict=True):
            share = 100 * np.convolve(wrong, np.ones(window) / window, "valid")
            axis.plot(np.arange(window, len(wrong) + 1), share, color=color, zorder=3 if name == "unitless" else 2)
            axis.annotate(f" {name}", (len(wrong), share[-1]), color=color, va="center", annotation_clip=False)
        axis.axvline(CHANGE, color="#444444", linewidth=1)
        axis.text(CHANGE - 400, 33, "from here on two sensors\nreport in other units", ha="right", va="top")
        axis.set(xlim=(0, len(wrong)), ylim=(0, 34), xlabel="rows of the stream")
        axis.set_ylabel(f"errors in the last {window:,} rows, %")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        figure.savefig(path)
        plt.close(figure)
    return True


def main(folder: str = "out") -> None:
    """Print the table, draw the picture and print its path."""
    found = errors()
    print(table(found))
    path = pathlib.Path(folder) / "units.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"picture: {path}" if picture(found, path) else "no picture: pip install 'unitless[plot]'")


if __name__ == "__main__":
    main(*sys.argv[1:2])
