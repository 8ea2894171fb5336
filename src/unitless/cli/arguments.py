"""What was given on the command line, as the library takes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import OptionError

if TYPE_CHECKING:
    from ..data import Source


def listed(values: list[str] | None) -> list[str]:
    """Given several times, or separated by commas."""
    return [name for value in values or () for name in value.split(",") if name]


def sources(data: list[str]) -> Any:
    """One source or several."""
    return data[0] if len(data) == 1 else data


def not_over(plot: str | None, source: Source) -> Source:
    """The source, which a picture is not to be written over."""
    from ..data.files import check_output  # noqa: PLC0415

    check_output(plot, source.files, "the picture")
    return source


def rate(value: str | None) -> Any:
    """A learning rate as the library takes it."""
    if value is None or value == "auto":
        return value
    try:
        return float(value)
    except ValueError:
        raise OptionError(f"--rate is {value!r}; it must be a number or auto") from None


def tab(value: str | None) -> str | None:
    """A tab by its name."""
    return {"tab": "\t", "\\t": "\t"}.get(value or "", value)


def reading(
    format: str | None, delimiter: str | None, no_header: bool, encoding: str | None, zero_based: bool
) -> dict[str, Any]:
    """How files are read, as the library takes it."""
    return {
        "format": format,
        "delimiter": tab(delimiter),
        "header": not no_header,
        "encoding": encoding,
        "zero_based": zero_based,
    }


def shared(given: Mapping[str, Any]) -> dict[str, Any]:
    """What train, evaluate and sweep have in common, as the library takes it, from a command's own arguments."""
    plain = ("weight", "task", "positive", "loss", "bits", "quantile", "passes", "holdout", "seed")
    names = ("format", "delimiter", "no_header", "encoding", "zero_based")
    return {
        **{name: given[name] for name in (*plain, "dates", "missing", "on_error") if name in given},
        **{name: listed(given[name]) for name in ("ignore", "only", "text", "numbers")},
        **reading(**{name: given[name] for name in names}),
        "centre": False if given["no_centre"] else None,
        "interactions": interactions(given["interactions"]),
    }


def interactions(value: str | None) -> Any:
    """As the library takes them."""
    if value is None or value == "ordered":
        return value
    if value == "2":
        return 2
    pairs = [re.fullmatch(r"([^*]+\*?)\*([^*]+\*?)", pair) for pair in value.split(",")]
    found = [pair.groups() for pair in pairs if pair is not None]
    if len(found) < len(pairs):
        raise OptionError(f"interactions is {value!r}; it must be 2, ordered, or pairs such as age*income,job=**city=*")
    return found
