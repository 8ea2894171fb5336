"""The routes of the server, except what the protocol class answers itself; an ASGI application."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ...errors import Error, InputError, OptionError
from .. import sse, views
from ..events import Form
from ..problems import Problem
from . import inference_v2, rows
from .access import Role, require
from .answering import Answering, mode
from .batches import Batch
from .bodies import BODIES, LINES
from .contents import JSON, content_type, read_object, unsupported
from .openapi import document
from .pages import POLICY, File, read_all

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ..live import LiveStream
    from .protocol import Service

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

FILE = "application/octet-stream"
_log = logging.getLogger("unitless.serve")


def make(service: Service) -> ASGIApp:
    """The application of a server."""
    routes = _Routes(service)
    handlers: dict[Any, Callable[..., Any]] = {
        Problem: _said_no,
        HTTPException: _not_found,
        ClientDisconnect: _gone,
        InputError: _refused,
        OptionError: _refused,
        Exception: _failed,
    }
    app = Starlette(
        routes=routes.all(),
        exception_handlers=handlers,
    )
    return _Headers(app, service)


class _Headers:
    """What every answer has: it is what it says it is, nobody frames it, and answers of the API are not kept."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answered, began, verb = False, perf_counter_ns(), ""

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
                self._service.house.tallies.latencies[verb].add(perf_counter_ns() - began)

        try:
            await self._app(scope, receive, sent)
        except Exception:
            if not answered:  # else it was reported, and the client knows
                raise


def _verb(path: str, headers: list[tuple[bytes, bytes]]) -> str:
    """What was asked, as latencies are counted; nothing for events, which have no end."""
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
    return Response(problem.body() + b"\n", problem.status, problem.headers, "application/problem+json")


async def _said_no(request: Request, problem: Problem) -> Response:
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
    return Response(status_code=400)  # nobody reads it


