"""Messages of a broker: the events in them, and the records that they become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from ..events import TOO_DEEP, Kind, Row, is_too_deep, read_row
from ..problems import Problem
from ..row_limits import RowLimits
from .source import Message

MOST_BYTES = 1 << 20  # in one message

_write = msgspec.json.Encoder().encode


@dataclass
class Run:
    """Consecutive events of one kind."""

    kind: Kind
    lines: list[bytes] = field(default_factory=list)  # a line of JSON for each
    position: str = ""  # the place of the last message


class Bad(NamedTuple):
    """A message that cannot be read as an event."""

    position: str
    problem: str


def event(value: bytes, limits: RowLimits) -> tuple[Kind, Row]:
    """Which event a message is, and its row.

    Features with a label are learned; features with an id are a prediction that waits for its label; an id with a label
    is that label.

    Args:
        value: the message.
        limits: of rows.

    Raises:
        ValueError: it is not an event.
    """
    if len(value) > MOST_BYTES:
        raise ValueError(f"it has {len(value):,} bytes; the most are {MOST_BYTES:,}")
    if is_too_deep(value):
        raise ValueError(TOO_DEEP)
    try:
        row = read_row(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if row.features is not None and row.label is not None:
        kind = Kind.learn
    elif row.id is not None and row.label is not None:
        kind = Kind.label
    elif row.id is not None and row.features is not None:
        kind = Kind.prediction
    else:
        raise ValueError('it needs two of "features", "label" and "id"')
    try:
        limits.check(row, len(value))
    except Problem as problem:
        raise ValueError(problem.detail) from None
    return kind, Row(row.features, row.label, row.weight, row.id)


def runs(messages: Sequence[Message], limits: RowLimits) -> Iterator[Run | Bad]:
    """The runs of messages, in order, and between them those that cannot be read as events."""
    run: Run | None = None
    for message in messages:
        try:
            kind, row = event(message.value, limits)
        except ValueError as error:
            if run is not None:
                yield run
                run = None
            yield Bad(message.position, str(error))
            continue
        if run is not None and run.kind is not kind:
            yield run
            run = None
        if run is None:
            run = Run(kind)
        run.lines.append(_write(row))
        run.position = message.position
    if run is not None:
        yield run
