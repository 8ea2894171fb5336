"""Run the commands on a page of the documentation, and compare their output with the page."""

from __future__ import annotations

import doctest
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ADDRESS = "127.0.0.1:8000"
BLOCKS = re.compile(r"```(console|python)\n(.*?)```", re.DOTALL)
COMMANDS = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
VARYING = [
    (r'"(seq|created|bytes|digest)": ?[0-9.]+', r'"\1":0'),  # ticks use places in the log, and times vary
    (r"127\.0\.0\.1:\d+", ADDRESS),
]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Commands with their output, and scripts that they run; examples with >>> are tested elsewhere."""
    found = BLOCKS.findall(page.read_text(encoding="utf-8"))
    return [(kind, block) for kind, block in found if not block.startswith(">>>")]


def plain(text: str) -> str:
    """The text without the parts that differ from run to run."""
    for pattern, replacement in VARYING:
        text = re.sub(pattern, replacement, text)
    return text


class Shell:
    """Runs commands in a folder; servers run until it is closed."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        self.folder, self.servers = folder, list[subprocess.Popen[bytes]]()
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(sys.executable)
        # pip writes this form too: a path with spaces cannot stand after #!
        begin = f"#!/bin/sh\n'''exec' '{sys.executable}' \"$0\" \"$@\"\n' '''\n"
        script = f"{begin}from unitless.cli import main\nraise SystemExit(main())\n"
        (folder / "bin" / "unitless").write_text(script, encoding="utf-8")
        (folder / "bin" / "unitless").chmod(0o755)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("UNITLESS_")},
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "NO_PROXY": "127.0.0.1",
        }

    def run_page(self, page: Path) -> int:
        """Run every command of a page, and assert that each prints what the page shows; return their number."""
        flags, ran = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, 0
        for kind, block in blocks(page):
            if kind == "python":
                name = block.partition("\n")[0].removeprefix("# ")
                (self.folder / name).write_text(block.replace(ADDRESS, f"127.0.0.1:{self.port}"), encoding="utf-8")
                continue
            for command, expected in COMMANDS.findall(block):
                printed = plain(self.run(command))
                # answers of one line have no end of line; the page has one
                matches = doctest.OutputChecker().check_output(plain(expected), printed.rstrip("\n") + "\n", flags)
                assert matches or not (expected or printed), f"{page.name}: {command}\n{printed}"
                ran += 1
        return ran

    def run(self, command: str) -> str:
        """Run a command and return its output."""
        command = command.replace(ADDRESS, f"127.0.0.1:{self.port}")
        if command.startswith("unitless serve"):
            return self.serve(command)
        done = subprocess.run(
            ["bash", "-c", command],
            check=False,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.stdout + done.stderr

    def serve(self, command: str) -> str:
        """Start a server, wait until it is ready, and return its output."""
        printed = self.folder / f"printed-{len(self.servers)}"
        with printed.open("wb") as out:
            words = ["bash", "-c", f"exec {command} --port {self.port}"]
            self.servers.append(subprocess.Popen(words, cwd=self.folder, env=self.environment, stdout=out, stderr=out))
        until = time.monotonic() + 30
        while self.servers[-1].poll() is None and time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/ready", timeout=5):
                    break
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        return printed.read_text(encoding="utf-8")

    def close(self) -> list[int]:
        """Stop the servers; return their exit codes."""
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
        try:
            return [server.wait(15) for server in self.servers]
        finally:
            for server in self.servers:
                server.kill()
                server.wait()
