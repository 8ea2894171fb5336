"""What messages of a broker say: which events they are, and the records that they become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from ..events import Kind, Row, read_row
from .source import Message

_write = msgspec.json.Encoder().encode


class Run(NamedTuple):
    """Events of one kind that follow one another."""

    kind: Kind
    payloads: list[bytes]  # a line of JSON for each
    position: str  # of the last message
    time: int


class Bad(NamedTuple):
    """A message that is no event."""

    position: str
    time: int
    problem: str


def event(value: bytes) -> tuple[Kind, bytes]:
    """Which event a message is, and its line. ValueError: it is none.

    Features with a label are learned; features with an id are a prediction that waits for its label; an id with a label
    is that label.
    """
    try:
        row = read_row(value)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return _kind(row), _write(Row(row.features, row.label, row.weight, row.id))


def _kind(row: Row) -> Kind:
    if row.features is not None and row.label is not None:
        return Kind.learn
    if row.id is not None and row.label is not None:
        return Kind.label
    if row.id is not None and row.features is not None:
        return Kind.prediction
    raise ValueError('it needs two of "features", "label" and "id"')


def runs(messages: Sequence[Message]) -> Iterator[Run | Bad]:
    """The runs of messages, in order, and between them those that are no events."""
    run: Run | None = None
    for message in messages:
        try:
            kind, line = event(message.value)
        except ValueError as error:
            if run:
                yield run
                run = None
            yield Bad(message.position, message.time, str(error))
            continue
        if run and run.kind != kind:
            yield run
            run = None
        payloads = [*run.payloads, line] if run else [line]
        run = Run(kind, payloads, message.position, message.time)
    if run:
        yield run
