"""The effect of automatic rates, centering and the automatic target on the paper's data: part of `make bench`.

Numeric columns, raw, in the order of the files, one pass, every row predicted before it is learned. "Best rate" is the
best of the grid exp(0.2 k), k = -23 ... 12, chosen in hindsight. Needs UNITLESS_DATA, the directory with the datasets.
"""

from __future__ import annotations

import sys

import numpy as np
from data import folder_of_datasets, paper_dataset

import unitless as ul


def classification() -> None:
    print(f"{'progressive log loss and error':34}{'best rate':>18}{'automatic':>18}{'ratio of losses':>17}")
    for name in ("bank", "census", "shuttle", "covertype"):
        X, y = paper_dataset(name)
        classes = np.unique(y)
        for center in (False, True):
            if len(classes) == 2:
                sweep = ul.Sweep(None, loss="logistic", center=center)
                sweep.learn(X, y)
                m = ul.Learner(loss="logistic", learning_rate="auto", center=center)
                scores = m.learn(X, y)
                loss, error = m.losses(scores, y).mean(), np.mean((scores > 0) != (y == 1))
            else:
                sweep = ul.Sweep(classes=classes, center=center)
                sweep.learn(X, y)
                scores = ul.OneVsAll(classes, center=center).learn(X, y)
                signs = np.where(y[:, None] == classes, 1.0, -1.0)
                loss = np.logaddexp(0, -signs * scores).sum(axis=1).mean()
                error = np.mean(classes[scores.argmax(axis=1)] != y)
            best = f"{sweep.losses.min():.4f} {sweep.errors.min():8.2%}"
            title = f"{name}, {len(classes)} classes{', centered' if center else ''}"
            print(f"  {title:32}{best:>18}{f'{loss:.4f} {error:8.2%}':>18}{loss / sweep.losses.min():17.3f}")
    print()


def regression() -> None:
    print(
        f"{'progressive RMSE without first row':34}{'rate 0.5':>12}{'auto':>10}{'auto, target':>14}{'and centered':>13}"
    )
    for name, title in (("msd_random7000", "songs' years, sample"), ("ctslice_head682", "CT slices, first 682 rows")):
        X, labels = paper_dataset(name)
        y = labels.astype(float)

        def rmse(X: np.ndarray = X, y: np.ndarray = y, **options: object) -> float:
            return float(np.sqrt(np.mean((ul.Learner(**options).learn(X, y) - y)[1:] ** 2)))  # type: ignore[arg-type]

        fixed, auto = rmse(), rmse(learning_rate="auto")
        both = rmse(learning_rate="auto", target="auto")
        all_three = rmse(learning_rate="auto", target="auto", center=True)
        shown = f"  {title} (std {y.std():.1f})"
        print(f"{shown:34}{fixed:12.1f}{auto:10.2f}{both:14.2f}{all_three:13.2f}")
    print()


if __name__ == "__main__":
    if folder_of_datasets() is None:
        sys.exit("automatic.py needs the paper's datasets: set UNITLESS_DATA to their directory")
    classification()
    regression()
