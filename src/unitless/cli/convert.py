"""unitless convert: data to other formats; models to ONNX and JSON, and from Vowpal Wabbit."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ..data import formats
from ..presentation.shown import listed
from . import arguments, display, options
from .options import OUTPUT, Flag

if TYPE_CHECKING:
    from ..data.conversion import Converted

NAME = "convert"
EXAMPLES = """
[bold]Examples[/]

unitless convert logs.csv.gz logs.parquet

unitless convert people.csv people.vw --target income

unitless convert clicks.vw clicks.jsonl.zst

unitless convert prices.unitless prices.json

unitless convert prices.unitless prices.onnx --inputs columns

unitless convert vw-model.txt clicks.unitless --loss logistic

unitless convert vw.model clicks.unitless --loss logistic --names clicks.vw.gz
"""
MODELS = "Models"
_READING = (
    *(options.TARGET, options.WEIGHT, options.IGNORE, options.ONLY, options.TEXT, options.WORDS, options.NGRAMS),
    *(options.DATES, options.ON_ERROR),
    *options.FILES,
)
OPTIONS = (
    Flag(
        "source",
        "Data (a file, a glob, a folder, or - for the standard input), or a model: of unitless, or of Vowpal Wabbit "
        "(written by vw --invert_hash or vw -f).",
        metavar="IN",
        argument=True,
        required=True,
    ),
    Flag(
        "output",
        f"The file to write: {listed(formats.endings(formats.written_formats()), written=str)}, also with .gz, .bz2 or "
        ".zst; for a model .json, .onnx or .unitless; or - for the standard output.",
        metavar="OUT",
        argument=True,
        required=True,
    ),
    Flag(
        "to",
        f"The format to write: {listed(formats.written_formats(), written=str)}; for a model json, onnx or unitless. "
        "Default: the one that OUT ends with.",
        panel=OUTPUT,
    ),
    options.TASK,
    options.POSITIVE,
    *_READING,
    Flag(
        "extrapolate",
        "Let an ONNX model predict linearly beyond the range of values in the training data.",
        bool,
        False,
        panel=MODELS,
    ),
    Flag(
        "inputs",
        "The inputs of an ONNX model: matrix (one for all features), or columns (one for each column of the table).",
        default="matrix",
        panel=MODELS,
    ),
    Flag("dtype", "The type of numbers in an ONNX model: float32 or float64.", default="float32", panel=MODELS),
    Flag(
        "loss",
        "The loss of a Vowpal Wabbit model, which its file does not contain, such as logistic or quantile. Default: "
        "logistic if the file's range of labels is that of scores, otherwise squared.",
        panel=MODELS,
    ),
    Flag(
        "names",
        "A file of VW text with the names of the features, for a model written by vw -f, which has only their hashes. "
        "Default: none.",
        panel=MODELS,
        metavar="FILE",
    ),
    options.NO_REMARKS,
)


def command(
    *,
    source: str,
    output: str,
    to: str | None,
    task: str | None,
    positive: str | None,
    extrapolate: bool,
    inputs: str,
    dtype: str,
    loss: str | None,
    names: str | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Convert data to another format, or a model to ONNX, to coefficients in JSON, or to a model of unitless.

    To write a table as VW text or libsvm, give --target. Numbers become name:value, text becomes column=value, and
    zeros are left out. Spaces, colons and bars in names become _. Text labels become 1 and -1, or 1, 2, 3, in order of
    appearance.

    An ONNX model predicts as the command predict does. The JSON file has the weights in the data's units.

    A Vowpal Wabbit model, written by vw --invert_hash, can be converted to each of these and to a model of unitless,
    which predict, evaluate and train --resume take. A model written by vw -f has no names of features; --names gives
    them.
    """
    onnx = {"extrapolate": extrapolate, "inputs": inputs, "dtype": dtype}
    if (found := _model(source, loss, names)) is not None:
        from ..data.sources.files import File, check_output  # noqa: PLC0415

        check_output(output, [File(source)], "the result", "the model")
        _export(found, output, to, onnx, quiet)
        return
    _check_unused(onnx)
    from ..data.conversion import convert  # noqa: PLC0415

    kind = to or _suffix(source, output)
    reading = {name: value for name, value in arguments.passed_on(given, _READING).items() if value is not None}
    done = convert(source, None if output == "-" else output, kind, task=task, positive=positive, **reading)
    if not quiet:
        _remark(done)


