"""A learning server that loses nothing.

`unitless.serve(data="folder")` serves until it is stopped; it is the command `unitless serve`, with the same
settings. `unitless.serve.background(data="folder")` serves in a thread, for notebooks and tests.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .in_thread import Background

__all__ = ["background", "serve"]


def serve(**settings: Any) -> None:
    """Serve models until Ctrl-C or a signal stops the server.

    Args:
        settings: see `unitless serve --help`; names with _ instead of -. `data` is the folder of the model store.

    Raises:
        OptionError: a setting does not exist or cannot be used.
        Error: the server cannot start.

    Example:
        >>> import unitless as ul
        >>> ul.serve(data="service", create=["prices"])  # doctest: +SKIP
        unitless serves 1 model: page http://127.0.0.1:8000/
    """
    from .settings import Settings  # noqa: PLC0415  (only servers need what follows)

    read = Settings.of(**settings)
    try:
        from .server import run  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise missing(error) from None
    run(read)


def background(**settings: Any) -> AbstractContextManager[Background]:
    """Serve models in a background thread, until the end of a `with` block; for notebooks and tests.

    Args:
        settings: as for `serve`; `port=0` takes a free port.

    Returns:
        A context manager. Its value has the address of the server (`url`) and its `port`.

    Raises:
        OptionError: a setting does not exist or cannot be used.

    Example:
        >>> import tempfile, unitless as ul
        >>> from unitless.client import Client
        >>> with ul.serve.background(data=tempfile.mkdtemp(), port=0, create=["prices"]) as server:
        ...     with Client(server.url) as client:
        ...         client.learn("prices", {"area": 90}, 315_000).status
        'learned'
    """
    from .settings import Settings  # noqa: PLC0415

    read = Settings.of(**settings)
    try:
        from .in_thread import Background  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise missing(error) from None
    return Background(read)


def missing(error: ModuleNotFoundError) -> Exception:
    """The error for a missing package of the extra `serve`."""
    package = (error.name or "unitless").partition(".")[0]
    if package == "unitless":
        return error
    from ..errors import Error  # noqa: PLC0415

    return Error(f"serving needs {package}", advice="pip install 'unitless[serve]'")


class _Callable(ModuleType):
    """A package that can be called: `unitless.serve(...)` serves, `unitless.serve.settings` is a module."""

    def __call__(self, **settings: Any) -> None:
        serve(**settings)


sys.modules[__name__].__class__ = _Callable
