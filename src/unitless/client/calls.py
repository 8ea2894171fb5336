"""What is asked of a server: each call as data, which the two clients send in their own ways."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from ..errors import InputError
from .answers import Explanation, Learned, Metrics, Model, Models, Prediction, Snapshot, Weights
from .retries import Patience, problem_of, wished_pause, worth_another_try

T = TypeVar("T")
Features = Mapping[str, Any] | Sequence[float]  # by name; of models that were trained on arrays, in their order
JSON, LINES = "application/json", "application/x-ndjson"


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request.

    Args:
        read: makes the result of the answer.
        gone_is_done: a repeated request that finds nothing was carried out the first time.
    """

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    gone_is_done: bool = False


class Attempts(Generic[T]):
    """One call until it is answered."""

    def __init__(self, call: Call[T], patience: float, url: str) -> None:
        self._call, self._patience, self._url = call, Patience(patience), url
        self._repeated = False

    def pause(self, outcome: httpx.Response | httpx.TransportError) -> float | None:
        """How long to wait before the next try; None if this is the answer. Raises the problem when there is no use."""
        if isinstance(outcome, httpx.Response):
            gone = outcome.status_code == 404 and self._repeated and self._call.gone_is_done
            if outcome.is_success or gone:
                return None
        pause = None
        if worth_another_try(outcome):
            pause = self._patience.pause(wished_pause(outcome) if isinstance(outcome, httpx.Response) else 0.0)
        if pause is None:
            problem = problem_of(outcome, self._url)
            raise problem from (outcome if isinstance(outcome, Exception) else None)
        self._repeated = True
        return pause


def predict(
    model: str, features: Features, id: str | None, level: float | None, min_seq: int | None
) -> Call[Prediction]:
    """What does a model say of a row?"""
    body = {"features": features} | _given(id=id, level=level)
    return _post(model, "predict", body, lambda answer: Prediction.from_fields(answer.json()), min_seq)


def learn(model: str, features: Features, label: Any, weight: float | None, id: str | None) -> Call[Learned]:
    """Learn a row, once."""
    own = id is None
    body = {"features": features, "label": label, "id": new_id() if own else id} | _given(weight=weight)
    return _post(model, "learn", body, lambda answer: learned(answer.json(), own))


def label(model: str, id: str, label: Any) -> Call[Learned]:
    """The label of an earlier prediction."""
    return _post(model, "label", {"id": id, "label": label}, lambda answer: learned(answer.json(), False))


def explain(model: str, features: Features) -> Call[Explanation]:
    """Why does a model say what it says?"""
    return _post(model, "explain", {"features": features}, _json)


def create(name: str, options: Mapping[str, Any]) -> Call[Model]:
    """A new model."""
    return Call("PUT", _path(name), _json, encoded(options), {"content-type": JSON})


def models() -> Call[Models]:
    """All models."""
    return Call("GET", "/v1/models", _json)


def model(name: str) -> Call[Model]:
    """One model."""
    return Call("GET", _path(name), _json)


def promote(name: str) -> Call[dict[str, Any]]:
    """Make a model the one that answers."""
    return Call("POST", _path(name, "promote"), _json_or_nothing)


def replay(name: str, new: str, role: str, skip: Sequence[Any], until: Any) -> Call[Model]:
    """A model like another one, without some rows."""
    body = {"name": new, "role": role, "skip": [_place(item) for item in skip]} | _given(until=_place(until))
    return _post(name, "replay", body, _json)


def snapshots(name: str) -> Call[list[Snapshot]]:
    """The snapshots of its stream."""
    return Call("GET", _path(name, "snapshots"), lambda answer: answer.json()["snapshots"])


def snapshot(name: str) -> Call[dict[str, Any]]:
    """Write the state of its stream to disk."""
    return Call("POST", _path(name, "snapshot"), _json_or_nothing)


def delete(name: str) -> Call[None]:
    """Remove a model."""
    return Call("DELETE", _path(name), lambda answer: None, gone_is_done=True)


def metrics(name: str) -> Call[Metrics]:
    """How good is a model?"""
    return Call("GET", _path(name, "metrics"), _json)


def weights(name: str, most: int) -> Call[Weights]:
    """Its most important features."""
    return Call("GET", _path(name, "weights"), _json, params={"most": str(most)})


def file(name: str) -> Call[None]:
    """Its model file, which is read by the caller."""
    return Call("GET", _path(name, "file"), lambda answer: None)


def ready() -> Call[None]:
    """Does the server take requests?"""
    return Call("GET", "/health/ready", lambda answer: None)


def lines(model: str, verb: str, content: bytes, min_seq: int | None = None) -> Call[list[dict[str, Any]]]:
    """Many rows at once, and an answer for each."""
    call = _post(model, verb, {}, lambda answer: [json.loads(line) for line in answer.iter_lines() if line], min_seq)
    return replace(call, content=content, headers={**call.headers, "content-type": LINES}, params={"answers": "all"})


def learned(fields: Mapping[str, Any], own_id: bool) -> Learned:
    """That a row is learned. By an id that nobody else has, a duplicate is the row itself, sent a second time."""
    answer = Learned.from_fields(fields)
    return replace(answer, status="learned") if own_id and answer.status == "duplicate" else answer


def new_id() -> str:
    """An id that no other row has."""
    return uuid.uuid4().hex


def encoded(value: Any) -> bytes:
    """As JSON; numbers of NumPy are numbers, decimals too, and dates and times are text in the form of ISO 8601."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False, default=_plain).encode()
    except ValueError as error:
        raise InputError(
            f"the row cannot be written as JSON ({error})",
            advice="send None where a value is missing: JSON has no NaN and no infinity",
        ) from error
    except TypeError as error:
        raise InputError(f"the row cannot be sent: {error}", advice="use numbers, text, booleans or None") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return None
    if type(value).__name__ == "datetime64":
        return str(value)
    if callable(getattr(value, "item", None)) and getattr(value, "ndim", 0) == 0:
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a value of JSON")


def _post(
    name: str, verb: str, body: Mapping[str, Any], read: Callable[[httpx.Response], T], min_seq: int | None = None
) -> Call[T]:
    headers = {"content-type": JSON} | ({} if min_seq is None else {"unitless-min-seq": str(min_seq)})
    return Call("POST", _path(name, verb), read, encoded(body), headers)


def _place(item: Any) -> Any:
    """Times as text; without a zone they are those of this machine."""
    if isinstance(item, datetime):
        return item.astimezone(timezone.utc).isoformat()
    return [_place(one) for one in item] if isinstance(item, list | tuple) else item


def _path(name: str, *verb: str) -> str:
    return "/".join(["/v1/models", quote(name, safe=""), *verb])


def _given(**optional: Any) -> dict[str, Any]:
    return {name: value for name, value in optional.items() if value is not None}


def _json(answer: httpx.Response) -> Any:
    return answer.json()


def _json_or_nothing(answer: httpx.Response) -> dict[str, Any]:
    return answer.json() if answer.content else {}
