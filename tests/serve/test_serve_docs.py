"""The page about the server shows what its commands print."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE, README = ROOT / "docs" / "serving.md", ROOT / "README.md"
ADDRESS = "127.0.0.1:8000"
BLOCKS = re.compile(r"```(console|python)\n(.*?)```", re.DOTALL)
COMMANDS = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
VARYING = [
    (r'"(seq|created|bytes|digest)": ?[0-9.]+', r'"\1":0'),  # ticks take places in the log, and times are times
    (r"127\.0\.0\.1:\d+", ADDRESS),
]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Commands with what they print, and scripts that they run; examples with >>> are tested elsewhere."""
    found = BLOCKS.findall(page.read_text(encoding="utf-8"))
    return [(kind, block) for kind, block in found if not block.startswith(">>>")]


def plain(text: str) -> str:
    for pattern, replacement in VARYING:
        text = re.sub(pattern, replacement, text)
    return text


class Shell:
    """Runs the commands of a page in a folder; servers stay until the end."""

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

    def run(self, command: str) -> str:
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
        said = self.folder / f"said-{len(self.servers)}"
        with said.open("wb") as out:
            words = ["bash", "-c", f"exec {command} --port {self.port}"]
            self.servers.append(subprocess.Popen(words, cwd=self.folder, env=self.environment, stdout=out, stderr=out))
        until = time.monotonic() + 30
        while self.servers[-1].poll() is None and time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/ready", timeout=5):
                    break
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        return said.read_text(encoding="utf-8")

    def close(self) -> list[int]:
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
        try:
            return [server.wait(15) for server in self.servers]
        finally:
            for server in self.servers:
                server.kill()
                server.wait()


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_commands_of_the_page_print_what_it_says(tmp_path: Path) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    shell, ran = Shell(tmp_path), 0
    try:
        for kind, block in blocks(PAGE):
            if kind == "python":
                name = block.partition("\n")[0].removeprefix("# ")
                (tmp_path / name).write_text(block.replace(ADDRESS, f"127.0.0.1:{shell.port}"), encoding="utf-8")
                continue
            for command, expected in COMMANDS.findall(block):
                printed = plain(shell.run(command))
                # answers of one line have no end of line; the page has one
                matches = doctest.OutputChecker().check_output(plain(expected), printed.rstrip("\n") + "\n", flags)
                assert matches or not (expected or printed), f"{command}\n{printed}"
                ran += 1
    finally:
        ended = shell.close()
    assert ran > 20
    assert ended == [0]


def test_the_readme_shows_the_same() -> None:
    shown = {(command, said) for _, block in blocks(README) for command, said in COMMANDS.findall(block)}
    served = {(command, said) for _, block in blocks(PAGE) for command, said in COMMANDS.findall(block)}
    assert len(shown) > 4
    assert shown <= served
