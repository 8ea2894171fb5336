"""The workloads, and the contenders (programs and options) that do each. The first contender is the reference."""

from __future__ import annotations

import functools
import pathlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

import floors
import one_at_a_time as one
import ours
import scikit
import vowpal_wabbit as vw
from data import Store
from rounds import Loop, Program

Contenders = list[Loop | Program]
partial = functools.partial

ONE_RATE = {"learning_rate": 0.5, "centre": False}


@dataclass(frozen=True)
class Workload:
    """A piece of work, its description, and its contenders."""

    name: str
    title: str
    note: str
    loss: str  # the name of the loss in tables
    contenders: Callable[[Store], Contenders]
    files: bool = False


def dense(store: Store) -> Contenders:
    river = partial(one.classify_covertype, make=partial(one.river_classifier, scaled=True))
    return [
        Loop("unitless", ours.learn),
        Loop("unitless, plain steps", partial(ours.learn, importance_aware=False)),
        Loop("unitless, sNAG", partial(ours.learn, rule="snag")),
        Loop("Vowpal Wabbit, cache", partial(vw.learn, data="binary.vw")),
        Loop("Vowpal Wabbit, text", partial(vw.learn, data="binary.vw", cached=False)),
        Loop("scikit-learn SGD, pre-scaled", scikit.pre_scaled),
        Loop("scikit-learn SGD, pre-scaled, shuffled", partial(scikit.pre_scaled, shuffle=True)),
        Loop("scikit-learn scaler + SGD", scikit.pipeline),
        Loop(f"River scaler | logistic, first {store.size.slow_rows:,} rows", river),
        Loop("unitless, predictions only", ours.predict),
        Loop("NumPy X @ w", floors.numpy_product),
        Loop("reading the bytes once", floors.memory),
    ]


def sparse(_: Store) -> Contenders:
    return [
        Loop("unitless", partial(ours.learn, kind="sparse")),
        Loop("Vowpal Wabbit, cache", partial(vw.learn, data="binary.vw")),
        Loop("scikit-learn SGD, pre-scaled", partial(scikit.pre_scaled, kind="sparse")),
        Loop("unitless, predictions only", partial(ours.predict, kind="sparse")),
        Loop("reading the bytes once", partial(floors.memory, kind="sparse")),
    ]


def stream(_: Store) -> Contenders:
    return [
        Loop("unitless, bits=20", partial(ours.learn, kind="stream", bits=20)),
        Loop("unitless, columns not hashed", partial(ours.learn, kind="stream")),
        Loop("unitless, bits=20, float32", partial(ours.learn, kind="stream", bits=20, precision="float32")),
        Loop("Vowpal Wabbit -b 20, cache", partial(vw.learn, data="stream.vw", options=("-b", "20"))),
        Loop("Vowpal Wabbit -b 20, text", partial(vw.learn, data="stream.vw", options=("-b", "20"), cached=False)),
        Loop("scikit-learn SGD, pre-scaled", partial(scikit.pre_scaled, kind="stream")),
        Loop("unitless, predictions only", partial(ours.predict, kind="stream")),
        Loop("reading the bytes once", partial(floors.memory, kind="stream")),
    ]


def named(_: Store) -> Contenders:
    classify, estimator = one.classify, one.our_classifier
    return [
        Loop("unitless.Learner, one rate", one.learner),
        Loop("unitless.Learner, automatic rate", partial(one.learner, learning_rate="auto")),
        Loop("unitless.river, one rate", partial(classify, make=partial(estimator, **ONE_RATE))),
        Loop("unitless.river", partial(classify, make=estimator)),
        Loop("unitless.river, text labels", partial(classify, make=estimator, words=True)),
        Loop("River logistic, no scaler", partial(classify, make=partial(one.river_classifier, scaled=False))),
        Loop("River scaler | logistic", partial(classify, make=partial(one.river_classifier, scaled=True))),
    ]


def named_numbers(_: Store) -> Contenders:
    fixed = partial(one.our_regressor, target=None, **ONE_RATE)
    return [
        Loop("unitless.river, one rate", partial(one.regress, make=fixed)),
        Loop("unitless.river", partial(one.regress, make=one.our_regressor)),
        Loop("River linear, no scaler", partial(one.regress, make=partial(one.river_regressor, scaled=False))),
        Loop("River scaler | linear", partial(one.regress, make=partial(one.river_regressor, scaled=True))),
    ]


def rates(_: Store) -> Contenders:
    auto = partial(ours.learn, learning_rate="auto")
    return [
        Loop("one rate", ours.learn),
        Loop("automatic rate, 2 threads", auto, threads=2),
        Loop("automatic rate, 1 thread", auto, threads=1),
        Loop("automatic rate, centred, 2 threads", partial(auto, centre=True), threads=2),
        Loop("16 rates, 2 threads", ours.sweep, threads=2),
        Loop("16 rates, 1 thread", ours.sweep, threads=1),
        Loop("Vowpal Wabbit, cache, one rate", partial(vw.learn, data="binary.vw")),
    ]


def classes(_: Store) -> Contenders:
    fixed = partial(ours.one_vs_all, learning_rate=0.5)
    return [
        Loop("unitless, 2 threads", fixed, threads=2),
        Loop("unitless, 1 thread", fixed, threads=1),
        Loop("unitless, automatic rates, 2 threads", ours.one_vs_all, threads=2),
        Loop("unitless, automatic rates, 1 thread", ours.one_vs_all, threads=1),
        Loop("Vowpal Wabbit --oaa 7, cache", partial(vw.learn, data="classes.vw", options=("--oaa", "7"))),
        Loop("scikit-learn SGD, pre-scaled", scikit.classes),
    ]


