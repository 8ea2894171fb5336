"""A short run of the fuzzer of requests, always with the same requests; `make fuzz-serve` runs it for longer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZER = Path(__file__).parents[1] / "fuzz" / "serve.py"


@pytest.mark.parametrize("seed", [1])
def test_requests_made_up_to_break_the_server_do_not(seed: int) -> None:
    words = [sys.executable, FUZZER, "15", str(seed), "150"]  # seconds, seed, requests of each client
    run = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
