"""Convert values of the command line to those that the library takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .options import Flag, interactions, listed, rate, tab

if TYPE_CHECKING:
    from ..data import Source
    from ..data.read_options import Reading

__all__ = ["interactions", "listed", "model_first", "not_over", "passed_on", "rate", "reading", "sources", "tab"]


def sources(data: list[str]) -> Any:
    """A single source, or a list of several."""
    return data[0] if len(data) == 1 else data


@contextmanager
def model_first(command: str) -> Iterator[None]:
    """Add the order of the arguments to an error about a file that is not a model."""
    from ..errors import ModelFileError  # noqa: PLC0415

    try:
        yield
    except ModelFileError as error:
        if "not a model file" in error.problem:
            error.at(advice=f"the model comes first: unitless {command} MODEL DATA")
        raise


def not_over(plot: str | None, source: Source) -> Source:
    """Return the source, or raise an error if the picture would replace one of its files."""
    from ..data.sources.files import check_output  # noqa: PLC0415

    check_output(plot, source.files, "the picture")
    return source


def reading(given: Mapping[str, Any], flags: Iterable[Flag]) -> Reading:
    """The given options for reading data, as the library's record."""
    from ..data.read_options import Reading  # noqa: PLC0415

    return Reading(**{name: value for name, value in passed_on(given, flags).items() if value not in (None, [])})


def passed_on(given: Mapping[str, Any], options: Iterable[Flag]) -> dict[str, Any]:
    """Options by the library's names, with the values that the library takes."""
    return {option.library_name: option.value(given[option.name]) for option in options}
