"""What the body of a request is: its content type, and the JSON in it."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ..problems import Problem
from . import rows

JSON = "application/json"


def content_type(request: Request) -> str:
    """The content type of a body, without parameters."""
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise Problem(415, "encoded body", f"The body is encoded with {encoding!r}; send it as it is.")
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_json(request: Request) -> None:
    """Check that the content type is JSON: browsers let a page of another site send it only with permission.

    Raises:
        Problem: 415 if it is called something else.
    """
    kind = content_type(request)
    if kind != JSON:
        raise unsupported(kind, JSON)


async def read_json(request: Request) -> Any:
    """The JSON of a body.

    Raises:
        Problem: 415 if its content type is another, 400 if it is not JSON.
    """
    check_json(request)
    try:
        return msgspec.json.decode(await request.body())
    except rows.NOT_JSON as error:
        raise Problem(400, "this is not JSON", str(error)) from None


async def read_object(request: Request) -> dict[str, Any]:
    """The JSON of a body, which has to be an object."""
    found = await read_json(request)
    if not isinstance(found, dict):
        raise Problem(422, "not an object", f"The body has to be a JSON object, not {type(found).__name__}.")
    return found


def answer(fields: Any, status: int = 200) -> Response:
    """An answer of JSON."""
    return Response(rows.encode(fields) + b"\n", status, media_type=JSON)


def unsupported(kind: str, *taken: str) -> Problem:
    """The problem of a request whose content type is not supported."""
    found = f"the content type {kind!r} is not supported" if kind else "the content type is missing"
    hint = " (curl: --json instead of -d)" if taken[0] == JSON else ""
    return Problem(415, "unsupported content type", f"{found}; send {' or '.join(taken)}{hint}")
