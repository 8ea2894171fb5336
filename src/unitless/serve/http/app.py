"""The routes of the server, except what the protocol class answers itself; an ASGI application."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ...errors import Error, InputError, OptionError
from .. import views, wire
from ..events import Form
from ..problems import Problem, unexpected
from . import inference_v2, personalizer, rows
from .access import Role, require
from .answering import LARGE, MODES, Answering, mode
from .batches import Batch
from .bodies import ARROW, BODIES, CSV, LINES
from .contents import JSON, answer, content_type, read_object, unsupported
from .openapi import Address, Endpoint, document, query
from .pages import POLICY, File, read_all

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ..live import LiveStream
    from .protocol import Service

FILE = "application/octet-stream"
_ANSWERS = (
    "Which of many rows have a line of their own. Where not all have one, the last line is a summary. Default: all; "
    f"problems for rows to learn if the body has more than {LARGE:,} bytes or no Content-Length."
)
_log = logging.getLogger("unitless.serve")


def make(service: Service) -> ASGIApp:
    """The application of a server."""
    routes = _Routes(service)
    handlers: dict[Any, Callable[..., Any]] = {
        Problem: _with_problem,
        HTTPException: _not_found,
        ClientDisconnect: _gone,
        InputError: _refused,
        OptionError: _refused,
        Exception: _failed,
    }
    app = Starlette(
        routes=routes.routes(),
        exception_handlers=handlers,
    )
    return _Headers(app, service)


class _Headers:
    """Headers of every answer: browsers do not guess its type, do not show it in frames, and do not cache it."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answered, began, verb = False, perf_counter(), ""

        async def sent(message: Message) -> None:
            nonlocal answered, verb
            if message["type"] == "http.response.start":
                headers = message["headers"]
                verb = _verb(scope["path"], headers)
                headers.append((b"x-content-type-options", b"nosniff"))
                headers.append((b"content-security-policy", POLICY.encode()))
                headers.append((b"referrer-policy", b"no-referrer"))
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-store"))
                self._service.count(scope["path"].rpartition("/")[2], message["status"])
            await send(message)
            answered = message["type"] == "http.response.body" and not message.get("more_body", False)
            if answered and verb:
                self._service.store.tallies.latencies[verb].observe(perf_counter() - began)

        try:
            await self._app(scope, receive, sent)
        except Exception:
            if not answered:  # else it was reported, and the client knows
                raise


def _verb(path: str, headers: list[tuple[bytes, bytes]]) -> str:
    """The name under which the latency of an answer is counted; none for events, which have no end."""
    kind, verb = dict(headers).get(b"content-type", b""), path.rpartition("/")[2]
    if kind.startswith(b"text/event-stream"):
        return ""
    if verb not in rows.KINDS:
        return "other"
    return f"{verb}_many" if kind.startswith(LINES.encode()) else verb


def problem_response(request: Request, problem: Problem) -> Response:
    """A problem as an answer, in the form that the client's protocol has."""
    if request.url.path.startswith("/v2"):
        return inference_v2.error_response(problem)
    if request.url.path.startswith(personalizer.PATH):
        return personalizer.error_response(problem)
    return Response(problem.body() + b"\n", problem.status, problem.headers, "application/problem+json")


async def _with_problem(request: Request, problem: Problem) -> Response:
    return problem_response(request, problem)


