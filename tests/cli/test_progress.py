"""On a terminal a training shows in one line its stage, how much of it is done, and the current metric."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

WIDTH = 80
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def bars_of(folder: Path, *options: str) -> list[str]:
    """Train on a terminal; returns the states of the bar."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    np.savetxt(folder / "rows.csv", np.c_[X, X[:, 0] * X[:, 1]], delimiter=",", header="a,b,c,y", comments="")
    own, terminal = pty.openpty()
    command = [sys.executable, "-m", "unitless", "train", "rows.csv", "--target", "y", *options]
    environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=terminal, stdout=subprocess.DEVNULL, stderr=terminal
    )
    os.close(terminal)
    shown = bytearray()
    while True:
        try:
            part = os.read(own, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(own)
    assert process.wait(60) == 0
    lines = CODES.sub("", shown.decode()).replace("\r", "\n").split("\n")
    return [line for line in lines if "━" in line]


@pytest.mark.process
def test_the_bar_of_a_fit_shows_pass_and_metric(tmp_path: Path) -> None:
    bars = bars_of(tmp_path, "--passes", "2")
    assert all(len(bar) <= WIDTH for bar in bars)
    stages = list(dict.fromkeys(bar.split("━")[0][1:].strip() for bar in bars))
    assert [stage for stage in stages if stage] == ["reading", "pass 1 of 2", "pass 2 of 2", "held-out rows"]
    assert re.search(r"100% .*RMSE 0\.\d+ on held-out rows$", bars[-1].rstrip())


@pytest.mark.process
def test_the_bar_of_a_stream_shows_rows_and_metric(tmp_path: Path) -> None:
    bars = bars_of(tmp_path, "--no-shuffle")
    assert all(len(bar) <= WIDTH for bar in bars)
    assert re.search(r"4,000 rows, [\d,]+ rows/s .*100% .*RMSE \d", bars[-1])
