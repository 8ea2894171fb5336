"""A model store without its server, for tests that use its streams directly."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from waiting import until_async

from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore
from unitless.serve.upkeep import Upkeep

Test: TypeAlias = Callable[[ModelStore, Upkeep], Awaitable[None]]


def recovered(folder: Path, **settings: Any) -> ModelStore:
    """The streams that a server finds when it starts; they are closed again."""
    store = ModelStore.open(folder, Settings.of(environment={}, data=folder, **settings))
    store.close()
    return store


def with_store(folder: Path, test: Test, *, crash: bool = False, **settings: Any) -> None:
    """Run a test on a model store.

    Args:
        folder: of the store.
        test: receives the store and its background work.
        crash: skip the final snapshot, so that the last records are only in the log, as after a crash.
        settings: of the server.
    """

    async def whole() -> None:
        given = {"data": folder, "durability": "process", "snapshot_every": 1000} | settings
        store = ModelStore.open(folder, Settings.of(environment={}, **given))
        upkeep = Upkeep(store)
        upkeep.start()
        try:
            await asyncio.wait_for(test(store, upkeep), 60)
        finally:
            if crash and upkeep.pid is not None:
                os.kill(upkeep.pid, signal.SIGKILL)
            await upkeep.stop(0.0 if crash else 5.0)
            await store.drain()
            store.close()

    asyncio.run(whole())


async def joined(store: ModelStore, name: str) -> None:
    """Wait until a model has learned its history."""
    live = store.streams["a"]
    await until_async(lambda: name in live.stream.models or name not in store.backtests)
    assert name in live.stream.models, live.notes
    await until_async(lambda: not (store.folders["a"] / "backtests.json").exists())