def _remark(done: Converted) -> None:
    for bad in done.bad:
        print(f"skipped: {bad}", file=sys.stderr)
    skipped = f", {done.skipped:,} skipped" if done.skipped else ""
    print(f"{display.count(done.rows, 'row')} written{skipped}", file=sys.stderr)
    for remark in done.remarks:
        print(remark, file=sys.stderr)


def _suffix(source: str, output: str) -> str:
    from ..errors import InputError, OptionError  # noqa: PLC0415

    if output.endswith((".onnx", ".unitless")):
        if not os.path.exists(source):
            raise InputError(f"there is no file {source!r}")
        raise InputError(
            f"{source} is not a model that could become {output}: that takes a model of unitless or of Vowpal Wabbit"
        )
    format = None if output == "-" else formats.of_name(output)
    if format is None:
        raise OptionError(f"{output}: this name does not say which format it is to have; say it with --to")
    return format.name


def _model(path: str, loss: Any, names: str | None) -> Any:
    """The model in a file; None if the file contains data."""
    from ..errors import OptionError  # noqa: PLC0415
    from ..export.vw.model import from_vw  # noqa: PLC0415
    from ..export.vw.names import names_in  # noqa: PLC0415
    from ..models.file import load  # noqa: PLC0415
    from ..models.foreign import is_vw_model  # noqa: PLC0415

    if not os.path.isfile(path):  # what is read from a pipe would be lost for the data's reader
        return None
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError:
        return None
    if is_vw_model(head):
        return from_vw(path, loss=loss, names=None if names is None else names_in(names))
    if loss is not None:
        raise OptionError("--loss is for models of Vowpal Wabbit, which do not say it")
    if names is not None:
        raise OptionError("--names is for models of Vowpal Wabbit, which may have only hashes of them")
    # A model's file begins with the length of its header, which is JSON.
    ours = len(head) > 8 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") < os.path.getsize(path)
    return load(path) if ours else None


def _export(model: Any, output: str, to: str | None, onnx: dict[str, Any], quiet: bool) -> None:
    from ..data.writers.output import opened  # noqa: PLC0415
    from ..errors import OptionError  # noqa: PLC0415
    from ..export.coefficients import to_json  # noqa: PLC0415
    from ..export.linear import exportable  # noqa: PLC0415
    from ..export.onnx_graph import to_onnx  # noqa: PLC0415
    from ..models import file as model_file  # noqa: PLC0415
    from ..models.model import BIAS  # noqa: PLC0415

    kind = to or ("json" if output == "-" else _model_suffix(output))
    if kind == "onnx":
        data = to_onnx(model, **onnx).SerializeToString()
    else:
        _check_unused(onnx)
        if kind not in ("json", "unitless"):
            raise OptionError(f"a model becomes .json, .onnx or .unitless; write to such a file instead of {output}")
        data = to_json(model).encode() if kind == "json" else model_file.to_bytes(model)
    with opened(output) as file:
        file.write(data)
    if not quiet:
        written = exportable(model)
        size = display.count(sum(name != BIAS for name in written.scales), "feature")
        about = f"{type(written).__name__}, {written.options.loss} loss, {size}"
        print(f"{about}, {display.count(written.examples, 'example')}", file=sys.stderr)


def _check_unused(onnx: dict[str, Any]) -> None:
    from ..errors import OptionError  # noqa: PLC0415

    if onnx != {"extrapolate": False, "inputs": "matrix", "dtype": "float32"}:
        raise OptionError("--extrapolate, --inputs and --dtype are for models that become ONNX")


def _model_suffix(output: str) -> str:
    """The format by the name of a file; JSON may be compressed."""
    from ..data.sources import compression  # noqa: PLC0415

    stem, suffix = os.path.splitext(output.lower())
    compressed = compression.of_name(output) is not None and stem.endswith(".json")
    return "json" if compressed else suffix.removeprefix(".")
