"""Workers can import the tests' tasks, and no test leaves a process running."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import processes
import pytest
from waiting import LIMIT


@pytest.fixture(scope="module")
def clean() -> Iterator[None]:
    """Check that everything a cluster has started has ended."""
    before, path = set(processes.descendants()), os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(pathlib.Path(__file__).parent), *([path] if path else [])])
    yield
    if path is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = path
    assert not processes.left_after(LIMIT, before)
