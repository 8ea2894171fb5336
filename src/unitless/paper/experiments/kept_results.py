"""A cache of results, by what they were computed from, so that an interrupted run can continue."""

from __future__ import annotations

import functools
import hashlib
import json
import pathlib
from collections.abc import Callable
from typing import Any

from ... import _core, whole_file
from ...version import __version__


class Kept:
    """A folder of results.

    The name of each result is a digest of everything it depends on: data, options, seeds, this program.
    """

    def __init__(self, folder: pathlib.Path | None) -> None:
        self._folder = folder
        self._known: dict[str, Any] = {}

    def get(self, question: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """The stored result, or a new one, which is then stored; without a folder it is stored in memory only."""
        name = digest({**question, "program": program()})
        if name not in self._known:
            self._known[name] = self._computed(name, question, compute)
        return self._known[name]

    def _computed(self, name: str, question: dict[str, Any], compute: Callable[[], Any]) -> Any:
        if self._folder is None:
            return compute()
        path = self._folder / f"{name}.json"
        found = _read(path)
        if found is not None and found.get("question") == question:
            return found["answer"]
        answer = compute()
        self._folder.mkdir(parents=True, exist_ok=True)
        whole_file.write(path, json.dumps({"question": question, "answer": answer}).encode())
        return answer


def digest(question: dict[str, Any]) -> str:
    """A short name for a computation."""
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:32]


@functools.cache
def program() -> str:
    """The version of the program: its number, the compiled core, and the files that results depend on, to the byte."""
    content = hashlib.sha256(__version__.encode())
    here = pathlib.Path(__file__).parent
    own = ("preparation.py", "rate_search.py", "bounds.py", "comparison.py", "contenders.py")
    others = [path for folder in ("baselines", "theory") for path in sorted((here.parent / folder).glob("*.py"))]
    for path in (pathlib.Path(_core.__file__), *(here / name for name in own), *others):
        content.update(path.read_bytes())
    return content.hexdigest()


def _read(path: pathlib.Path) -> dict[str, Any] | None:
    """Read a stored result; an unreadable one counts as missing."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "answer" in found else None