def interactions(_: Store) -> Contenders:
    pairs = partial(ours.one_vs_all, learning_rate=0.5, interactions=2)
    return [
        Loop("unitless, 2 threads", pairs, threads=2),
        Loop("unitless, 1 thread", pairs, threads=1),
        Loop(
            "Vowpal Wabbit --oaa 7 -q ff, cache",
            partial(vw.learn, data="classes.vw", options=("--oaa", "7", "-q", "ff")),
        ),
    ]


def predict(_: Store) -> Contenders:
    return [
        Loop("unitless", ours.predict),
        Loop("unitless, 7 classes, 1 thread", ours.predict_classes, threads=1),
        Loop("NumPy X @ w", floors.numpy_product),
        Loop("scikit-learn SGD, pre-scaled", scikit.predict),
        Loop("Vowpal Wabbit -t, cache", partial(vw.predict, data="binary.vw")),
        Loop("reading the bytes once", floors.memory),
    ]


def _ours(name: str, path: pathlib.Path, rows: int, *arguments: str) -> Program:
    target = [] if path.suffix == ".vw" else ["--target", "_label"]
    command = [sys.executable, "-m", "unitless", "train", str(path), *target, "--no-shuffle", "--json"]
    command += ["--shape", "linear", *arguments]
    return Program(name, command, rows, r'"log_loss": ([0-9.e-]+)')


def _vw(name: str, path: pathlib.Path, rows: int, *arguments: str) -> Program:
    command = [sys.executable, "-m", "vowpalwabbit", "-d", str(path), "--loss_function", "logistic", *arguments]
    return Program(name, command, rows, r"average loss = ([0-9.e-]+)")


def _pandas(name: str, path: pathlib.Path, rows: int) -> Program:
    script = pathlib.Path(__file__).with_name("pandas_pipeline.py")
    return Program(name, [sys.executable, str(script), str(path)], rows, r"log loss ([0-9.e-]+)")


FIXED = ("--rate", "0.5", "--no-centre")  # one learner: a rate that is given leaves other experts out


def vw_file(store: Store) -> Contenders:
    path, rows = store.path("large.vw"), int(store.path("large.vw.rows").read_text())
    return [
        _ours("unitless, one rate", path, rows, *FIXED),
        _ours("unitless, defaults (auto)", path, rows),
        _vw("Vowpal Wabbit", path, rows),
    ]


def tables(store: Store) -> Contenders:
    csv, parquet = store.path("large.csv"), store.path("large.parquet")
    rows = int(store.path("large.csv.rows").read_text())
    return [
        _ours("unitless, CSV, one rate", csv, rows, *FIXED),
        _ours("unitless, CSV, defaults (auto, centred)", csv, rows),
        _ours("unitless, Parquet, one rate", parquet, rows, *FIXED),
        _ours("unitless, Parquet, defaults", parquet, rows),
        _vw("Vowpal Wabbit --csv", csv, rows, "--csv"),
        _pandas("pandas + scaler + SGD, CSV", csv, rows),
    ]


def starting(store: Store) -> Contenders:
    csv, text = store.path("tiny.csv"), store.path("tiny.vw")
    return [
        _ours("unitless train, VW text", text, 1, *FIXED),
        _ours("unitless train, CSV", csv, 1, *FIXED),
        Program("unitless --help", [sys.executable, "-m", "unitless", "--help"], 1),
        _vw("Vowpal Wabbit", text, 1),
        _pandas("pandas + scaler + SGD", csv, 1),
    ]


ALL = {
    workload.name: workload
    for workload in (
        Workload(
            "dense",
            "Covertype, dense",
            "One pass over raw float32 columns; class 2 against the rest.",
            "log loss",
            dense,
        ),
        Workload(
            "sparse",
            "Covertype, sparse",
            "The same rows as a CSR matrix; 12 of 54 values are not zero.",
            "log loss",
            sparse,
        ),
        Workload(
            "stream",
            "A stream like hashed text",
            "A million features, 100 per row, drawn by a power law.",
            "log loss",
            stream,
        ),
        Workload(
            "named",
            "One row at a time: 20 named features",
            "Predict, then learn; each feature has its own unit.",
            "log loss",
            named,
        ),
        Workload(
            "named_numbers",
            "One row at a time: regression",
            "The same rows, with a number to predict.",
            "RMSE",
            named_numbers,
        ),
        Workload("rates", "Many rates", "Covertype, dense, class 2 against the rest, one pass.", "log loss", rates),
        Workload("classes", "Seven classes", "Covertype, dense, one against all.", "error", classes),
        Workload(
            "interactions",
            "Seven classes, all pairs of features",
            "Products of all pairs of non-zero features, made on the fly.",
            "error",
            interactions,
        ),
        Workload("predict", "Predictions only", "Covertype, dense, with a model trained on it.", "", predict),
        Workload(
            "vw_file",
            "A text file of Vowpal Wabbit",
            "From the file to the model, including the start of the program.",
            "log loss",
            vw_file,
            files=True,
        ),
        Workload(
            "tables",
            "CSV and Parquet",
            "From the file to the model, including the start of the program.",
            "log loss",
            tables,
            files=True,
        ),
        Workload(
            "starting",
            "Start of the program",
            "A file of one or two rows: the part of the times above that does not depend on the file.",
            "",
            starting,
            files=True,
        ),
    )
}
