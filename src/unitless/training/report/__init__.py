"""The HTML report of a training: data, model, metrics and notes on one page."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from ... import whole_file
from ...errors import OptionError
from ...presentation import shown
from ...presentation.html import tag
from ...presentation.page import described, page, paragraph, section
from ...version import __version__
from .. import summary
from . import data, model, predictions, score, words

if TYPE_CHECKING:
    from ..result import TrainResult

Say: TypeAlias = Callable[[str], str]

SUFFIXES = (".html", ".htm")


def write(result: TrainResult, path: str | os.PathLike[str], say: Say = str) -> None:
    """Write the report to a file, completely or not at all.

    Args:
        result: the outcome of the training.
        path: the file; its name ends in .html.
        say: writes a text that names options, such as a note. Default: as Python writes options.
    """
    check_path(path)
    whole_file.write(path, made(result, say).encode("utf-8", "backslashreplace"))


def check_path(path: str | os.PathLike[str]) -> None:
    """Refuse a path to which no report can be written; called before training, which may take long."""
    text = os.fspath(path)
    folder = os.path.dirname(os.path.realpath(text))
    if os.path.splitext(text)[1].lower() not in SUFFIXES:
        raise OptionError(f"a report cannot be written to {text!r}; its name must end in {' or '.join(SUFFIXES)}")
    if os.path.isdir(text):
        raise OptionError(f"a report cannot be written to {text!r}: it is a folder")
    if not os.path.isdir(folder):
        raise OptionError(f"a report cannot be written to {text!r}: there is no folder {folder!r}")


def made(result: TrainResult, say: Say = str) -> str:
    """The report as HTML."""
    target = result.details.schema.target
    title = f"Learned from {words.source(result)}" if target is None else f"Predicting {words.short(target)}"
    when = f"{result.details.when.day} {result.details.when:%B %Y, %H:%M}"
    return page(
        title,
        tag("h1", title),
        paragraph(f"{shown.count(result.rows, 'row')} of {words.source(result)}, learned on {when}", kind="quiet"),
        score.interrupted(result),
        *score.headline(result),
        section("All metrics", *score.metrics(result)),
        section("What the predictions look like", *predictions.looks(result)),
        section("By class", *model.classes(result)),
        section("What matters most", *model.importance(result)),
        section("Curves", *model.curves(result)),
        section("How the learning went", *model.progress(result)),
        described(summary.data(result, say), *data.missing(result)),
        described(summary.model(result)),
        described(summary.notes(result, say)),
        section("How to use the model", *data.use(result)),
        tag("footer", f"Made by unitless {__version__}. This page loads nothing and runs no script."),
    )
