"""Makes a source from a user's data: names of files, frames, arrays, mappings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import InputError, Option, OptionError, Phrase
from ...presentation import shown
from .. import formats
from ..formats import Format
from ..read_options import ReadOptions
from . import compression
from .byte_stream import BegunStream, begun, first_bytes
from .files import File, TailedFile, find
from .in_memory import Arrays, Frames, Mappings, is_frame
from .source import FileSource, Source
from .text_stream import Text
from .zip_files import unpacked


def open_source(source: Any, options: ReadOptions) -> Source:
    """Make a source from a path, glob, folder, "-", a list of those, a frame, a matrix or mappings."""
    if isinstance(source, Source):
        return source
    if isinstance(source, str | os.PathLike):
        return open_files(find(source, options.filesystem), options)
    if options.tail and not _are_names(source):
        raise OptionError("is for files, which grow while they are read", option="tail")
    if is_frame(source):
        return Frames(source)
    if isinstance(source, np.ndarray) or hasattr(source, "tocsr"):
        return Arrays(source)
    if isinstance(source, Mapping):
        raise InputError("the data is one mapping; give a list of them, one per row")
    if isinstance(source, Sequence) and source:
        if _are_names(source):
            return open_files([file for one in source for file in find(one, options.filesystem)], options)
        if not isinstance(source[0], Mapping):
            return Arrays(source)
    if isinstance(source, Iterable):
        return Mappings(source)
    raise InputError(f"the data is {type(source).__name__}; give a file's name, a frame, a matrix or mappings")


def _are_names(source: Any) -> bool:
    """Return whether these are the names of files."""
    return isinstance(source, list | tuple) and all(isinstance(one, str | os.PathLike) for one in source)


def open_files(files: list[File], options: ReadOptions) -> Source:
    """Make a source from files of one format, read one after the other; a zip archive stands for the files in it."""
    files = [member for file in files for member in unpacked(file)]
    if options.format is None:
        files = [begun(file) if file.size is None and formats.of_name(file.path) is None else file for file in files]
    found = [format_of(file, options) for file in files]
    if len(set(found)) > 1:
        a, b = sorted({format.name for format in found})[:2]
        raise InputError(f"the files are of several formats, {a} and {b}; give those of one at a time")
    _check_options(found[0], options)
    if options.tail:
        files = [*files[:-1], _tailed(files[-1])]
    return FileSource(files, options, found[0])


def _tailed(file: File) -> File:
    """Return a file that is read while it grows; a pipe is returned unchanged."""
    if file.size is None:
        return file
    if file.distant or not file.in_parts or compression.of_name(file.path) is not None:
        raise OptionError(
            Phrase(Option("tail"), " is for plain text files on this machine, which grow at their end"),
            file=file.name,
        )
    return TailedFile(file.path)


def _check_options(format: Format, options: ReadOptions) -> None:
    """Raise an error for an option that the format does not have, because it would have no effect."""
    default = ReadOptions()
    for name in formats.particular_options():
        value = getattr(options, name)
        if name not in format.options and value != getattr(default, name) and name not in options.remembered:
            takers = shown.listed(formats.that_take(name), written=str)
            raise OptionError(Phrase(Option(name, value), f" is for {takers}; the data is {format.name}"))


def format_of(file: File, options: ReadOptions) -> Format:
    """Return the format of a file: the option, the one that the name suggests, or the one of the content."""
    if options.format is not None:
        return formats.get(options.format)
    if (named := formats.of_name(file.path)) is not None:
        return named
    if isinstance(file, BegunStream):
        if (head := first_bytes(file, formats.FIRST_BYTES)) is not None:
            return formats.of_content(head)
        raise OptionError(
            Phrase("say which format it has, with ", Option("format"), f": {', '.join(formats.names())}"),
            file=file.name,
        )
    text = Text(file, options.encoding)
    try:
        return formats.of_content(text.peek(formats.FIRST_BYTES))
    finally:
        text.close()
