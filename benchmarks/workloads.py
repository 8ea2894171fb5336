"""The workloads, and their contenders (programs and options). The first contender of each is the reference."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable
from dataclasses import dataclass

import boosting
import fitted
import floors
import machine
import one_at_a_time as one
import ours
import river_rows
import scikit
import vowpal_wabbit as vw
from contenders import Contender, Loop, Program
from data import Store

Contenders = list[Contender]
partial = functools.partial
Peer, Floor = partial(Loop, by="peer"), partial(Loop, by="floor")

ALONE = {"ensemble": False}  # one learner, like the other programs
ONE_RATE = {"learning_rate": 0.5, "center": False, "falling_scales": False, **ALONE}


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
        Peer("Vowpal Wabbit, cache", partial(vw.learn, data="binary.vw")),
        Peer("Vowpal Wabbit, text", partial(vw.learn, data="binary.vw", cached=False)),
        Peer("scikit-learn SGD, pre-scaled", scikit.pre_scaled),
        Peer("scikit-learn SGD, pre-scaled, shuffled", partial(scikit.pre_scaled, shuffle=True)),
        Peer("scikit-learn scaler + SGD", scikit.pipeline),
        Peer(f"River scaler | logistic, first {store.size.slow_rows:,} rows", river),
        Loop("unitless, predictions only", ours.predict, threads=1),
        Floor("NumPy X @ w", floors.numpy_product),
        Floor("reading the bytes once", floors.memory),
    ]


def defaults(store: Store) -> Contenders:
    first = f"first {store.size.slow_rows:,} rows"
    ours_river = partial(one.our_classifier, model_type="auto")
    return [
        Loop("unitless, defaults: trees, ensemble", partial(ours.learn, model_type="auto", **ours.DEFAULTS)),
        Loop("unitless, linear, ensemble", partial(ours.learn, model_type="linear", **ours.DEFAULTS)),
        Loop("unitless, one linear learner", ours.learn),
        Peer("Vowpal Wabbit, cache", partial(vw.learn, data="binary.vw")),
        Peer("scikit-learn scaler + SGD", scikit.pipeline),
        Loop(f"unitless.river, defaults, {first}", partial(one.classify_covertype, make=ours_river)),
        Peer(
            f"River scaler | logistic, {first}",
            partial(one.classify_covertype, make=partial(one.river_classifier, scaled=True)),
        ),
    ]


def sparse(_: Store) -> Contenders:
    return [
        Loop("unitless", partial(ours.learn, kind="sparse")),
        Peer("Vowpal Wabbit, cache", partial(vw.learn, data="binary.vw")),
        Peer("scikit-learn SGD, pre-scaled", partial(scikit.pre_scaled, kind="sparse")),
        Loop("unitless, predictions only", partial(ours.predict, kind="sparse"), threads=1),
        Floor("reading the bytes once", partial(floors.memory, kind="sparse")),
    ]


def stream(_: Store) -> Contenders:
    return [
        Loop("unitless, bits=20", partial(ours.learn, kind="stream", bits=20)),
        Loop("unitless, columns not hashed", partial(ours.learn, kind="stream")),
        Peer("Vowpal Wabbit -b 20, cache", partial(vw.learn, data="stream.vw", options=("-b", "20"))),
        Peer("Vowpal Wabbit -b 20, text", partial(vw.learn, data="stream.vw", options=("-b", "20"), cached=False)),
        Peer("scikit-learn SGD, pre-scaled", partial(scikit.pre_scaled, kind="stream")),
        Loop("unitless, predictions only", partial(ours.predict, kind="stream"), threads=1),
        Floor("reading the bytes once", partial(floors.memory, kind="stream")),
    ]


def named(_: Store) -> Contenders:
    classify, estimator, bare = one.classify, one.our_classifier, partial(one.river_classifier, scaled=False)
    kinds: list[one.Kind] = ["NumPy's scalars", "names in any order", "names missing", "new names"]
    return [
        Loop("unitless.Learner, one rate", one.learner),
        *(Loop(f"unitless.Learner, {kind}", partial(one.learner, kind=kind)) for kind in kinds),
        Loop("unitless.Learner, automatic rate", partial(one.learner, learning_rate="auto")),
        Loop("unitless.Learner, curves", partial(one.learner, model_type="curves")),
        Loop("unitless.OneVsAll, 7 classes, one rate", partial(one.classes, learning_rate=0.5)),
        Loop("unitless.river, one rate", partial(classify, make=partial(estimator, **ONE_RATE))),
        Loop("unitless.river, automatic rate", partial(classify, make=partial(estimator, **ALONE))),
        Loop("unitless.river, text labels", partial(classify, make=partial(estimator, **ALONE), words=True)),
        Loop("unitless.river, defaults", partial(classify, make=partial(estimator, model_type="auto"))),
        Peer("River logistic, no scaler", partial(classify, make=bare)),
        *(Peer(f"River logistic, no scaler, {kind}", partial(classify, make=bare, kind=kind)) for kind in kinds[:2]),
        Peer("River scaler | logistic", partial(classify, make=partial(one.river_classifier, scaled=True))),
    ]


def named_numbers(_: Store) -> Contenders:
    fixed = partial(one.our_regressor, target=None, **ONE_RATE)
    return [
        Loop("unitless.river, one rate", partial(one.regress, make=fixed)),
        Loop("unitless.river, automatic rate", partial(one.regress, make=partial(one.our_regressor, **ALONE))),
        Loop("unitless.river, defaults", partial(one.regress, make=partial(one.our_regressor, model_type="auto"))),
        Peer("River linear, no scaler", partial(one.regress, make=partial(one.river_regressor, scaled=False))),
        Peer("River scaler | linear", partial(one.regress, make=partial(one.river_regressor, scaled=True))),
    ]


def rates(_: Store) -> Contenders:
    auto = partial(ours.learn, learning_rate="auto")
    return [
        Loop("one rate", ours.learn),
        Loop("automatic rate, 2 threads", auto, threads=2),
        Loop("automatic rate, 1 thread", auto, threads=1),
        Loop("automatic rate, centered, 2 threads", partial(auto, center=True), threads=2),
        Loop("16 rates, 2 threads", ours.sweep, threads=2),
        Loop("16 rates, 1 thread", ours.sweep, threads=1),
        Peer("Vowpal Wabbit, cache, one rate", partial(vw.learn, data="binary.vw")),
    ]


def classes(_: Store) -> Contenders:
    fixed = partial(ours.classify, learning_rate=0.5)
    return [
        Loop("unitless, 2 threads", fixed, threads=2),
        Loop("unitless, 1 thread", fixed, threads=1),
        Loop("unitless, automatic rates, 2 threads", ours.classify, threads=2),
        Loop("unitless, automatic rates, 1 thread", ours.classify, threads=1),
        Peer("Vowpal Wabbit --oaa 7, cache", partial(vw.learn, data="classes.vw", options=("--oaa", "7"))),
        Peer("scikit-learn SGD, pre-scaled", scikit.classes),
    ]


def interactions(_: Store) -> Contenders:
    pairs = partial(ours.classify, learning_rate=0.5, interactions=2)
    return [
        Loop("unitless, 2 threads", pairs, threads=2),
        Loop("unitless, 1 thread", pairs, threads=1),
        Peer(
            "Vowpal Wabbit --oaa 7 -q ff, cache",
            partial(vw.learn, data="classes.vw", options=("--oaa", "7", "-q", "ff")),
        ),
    ]


def softmax(store: Store) -> Contenders:
    return [
        Loop("one-vs-all, automatic rates", ours.classify),
        Loop("softmax, automatic rates", partial(ours.classify, kind="Softmax")),
        Loop("one-vs-all, one rate", partial(ours.classify, learning_rate=0.5)),
        Loop("softmax, one rate", partial(ours.classify, kind="Softmax", learning_rate=0.5)),
        Peer("Vowpal Wabbit --oaa 7, cache", partial(vw.learn, data="classes.vw", options=("--oaa", "7"))),
        Peer(f"River scaler | softmax, first {store.size.slow_rows:,} rows", river_rows.softmax),
    ]


def second_order(_: Store) -> Contenders:
    return [
        Loop("NAG, one rate", partial(ours.learn, kind="some")),
        Loop("NAG, automatic rate", partial(ours.learn, kind="some", **ours.AUTOMATIC)),
        Loop("second order", partial(ours.learn, kind="some", rule="newton")),
        Loop("second order, predictions only", partial(ours.predict, kind="some", rule="newton"), threads=1),
    ]


def model_types(store: Store) -> Contenders:
    learn = partial(ours.learn, kind="some", **ours.AUTOMATIC)
    return [
        Loop("unitless, linear", learn),
        Loop("unitless, curves", partial(learn, model_type="curves")),
        Loop("unitless, trees", partial(learn, model_type="trees")),
        Loop("unitless, automatic model type", partial(learn, model_type="auto")),
        Peer("LightGBM, continued by chunks", boosting.incremental, threads=machine.cores()),
        Peer(f"River ARF, first {store.size.forest_rows:,} rows", river_rows.forest),
    ]


def fit(_: Store) -> Contenders:
    ours_fit = partial(fitted.fit, module="unitless.sklearn", name="UnitlessClassifier")
    boosted = partial(fitted.fit, module="lightgbm", name="LGBMClassifier", verbose=-1)
    histogram = partial(fitted.fit, module="sklearn.ensemble", name="HistGradientBoostingClassifier", random_state=0)
    cores = machine.cores()
    return [
        Loop("UnitlessClassifier()", ours_fit, cores),
        Loop('UnitlessClassifier(model_type="trees")', partial(ours_fit, model_type="trees"), cores),
        Loop('UnitlessClassifier(model_type="curves")', partial(ours_fit, model_type="curves"), cores),
        Loop('UnitlessClassifier(model_type="linear")', partial(ours_fit, model_type="linear"), cores),
        Peer("LGBMClassifier()", boosted, cores),
        Peer("HistGradientBoostingClassifier()", histogram, cores),
    ]


def predict(_: Store) -> Contenders:
    return [
        Loop("unitless", ours.predict, threads=1),
        Loop("unitless, 7 classes", ours.predict_classes, threads=1),
        Floor("NumPy X @ w", floors.numpy_product),
        Peer("scikit-learn SGD, pre-scaled", scikit.predict),
        Peer("Vowpal Wabbit -t, cache", partial(vw.predict, data="binary.vw")),
        Floor("reading the bytes once", floors.memory),
    ]


def merge(_: Store) -> Contenders:
    return [
        Loop("unitless, 2 models", partial(ours.merge, models=2)),
        Loop("unitless, 8 models", partial(ours.merge, models=8)),
        Peer("Vowpal Wabbit, 2 models", partial(vw.merge, models=2)),
        Peer("Vowpal Wabbit, 8 models", partial(vw.merge, models=8)),
    ]


def serve(_: Store) -> Contenders:
    from served import services  # imported late: what it imports would count as memory of other contenders

    names = ("32 connections", "VW daemon", "FastAPI + River")
    return [*services("predict", *names), *services("learn", *names)]


def train(name: str, path: pathlib.Path, rows: int, *arguments: str, threads: int | None = None) -> Program:
    """`unitless train` with a linear model."""
    target = [] if path.suffix == ".vw" else ["--target", "_label"]
    command = [
        "-m",
        "unitless",
        "train",
        str(path),
        *target,
        "--no-shuffle",
        "--json",
        "--model-type",
        "linear",
        *arguments,
    ]
    return Program(name, command, rows, r'"log_loss": ([0-9.e-]+)', threads)


def _vw(name: str, path: pathlib.Path, rows: int, *arguments: str) -> Program:
    command = ["-m", "vowpalwabbit", "-d", str(path), "--loss_function", "logistic", *arguments]
    return Program(name, command, rows, r"average loss = ([0-9.e-]+)", by="peer")


def _pandas(name: str, path: pathlib.Path, rows: int) -> Program:
    script = pathlib.Path(__file__).with_name("pandas_pipeline.py")
    return Program(name, [str(script), str(path)], rows, r"log loss ([0-9.e-]+)", by="peer")


FIXED = ("--learning-rate", "0.5", "--no-center", "--no-ensemble")  # one learner, as the other programs have


def vw_file(store: Store) -> Contenders:
    path, rows = store.path("large.vw"), int(store.path("large.vw.rows").read_text())
    return [
        train("unitless, one rate", path, rows, *FIXED),
        train("unitless, automatic rate", path, rows),
        _vw("Vowpal Wabbit", path, rows),
        _pandas("pandas + scaler + SGD, CSV", store.path("large.csv"), int(store.path("large.csv.rows").read_text())),
    ]


def tables(store: Store) -> Contenders:
    csv, parquet = store.path("large.csv"), store.path("large.parquet")
    rows = int(store.path("large.csv.rows").read_text())
    return [
        train("unitless, CSV, one rate", csv, rows, *FIXED),
        train("unitless, CSV, automatic rate, centered", csv, rows),
        train("unitless, Parquet, one rate", parquet, rows, *FIXED),
        train("unitless, Parquet, automatic rate, centered", parquet, rows),
        _vw("Vowpal Wabbit --csv", csv, rows, "--csv"),
        _pandas("pandas + scaler + SGD, CSV", csv, rows),
    ]


def starting(store: Store) -> Contenders:
    csv, text = store.path("tiny.csv"), store.path("tiny.vw")
    return [
        train("unitless train, VW text", text, 1, *FIXED),
        train("unitless train, CSV", csv, 1, *FIXED),
        Program("unitless --help", ["-m", "unitless", "--help"], 1),
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
            "defaults",
            "Covertype, dense, defaults",
            "The same rows in the same order: our defaults next to one linear learner and to other programs.",
            "log loss",
            defaults,
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
        Workload(
            "softmax",
            "Seven classes, one model of all",
            "Covertype, dense; one-vs-all next to it.",
            "error",
            softmax,
        ),
        Workload(
            "second_order",
            "Second order",
            'Some rows of Covertype, class 2 against the rest; rule="newton".',
            "log loss",
            second_order,
        ),
        Workload(
            "model_types",
            "Curves and trees, row by row",
            "Some rows of Covertype in their order, class 2 against the rest; predicted, then learned.",
            "log loss",
            model_types,
        ),
        Workload(
            "fit",
            "Curves and trees, fitted",
            "Four fifths of these rows in a random order, on all cores; the loss is that of the other fifth.",
            "log loss, held out",
            fit,
        ),
        Workload(
            "predict",
            "Predictions only",
            "Covertype, dense, with a model trained on it, on one thread.",
            "",
            predict,
        ),
        Workload("merge", "Merging", "Hashed models; all features of ours are known.", "", merge),
        Workload(
            "serve",
            "A server, one row a request",
            "The processor time of the process that answers; 32 connections, VW's daemon has one.",
            "",
            serve,
        ),
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
            "A file of two rows: the part of the times above that does not depend on the file.",
            "",
            starting,
            files=True,
        ),
    )
}
