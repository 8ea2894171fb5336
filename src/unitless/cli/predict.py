"""unitless predict: predictions for any data, one line per row."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..data import formats
from ..presentation.shown import listed
from . import arguments, display, options
from .options import OUTPUT, Flag

if TYPE_CHECKING:
    from ..inference.predictions import Predictions
    from ..inference.predictor import Predictor

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
    Flag("model", "The file of a model that train has saved.", metavar="MODEL", argument=True, required=True),
    options.DATA,
    Flag(
        "output",
        f"The file to write: {listed(formats.endings(formats.table_formats()), written=str)}; text also with .gz, "
        ".bz2 or .zst. Default: CSV on the standard output.",
        short="-o",
        panel=OUTPUT,
        metavar="FILE",
    ),
    Flag(
        "format_out",
        f"The format to write: {listed(formats.table_formats(), written=str)}. Default: the one that --output ends "
        "with.",
        panel=OUTPUT,
    ),
    Flag("probabilities", "Add the probability of each class.", bool, False, short="-p", panel=OUTPUT),
    Flag("scores", "Add the scores from which the predictions are made.", bool, False, panel=OUTPUT),
    Flag(
        "level",
        "Add a prediction interval of this level, such as 0.9, as columns low and high; for classes, a prediction set. "
        "Default: no intervals.",
        float,
        panel=OUTPUT,
    ),
    Flag("keep", "Write the columns of the data in front of the predictions.", bool, False, panel=OUTPUT),
    options.EXTRAPOLATE,
    options.MISSING_AS_TRAINED,
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
    quiet: bool,
    **given: Any,
) -> int:
    """Predict rows with a model: one line per row, in the order of the data.

    The target column is not needed; if the data has it, it is ignored. Rows from a pipe, or with --tail
    from a growing file, are predicted and written when they arrive.
    """
    from ..data.progress import Progress  # noqa: PLC0415
    from ..data.sources.byte_stream import never  # noqa: PLC0415
    from ..data.sources.files import File, check_output, find  # noqa: PLC0415
    from ..data.writers.output import STDOUT, opened  # noqa: PLC0415
    from ..inference.predictor import Predictor  # noqa: PLC0415
    from ..models.file import load  # noqa: PLC0415
    from ..training.interruption import interruptible  # noqa: PLC0415

    kind = _format(output, format_out)
    check_output(output, [File(model)], "the predictions", "the model")
    files = [file for name in data for file in find(name)]
    check_output(output, files, "the predictions")
    with arguments.model_first(NAME):
        predictor = Predictor(load(model))
    _check(predictor, probabilities)
    limits = None if level is None else Limits(predictor, predictor.reach(level), kind)
    reading = arguments.reading(given, (*options.FILES, options.ON_ERROR, options.TAIL))
    reading = reading if missing is None else replace(reading, missing=missing)  # type: ignore[arg-type]
    # Ctrl-C is the usual end of a stream, so its predictions stay; half of a file's predictions would be misleading.
    endless = given["tail"] or any(file.size is None for file in files)
    rows = without = 0
    shown: list[str] = []
    progress = Progress()
    with interruptible() if endless else nullcontext(never) as stopped, opened(output) as file:
        out = formats.get(kind).new_table_writer(file)
        readable = kind == "csv" and output in (None, STDOUT) and sys.stdout.isatty()
        tagged = None
        for part in predictor.batches(
            arguments.sources(data), extrapolate=extrapolate, keep=keep, stopped=stopped, reading=reading
        ):
            if part.batch.note and not quiet:
                print(f"unitless: {part.batch.note}", file=sys.stderr)
            tagged = part.batch.tags is not None if tagged is None else tagged
            columns = table(part, probabilities, scores, tagged, limits)
            out.write(_rounded(columns, part) if readable else columns)
            if output in (None, STDOUT):  # a reader may be waiting for these rows
                file.flush()
            progress.read_in(part.batch)
            rows += len(part.scores)
            without += int(part.missing.sum())
            shown += [str(bad) for bad in part.batch.bad[: 3 - len(shown)]]
        out.close()
    if not quiet:
        display.notes_on_invalid(progress.invalid_values, predictor.schema)
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
        raise OptionError(
            f"{output}: the name does not tell the format; add an ending such as .csv, or give --format-out"
        )
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
    """The prediction intervals, or sets, that are written next to the predictions.

    Args:
        predictor: makes them.
        reach: the quantile of the prediction errors.
        format: the format in which they are written.
    """

    predictor: Predictor
    reach: float
    format: str

    def columns(self, part: Predictions, stored: Any) -> dict[str, Any]:
        """Columns by name: low and high for numbers; for classes a set, which is a list, or in CSV text with bars.

        Args:
            part: the predictions.
            stored: the Arrow type of labels.
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


def _rounded(table: Any, part: Predictions) -> Any:
    """The predictions with six digits, for people at a terminal; files and pipes have all digits."""
    from ..data.arrow import pyarrow  # noqa: PLC0415

    pa = pyarrow()
    own = set(() if part.batch.original is None else part.batch.original.column_names)
    own |= set() if part.codes is None else {"prediction"}  # labels stay as they are
    for place, name in enumerate(table.column_names):
        if name not in own and table.schema.types[place] == pa.float64():
            short = [None if value is None else float(f"{value:.6g}") for value in table.column(place).to_pylist()]
            table = table.set_column(place, name, pa.array(short, pa.float64()))
    return table


def table(part: Predictions, probabilities: bool, scores: bool, tagged: bool, limits: Limits | None = None) -> Any:
    """Make an Arrow table of the predictions."""
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
        raise OptionError(f"the data already has a column {both[0]!r}; leave out --keep, or rename the column")
    columns.update(new)
    return pa.table(columns)
