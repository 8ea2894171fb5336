"""The Open Inference Protocol, version 2: prediction for clients of model servers that know nothing of learning.

Features are named tensors of shape [n] or [n, 1], or one tensor of numbers of shape [n, d] for a model whose features
are numbered. The outputs are "prediction", "score" and, of classes, "probability" (of the prediction). Every model has
one version, "1", which continues to learn. Errors are `{"error": "..."}`.
"""

from __future__ import annotations

import asyncio
import time
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ...errors import Error
from ...version import __version__
from .. import views
from ..problems import Problem, refused
from ..served import Prediction, describe
from . import rows
from .access import Role
from .batches import MOMENT
from .contents import JSON, answer, check_json
from .openapi import Address

if TYPE_CHECKING:
    from ..live import LiveStream
    from .protocol import Service

NUMBERS = ("FP64", "FP32", "FP16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8")
TYPES = (*NUMBERS, "BOOL", "BYTES")
MOST_ROWS = 100_000
VERSION = "1"
_TYPES = {"number": "FP64", "boolean": "BOOL", "text": "BYTES"}


class Tensor(msgspec.Struct, omit_defaults=True):
    """Values, flat or nested, with their shape."""

    name: str
    shape: list[int]
    datatype: str
    data: list[Any]
    parameters: dict[str, Any] | None = None


class WantedOutput(msgspec.Struct):
    """An output that the request wants."""

    name: str
    parameters: dict[str, Any] | None = None


class InferRequest(msgspec.Struct):
    """Rows to predict."""

    inputs: list[Tensor]
    id: str | None = None
    parameters: dict[str, Any] | None = None
    outputs: list[WantedOutput] | None = None


class InferResponse(msgspec.Struct, omit_defaults=True):
    """Their predictions."""

    model_name: str
    outputs: list[Tensor]
    id: str | None = None
    model_version: str | None = None


class InferError(msgspec.Struct):
    """Why a request was not carried out."""

    error: str


_read = msgspec.json.Decoder(InferRequest).decode


def addresses(service: Service) -> list[Address]:
    """The addresses of the protocol."""
    found, read = _Endpoints(service), Role.read
    error, anything = (JSON, InferError), {JSON: None}
    server = "The server, for the Open Inference Protocol."
    ready = "Requests are taken."
    every = [
        Address("GET", "/v2", server, found.server, gives=anything, error=error),
        Address("GET", "/v2/health/live", "The process lives.", found.live, gives=anything, error=error),
        Address("GET", "/v2/health/ready", ready, found.ready, gives=anything, problems=(503,), error=error),
    ]
    columns = "A model's versions, inputs and outputs."
    for one in ("/v2/models/{name}", f"/v2/models/{{name}}/versions/{VERSION}"):
        every += [
            Address("GET", one, columns, found.model, read, gives=anything, error=error),
            Address(
                *("GET", f"{one}/ready", "Whether a model is ready.", found.model_ready, read),
                gives=anything,
                error=error,
            ),
            Address(
                *("POST", f"{one}/infer", "Predict rows.", found.infer, read),
                takes={JSON: InferRequest},
                gives={JSON: InferResponse},
                problems=(400, 413, 415, 422),
                error=error,
            ),
        ]
    return every


def error_response(problem: Problem) -> Response:
    """A problem as the protocol has errors."""
    body = rows.encode(InferError(str(problem))) + b"\n"
    return Response(body, problem.status, problem.headers, "application/json")


