"""A method of a client as steps, which `Client` and `AsyncClient` carry out in their own ways.

Steps are a generator. It yields what has to be done next, is sent the outcome, and returns the result of the method:

    Call             send a request; the outcome is httpx's answer, or its error if there was none
    float            wait so many seconds
    AsyncIterator    get its next item; the outcome is the item, or END
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import httpx

T = TypeVar("T")
END = object()


@dataclass(frozen=True)
class Call:
    """One request.

    Args:
        method: of HTTP.
        path: without the address of the server.
        content: the body.
        headers: besides those of every request.
        params: of the query.
        into: the file that gets the body of a good answer.
    """

    method: str
    path: str
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    into: str | os.PathLike[str] | None = None


Outcome: TypeAlias = httpx.Response | httpx.TransportError
Steps: TypeAlias = Generator[Call | float | AsyncIterator[Any], Any, T]
