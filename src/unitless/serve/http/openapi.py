"""The addresses of the server, each declared once: endpoint, role, and its part of `/openapi.json`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ...version import __version__
from ..wire import ProblemDetails
from .access import Role

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
Contents: TypeAlias = Mapping[str, Any]  # by content type: the type of the JSON, None for anything else

JSON, PROBLEM = "application/json", "application/problem+json"
_WHY = {
    400: "The body cannot be parsed.",
    401: "The token is missing or not known.",
    403: "The token's role is too low.",
    404: "There is no such model or id.",
    409: "The name or the id is taken by something else.",
    410: "The label came too late.",
    413: "The body is too large.",
    415: "The body is of another type.",
    422: "The row or an option cannot be used.",
    429: "Too many rows wait.",
    503: "The server recovers, or its disk is full.",
}
_IN_PATH: dict[str, dict[str, Any]] = {
    "name": {
        "description": "A stream, which its champion answers for, or one of its models.",
        "schema": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"},
    },
    "path": {"schema": {"type": "string"}},
    "event": {"description": "The id of an event.", "schema": {"type": "string"}},
}


@dataclass(frozen=True)
class Address:
    """One method of one address.

    Args:
        method: of HTTP.
        path: with parameters in braces.
        about: what it does.
        endpoint: answers its requests.
        role: the least role that may use it; None: it is open to everyone.
        takes: bodies of requests.
        gives: bodies of answers.
        status: of a good answer.
        also: descriptions of other good answers, by status, and the types of their JSON.
        problems: statuses of answers with a problem, besides those that every address with its role and path has.
        parameters: of the query, and headers.
        error: the content type and the type of answers with a problem.
    """

    method: str
    path: str
    about: str
    endpoint: Endpoint
    role: Role | None = None
    takes: Contents = field(default_factory=dict)
    gives: Contents = field(default_factory=dict)
    status: int = 200
    also: Mapping[int, tuple[str, Any]] = field(default_factory=dict)
    problems: tuple[int, ...] = ()
    parameters: tuple[dict[str, Any], ...] = ()
    error: tuple[str, Any] = (PROBLEM, ProblemDetails)


def query(name: str, about: str, **schema: Any) -> dict[str, Any]:
    """A parameter of the query."""
    return {"name": name, "in": "query", "description": about, "schema": {"type": "string"} | schema}


def document(addresses: Iterable[Address]) -> bytes:
    """The description of addresses, OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    used: list[Any] = []
    for address in addresses:
        described = _described(address, used)
        paths.setdefault(address.path.replace(":path", ""), {})[address.method.lower()] = described
    _, schemas = msgspec.json.schema_components(used, ref_template="#/components/schemas/{name}")
    for schema in schemas.values():
        if "description" in schema:
            schema["description"] = inspect.cleandoc(schema["description"])
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "unitless",
                "version": __version__,
                "summary": "A learning server that loses nothing.",
            },
            "security": [{"token": []}],
            "paths": paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        }
    )


def _described(address: Address, used: list[Any]) -> dict[str, Any]:
    def contents(kinds: Contents) -> dict[str, Any]:
        return {kind: {} if type is None else reference(type) for kind, type in kinds.items()}

    def reference(type: Any) -> dict[str, Any]:
        if type not in used:
            used.append(type)
        return {"schema": {"$ref": f"#/components/schemas/{type.__name__}"}}

    in_path = re.findall(r"{(\w+)(?::path)?}", address.path)
    words = re.findall(r"\w+", address.path.replace(":path", ""))
    good: dict[str, Any] = {"description": address.about if address.gives else "Done."}
    if address.gives:
        good["content"] = contents(address.gives)
    answers = {str(address.status): good}
    for status, (about, type) in address.also.items():
        answers[str(status)] = {"description": about, "content": contents({JSON: type})}
    problems = {
        *address.problems,
        *((404,) if "name" in in_path else ()),
        *(() if address.role is None else (401, 403)),
    }
    for status in sorted(problems):
        kind, type = address.error
        answers[str(status)] = {"description": _WHY[status], "content": contents({kind: type})}
    found: dict[str, Any] = {
        "summary": address.about,
        "operationId": "_".join([address.method.lower(), *(words or ["page"])]),
        "responses": answers,
    }
    parameters = [{"name": name, "in": "path", "required": True} | _IN_PATH[name] for name in in_path]
    if parameters or address.parameters:
        found["parameters"] = [*parameters, *address.parameters]
    if address.takes:
        found["requestBody"] = {"required": True, "content": contents(address.takes)}
    if address.role is None:
        found["security"] = []
    return found