class _Endpoints:
    """The functions behind the addresses."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def server(self, request: Request) -> Response:
        return answer({"name": "unitless", "version": __version__, "extensions": []})

    async def live(self, request: Request) -> Response:
        return answer({"live": True})

    async def ready(self, request: Request) -> Response:
        self._service.check_ready()
        views.readiness(self._service.store, in_full=False)
        return answer({"ready": True})

    async def model_ready(self, request: Request) -> Response:
        _, name = self._service.store.find(request.path_params["name"])
        return answer({"name": name, "ready": True})

    async def model(self, request: Request) -> Response:
        live, name = self._service.store.find(request.path_params["name"])
        served = live.model(name)
        outputs = [
            {"name": "prediction", "datatype": _kind(served.classes), "shape": [-1]},
            {"name": "score", "datatype": "FP64", "shape": [-1]},
        ]
        if served.task in ("binary", "classes"):
            outputs.append({"name": "probability", "datatype": "FP64", "shape": [-1]})
        inputs = _inputs(await asyncio.to_thread(describe.columns, served))
        found = {"name": name, "versions": [VERSION], "platform": "unitless", "inputs": inputs, "outputs": outputs}
        return answer(found)

    async def infer(self, request: Request) -> Response:
        live, name = rows.find(self._service.store, request.path_params["name"], request.query_params.get("model"))
        check_json(request)
        try:
            wanted = _read(_small(await request.body(), 2 * live.row_limits.bytes))
        except msgspec.ValidationError as error:
            raise Problem(422, "not an inference request", str(error)) from None
        except rows.NOT_JSON as error:
            raise Problem(400, "this is not JSON", str(error)) from None
        try:
            predicted = await _predicted(live, name, _rows(wanted.inputs))
        except Error as error:
            raise refused(error) from None
        outputs = [
            _output("prediction", [one.prediction for one in predicted]),
            _output("score", [one.score for one in predicted]),
        ]
        if any(one.probability is not None for one in predicted):
            outputs.append(_output("probability", [one.probability for one in predicted]))
        if wanted.outputs is not None:
            known = {output.name: output for output in outputs}
            for output in wanted.outputs:
                if output.name not in known:
                    raise Problem(422, "no such output", f"{output.name!r} is not one of {', '.join(known)}")
            outputs = [known[output.name] for output in wanted.outputs]
        return answer(InferResponse(name, outputs, wanted.id, VERSION))


async def _predicted(live: LiveStream, model: str, features: list[Any]) -> list[Prediction]:
    """What a model predicts for each row. Other requests have their turn between two rows."""
    predicted, ends = list[Prediction](), time.perf_counter() + MOMENT
    for row in features:
        predicted.append(live.predict(row, model))
        if time.perf_counter() > ends:
            await asyncio.sleep(0)
            ends = time.perf_counter() + MOMENT
    return predicted


def _small(body: bytes, most: int) -> bytes:
    if len(body) > most:
        detail = f"The request has {len(body):,} bytes; here it can have {most:,} (two times max_row_bytes)."
        raise Problem(413, "the request is too large", f"{detail} Send the rows in several requests.")
    return body


def _inputs(columns: list[tuple[str, str]] | int | None) -> list[dict[str, Any]]:
    if isinstance(columns, int):
        return [{"name": "features", "datatype": "FP64", "shape": [-1, columns]}]
    return [{"name": name, "datatype": _TYPES[kind], "shape": [-1]} for name, kind in columns or ()]


def _kind(classes: list[Any] | None) -> str:
    if classes is None or all(type(label) in (int, float) for label in classes):
        return "FP64" if classes is None or any(type(label) is float for label in classes) else "INT64"
    return "BOOL" if all(isinstance(label, bool) for label in classes) else "BYTES"


def _output(name: str, values: list[Any]) -> Tensor:
    if all(isinstance(value, bool) for value in values):
        kind = "BOOL"
    elif all(type(value) is int for value in values):
        kind = "INT64"
    elif all(value is None or type(value) in (int, float) for value in values):
        kind = "FP64"
    else:
        kind, values = "BYTES", [str(value) for value in values]
    return Tensor(name, [len(values)], kind, values)


def _rows(inputs: list[Tensor]) -> list[Any]:
    """Features of each row, as the model takes them."""
    if not inputs:
        raise Problem(422, "no inputs", "There has to be a tensor for each feature, or one for all.")
    for tensor in inputs:
        if tensor.datatype not in TYPES:
            raise Problem(422, "not a type", f"{tensor.name!r} is of {tensor.datatype!r}; it must be one of {TYPES}.")
        if not tensor.shape or any(size < 0 for size in tensor.shape):
            raise Problem(422, "not a shape", f"The shape of {tensor.name!r} is {tensor.shape}.")
    n = inputs[0].shape[0]
    if n > MOST_ROWS:
        raise Problem(413, "too many rows", f"A request can have {MOST_ROWS:,} rows.")
    first = inputs[0]
    if len(inputs) == 1 and len(first.shape) == 2 and first.shape[1] != 1:
        if first.datatype not in NUMBERS:
            raise Problem(422, "not numbers", f"{first.name!r} has several columns; they have to be numbers.")
        width, flat = first.shape[1], _flat(first, n * first.shape[1])
        return [flat[row * width : (row + 1) * width] for row in range(n)]
    columns = {}
    for tensor in inputs:
        if tensor.shape not in ([n], [n, 1]):
            detail = f"The shape of {tensor.name!r} is {tensor.shape}; it must be [{n}] or [{n}, 1]."
            raise Problem(422, "not a shape", detail)
        columns[tensor.name] = _flat(tensor, n)
    if len(columns) < len(inputs):
        raise Problem(422, "twice the same name", "Two tensors have the same name.")
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _flat(tensor: Tensor, size: int) -> list[Any]:
    data = tensor.data
    while data and isinstance(data[0], list):
        if not all(isinstance(part, list) for part in data):
            raise Problem(422, "not a tensor", f"The data of {tensor.name!r} is nested here and not there.")
        data = list(chain.from_iterable(data))
    if len(data) != size:
        detail = f"{tensor.name!r} has {len(data):,} values; its shape {tensor.shape} has {size:,}."
        raise Problem(422, "not a tensor", detail)
    good: tuple[type, ...] = (str,) if tensor.datatype == "BYTES" else (bool,)
    if tensor.datatype in NUMBERS:
        good = (int, float)
    for value in data:
        if value is not None and (not isinstance(value, good) or (bool not in good and isinstance(value, bool))):
            raise Problem(422, "not a tensor", f"{tensor.name!r} has {str(value)[:40]!r}, not a {tensor.datatype}.")
    return data