async def _not_found(request: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        problem = Problem(404, "not found", f"There is nothing at {request.url.path[:200]!r}; see /openapi.json.")
    elif error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        problem = Problem(405, "not this method", f"{request.method} is not for this address; it takes {allowed}.")
    else:
        problem = Problem(error.status_code, str(error.detail))
    problem.headers.update({name.lower(): value for name, value in (error.headers or {}).items()})
    return problem_response(request, problem)


async def _refused(request: Request, error: Error) -> Response:
    return problem_response(request, Problem(422, "this cannot be done", str(error)))


async def _gone(_: Request, error: ClientDisconnect) -> Response:
    return Response(status_code=400)  # the client has disconnected


async def _failed(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem_response(request, unexpected())


class _Routes:
    """The functions behind the addresses."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._files: dict[str, File] | None = None
        self._document: bytes | None = None

    @property
    def _store(self) -> Any:
        return self._service.store

    def addresses(self) -> list[Address]:
        """Every address: the role that may use it, and what it does."""
        read, write, admin = Role.read, Role.write, Role.admin
        one = "/v1/models/{name}"
        new = (400, 409, 415, 422, 429, 503)
        model, file, html = {JSON: wire.Model}, {FILE: None}, {"text/html": None}
        there = ("It is there already, made by the same request.", wire.Model)
        learns = "It learns from the history of its stream first, and joins when it has."
        other = query("model", "Another model of the stream.")
        rows_too = (
            other,
            query("label", "The column with the labels, in CSV and Arrow. Default: label."),
            query("answers", _ANSWERS, enum=list(MODES)),
            {
                "name": "Unitless-Min-Seq",
                "in": "header",
                "description": "Wait until this record has been applied, at most five seconds.",
                "schema": {"type": "integer"},
            },
        )
        ready = "Rows can be learned: 503 if the disk is full or a log has failed."
        waits = "Why a model predicts what it predicts, for a prediction that waits or for features."
        explained = {JSON: wire.Explanation}

        def row(action: str, about: str, role: Role, takes: Any, gives: Any, *more: int) -> Address:
            tables = {} if action in rows.FIELDS_OF else {CSV: None, ARROW: None}
            return Address(
                *("POST", f"{one}/{action}", about, self._rows(action), role),
                takes={JSON: takes, LINES: takes, **tables},
                gives={JSON: gives, LINES: gives},
                problems=(400, 409, 413, 415, 422, 429, 503, *more),
                parameters=rows_too,
            )

        return [
            Address("GET", "/", "The live page.", self.page, gives=html),
            Address("GET", "/page/{path:path}", "A file of the page.", self.page, gives={"*/*": None}),
            Address("GET", "/health/live", "The process lives.", self.live, gives={JSON: wire.Status}),
            Address("GET", "/health/ready", ready, self.ready, gives={JSON: wire.Status}, problems=(503,)),
            Address("GET", "/openapi.json", "This description.", self.openapi, gives={JSON: None}),
            Address("GET", "/metrics", "Numbers for Prometheus.", self.prometheus, read, gives={"text/plain": None}),
            Address("GET", "/v1/models", "All models.", self.models, read, gives={JSON: wire.Models}),
            Address("GET", one, "A model.", self.model, read, gives=model),
            Address(
                *("PUT", one, "Make a model. The same request again changes nothing.", self.create, admin),
                takes={JSON: wire.CreateRequest, FILE: None},
                gives=model,
                status=201,
                also={200: there, 202: (learns, wire.Summary)},
                problems=new,
            ),
            Address(
                *("DELETE", one, "Delete a model; with the last one its stream.", self.delete, admin),
                status=204,
                problems=(409,),
            ),
            Address(
                "POST", f"{one}/promote", "Make a model the champion of its stream.", self.promote, admin, gives=model
            ),
            Address(
                *("POST", f"{one}/replay", "Make a model like this one, without some rows; it joins as a challenger."),
                *(self.replay, admin),
                takes={JSON: wire.ReplayRequest},
                gives={JSON: wire.Summary},
                status=202,
                also={200: there},
                problems=new,
            ),
            Address(
                *("POST", f"{one}/snapshot", "Write a snapshot now.", self.snapshot, admin),
                gives={JSON: wire.Written},
                problems=(503,),
            ),
            Address(
                *("GET", f"{one}/snapshots", "The snapshots of its stream.", self.snapshots, read),
                gives={JSON: wire.Snapshots},
            ),
            Address("GET", f"{one}/file", "The model as a file.", self.file, admin, gives=file, problems=(422,)),
            row("predict", "Predict a row, or many.", read, wire.PredictRequest, wire.Prediction),
            row("learn", "Learn a row, or many.", write, wire.LearnRequest, wire.Learned),
            row("label", "Learn the labels of earlier predictions.", write, wire.LabelRequest, wire.Learned, 410),
            row("rank", "Choose one of several actions, by a bandit.", write, wire.RankRequest, wire.Ranked),
            row("reward", "Learn the rewards of earlier decisions.", write, wire.RewardRequest, wire.Learned, 410),
            row("activate", "A deferred decision is carried out.", write, wire.ActivateRequest, wire.Learned, 410),
            Address(
                *("GET", f"{one}/explain", waits, self.explain, read),
                gives=explained,
                problems=(400, 422),
                parameters=(query("id", "Of a prediction."), query("features", "JSON."), other),
            ),
            Address(
                *("POST", f"{one}/explain", "Why a model predicts what it predicts.", self.explain, read),
                takes={JSON: wire.ExplainRequest},
                gives=explained,
                problems=(400, 415, 422),
                parameters=(other,),
            ),
            Address(
                *("GET", f"{one}/weights", "The most important features of a model.", self.weights, read),
                gives={JSON: wire.Weights},
                problems=(422,),
                parameters=(query("most", "How many features.", type="integer"),),
            ),
            Address("GET", f"{one}/metrics", "How good a model is.", self.metrics, read, gives={JSON: wire.Metrics}),
            Address(
                *("GET", f"{one}/events", "What happens, as it happens.", self.events, read),
                gives={"text/event-stream": None},
            ),
            *inference_v2.addresses(self._service),
            *personalizer.addresses(self._service),
        ]

    def routes(self) -> list[Route]:
        """The addresses as Starlette has them, with access checked."""
        found: dict[str, dict[str, Endpoint]] = {}
        for one in self.addresses():
            found.setdefault(one.path, {})[one.method] = self._guarded(one)
        return [Route(path, _by_method(endpoints), methods=list(endpoints)) for path, endpoints in found.items()]

    # ----- access

    def _role(self, request: Request) -> Role:
        def header(name: str) -> bytes | None:
            value = request.headers.get(name)
            return None if value is None else value.encode("latin-1")

        access, host = self._service.access, header("host")
        authorization, key = header("authorization"), header(personalizer.KEY)
        if authorization is None and key is not None:
            authorization = b"Bearer " + key
        role = access.role(authorization, host)
        if request.method not in ("GET", "HEAD"):
            access.check_site(host, header("origin"), header("sec-fetch-site"))
        return role

    def _may_read(self, request: Request) -> bool:
        """Whether the client may know more than whether the server is ready."""
        try:
            return self._role(request) >= Role.read
        except Problem:
            return False

    def _guarded(self, address: Address) -> Endpoint:
        least = address.role
        if least is None:
            return address.endpoint

        async def endpoint(request: Request) -> Response:
            require(self._role(request), least)
            return await address.endpoint(request)

        return endpoint

    def _find(self, request: Request) -> tuple[LiveStream, str]:
        return rows.find(self._store, request.path_params["name"], request.query_params.get("model"))

    # ----- the server

    async def page(self, request: Request) -> Response:
        if self._files is None:
            self._files = await asyncio.to_thread(read_all)
        file = self._files.get(request.path_params.get("path", "index.html"))
        if file is None:
            raise HTTPException(404)
        headers = {"etag": file.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers, media_type=file.kind)

    async def live(self, request: Request) -> Response:
        return answer({"status": "live"})

    async def ready(self, request: Request) -> Response:
        self._service.check_ready()
        return answer({"status": "ready", **views.readiness(self._store, in_full=self._may_read(request))})

    async def openapi(self, request: Request) -> Response:
        if self._document is None:
            self._document = document(self.addresses())
        return Response(self._document, media_type=JSON)

    async def prometheus(self, request: Request) -> Response:
        from .. import prometheus  # noqa: PLC0415  (its library is needed only here)

        self._service.check_ready()
        return Response(await prometheus.rendered(self._store), headers={"content-type": prometheus.CONTENT_TYPE})

    # ----- models

    async def models(self, request: Request) -> Response:
        return answer(await views.models(self._store))

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name in self._store.backtests:
            return answer(views.replaying(self._store, name))
        return answer(views.details(*self._find(request)))

    async def create(self, request: Request) -> Response:
        name, kind = request.path_params["name"], content_type(request)
        if kind == JSON:
            return self._made(name, await self._store.create(name, await read_object(request)))
        if kind != FILE:
            raise unsupported(kind, JSON, FILE)
        options: dict[str, Any] = dict(request.query_params)
        if "replay" in options:
            options["replay"] = options["replay"] == "true"
        return self._made(name, await self._store.create(name, options, await request.body()))

    async def delete(self, request: Request) -> Response:
        await self._store.delete(request.path_params["name"])
        return Response(status_code=204)

    def _made(self, name: str, is_new: bool) -> Response:
        if name in self._store.backtests:
            return answer(views.replaying(self._store, name), 202)
        return answer(views.details(*self._store.find(name)), 201 if is_new else 200)

    async def promote(self, request: Request) -> Response:
        await self._store.promote(request.path_params["name"])
        return answer(views.details(*self._store.find(request.path_params["name"])))

    async def replay(self, request: Request) -> Response:
        return self._made(*await self._store.replay(request.path_params["name"], await read_object(request)))

    async def snapshot(self, request: Request) -> Response:
        live, _ = self._find(request)
        return answer({"stream": live.name, "snapshot_seq": await self._service.snapshot(live)})

    async def snapshots(self, request: Request) -> Response:
        live, _ = self._find(request)
        return answer(await asyncio.to_thread(views.snapshots, live.name, self._store.folders.get(live.name)))

    async def file(self, request: Request) -> Response:
        live, name = self._find(request)
        headers = {"content-disposition": f'attachment; filename="{name}.unitless"'}
        content = await asyncio.to_thread(live.model(name).file_later())
        return Response(content, headers=headers, media_type=FILE)

    # ----- rows

    def _rows(self, action: str) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            role = self._role(request)
            kind = content_type(request)
            bodies = tuple(BODIES) if action not in rows.FIELDS_OF else (LINES,)
            if kind != JSON and kind not in bodies:
                raise unsupported(kind, JSON, *bodies)
            live, model = self._find(request)
            answers = mode(request.query_params.get("answers"), action, request.headers.get("content-length"))
            await _reached(request, live)
            if kind == JSON:
                return await self._one(action, request, live, model, role)
            label = request.query_params.get("label", "label")
            body = BODIES[kind](label, live.settings.max_columns, live.row_limits)
            batch = Batch(live, model, action, role, body, Answering(answers, action), self._service.limits.body)
            lines = batch.answers(request.stream())
            first = await anext(lines)
            return _Lines(_all(first, lines), media_type=LINES)

        return endpoint

    async def _one(self, action: str, request: Request, live: LiveStream, model: str, role: Role) -> Response:
        body = await request.body()
        if len(body) > live.row_limits.bytes:
            raise live.row_limits.too_large(len(body))
        row = rows.read(action, body)
        rows.check(action, row, live.row_limits, len(body))
        require(role, rows.needed(action, row))
        if rows.is_answered_at_once(action, row):
            return answer(rows.answered_at_once(live, model, row, len(body)))
        payload = rows.logged(action, row, body, model)
        (outcome,) = await live.submitted(rows.KINDS[action], Form.json, 1, payload, [row])
        if outcome.problem is not None:
            raise outcome.problem
        return answer(rows.fields(action, outcome))

    # ----- looking at a model

    async def explain(self, request: Request) -> Response:
        live, model = self._find(request)
        if request.method == "POST":
            features = (await read_object(request)).get("features")
        elif "id" in request.query_params:
            features = views.waiting_features(live, request.query_params["id"])
        else:
            try:
                features = msgspec.json.decode(request.query_params.get("features", "null"))
            except rows.NOT_JSON as error:
                raise Problem(400, "this is not JSON", str(error)) from None
        if not isinstance(features, dict | list):
            raise Problem(422, "no features", '"features" is missing: the features by name, or the id of a prediction.')
        return answer(await asyncio.to_thread(views.explain, live.model(model).frozen_later(), features))

    async def weights(self, request: Request) -> Response:
        most = request.query_params.get("most", "100")
        if not re.fullmatch(r"[1-9]\d{0,4}", most, re.ASCII):
            raise Problem(422, "not a number", "most has to be a whole number between 1 and 99,999.")
        live, model = self._find(request)
        return answer(await asyncio.to_thread(views.weights, live.model(model).frozen_later(), int(most)))

    async def metrics(self, request: Request) -> Response:
        return answer(views.metrics(*self._find(request)))

    async def events(self, request: Request) -> Response:
        live, _ = self._find(request)
        headers = {"x-accel-buffering": "no"}  # proxies must not buffer events
        return StreamingResponse(live.moments.broadcast.events(), headers=headers, media_type="text/event-stream")


def _by_method(endpoints: dict[str, Endpoint]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return await endpoints["GET" if request.method == "HEAD" else request.method](request)

    return endpoint


class _Lines(StreamingResponse):
    """Answers while rows are still arriving: only their reader takes parts of the request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    try:
        async for lines in rest:
            yield lines
    except ClientDisconnect:
        return


async def _reached(request: Request, live: LiveStream) -> None:
    """Wait until the stream has what the client has written before."""
    seq = request.headers.get("unitless-min-seq")
    if seq is not None:
        if not re.fullmatch(r"\d{1,18}", seq, re.ASCII):
            raise Problem(400, "not a number", "Unitless-Min-Seq has to be a whole number.")
        await live.reached(int(seq))
