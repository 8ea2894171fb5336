"""unitless serve: a learning server."""

from __future__ import annotations

import os
from typing import Any

from ..serve.settings import SAFETY, SETTINGS
from .options import Flag

NAME = "serve"
STOPPED = "stopped before it was ready; nothing that was learned earlier is lost"
EXAMPLES = """
[bold]Examples[/]

unitless serve --data models --create prices --create clicks

unitless serve --data models --model prices.unitless --vw-port 26542

unitless serve --new-token write --token-file tokens

unitless serve --data models --host 0.0.0.0 --token-file tokens --durability process

unitless serve --config serve.toml

unitless serve --replica-of models --port 8001
"""


def _flag(name: str) -> Flag:
    about = SETTINGS[name].metadata
    shown = about["shown"]
    default = "" if shown in (None, (), False) else f" {shown} if not given."
    kind = bool if shown is False else int if isinstance(shown, int) or name == "vw_port" else str
    return Flag(
        name,
        about["help"] + default,
        kind,
        False if kind is bool else None,
        short="-q" if name == "quiet" else "",
        panel=about["panel"],
        metavar=about["metavar"],
        many=about["many"],
    )


OPTIONS = (
    *map(_flag, SETTINGS),
    Flag(
        "new_token", "Make a token of this role (read, write, admin), add it to --token-file, print it.", panel=SAFETY
    ),
)


def command(*, new_token: str | None, **given: Any) -> int:
    """Serve models that learn while they predict: over HTTP, with a live page; a crash loses nothing.

    Rows are learned as they come. Each is written to a log before it is answered, so that after
    any crash the models are what they would be without it. Settings can also stand in a file
    (--config) and in the environment (UNITLESS_SERVE_PORT). SIGTERM and Ctrl-C bring all
    requests to an end, then stop.
    """
    if new_token is not None:
        return _new_token(new_token, given["token_file"])
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads would only wait, and not quietly
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
