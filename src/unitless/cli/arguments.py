"""What was given on the command line, as the library takes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .options import Flag, interactions, listed, rate, tab

if TYPE_CHECKING:
    from ..data import Source
    from ..data.read_options import Reading

__all__ = ["interactions", "listed", "not_over", "passed_on", "rate", "reading", "sources", "tab"]


def sources(data: list[str]) -> Any:
    """One source or several."""
    return data[0] if len(data) == 1 else data


def not_over(plot: str | None, source: Source) -> Source:
    """The source, which a picture is not to be written over."""
    from ..data.files import check_output  # noqa: PLC0415

    check_output(plot, source.files, "the picture")
    return source


def reading(given: Mapping[str, Any], flags: Iterable[Flag]) -> Reading:
    """The options of reading that were given."""
    from ..data.read_options import Reading  # noqa: PLC0415

    return Reading(**{name: value for name, value in passed_on(given, flags).items() if value not in (None, [])})


def passed_on(given: Mapping[str, Any], options: Iterable[Flag]) -> dict[str, Any]:
    """Options by the library's names, with the values that the library takes."""
    return {option.library_name: option.value(given[option.name]) for option in options}
