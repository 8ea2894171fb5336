"""A client of `unitless serve`. Each row is learned once, even if the network fails and requests are repeated.

    from unitless.client import Client

    with Client("http://127.0.0.1:8000") as client:
        client.learn("prices", {"area": 90, "heating": "gas"}, 315_000)
        print(client.predict("prices", {"area": 75, "heating": "oil"}).prediction)

Calls without an answer, and those that the server cannot answer yet (429, 503), are repeated with growing pauses.
Rows to be learned have an id; if the caller gives none, it is random. The server therefore
recognizes a repeated row and does not learn it again.

`AsyncClient` has the same methods as coroutines. Both need httpx and msgspec: `pip install 'unitless[client]'`.
"""

from __future__ import annotations

try:
    import httpx as _httpx
    import msgspec as _msgspec
except ImportError as error:
    raise ImportError(f"unitless.client needs {error.name}: pip install 'unitless[client]'") from error

from ..serve.wire import (
    Contribution,
    Curve,
    Explanation,
    Learned,
    Metrics,
    Model,
    Models,
    Prediction,
    Ranked,
    Snapshot,
    Weight,
    Weights,
)
from .answers import ClientError, LearnedMany, RowProblem
from .clients import AsyncClient, Client

__all__ = [
    "AsyncClient",
    "Client",
    "ClientError",
    "Contribution",
    "Curve",
    "Explanation",
    "Learned",
    "LearnedMany",
    "Metrics",
    "Model",
    "Models",
    "Prediction",
    "Ranked",
    "RowProblem",
    "Snapshot",
    "Weight",
    "Weights",
]
del _httpx, _msgspec
