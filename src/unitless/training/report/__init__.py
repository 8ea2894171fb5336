"""The page that `train` writes if asked: what was learned from what, how good it is, and what was noticed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ... import whole_file
from ...errors import OptionError
from ...html import tag
from ...page import page, paragraph, section
from ...version import __version__
from . import data, model, predictions, score, words

if TYPE_CHECKING:
    from ..result import TrainResult

SUFFIXES = (".html", ".htm")


def write(result: TrainResult, path: str | os.PathLike[str], say: data.Say = str) -> None:
    """Write the page: whole or not at all.

    Args:
        result: what it is about.
        path: where to; the name ends in .html.
        say: how texts that name options are written, such as the notes.
    """
    check_path(path)
    whole_file.write(path, made(result, say).encode("utf-8", "backslashreplace"))


def check_path(path: str | os.PathLike[str]) -> None:
    """Before long work: could a report be written there?"""
    text = os.fspath(path)
    folder = os.path.dirname(os.path.realpath(text))
    if os.path.splitext(text)[1].lower() not in SUFFIXES:
        raise OptionError(f"a report cannot be written to {text!r}; its name must end in {' or '.join(SUFFIXES)}")
    if os.path.isdir(text):
        raise OptionError(f"a report cannot be written to {text!r}: it is a folder")
    if not os.path.isdir(folder):
        raise OptionError(f"a report cannot be written to {text!r}: there is no folder {folder!r}")


def made(result: TrainResult, say: data.Say = str) -> str:
    """The page."""
    target = result.details.schema.target
    title = f"Learned from {words.source(result)}" if target is None else f"Predicting {words.short(target)}"
    when = f"{result.details.when.day} {result.details.when:%B %Y, %H:%M}"
    return page(
        title,
        tag("h1", title),
        paragraph(f"{words.count(result.rows, 'row')} of {words.source(result)}, learned on {when}", kind="quiet"),
        score.interrupted(result),
        *score.headline(result),
        section("All metrics", *score.metrics(result)),
        section("What the predictions look like", *predictions.looks(result)),
        section("By class", *model.classes(result)),
        section("What matters most", *model.features(result)),
        section("Curves", *model.curves(result)),
        section("How the learning went", *model.progress(result)),
        section("What was noticed in the data", *data.noticed(result, say)),
        section("What was learned from what", data.settings(result)),
        section("How to use the model", *data.use(result)),
        tag("footer", f"Made by unitless {__version__}. This page loads nothing and runs no script."),
    )
