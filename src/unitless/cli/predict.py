"""unitless predict: predictions for any data, one line per row."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..data import formats
from . import arguments, display, options
from .options import OUTPUT, READING, Flag

if TYPE_CHECKING:
    from ..inference.predictor import Predictions, Predictor

NAME = "predict"
EXAMPLES = """
[bold]Examples[/]

unitless predict prices.unitless new.csv

unitless predict clicks.unitless 'logs/*.parquet' --probabilities --output clicks.parquet

unitless predict prices.unitless new.csv --keep --output priced.csv

unitless predict prices.unitless new.csv --level 0.9

zcat new.vw.gz | unitless predict clicks.unitless - --format vw | head
"""
OPTIONS = (
    Flag("model", "A model made by train.", metavar="MODEL", argument=True, required=True),
    options.DATA,
    Flag(
        "output",
        f"Where to write: {formats.one_of(formats.endings(formats.table_formats()))}, text also .gz, .bz2 or .zst. CSV "
        "on the standard output if not given.",
        short="-o",
        panel=OUTPUT,
    ),
    Flag("format_out", f"The format to write: {formats.one_of(formats.table_formats())}.", panel=OUTPUT),
    Flag("probabilities", "Add the probability of each class.", bool, False, short="-p", panel=OUTPUT),
    Flag("scores", "Add the scores from which the predictions are made.", bool, False, panel=OUTPUT),
    Flag(
        "level",
        "Add limits between which the truth lies with this probability, such as 0.9: low and high; of classes a set of "
        "them.",
        float,
        panel=OUTPUT,
    ),
    Flag("keep", "Add the columns of the data, before the predictions.", bool, False, panel=OUTPUT),
    Flag(
        "extrapolate", "Predict linearly, without limit, beyond the range of values in the training data.", bool, False
    ),
    Flag(
        "missing", "What missing values are: absent features, or an error; as in training if not given.", panel=READING
    ),
    options.ON_ERROR,
    *options.FILES,
    options.TAIL,
    options.NO_REMARKS,
)


def command(
    *,
    model: str,
    data: list[str],
    output: str | None,
    format_out: str | None,
    probabilities: bool,
    scores: bool,
    level: float | None,
    keep: bool,
    extrapolate: bool,
    missing: str | None,
    on_error: str,
    quiet: bool,
    **given: Any,
) -> int:
    """Predict any data with a model made by train: one line per row, in the order of the data.

    The data need not have the column of the target. If they have it, it is ignored. Rows of a pipe, or
    with --tail of a file that grows, are predicted and written as they arrive.
    """
    from ..data.byte_stream import never  # noqa: PLC0415
    from ..data.files import File, check_output, find  # noqa: PLC0415
    from ..data.progress import Progress  # noqa: PLC0415
    from ..data.writers.output import STDOUT, opened  # noqa: PLC0415
    from ..inference.predictor import Predictor  # noqa: PLC0415
    from ..models.file import load  # noqa: PLC0415
    from ..training.interruption import interruptible  # noqa: PLC0415

    kind = _format(output, format_out)
    check_output(output, [File(model)], "the predictions", "the model")
    files = [file for name in data for file in find(name)]
    check_output(output, files, "the predictions")
    predictor = Predictor(load(model))
    _check(predictor, probabilities)
    limits = None if level is None else Limits(predictor, predictor.reach(level), kind)
    reading = replace(arguments.reading(given, (*options.FILES, options.TAIL)), on_error=on_error)  # type: ignore[arg-type]
    reading = reading if missing is None else replace(reading, missing=missing)  # type: ignore[arg-type]
    # Ctrl-C is the end of a stream, whose predictions are kept; of a file it would leave only some.
    endless = given["tail"] or any(file.size is None for file in files)
    rows = without = 0
    shown: list[str] = []
    progress = Progress()
    with interruptible() if endless else nullcontext(never) as stopped, opened(output) as file:
        out = formats.table_writer(kind, file)
        tagged = None
        for part in predictor.batches(
            arguments.sources(data), extrapolate=extrapolate, keep=keep, stopped=stopped, reading=reading
        ):
            if part.batch.note and not quiet:
                print(f"unitless: {part.batch.note}", file=sys.stderr)
            tagged = part.batch.tags is not None if tagged is None else tagged
            out.write(table(part, probabilities, scores, tagged, limits))
            if output in (None, STDOUT):  # whoever reads them may be waiting for these rows
                file.flush()
            progress.read_in(part.batch)
            rows += len(part.scores)
            without += int(part.missing.sum())
            shown += [str(bad) for bad in part.batch.bad[: 3 - len(shown)]]
        out.close()
    if not quiet:
        display.notes_on_odd(progress.odd, predictor.schema)
        _remarks(rows, without, shown)
        if stopped():
            print(f"unitless: interrupted after {display.count(rows, 'row')}", file=sys.stderr)
    return 130 if stopped() else 0


def _remarks(rows: int, without: int, shown: list[str]) -> None:
    for bad in shown:
        print(f"skipped: {bad}", file=sys.stderr)
    if without:
        has = "has" if without == 1 else "have"
        print(f"unitless: {without:,} of {display.count(rows, 'row')} {has} no prediction", file=sys.stderr)


def _format(output: str | None, asked: str | None) -> str:
    from ..data.writers.output import STDOUT  # noqa: PLC0415
    from ..errors import OptionError  # noqa: PLC0415

    named = None if output in (None, STDOUT) else formats.of_name(str(output))
    if asked is None and named is None and output not in (None, STDOUT) and "." in os.path.basename(str(output)):
        raise OptionError(f"{output}: this name does not say which format it is to have; say it with --format-out")
    kind = asked or (named.name if named else "csv")
    if kind not in formats.table_formats():
        where = f"--format-out is {asked!r}" if asked else f"--output is {output!r}"
        raise OptionError(f"{where}; predictions can be written as {', '.join(formats.table_formats())}")
    return kind


def _check(predictor: Predictor, probabilities: bool) -> None:
    from ..errors import OptionError  # noqa: PLC0415
    from ..losses import LOSSES  # noqa: PLC0415

    loss = predictor.model.options.loss
    if probabilities and not LOSSES[loss].link.gives_probabilities:
        why = "it predicts numbers" if predictor.target.task == "regression" else f"its loss is {loss}"
        raise OptionError(f"--probabilities is for models of classes with logistic loss; {why}")


@dataclass(frozen=True)
class Limits:
    """How far from the predictions the truth lies at most, and the format in which that is to be written."""

    predictor: Predictor
    reach: float
    format: str

    def columns(self, part: Predictions, stored: Any) -> dict[str, Any]:
        """Of numbers low and high; of classes the set: a list of labels, in CSV with bars between them.

        Args:
            part: the predictions.
            stored: as what labels are stored.
        """
        from ..data.arrow import pyarrow  # noqa: PLC0415

        pa = pyarrow()
        if part.codes is None:
            low, high = self.predictor.bounds(part, self.reach)
            return {"low": pa.array(low, pa.float64()), "high": pa.array(high, pa.float64())}
        sets = self.predictor.sets(part, self.reach)
        names = dict(zip(part.labels, part.classes, strict=True))
        if self.format == "csv":
            joined = [None if one is None else "|".join(names[label] for label in one) for one in sets]
            return {"set": pa.array(joined, pa.string())}
        if stored == pa.string():
            sets = [None if one is None else [names[label] for label in one] for one in sets]
        return {"set": pa.array(sets, pa.list_(stored))}


def table(part: Predictions, probabilities: bool, scores: bool, tagged: bool, limits: Limits | None = None) -> Any:
    """The predictions as an Arrow table."""
    from ..data.arrow import pyarrow  # noqa: PLC0415
    from ..errors import OptionError  # noqa: PLC0415

    pa = pyarrow()
    missing = part.missing
    some = bool(missing.any())

    def numbers(values: Any) -> Any:
        return pa.array(values, pa.float64(), mask=missing if some else None)

    columns: dict[str, Any] = {}
    kept = part.batch.original
    if kept is not None:
        columns.update(zip(kept.column_names, kept.columns, strict=True))
    new: dict[str, Any] = {}
    if tagged:
        new["tag"] = pa.array(part.tags or [None] * len(missing), pa.string())
    stored = pa.float64()
    if part.codes is not None:
        codes = pa.array(part.codes, mask=missing if some else None)
        whole = all(isinstance(label, int) and not isinstance(label, bool) for label in part.labels)
        number = whole or all(type(label) in (int, float) for label in part.labels)
        labels = part.labels if number else part.classes
        stored = pa.int64() if whole else pa.float64() if number else pa.string()
        new["prediction"] = pa.array(labels, stored).take(codes)
    else:
        new["prediction"] = numbers(part.numbers)
    if limits is not None:
        new.update(limits.columns(part, stored))
    if probabilities and part.probabilities is not None:
        for k, name in enumerate(part.classes):
            new[f"probability_{name}"] = numbers(part.probabilities[:, k])
    if scores and part.scores.ndim == 1:
        new["score"] = numbers(part.scores)
    elif scores:
        new.update({f"score_{name}": numbers(part.scores[:, k]) for k, name in enumerate(part.classes)})
    both = [name for name in new if name in columns]
    if both:
        raise OptionError(f"the data has a column {both[0]!r} itself; leave out --keep, or rename it")
    columns.update(new)
    return pa.table(columns)
