"""A house without its server, for tests that work on its streams directly."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from waiting import until_async

from unitless.serve.house import House
from unitless.serve.settings import Settings
from unitless.serve.upkeep import Upkeep

Test: TypeAlias = Callable[[House, Upkeep], Awaitable[None]]


def recovered(folder: Path, **settings: Any) -> House:
    """What a server finds when it starts; closed already."""
    house = House.open(folder, Settings.of(environment={}, data=folder, **settings))
    house.close()
    return house


def with_house(folder: Path, test: Test, **settings: Any) -> None:
    async def whole() -> None:
        given = {"data": folder, "durability": "process", "snapshot_every": 1000} | settings
        house = House.open(folder, Settings.of(environment={}, **given))
        upkeep = Upkeep(house)
        upkeep.start()
        try:
            await asyncio.wait_for(test(house, upkeep), 60)
        finally:
            await upkeep.stop(5.0)
            await house.drain()
            house.close()

    asyncio.run(whole())


async def joined(house: House, name: str) -> None:
    """Wait until a model has learned its history."""
    live = house.streams["a"]
    await until_async(lambda: name in live.stream.models or name not in house.backtests)
    assert name in live.stream.models, live.notes
    await until_async(lambda: not (house.folders["a"] / "backtests.json").exists())
