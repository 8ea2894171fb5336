"""unitless merge: one model from several that learned different parts of the data."""

from __future__ import annotations

import json

from . import display, options
from .options import OUTPUT, Flag

NAME = "merge"
EXAMPLES = """
[bold]Examples[/]

unitless merge monday.unitless tuesday.unitless --output week.unitless

unitless merge round2-*.unitless --base round1.unitless --output round2.unitless
"""
MERGING = "How models are merged"
OPTIONS = (
    Flag(
        "models",
        "Files of models with the same options, each trained on a part of the data.",
        many=True,
        metavar="MODEL",
        argument=True,
        required=True,
    ),
    Flag("output", "The file to save the merged model to.", short="-o", required=True, panel=OUTPUT, metavar="FILE"),
    Flag(
        "base",
        "The model file from which the training of all models was continued (train --resume); its rows are counted "
        "once. Default: none; the models have no rows in common.",
        panel=MERGING,
        metavar="FILE",
    ),
    Flag(
        "bounded",
        "Average each weight times its scale, so that no prediction is larger than the models' can be; on random parts "
        "of the data the default is more accurate.",
        bool,
        False,
        panel=MERGING,
    ),
    options.JSON,
)


def command(*, models: list[str], output: str, base: str | None, bounded: bool, as_json: bool) -> None:
    """Merge models that were trained separately, each on a part of the data, into one.

    The merged weights are averages, in which a model that has learned more about a feature counts for more. The models
    must have been trained with the same options, columns and labels.
    """
    from ..data.sources.files import File, check_output  # noqa: PLC0415
    from ..errors import MergeError  # noqa: PLC0415
    from ..merging.merge import merge_named  # noqa: PLC0415
    from ..models.file import check_writable, load  # noqa: PLC0415

    check_writable(output)
    read = [File(path) for path in (*models, base) if path is not None]
    check_output(output, read, "the merged model", "one of the models that it is made of")
    if len(models) < 2 and base is None:
        raise MergeError("there is one model only; name at least two to merge")
    loaded = [load(path) for path in models]
    start = None if base is None else load(base)
    named = list(zip(models, loaded, strict=True))
    merged = merge_named(named, bounded=bounded, base=None if base is None else (base, start))
    merged.save(output)
    if as_json:
        print(json.dumps({"model": output, "models": models, "base": base, "examples": merged.examples}, indent=2))
        return
    display.facts(
        [
            ("models", f"{len(models):,}" + ("" if base is None else f", continued from {base}")),
            ("examples", f"{merged.examples:,}"),
            ("model", output),
        ]
    )
