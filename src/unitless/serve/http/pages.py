"""The files of the live page, held in memory: nothing that a client sends becomes a path."""

from __future__ import annotations

import hashlib
import mimetypes
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "page"
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

_KINDS = {
    ".js": "text/javascript; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}


class File(NamedTuple):
    """One file."""

    content: bytes
    kind: str
    tag: str  # changes with the content


def read_all(folder: Path = FOLDER) -> dict[str, File]:
    """The files of a folder by their names within it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts:
            content = path.read_bytes()
            kind = _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain; charset=utf-8"
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            found[path.relative_to(folder).as_posix()] = File(content, kind, tag)
    return found
