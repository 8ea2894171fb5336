"""The two clients: one waits for each answer, the other is for programs with an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import httpx

from .. import whole_file
from ..errors import InputError, OptionError
from .calls import Calls
from .many import Rounds
from .steps import END, Call, Outcome, Steps

if TYPE_CHECKING:
    from typing_extensions import Self

P = ParamSpec("P")
T = TypeVar("T")
URL = "http://127.0.0.1:8000"


def _waits(method: Callable[Concatenate[Calls, P], Steps[T]]) -> Callable[Concatenate[Client, P], T]:
    @functools.wraps(method)
    def run(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(method(self._calls, *args, **kwargs))

    return run


def _iterates(method: Callable[Concatenate[Calls, P], Rounds[T]]) -> Callable[Concatenate[Client, P], Iterator[T]]:
    @functools.wraps(method)
    def run(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        results = method(self._calls, *args, **kwargs)
        while some := self._run(results()):
            yield from some

    return run


def _awaits(
    method: Callable[Concatenate[Calls, P], Steps[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    @functools.wraps(method)
    async def run(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(method(self._calls, *args, **kwargs))

    return run


def _awaits_each(
    method: Callable[Concatenate[Calls, P], Rounds[T]],
) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[T]]:
    @functools.wraps(method)
    async def run(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        results = method(self._calls, *args, **kwargs)
        while some := await self._run(results()):
            for one in some:
                yield one

    return run


class Client:
    """A client of `unitless serve`. It may be used by several threads.

    Args:
        url: the address of the server. Default: "http://127.0.0.1:8000".
        token: the access token. Default: the environment variable UNITLESS_TOKEN.
        timeout: seconds to wait for a connection, and for each part of an answer. Default: 10.
        retry_for: seconds for which a call without an answer, or with 429 or 503, is repeated; 0: never. Default: 30.
        http: an `httpx.Client` with its own certificates or proxies, in which url, token and timeout are set. Default:
            one that is made from the other arguments.

    Example:
        >>> import tempfile, unitless as ul
        >>> from unitless.client import Client
        >>> with ul.serve.background(data=tempfile.mkdtemp(), port=0) as server, Client(server.url) as client:
        ...     _ = client.create("prices", task="regression")
        ...     _ = client.learn("prices", {"area": 90, "heating": "gas"}, 315_000)
        ...     client.predict("prices", {"area": 75, "heating": "gas"}).prediction
        315000.0
    """

    def __init__(
        self,
        url: str = URL,
        *,
        token: str | None = None,
        timeout: float = 10.0,
        retry_for: float = 30.0,
        http: httpx.Client | None = None,
    ) -> None:
        self._http = httpx.Client(**_options(url, token, timeout)) if http is None else http
        self._calls = Calls(str(self._http.base_url), retry_for)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._http.close()

    predict = _waits(Calls.predict)
    learn = _waits(Calls.learn)
    label = _waits(Calls.label)
    rank = _waits(Calls.rank)
    reward = _waits(Calls.reward)
    predict_many = _iterates(Calls.predict_many)
    learn_many = _waits(Calls.learn_many)
    label_many = _waits(Calls.label_many)
    create = _waits(Calls.create)
    models = _waits(Calls.models)
    model = _waits(Calls.model)
    promote = _waits(Calls.promote)
    delete = _waits(Calls.delete)
    replay = _waits(Calls.replay)
    snapshots = _waits(Calls.snapshots)
    snapshot = _waits(Calls.snapshot)
    metrics = _waits(Calls.metrics)
    explain = _waits(Calls.explain)
    weights = _waits(Calls.weights)
    download = _waits(Calls.download)
    wait_ready = _waits(Calls.wait_ready)

    def _run(self, steps: Steps[T]) -> T:
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            if isinstance(step, Call):
                outcome = self._send(step)
            elif isinstance(step, float):
                time.sleep(step)
                outcome = None
            else:
                raise InputError("the rows come from an asynchronous iterator", advice="use AsyncClient")

    def _send(self, call: Call) -> Outcome:
        try:
            answer = self._http.send(_request(self._http, call), stream=call.into is not None)
            if call.into is not None:
                with contextlib.closing(answer):
                    if answer.is_success:
                        with whole_file.opened(call.into) as file:
                            file.writelines(answer.iter_bytes())
                    else:
                        answer.read()
        except httpx.TransportError as error:
            return error
        return answer


class AsyncClient:
    """`Client` for programs with an event loop; its methods are coroutines, `predict_many` an asynchronous iterator.

    Rows may come from asynchronous iterators too.

    Args:
        url: the address of the server. Default: "http://127.0.0.1:8000".
        token: the access token. Default: the environment variable UNITLESS_TOKEN.
        timeout: seconds to wait for a connection, and for each part of an answer. Default: 10.
        retry_for: seconds for which a call without an answer, or with 429 or 503, is repeated; 0: never. Default: 30.
        max_concurrency: requests that are under way at the same time; further calls wait for their turn. Default: 32.
        http: an `httpx.AsyncClient` with its own certificates or proxies, in which url, token and timeout are set.
            Default: one that is made from the other arguments.

    Example:
        >>> import asyncio, tempfile, unitless as ul
        >>> from unitless.client import AsyncClient
        >>> async def learn(url: str) -> float:
        ...     async with AsyncClient(url) as client:
        ...         await client.create("prices", task="regression")
        ...         await client.learn("prices", {"area": 90}, 315_000)
        ...         return (await client.predict("prices", {"area": 75})).prediction
        >>> with ul.serve.background(data=tempfile.mkdtemp(), port=0) as server:
        ...     asyncio.run(learn(server.url))
        315000.0
    """

    def __init__(
        self,
        url: str = URL,
        *,
        token: str | None = None,
        timeout: float = 10.0,
        retry_for: float = 30.0,
        max_concurrency: int = 32,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        if max_concurrency < 1:
            raise OptionError(f"is {max_concurrency!r}; it must be at least 1", option="max_concurrency")
        self._http = httpx.AsyncClient(**_options(url, token, timeout)) if http is None else http
        self._turns = asyncio.Semaphore(max_concurrency)
        self._calls = Calls(str(self._http.base_url), retry_for)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the connections."""
        await self._http.aclose()

    predict = _awaits(Calls.predict)
    learn = _awaits(Calls.learn)
    label = _awaits(Calls.label)
    rank = _awaits(Calls.rank)
    reward = _awaits(Calls.reward)
    predict_many = _awaits_each(Calls.predict_many)
    learn_many = _awaits(Calls.learn_many)
    label_many = _awaits(Calls.label_many)
    create = _awaits(Calls.create)
    models = _awaits(Calls.models)
    model = _awaits(Calls.model)
    promote = _awaits(Calls.promote)
    delete = _awaits(Calls.delete)
    replay = _awaits(Calls.replay)
    snapshots = _awaits(Calls.snapshots)
    snapshot = _awaits(Calls.snapshot)
    metrics = _awaits(Calls.metrics)
    explain = _awaits(Calls.explain)
    weights = _awaits(Calls.weights)
    download = _awaits(Calls.download)
    wait_ready = _awaits(Calls.wait_ready)

    async def _run(self, steps: Steps[T]) -> T:
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            if isinstance(step, Call):
                outcome = await self._send(step)
            elif isinstance(step, float):
                outcome = await asyncio.sleep(step, None)
            else:
                outcome = await anext(step, END)

    async def _send(self, call: Call) -> Outcome:
        try:
            async with self._turns:
                answer = await self._http.send(_request(self._http, call), stream=call.into is not None)
                if call.into is not None:
                    async with contextlib.aclosing(answer):
                        if answer.is_success:
                            with whole_file.opened(call.into) as file:
                                async for piece in answer.aiter_bytes():
                                    file.write(piece)
                        else:
                            await answer.aread()
        except httpx.TransportError as error:
            return error
        return answer


def _options(url: str, token: str | None, timeout: float) -> dict[str, Any]:
    """Options of httpx: the server's address, the token, and the limits of waiting.

    To wait for a free connection of the pool has no limit, because other calls always return theirs.
    """
    if not url.startswith(("http://", "https://")):
        raise OptionError(f"is {url!r}", option="url", advice="it begins with http:// or https://")
    token = os.environ.get("UNITLESS_TOKEN") if token is None else token
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return {"base_url": url, "headers": headers, "timeout": httpx.Timeout(timeout, pool=None)}


def _request(http: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
    return http.build_request(call.method, call.path, content=call.content, headers=call.headers, params=call.params)