async def _failed(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem_response(request, Problem(500, "an error of the server", "Its log says more."))


def answer(fields: Any, status: int = 200) -> Response:
    """An answer of JSON."""
    return Response(rows.encode(fields) + b"\n", status, media_type=JSON)


class _Routes:
    """The functions behind the addresses."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._files: dict[str, File] | None = None
        self._document: bytes | None = None

    @property
    def _house(self) -> Any:
        return self._service.house

    def all(self) -> list[Route]:
        """Every address, who may use it, and what it does."""
        read, admin = self._for(Role.read), self._for(Role.admin)
        one = "/v1/models/{name}"
        return [
            Route("/", self.page, methods=["GET"]),
            Route("/page/{path:path}", self.page, methods=["GET"]),
            Route("/health/live", self.live, methods=["GET"]),
            Route("/health/ready", self.ready, methods=["GET"]),
            Route("/openapi.json", self.openapi, methods=["GET"]),
            Route("/metrics", read(self.prometheus), methods=["GET"]),
            Route("/v1/models", read(self.models), methods=["GET"]),
            Route(one, self.model, methods=["GET", "PUT", "DELETE"]),
            Route(one + "/promote", admin(self.promote), methods=["POST"]),
            Route(one + "/replay", admin(self.replay), methods=["POST"]),
            Route(one + "/snapshot", admin(self.snapshot), methods=["POST"]),
            Route(one + "/snapshots", read(self.snapshots), methods=["GET"]),
            Route(one + "/file", admin(self.file), methods=["GET"]),
            *(Route(f"{one}/{action}", self._rows(action), methods=["POST"]) for action in rows.KINDS),
            Route(one + "/explain", read(self.explain), methods=["GET", "POST"]),
            Route(one + "/weights", read(self.weights), methods=["GET"]),
            Route(one + "/metrics", read(self.metrics), methods=["GET"]),
            Route(one + "/events", read(self.events), methods=["GET"]),
            *inference_v2.routes(self._service, read),
        ]

    # ----- who may do what

    def _role(self, request: Request) -> Role:
        def header(name: str) -> bytes | None:
            value = request.headers.get(name)
            return None if value is None else value.encode("latin-1")

        access, host = self._service.access, header("host")
        role = access.role(header("authorization"), host)
        if request.method not in ("GET", "HEAD"):
            access.check_site(host, header("origin"), header("sec-fetch-site"))
        return role

    def _may_read(self, request: Request) -> bool:
        """Whether the client may know more than whether the server is ready."""
        try:
            return self._role(request) >= Role.read
        except Problem:
            return False

    def _for(self, least: Role) -> Callable[[Endpoint], Endpoint]:
        def guarded(endpoint: Endpoint) -> Endpoint:
            async def answered(request: Request) -> Response:
                require(self._role(request), least)
                return await endpoint(request)

            return answered

        return guarded

    def _find(self, request: Request) -> tuple[LiveStream, str]:
        return rows.find(self._house, request.path_params["name"], request.query_params.get("model"))

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
        return answer({"status": "ready", **views.readiness(self._house, in_full=self._may_read(request))})

    async def openapi(self, request: Request) -> Response:
        if self._document is None:
            self._document = document()
        return Response(self._document, media_type=JSON)

    async def prometheus(self, request: Request) -> Response:
        from .. import prometheus  # noqa: PLC0415  (its library is needed only here)

        self._service.check_ready()
        return Response(await prometheus.rendered(self._house), headers={"content-type": prometheus.CONTENT_TYPE})

    # ----- models

    async def models(self, request: Request) -> Response:
        return answer(await views.models(self._house))

    async def model(self, request: Request) -> Response:
        role, name = self._role(request), request.path_params["name"]
        if request.method == "PUT":
            require(role, Role.admin)
            return self._made(name, await self._create(request, name))
        if request.method == "DELETE":
            require(role, Role.admin)
            await self._house.delete(name)
            return Response(status_code=204)
        require(role, Role.read)
        if name in self._house.backtests:
            return answer(views.replaying(self._house, name))
        return answer(views.details(*self._find(request)))

    def _made(self, name: str, is_new: bool) -> Response:
        if name in self._house.backtests:
            return answer(views.replaying(self._house, name), 202)
        return answer(views.details(*self._house.find(name)), 201 if is_new else 200)

    async def _create(self, request: Request, name: str) -> bool:
        kind = content_type(request)
        if kind != FILE:
            if kind != JSON:
                raise unsupported(kind, JSON, FILE)
            return bool(await self._house.create(name, await read_object(request)))
        asked: dict[str, Any] = dict(request.query_params)
        if "replay" in asked:
            asked["replay"] = asked["replay"] == "true"
        return bool(await self._house.create(name, asked, await request.body()))

    async def promote(self, request: Request) -> Response:
        await self._house.promote(request.path_params["name"])
        return answer(views.details(*self._house.find(request.path_params["name"])))

    async def replay(self, request: Request) -> Response:
        return self._made(*await self._house.replay(request.path_params["name"], await read_object(request)))

    async def snapshot(self, request: Request) -> Response:
        live, _ = self._find(request)
        return answer({"stream": live.name, "snapshot_seq": await self._service.snapshot(live)})

    async def snapshots(self, request: Request) -> Response:
        live, _ = self._find(request)
        return answer(await asyncio.to_thread(views.snapshots, live.name, self._house.folders.get(live.name)))

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
            if kind != JSON and kind not in BODIES:
                raise unsupported(kind, JSON, *BODIES)
            require(role, Role.read if action == "predict" else Role.write)
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
        row = rows.read(body)
        rows.check(action, row, live.row_limits, len(body))
        require(role, rows.needed(action, row))
        if action == "predict" and row.id is None:
            return answer(rows.predict(live, model, row))
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
        headers = {"x-accel-buffering": "no"}  # proxies are not to collect them
        return StreamingResponse(sse.events(live), headers=headers, media_type="text/event-stream")


class _Lines(StreamingResponse):
    """Answers while the rows still come: nobody but their reader takes parts of the request."""

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
    asked = request.headers.get("unitless-min-seq")
    if asked is not None:
        if not re.fullmatch(r"\d{1,18}", asked, re.ASCII):
            raise Problem(400, "not a number", "Unitless-Min-Seq has to be a whole number.")
        await live.reached(int(asked))
