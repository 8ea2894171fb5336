"""The server, with a note of every sync of a log: how much of which file is on the disk.

    python observed_server.py NOTES '{"data": "folder", "port": 8000, …}'

A note is written after the sync and before anybody is told about it. So what was acknowledged has been noted, whenever
the process is killed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from unitless.serve import serve
from unitless.serve.log import Log


def main(notes: str, settings: dict[str, Any]) -> None:
    """Serve, with logs that are observed."""
    handle = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    plainly = Log.open.__func__  # type: ignore[attr-defined]

    def note(path: Path, size: int) -> None:
        os.write(handle, f"{size} {path}\n".encode())

    def observed(cls: type[Log], folder: Path, **options: Any) -> Log:
        log: Log = plainly(cls, folder, **({} if options.get("read_only") else {"observer": note}) | options)
        return log

    Log.open = classmethod(observed)  # type: ignore[assignment, method-assign]
    serve(**settings)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
