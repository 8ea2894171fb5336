"""A client of `unitless serve`: what is learned is learned once, whatever the network does.

    from unitless.client import Client

    with Client("http://127.0.0.1:8000") as client:
        client.learn("prices", {"area": 90, "heating": "gas"}, 315_000)
        print(client.predict("prices", {"area": 75, "heating": "oil"}).prediction)

Calls that get no answer, and those that the server asks to repeat later (429, 503), are repeated with growing pauses.
Rows that are to be learned carry an id; without one of the caller's they get a random one. A repeated row is therefore
recognized by the server and not learned again.

`AsyncClient` has the same methods as coroutines. Both need httpx: `pip install 'unitless[client]'`.
"""

from __future__ import annotations

try:
    import httpx as _httpx
except ImportError as error:
    raise ImportError("unitless.client needs httpx: pip install 'unitless[client]'") from error

from .answers import (
    ClientError,
    Contribution,
    Curve,
    Explanation,
    Learned,
    LearnedMany,
    Metrics,
    Model,
    Models,
    Prediction,
    RowProblem,
    Weight,
    Weights,
)
from .asynchronous import AsyncClient
from .synchronous import Client

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
    "RowProblem",
    "Weight",
    "Weights",
]
del _httpx
