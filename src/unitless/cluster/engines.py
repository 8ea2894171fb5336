"""Engines by name."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from ..errors import Option, OptionError, Phrase
from .engine import Engine

# The module of each engine. It is imported only when its engine is used, because it needs an optional library.
_HOMES = {
    "local": ("local", "LocalEngine"),
    "ray": ("on_ray", "RayEngine"),
    "dask": ("on_dask", "DaskEngine"),
    "spark": ("on_spark", "SparkEngine"),
}
NAMES = tuple(_HOMES)


@contextlib.contextmanager
def engine_for(backend: Any, workers: int | None = None, address: str | None = None) -> Iterator[Engine]:
    """The engine for a backend. It is closed at the end, unless the caller gave an engine, which stays open.

    Args:
        backend: a name, an engine, a Dask client or a Spark session; None: threads of this process.
        workers: the number of tasks that run at the same time.
        address: the address of a cluster.
    """
    made = _of_session(backend)
    if made is not None or isinstance(backend, Engine):
        for option, value in (("workers", workers), ("address", address)):
            if value is not None:
                raise OptionError("is the backend's own", option=option, advice="it was decided when it was made")
        with made if made is not None else contextlib.nullcontext(backend) as engine:
            yield engine
        return
    name = "local" if backend is None else backend
    if not isinstance(name, str) or name not in _HOMES:
        raise OptionError(f"is {backend!r}; it must be {', '.join(NAMES[:-1])} or {NAMES[-1]}", option="backend")
    if name == "local" and address is not None:
        problem = Phrase(Option("address"), " is that of a cluster; give its kind with ", Option("backend"))
        raise OptionError(problem, advice="ray, dask or spark")
    module, engine = _HOMES[name]
    where = {} if address is None else {"address": address}
    with getattr(importlib.import_module(f".{module}", __package__), engine)(workers, **where) as opened:
        yield opened


def _of_session(backend: Any) -> Engine | None:
    """The engine for a Dask client or a Spark session, which stays open; None for any other value."""
    if hasattr(backend, "nthreads"):
        dask: Engine = importlib.import_module(".on_dask", __package__).DaskEngine(client=backend)
        return dask
    if hasattr(backend, "sparkContext"):
        spark: Engine = importlib.import_module(".on_spark", __package__).SparkEngine(spark=backend)
        return spark
    return None
