"""unitless serve: a learning server."""

from __future__ import annotations

import os
from typing import Any

from ..serve.settings import LIMITS, SAFETY, SETTINGS
from .options import Flag

NAME = "serve"
STOPPED = "stopped before it was ready; no learned row is lost"
EXAMPLES = """
[bold]Examples[/]

unitless serve --data models --create prices --create clicks

unitless serve --data models --model prices.unitless --vw-port 26542

unitless serve --new-token write --token-file tokens

unitless serve --data models --host 0.0.0.0 --token-file tokens --durability process

unitless serve --config serve.toml

unitless serve --replica-of models --port 8001
"""


# What happens where a setting that has no default is not given.
_UNSET = {
    "data": "none; needed unless --replica-of is given",
    "vw_model": "the only model",
    "personalizer": "the only bandit",
    "token_file": "no tokens; then only this machine is served",
}
# Other words for a setting, which people may try.
_ALSO = {"create": ("new", "add"), "replica_of": ("follow", "replica"), "max_pending": ("waiting",)}
_ADVANCED = ("id_window", "max_pending", "max_done", "snapshot_every", "segment", "tick")


def _flag(name: str) -> Flag:
    about = SETTINGS[name].metadata
    shown = about["shown"]
    default = _UNSET.get(name, "none") if shown in (None, ()) else shown
    kind = bool if shown is False else int if isinstance(shown, int) or name == "vw_port" else str
    return Flag(
        name,
        about["help"] if shown is False or "Default:" in about["help"] else f"{about['help']} Default: {default}.",
        kind,
        False if kind is bool else None,
        short="-q" if name == "quiet" else "",
        panel=about["panel"],
        metavar=about["metavar"],
        many=about["many"],
        also=_ALSO.get(name, ()),
        advanced=about["panel"] == LIMITS or name in _ADVANCED,
    )


OPTIONS = (
    *map(_flag, SETTINGS),
    Flag(
        "new_token",
        "Make a token of this role (read, write or admin), add it to --token-file, print it and stop. Default: none.",
        panel=SAFETY,
    ),
)


def command(*, new_token: str | None, **given: Any) -> int:
    """Serve models that learn while they predict: over HTTP, with a live page; a crash loses nothing.

    Rows are learned in the order of their arrival. The server writes each request to a log before it answers, so
    that a crash changes no model. Settings can also be given in a file (--config) and in the environment
    (UNITLESS_SERVE_PORT=8000). After SIGTERM or Ctrl-C the server finishes all requests, then stops.

    A TIME is a number with a unit: ms, s, m, h or d, such as 90s or 7d. A SIZE is one with kB, MB or GB, such as 64MB.
    """
    if new_token is not None:
        return _new_token(new_token, given["token_file"])
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's idle threads take processor time
    from ..serve import serve  # noqa: PLC0415

    serve(**{name: None if value is False or value == [] else value for name, value in given.items()})
    return 0


def _new_token(role: str, file: str | None) -> int:
    from pathlib import Path  # noqa: PLC0415

    from ..errors import Option, OptionError, Phrase  # noqa: PLC0415
    from ..serve.http.access import new_token  # noqa: PLC0415

    if file is None:
        raise OptionError(Phrase("needs ", Option("token_file"), ", the file to add it to"), option="new_token")
    print(new_token(role, Path(file)))
    return 0
