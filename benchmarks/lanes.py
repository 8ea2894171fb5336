"""What many rates, many classes and pairs of features cost beside one learner and beside Vowpal Wabbit: `make bench`.

One pass over Covertype (raw, 54 float32 columns, logistic loss, NAG), every prediction made before its row is learned.
Rounds are interleaved. Without UNITLESS_DATA data of the same shape is made up, and the output says so.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import tempfile

import numpy as np
from side_by_side import VowpalWabbit, covertype, measure, table, timed, write_vw

import unitless as ul

RATES = [float(rate) for rate in np.exp(0.6 * np.arange(-8, 8))]
CLASSES = range(1, 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path(__file__).with_name("results"))
    options = parser.parse_args()
    X, classes, name = covertype()
    y = classes == 2
    print(f"{name}: {X.shape[0]:,} x {X.shape[1]}, kernel {ul.kernels()[-1]}, {options.rounds} rounds\n")

    def auto(**changes: object) -> float:
        return timed(lambda: ul.Learner(loss="logistic", learning_rate="auto", **changes).learn(X, y))  # type: ignore[arg-type]

    def one_vs_all(**changes: object) -> float:
        model = ul.OneVsAll(CLASSES, **{"learning_rate": 0.5, **changes})  # type: ignore[arg-type]
        return timed(lambda: model.learn(X, classes))

    with tempfile.TemporaryDirectory() as folder:
        binary, many = pathlib.Path(folder) / "binary.vw", pathlib.Path(folder) / "classes.vw"
        write_vw(X, np.where(y, 1, -1), binary)
        write_vw(X, classes, many)
        vw, vw_classes = VowpalWabbit(binary), VowpalWabbit(many, "--oaa", "7")
        vw_pairs = VowpalWabbit(many, "--oaa", "7", "-q", "ff")
        rates = measure(
            {
                "one rate": lambda: timed(lambda: ul.Learner(loss="logistic").learn(X, y)),
                "16 rates (Sweep)": lambda: timed(lambda: ul.Sweep(RATES, loss="logistic").learn(X, y)),
                "automatic rate": auto,
                "automatic rate, centred": lambda: auto(centre=True),
                "7 classes": one_vs_all,
                "7 classes, automatic rates": lambda: one_vs_all(learning_rate="auto"),
                "Vowpal Wabbit, cache": vw.from_cache,
                "Vowpal Wabbit, cache, --oaa 7": vw_classes.from_cache,
            },
            options.rounds,
        )
        table("One pass over all rows", rates, len(y))
        pairs = measure(
            {
                "7 classes, all pairs": lambda: one_vs_all(interactions=2),
                "Vowpal Wabbit, --oaa 7 -q ff": vw_pairs.from_cache,
            },
            options.rounds,
        )
        table("The same with products of all pairs of non-zero features", pairs, len(y))
        one, model = ul.Learner(loss="logistic"), ul.Learner(loss="logistic", learning_rate="auto")
        fixed, chosen = (m.losses(m.learn(X, y), y).mean() for m in (one, model))
        scores = ul.OneVsAll(CLASSES, learning_rate=0.5, interactions=2).learn(X, classes)
        wrong = float(np.mean(1 + scores.argmax(axis=1) != classes))
        print(f"  progressive log loss: rate 0.5 {fixed:.4f}, automatic {chosen:.4f}, Vowpal Wabbit {vw.loss:.4f}")
        print(f"  progressive error with pairs: unitless {wrong:.4f}, Vowpal Wabbit {vw_pairs.loss:.4f}")
    options.results.mkdir(exist_ok=True)
    result = {"data": name, "rows": len(y), "seconds": rates, "pairs_seconds": pairs}
    (options.results / "lanes.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
