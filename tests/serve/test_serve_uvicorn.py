"""The server's protocol class uses private parts of uvicorn; these tests check that they have not changed."""

from __future__ import annotations

import asyncio
import inspect

import httptools
import uvicorn
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from unitless.serve.http.protocol import Protocol

SAYS = f"uvicorn {uvicorn.__version__} differs from what unitless.serve.http.protocol was written for: "


async def _app(scope: object, receive: object, send: object) -> None: ...


def _protocol() -> HttpToolsProtocol:
    config = Config(_app, lifespan="off", ws="none", log_config=None)  # type: ignore[arg-type]
    config.load()
    return HttpToolsProtocol(config, ServerState(), {}, asyncio.new_event_loop())


def test_the_base_class_has_the_attributes_that_are_used() -> None:
    protocol = _protocol()
    used = "app loop parser logger access_logger access_log server_state connections tasks transport flow scope headers"
    missing = [name for name in (*used.split(), "cycle", "expect_100_continue") if not hasattr(protocol, name)]
    assert not missing, f"{SAYS}HttpToolsProtocol has no {', '.join(missing)}"
    protocol.loop.close()


def test_the_base_class_has_the_methods_that_are_changed() -> None:
    own = {name for name, value in vars(Protocol).items() if inspect.isfunction(value) and not name.startswith("_")}
    added = {"good", "bad", "advance", "sweep", "give_up"}
    missing = [name for name in own - added if not hasattr(HttpToolsProtocol, name)]
    assert not missing, f"{SAYS}HttpToolsProtocol has no {', '.join(missing)}"
    hooks = {name for name in vars(HttpToolsProtocol) if name.startswith("on_")}
    assert hooks <= own, f"{SAYS}HttpToolsProtocol also has {', '.join(hooks - own)}"


def test_a_cycle_is_made_and_used_in_the_same_way() -> None:
    wanted = "scope transport flow logger access_logger access_log default_headers message_event expect_100_continue "
    taken = list(inspect.signature(RequestResponseCycle.__init__).parameters)[1:]
    assert taken == [*wanted.split(), "keep_alive", "on_response"], f"{SAYS}RequestResponseCycle takes {taken}"
    source = inspect.getsource(RequestResponseCycle)
    for name in ("disconnected", "keep_alive", "body", "more_body", "response_started", "response_complete"):
        assert f"self.{name}" in source, f"{SAYS}RequestResponseCycle has no {name}"
    assert inspect.iscoroutinefunction(RequestResponseCycle.run_asgi), f"{SAYS}run_asgi is not a coroutine"


def test_flow_and_state() -> None:
    for name in ("pause_reading", "resume_reading", "pause_writing", "resume_writing"):
        assert hasattr(FlowControl, name), f"{SAYS}FlowControl has no {name}"
    assert {"connections", "tasks", "default_headers", "total_requests"} <= vars(ServerState()).keys(), SAYS
    assert HIGH_WATER_LIMIT > 0
    assert STATUS_LINE[200].startswith(b"HTTP/1.1 200"), SAYS
    assert issubclass(httptools.HttpParserCallbackError, httptools.HttpParserError)
    assert issubclass(httptools.HttpParserUpgrade, Exception)
