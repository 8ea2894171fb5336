"""Servers as contenders of a workload: started once, under load in their turn. Their time is processor time."""

from __future__ import annotations

import dataclasses
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import serve
import serve_cases
from builds import Build
from contenders import By, Facts, Running, Turn
from passes import Failed

ROWS = 1_000  # whose processor time is reported


@dataclass(frozen=True)
class Service:
    """A server and its load, from the cases of `serve.py`."""

    name: str
    contender: serve_cases.Contender
    by: By = "unitless"
    build: Build | None = None

    def start(self, running: Running) -> tuple[Facts, Turn]:
        folder = running.stack.enter_context(tempfile.TemporaryDirectory(prefix="unitless-serve-"))
        python = str(self.build.python) if self.build else sys.executable
        key, seconds = self.contender.server, running.store.size.serve_seconds

        def turn() -> float:
            microseconds = serve.measure(self.contender, server, seconds)["cpu"]
            # the system counts in hundredths of a second, so it may report 0
            return ROWS * max(microseconds, 0.01) / 1e6

        try:
            server = running.stack.enter_context(serve.started({key}, pathlib.Path(folder), python))[key]
            turn()
        except (SystemExit, subprocess.CalledProcessError) as error:
            raise Failed(str(error)) from None
        return Facts(ROWS, peak_mb=_resident(server.pid)), turn

    def renamed(self, name: str, build: Build | None) -> Service:
        return dataclasses.replace(self, name=name, build=build)


def _resident(pid: int) -> float:
    """Megabytes of a process."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def services(case: str, *names: str) -> list[Service]:
    """Contenders of a case of `serve.py`, named after their work; those of other programs have their own name."""
    found = {one.name: one for one in next(one for one in serve_cases.ALL if one.name == case).contenders}
    peers = (serve_cases.VW, serve_cases.RIVER)
    return [
        Service(f"{case}: {name}", found[name], "peer")
        if name in peers
        else Service(f"{case}: unitless, {name}", found[name])
        for name in names
    ]
