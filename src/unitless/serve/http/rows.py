"""One row of a request: from its bytes to the log, and from its outcome to the answer."""

from __future__ import annotations

import difflib
import logging
from typing import TYPE_CHECKING, Any

import msgspec

from ...errors import Error
from ...presentation.json_values import plain
from ..events import TOO_DEEP, AnyRow, Choice, Kind, Row, is_too_deep, reader_of
from ..problems import Problem, refused, unexpected
from .access import Role

if TYPE_CHECKING:
    from ..live import LiveStream
    from ..row_limits import RowLimits
    from ..streams.stream import Outcome

encode = msgspec.json.Encoder().encode

LONGEST_ID = 256  # characters; ids are held in memory
_log = logging.getLogger("unitless.serve")
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
FIELDS = ("features", "label", "weight", "id", "level")
FIELDS_OF = {
    "rank": ("context", "actions", "id", "deferred"),
    "reward": ("id", "reward"),
    "activate": ("id",),
}  # others: FIELDS
FEATURES = 'the features by name, such as {"age": 31, "job": "clerk"}'
KINDS = {
    "predict": Kind.prediction,
    "learn": Kind.learn,
    "label": Kind.label,
    "rank": Kind.rank,
    "reward": Kind.reward,
    "activate": Kind.activate,
}
DONE = {"predict": "predicted", "rank": "ranked"}  # the status of good answers; others: "learned"
_READ = {action: reader_of(kind).decode for action, kind in KINDS.items()}


def find(store: Any, name: str, model: str | None = None) -> tuple[LiveStream, str]:
    """The stream that a name stands for, and which of its models answers.

    Args:
        store: all models.
        name: of a stream, or of a model.
        model: another one of the stream.

    Raises:
        Problem: 404 if there is no such model.
    """
    live, found = store.find(name)
    if model is None:
        return live, found
    if model not in live.stream.models:
        raise Problem(404, "no such model", f"{name!r} is not the name of a stream with a model {model!r}")
    return live, model


def read(action: str, body: bytes) -> AnyRow:
    """A row of an action from JSON.

    Raises:
        Problem: 400 if it is not JSON, 422 if it has another form.
    """
    if is_too_deep(body):
        raise Problem(422, "the row cannot be used", TOO_DEEP)
    try:
        return _READ[action](body)  # type: ignore[no-any-return]
    except msgspec.ValidationError as error:
        raise Problem(422, "the row cannot be used", _wrong(action, body, str(error))) from None
    except NOT_JSON as error:
        raise Problem(400, "this is not JSON", str(error)) from None


def _wrong(action: str, body: bytes, error: str) -> str:
    """What is wrong with a row that is JSON of another form."""
    try:
        sent = msgspec.json.decode(body)
    except NOT_JSON:
        return error
    fields = FIELDS_OF.get(action, FIELDS)
    if not isinstance(sent, dict):
        example = ", ".join(f'"{name}": ...' for name in fields[:2])
        return f"A row is an object, such as {{{example}}}; many rows are sent as JSON lines."
    if fields is FIELDS and "features" not in sent and "id" not in sent:
        return _lacks("features", FEATURES).detail
    unknown = [name for name in sent if name not in fields]
    if not unknown:
        return error
    near = difflib.get_close_matches(unknown[0], fields, 1)
    advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(fields)}"
    return f"there is no field {unknown[0][:80]!r}; {advice}"


def check(action: str, row: AnyRow, limits: RowLimits, size: int) -> None:
    """Check that a row has what an action needs, and is not too large to be stored.

    Args:
        action: one of `KINDS`.
        row: which.
        limits: of rows.
        size: how many bytes its JSON has.

    Raises:
        Problem: 422 if something is wrong with it.
    """
    if row.id is not None and not 0 < len(row.id) <= LONGEST_ID:
        detail = f'"id" has {len(row.id):,} letters; it must have 1 to {LONGEST_ID}.'
        raise Problem(422, "the row cannot be used", detail)
    if isinstance(row, Choice):
        limits.check_choice(row, size)
    if not isinstance(row, Row):
        return
    if action == "label":
        if row.id is None:
            raise _lacks("id", "the id of the prediction to which the label belongs")
    elif row.features is None:
        raise _lacks("features", FEATURES)
    if action != "predict" and row.label is None:
        raise _lacks("label", "what the model should have predicted")
    if action != "predict" or row.id is not None:
        limits.check(row, size)


def _lacks(field: str, what: str) -> Problem:
    return Problem(422, "the row cannot be used", f'"{field}" is missing: {what}.')


def is_answered_at_once(action: str, row: AnyRow) -> bool:
    """Whether a row is not written to the log: a prediction without an id, or propensities."""
    return row.id is None and action in DONE


def needed(action: str, row: AnyRow) -> Role:
    """The role that a row needs: a prediction with an id is written to the log, so it needs more than read."""
    return Role.read if is_answered_at_once(action, row) else Role.write


def logged(action: str, row: AnyRow, body: bytes, model: str) -> bytes:
    """What is written into the log: the row as it was sent, and for a prediction also the model that answers.

    The row becomes what is read from those bytes.
    """
    if not isinstance(row, Row) or action != "predict":
        return body
    row.model = model
    # If two fields have the same name, the last one counts.
    return b'%b,"model":"%b"}' % (body.rstrip()[:-1], model.encode())


def answered_at_once(live: LiveStream, model: str, row: AnyRow, size: int) -> dict[str, Any]:
    """The answer to a prediction that is not kept, or the propensities of actions of which none is chosen.

    Raises:
        Problem: 422 if the model does not take the features.
    """
    try:
        if isinstance(row, Choice):
            live.row_limits.check_choice(row, size)
            fields: dict[str, Any] = {"propensities": live.propensities(row)}
        else:
            assert isinstance(row, Row)
            fields = live.predict(row.features, model, row.level).answer()
    except Error as error:
        raise refused(error) from None
    fields["seq"] = live.stream.seq
    fields["model"] = model
    return fields


def failed(error: Exception) -> Problem:
    """The problem of an unexpected error."""
    _log.error("a row could not be answered", exc_info=error)
    return unexpected()


def fields(action: str, outcome: Outcome) -> dict[str, Any]:
    """The answer to a row that was taken."""
    predicted, decided = outcome.prediction, outcome.decision
    if action in ("reward", "activate"):
        return {"seq": outcome.seq, "status": outcome.status}
    if action in DONE:
        found = {} if predicted is None else predicted.answer()
        if decided is not None:
            found["id"], found["action"], found["propensity"] = decided.event_id, decided.action, decided.propensity
            found["propensities"], found["expected"] = decided.propensities, plain(decided.expected)
        found["seq"] = outcome.seq
        found["model"] = outcome.model
        if outcome.status == "duplicate":
            found["status"] = "duplicate"
        return found
    return {"score": 0.0 if predicted is None else predicted.known_score, "seq": outcome.seq, "status": outcome.status}
