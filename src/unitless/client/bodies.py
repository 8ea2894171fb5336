"""Values of Python as the JSON of requests, and the JSON of answers as records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any, TypeVar, is_typeddict

import httpx
import msgspec

from ..errors import InputError
from .answers import ClientError

T = TypeVar("T")


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


def body(request: msgspec.Struct) -> bytes:
    """A request as JSON, without the fields that are not given."""
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    return encoded({name: value for name, value in fields.items() if value is not None})


def decoded(answer: httpx.Response, kind: type[T]) -> T:
    """The answer as a record; dictionaries are given as they were sent.

    Raises:
        ClientError: the answer is something else.
    """
    try:
        if is_typeddict(kind):
            return msgspec.json.decode(answer.content)  # type: ignore[no-any-return]
        return msgspec.json.decode(answer.content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _not_understood(error, answer.status_code) from error


def decoded_lines(answer: httpx.Response) -> list[dict[str, Any]]:
    """The lines of an answer to many rows."""
    try:
        return msgspec.json.Decoder(dict[str, Any]).decode_lines(answer.content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _not_understood(error, answer.status_code) from error


def place(item: Any) -> Any:
    """Places of a log, times as text; times without a zone are those of this machine."""
    if isinstance(item, datetime):
        return item.astimezone(timezone.utc).isoformat()
    return [place(one) for one in item] if isinstance(item, list | tuple) else item


def _not_understood(error: Exception, status: int) -> ClientError:
    return ClientError(
        f"the answer cannot be understood ({error})", "is this the address of `unitless serve`?", status=status
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if type(value).__name__ in ("NAType", "NaTType"):  # the missing values of pandas
        return None
    if type(value).__name__ == "datetime64":
        return str(value)
    if callable(getattr(value, "item", None)) and getattr(value, "ndim", 0) == 0:
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a value of JSON")
