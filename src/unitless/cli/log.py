"""unitless log: the log of a server as lines of JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .options import Flag, listed

if TYPE_CHECKING:
    from ..serve.events import Kind
    from ..serve.log_lines import Place

NAME = "log"
STOPPED = "stopped"
EXAMPLES = """
[bold]Examples[/]

unitless log models prices --from 2026-01-31T14:00:00Z --kind learn,label

unitless log models prices --id order-17

unitless log models prices --kind learn | jq -c '{features, label, weight, id}' > rows.jsonl
"""
RECORDS = "Which records"
OPTIONS = (
    Flag("data", "The data folder of a server.", metavar="DATA", argument=True, required=True),
    Flag("name", "The model whose log is printed. Default: the only one.", metavar="NAME", argument=True),
    Flag(
        "first",
        "Begin at this sequence number or time (ISO 8601). Default: the beginning.",
        flag="--from",
        metavar="PLACE",
        panel=RECORDS,
    ),
    Flag("until", "End at this sequence number or time (ISO 8601). Default: the end.", metavar="PLACE", panel=RECORDS),
    Flag(
        "kind",
        "Print only records of these kinds: prediction, learn, label, tick, create, promote, delete, limits, refused. "
        "Default: all.",
        many=True,
        panel=RECORDS,
    ),
    Flag("id", "Print only rows with this id. Default: all.", many=True, panel=RECORDS),
)


def command(
    *, data: str, name: str | None, first: str | None, until: str | None, kind: list[str] | None, id: list[str] | None
) -> int:
    """Print the log of a server as lines of JSON: what was learned, predicted and done, in order.

    Each row is a line with its sequence number (seq), its time and its kind; a row that was refused also has the
    reason ("refused"). The command changes nothing, so a
    server can use the folder at the same time.
    """
    from pathlib import Path  # noqa: PLC0415

    from ..serve import missing  # noqa: PLC0415

    try:
        from ..serve import log_lines  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise missing(error) from None
    wanted = log_lines.Wanted(_place(first, "first"), _place(until, "until"), _kinds(listed(kind)), id or ())
    for lines in log_lines.read(log_lines.find(Path(data), name), wanted):
        sys.stdout.buffer.write(lines)
        sys.stdout.buffer.flush()
    return 0


def _place(text: str | None, option: str) -> Place | None:
    from ..errors import OptionError  # noqa: PLC0415
    from ..serve.log_lines import Place  # noqa: PLC0415

    place = None if text is None else Place.of(text)
    if text is not None and place is None:
        raise OptionError(
            f"is {text!r}; it must be a sequence number, or a time such as 2026-01-31T14:00:00Z", option=option
        )
    return place


def _kinds(names: list[str]) -> list[Kind]:
    from ..errors import OptionError  # noqa: PLC0415
    from ..serve.events import Kind  # noqa: PLC0415

    for name in names:
        if name not in Kind.__members__:
            raise OptionError(f"is {name!r}; it must be one of {', '.join(Kind.__members__)}", option="kind")
    return [Kind[name] for name in names] or list(Kind)
