"""The records of a log. The state of a stream depends on these records alone."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec


class Kind(IntEnum):
    """The kind of a record."""

    prediction = 1  # a prediction with an id, which waits for its label
    learn = 2  # features and a label
    label = 3  # the label of an earlier prediction
    tick = 4  # time has passed
    create = 5  # a model joined the stream
    promote = 6  # a model became the champion
    delete = 7  # a model left the stream
    limits = 8  # how large models may become
    refused = 9  # rows of the records before it that were refused, and why
    rank = 10  # a decision of a bandit, which waits for its reward
    reward = 11  # the reward of an earlier decision
    activate = 12  # an earlier decision, which was deferred, is carried out


# kinds of records that have rows
OF_ROWS = (Kind.prediction, Kind.learn, Kind.label, Kind.rank, Kind.reward, Kind.activate)


class Form(IntEnum):
    """The format of the rows in a record."""

    json = 0  # one row, as it was sent
    lines = 1  # some rows, a line of JSON for each
    vw = 2  # some rows of Vowpal Wabbit's text
    broker = 3  # as `lines`, after a line with their source and position: ["redis:orders", "1700000-0"]


class Record(NamedTuple):
    """One record. It takes the sequence numbers seq … seq + rows - 1."""

    seq: int
    time: int  # microseconds since 1970, never less than that of the record before
    kind: Kind
    form: Form
    rows: int
    payload: bytes
    position: int  # where it begins, in bytes since the log began
    end: int  # where it ends


class Row(msgspec.Struct):
    """One row, as JSON has it. In a log, and in messages of brokers, other fields are ignored."""

    features: dict[str, Any] | list[float] | None = None  # by name; of models that were trained on arrays, a list
    label: Any = None
    weight: float | None = None
    id: str | None = None
    model: str | None = None  # for predictions: the model that answered
    level: float | None = None  # for predictions: the level of the interval or set


class Sent(Row, forbid_unknown_fields=True):
    """One row of a request: a field that is not known is a mistake, such as a misspelled weight."""


Number: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Choice(msgspec.Struct, forbid_unknown_fields=True):
    """A decision that a bandit is to make. Without an id nothing is decided, and the propensities are answered."""

    context: dict[str, Any]
    actions: list[str | Number | dict[str, Any]] | dict[str, dict[str, Any]]  # names, or features of each
    id: str | None = None
    deferred: bool = False  # without an `Activation` or a reward, nothing is learned from it


class Reward(msgspec.Struct, forbid_unknown_fields=True):
    """The reward of a decision."""

    id: str
    reward: float | bool


class Activation(msgspec.Struct, forbid_unknown_fields=True):
    """A deferred decision is carried out: it gets a reward, or the default reward."""

    id: str


AnyRow: TypeAlias = "Row | Choice | Reward | Activation"


DEEPEST = 32  # brackets within brackets
MOST_BRACKETS = 1000  # pairs; no model takes a row that has so many
TOO_DEEP = f"It has more than {DEEPEST} brackets within one another, or more than {MOST_BRACKETS:,} of them."
_SQUARE, _OTHERS = bytes.maketrans(b"{}", b"[]"), bytes(set(range(256)) - set(b"[]{}"))

read_row = msgspec.json.Decoder(Row).decode
read_rows = msgspec.json.Decoder(Row).decode_lines
_sent = msgspec.json.Decoder(Sent)
_OF_BANDITS: dict[Kind, msgspec.json.Decoder[Any]] = {
    Kind.rank: msgspec.json.Decoder(Choice),
    Kind.reward: msgspec.json.Decoder(Reward),
    Kind.activate: msgspec.json.Decoder(Activation),
}


def reader_of(kind: Kind) -> msgspec.json.Decoder[Any]:
    """What reads the rows of requests that become records of this kind."""
    return _OF_BANDITS.get(kind, _sent)


def is_too_deep(text: bytes) -> bool:
    """Whether JSON nests deeper than a row may, or has more lists and objects than any row needs.

    A reader of JSON fails at some depth, which depends on how deep its own calls are. A row that is taken
    must be one that every later reader of the log can read.
    """
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return False
    outside = text.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]  # the text outside of strings
    brackets = b"".join(outside).translate(_SQUARE, _OTHERS)
    if len(brackets) > 2 * MOST_BRACKETS:
        return True
    for _ in range(DEEPEST):  # each pass removes the innermost brackets
        brackets = brackets.replace(b"[]", b"")
    return brackets.startswith(b"[")  # otherwise the text is not JSON, or no brackets are left


def from_broker(source: str, position: str, lines: Sequence[bytes]) -> bytes:
    """The payload of rows that came from a broker; `position` is that of the last message."""
    return b"\n".join((msgspec.json.encode([source, position]), *lines))


def broker_position(payload: bytes) -> tuple[str, str]:
    """The source of rows that came from a broker, and the position of the last message."""
    return msgspec.json.decode(payload[: payload.index(b"\n")], type=tuple[str, str])


def rows_of(record: Record) -> list[Any]:
    """Parse the rows of a record with JSON rows."""
    if record.kind in _OF_BANDITS:
        reader = reader_of(record.kind)
        return [reader.decode(record.payload)] if record.form is Form.json else reader.decode_lines(record.payload)
    if record.form is Form.json:
        return [read_row(record.payload)]
    payload = record.payload
    return read_rows(payload[payload.index(b"\n") + 1 :] if record.form is Form.broker else payload)
