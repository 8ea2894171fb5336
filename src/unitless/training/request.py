"""From any data to a model: a table is fitted, a stream is followed.

result = ul.train("prices.csv", target="price", model="prices.unitless")
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, Literal

from .. import notebook_bar
from ..data.memory import memory_size
from ..errors import Option, OptionError, Phrase
from ..options import USUAL_LEVEL, Auto, Experts, Loss, Rule, Shape
from .plan import Plan
from .result import TrainResult
from .run import ModelRequest, Run
from .shared_run import reading_and_learning


def train(
    source: Any,
    target: Any = None,
    *,
    weight: Any = None,
    offset: str | None = None,
    task: str | None = None,
    positive: str | None = None,
    loss: Loss | None = None,
    rule: Rule | None = None,
    learning_rate: float | Auto | None = None,
    shape: Shape | None = None,
    experts: Experts | None = None,
    centre: bool | None = None,
    interactions: Any = None,
    bits: int | None = None,
    sparsity: float | Auto | None = None,
    l2: float | None = None,
    shuffle: bool = True,
    passes: int | Auto | None = None,
    holdout: float | Literal["last"] | None = None,
    learn_holdout: bool = True,
    seed: int = 0,
    memory: int | str | None = None,
    interval: float = USUAL_LEVEL,
    model: str | os.PathLike[str] | None = None,
    resume: Any = None,
    checkpoint: int | str | os.PathLike[str] | None = None,
    on: Any = None,
    shards: int | None = None,
    rounds: int | None = None,
    workers: int | None = None,
    address: str | None = None,
    ignore: Any = (),
    only: Any = (),
    text: Any = (),
    words: Any = (),
    numbers: Any = (),
    dates: str | None = None,
    missing: str | None = None,
    na: Any = (),
    decimal: str | None = None,
    thousands: str | None = None,
    on_error: str = "fail",
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    zero_based: bool = False,
    follow: bool = False,
    opened: Callable[[Run], None] | None = None,
    progress: Callable[[Run], None] | Literal[False] | None = None,
    **options: Any,
) -> TrainResult:
    """Learn from any data, in bounded memory, with nothing to prepare and nothing to tune.

    Files, folders, frames, arrays and lists are *fitted*: they are taken for a sample of what the model will meet. Rows
    are learned in random order, some are held back, and the score is that of the model which is kept, on those. Pipes
    and other iterables are *followed*, as everything is with `shuffle=False`: rows in their order, the latest weights.

    Args:
        source: a file's name (in any of the formats that the guide lists, compressed or not), a glob, a folder, a zip
            archive, "-" for the standard input, a list of those; a pandas, polars or pyarrow frame; a pyarrow
            dataset; an array or sparse matrix; an iterable of mappings.
        target: the column to predict; for an array or a frame it may be the labels themselves.
        weight: a column of importance weights, or the weights themselves.
        offset: a column of numbers that are known to be part of the score of their row and are added to what the model
            says. For counts (`loss="poisson"`) give the logarithm of the exposure; for numbers, an earlier prediction.
            Predicting needs the column too.
        task: "regression", "binary" or "classes". Detected if not given: two values are binary; text or up to 20
            different whole numbers are classes; anything else is a number to predict.
        positive: which of two labels is the one to be found; yes, true, 1, the larger or later one if not given.
        loss: squared for numbers and logistic for classes, if not given. "softmax" is one model of several classes.
        rule: "nag" if not given; see `Learner`.
        learning_rate: "auto" if not given.
        shape: "linear"; "curves", a curve for each numeric column, at 3 to 4 times the time; "trees", curves and trees
            over all columns, at 10 to 20 times the time, about as good as boosted trees; "auto", "trees" where the
            data is not too wide or sparse; or "curves only". "auto" if not given; see `Learner`.
        experts: "auto": other learners beside the rule, under the mixture: second order for tables, softmax for
            classes, "snag" for wide and sparse data; "none". If not given, "auto", or "none" where `learning_rate` is a
            number; see `Learner`.
        centre: use numeric columns less their running mean; True for tables and arrays, if not given.
        interactions: products of features; see `Learner`.
        bits: hash features into 2**bits slots, which bounds memory (and leaves centring out).
        sparsity: a penalty that makes weights that matter little zero: a number without a unit (1 is a good value) or
            "auto"; see `Learner`. The model that is kept is pruned: it knows the features that matter and no others.
        l2: a penalty that pulls weights towards zero; see `Learner`.
        shuffle: fit what can be fitted; False: follow the rows as they come.
        passes: how often to go through the data; once on a cluster, if not given. "auto", as if not given when fitting:
            until the loss on the rows held back falls no more, and the best weights are kept. Only the first pass is
            scored progressively.
        holdout: the fraction of the rows that the kept model predicts before it has learned them; a tenth, at most
            20,000 rows, if not given when fitting; 0 for none. "last", with `shuffle=False`: the last tenth instead,
            so that the past is learned and the future scored.
        learn_holdout: learn these rows too, after they have been scored. What is held back at random from rows that
            are followed is never learned.
        seed: of the random order, and of which rows are held back.
        memory: how much of it rows may take while they are put into random order ("2GB", or bytes); a quarter of the
            machine's if not given. Larger tables go through temporary files. The model is the same.
        interval: the level of the intervals (of classes: sets) whose coverage and width the metrics show. It changes
            nothing of the model: `Predictor.predict` makes intervals of any level.
        model: where to save the model, at the end, at checkpoints and when interrupted.
        resume: a model (or its file) to go on with. If its training was interrupted, it goes on where it stopped, with
            the same result as if it had never been; otherwise it learns this data in addition.
        checkpoint: save the model every so many rows; with `on`, the file that keeps what is needed to go on after each
            round.
        on: what runs the training in parts at the same time: "local" (threads), "ray", "dask" or "spark"; or one of the
            engines in `unitless.distributed`. "local" if one of the next four is given.
        shards: into how many parts the rows are dealt, each learned on its own between two rounds. The result depends
            on it, but not on the number of workers.
        rounds: how often in a pass the parts are brought together.
        workers: how many parts are learned at the same time; one for each core if not given.
        address: of a cluster that is there. If it is not given, one is started on this machine and stopped at the end.
        ignore: columns to leave out; `*` stands for any letters.
        only: columns to use.
        text: columns whose values are names although they look like numbers (a zip code).
        words: columns of text in which each word is a feature (a comment, a title); found by their look if not given.
        numbers: columns to learn from although they look like row counters or ids, and to be centred although they
            begin with nothing but zeros and ones (see the guide).
        dates: "parts" to take columns of dates as time, year, month, weekday, hour and day of the year; "day-first" or
            "month-first" to do so and say how 1/2/2020 is to be read; or "error". "parts" if not given.
        missing: "indicator": a missing value is a feature of its own, `column=(missing)`; "absent": a feature that is
            not there; or "error". "indicator" if not given.
        na: values that stand for a missing one, besides the usual marks (NA, null, ?, ...).
        decimal: what stands before the fraction of numbers in text, "." or ","; found if not given.
        thousands: what stands between their thousands; found if not given.
        on_error: "fail", or "skip" rows that cannot be read and count them.
        format: of files whose name and content do not say it, for example "csv"; the guide lists the names.
        delimiter: of CSV; detected if not given.
        header: whether CSV has a row of names; found if not given. Without, columns are called 1, 2, 3, ...
        encoding: of text files, UTF-8 if not given.
        zero_based: whether libsvm files count features from 0.
        follow: read a text file that grows, as `tail -F` does, until Ctrl-C; the last one, if there are several. Its
            rows are followed as they come (`shuffle=False`).
        opened: called with the run before the first row is read.
        progress: called after every batch with the run (its `progress`, `evaluation`, `source`). If not given, a
            notebook shows a bar; False for none.
        options: all further options of how data is read (`ReadOptions`) and of `Learner`.

    Example:
        >>> import unitless as ul
        >>> rows = [{"age": 20 + i % 50, "job": "clerk" if i % 3 else "pilot", "rich": "no" if i % 3 else "yes"}
        ...         for i in range(1000)]
        >>> result = ul.train(rows, target="rich")
        >>> result.task
        "binary: is it 'yes' (positive) or 'no' (negative)?"
        >>> result.score["zero_one"], result.scored_on
        (0.0, '100 rows held back, then learned too')
        >>> result.trivial, round(result.baseline["zero_one"], 2)
        ("always 'no'", 0.35)
        >>> result.predict([{"age": 30, "job": "pilot"}])
        ['yes']
    """
    reading, learning = reading_and_learning(
        {
            "offset": offset,
            "ignore": ignore,
            "only": only,
            "text": text,
            "words": words,
            "numbers": numbers,
            "dates": dates,
            "missing": missing,
            "na": na,
            "decimal": decimal,
            "thousands": thousands,
            "on_error": on_error,
            "format": format,
            "delimiter": delimiter,
            "header": header,
            "encoding": encoding,
            "zero_based": zero_based,
            "follow": follow,
            "loss": loss,
            "rule": rule,
            "learning_rate": learning_rate,
            "shape": shape,
            "experts": experts,
            "centre": centre,
            "interactions": interactions,
            "bits": bits,
            "sparsity": sparsity,
            "l2": l2,
            **options,
        }
    )
    request = ModelRequest(task, positive, learning)
    alone = workers is None or (type(workers) is int and workers == 1)
    in_parts = not alone or any(given is not None for given in (on, shards, rounds, address))
    every: Any = None if in_parts else checkpoint
    plan = Plan(
        1 if passes is None and on not in (None, "local") else passes,
        holdout,
        seed,
        None if model is None else os.fspath(model),
        every,
        False if follow else shuffle,
        None if memory is None else memory_size(memory),
        learn_holdout,
        interval,
    )
    if in_parts and follow:
        raise OptionError(
            Phrase("rows that are yet to come are learned in one part: leave out ", Option("on"), ", ")
            + Phrase(Option("workers"), " and the like, or ", Option("follow"))
        )
    if in_parts:
        # Distributed training builds on this room, so that it cannot be one of those that it uses.
        distributed = importlib.import_module("unitless.distributed.train")
        with notebook_bar.watching(progress) as watch:
            result: TrainResult = distributed.run(
                (source, target, weight, reading, request, plan, resume),
                distributed.Parts(on, shards, rounds, workers, address, checkpoint),
                opened,
                watch,
            )
        return result
    run = Run(source, target, weight, reading, request, plan, resume)
    if opened is not None:
        opened(run)
    with notebook_bar.watching(progress) as watch:
        return run.go(watch)
