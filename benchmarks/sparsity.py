"""Sparsity on a stream of clicks: the loss, and the number of weights.

The stream is simulated, because no public one can be shipped: 20 fields of very different sizes whose values are as
frequent as words in a text, a million names in all, most of which have no effect. Rows are learned once, every one
predicted before it is learned (scikit-learn: in chunks of a thousand rows). "Random units": every name has a value
between 1e-3 and 1e3 in place of 1.

Vowpal Wabbit's FTRL and scikit-learn's SGD run with several penalties, and Vowpal Wabbit with several rates too; the
best of each in hindsight, by the log loss, is shown. unitless chooses during the pass.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import tempfile
import time
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import vowpalwabbit
from sklearn.linear_model import SGDClassifier

import unitless as ul

BITS = 20  # a place for each name
FIELDS = np.geomspace(10, 320_000, 20).astype(int)
FIELDS = (FIELDS * (1_000_000 / FIELDS.sum())).astype(int)
ALPHAS, L1 = (0.005, 0.05, 0.5, 1.5, 5.0), (0.3, 1.0, 3.0, 10.0)
SGD_ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2)
BATCH = 1000


@dataclass(frozen=True)
class Stream:
    """Rows with one name of each field."""

    X: scipy.sparse.csr_matrix
    y: np.ndarray


@dataclass(frozen=True)
class Outcome:
    """The results of one program."""

    who: str
    loss: float
    weights: int
    seconds: float
    chosen: str = ""


def stream(rows: int, random_units: bool, seed: int = 0) -> Stream:
    """In each field, some of the 200 most frequent names have an effect. The labels are the same in all units."""
    rng = np.random.default_rng(seed)
    columns, score, first = [], np.full(rows, -3.2), 0
    for size in FIELDS:
        rank = np.minimum(np.floor(np.exp(rng.random(rows) * np.log(size + 1))) - 1, size - 1).astype(np.int64)
        effect = np.where(rng.random(size) < 0.3, rng.normal(0, 0.8, size), 0.0)
        effect[200:] = 0.0
        order = rng.permutation(size)  # a name's place does not tell how frequent it is
        columns.append(first + order[rank])
        score += effect[rank]
        first += size
    indices = np.sort(np.stack(columns, axis=1), axis=1)
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), 1.0, -1.0)
    units = 10 ** rng.uniform(-3, 3, first) if random_units else np.ones(first)
    starts = np.arange(0, rows * len(FIELDS) + 1, len(FIELDS))
    return Stream(scipy.sparse.csr_matrix((units[indices].ravel(), indices.ravel(), starts), shape=(rows, first)), y)


def ours(data: Stream, who: str, **options: object) -> Outcome:
    start = time.perf_counter()
    model = ul.Learner(loss="logistic", learning_rate="auto", bits=BITS, **options)  # type: ignore[arg-type]
    loss = float(model.losses(model.learn(data.X, data.y), data.y).mean())
    seconds = time.perf_counter() - start
    chosen = f"rate {model.learning_rate:g}"
    if options:
        before = model.nbytes
        chosen += f", sparsity {model.sparsity:g}"
        model.prune()
        chosen += f"; {before / 1e6:.0f} MB, pruned {model.nbytes / 1e6:.1f} MB"
    weights = sum(weight != 0 for weight in model.weights.values())
    return Outcome(who, loss, weights, seconds, chosen)


def vowpal_wabbit(data: Stream, folder: pathlib.Path) -> Outcome:
    text, readable = folder / "clicks.vw", folder / "weights"
    with text.open("w") as file:
        for row, label in zip(data.X, data.y, strict=True):
            features = (f"{name}:{value:.17g}" for name, value in zip(row.indices, row.data, strict=True))
            file.write(f"{label:g} | {' '.join(features)}\n")

    def run(alpha: float, l1: float) -> Outcome:
        start = time.perf_counter()
        learning = ["--ftrl", "--ftrl_alpha", f"{alpha:g}", "--l1", f"{l1:g}", "--loss_function", "logistic"]
        files = ["-b", str(BITS), "-d", str(text), "--readable_model", str(readable)]
        workspace = vowpalwabbit.Workspace(arg_list=["--quiet", *learning, *files])
        loss = workspace.get_sum_loss() / workspace.get_weighted_examples()
        workspace.finish()
        seconds = time.perf_counter() - start
        weights = sum(float(weight) != 0 for weight in re.findall(r"^\d+:(\S+)", readable.read_text(), re.MULTILINE))
        return Outcome("vw --ftrl --l1, best", loss, weights, seconds, f"alpha {alpha:g}, l1 {l1:g}")

    return min((run(alpha, l1) for alpha in ALPHAS for l1 in L1), key=lambda one: one.loss)


def scikit_learn(data: Stream) -> Outcome:
    def run(alpha: float) -> Outcome:
        start = time.perf_counter()
        model, total = SGDClassifier(loss="log_loss", penalty="l1", alpha=alpha), 0.0
        for first in range(0, len(data.y), BATCH):
            X, y = data.X[first : first + BATCH], data.y[first : first + BATCH]
            scores = model.decision_function(X) if first else np.zeros(len(y))
            total += float(np.logaddexp(0, -y * scores).sum())
            model.partial_fit(X, y, classes=[-1.0, 1.0])
        seconds, weights = time.perf_counter() - start, int(np.count_nonzero(model.coef_))
        return Outcome("SGDClassifier, l1, best", total / len(data.y), weights, seconds, f"alpha {alpha:g}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return min(map(run, SGD_ALPHAS), key=lambda one: one.loss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    for random_units in (False, True):
        data = stream(rows, random_units)
        met, clicks = len(np.unique(data.X.indices)), np.mean(data.y > 0)
        print(
            f"{'random units' if random_units else 'indicators'}: {rows:,} rows, {met:,} names met, {clicks:.1%} clicks"
        )
        print(f"  {'':36}{'log loss':>9}{'weights':>10}{'seconds':>9}")
        with tempfile.TemporaryDirectory() as folder:
            outcomes = [
                ours(data, "unitless"),
                ours(data, "unitless, sparsity auto", sparsity="auto"),
                vowpal_wabbit(data, pathlib.Path(folder)),
                scikit_learn(data),
            ]
        for one in outcomes:
            print(f"  {one.who:36}{one.loss:9.4f}{one.weights:10,}{one.seconds:9.1f}  {one.chosen}")
        print()


if __name__ == "__main__":
    main()
