"""`unitless serve` in a process of its own, for tests of what runs beside it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

SCRIPT = "from unitless.cli import main; raise SystemExit(main())"


class Server:
    """`unitless serve` in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        words = ["serve", "--data", str(folder), "--port", str(self.port), "--quiet", *options]
        self._words = [sys.executable, "-c", SCRIPT, *words]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._words, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(15)
        finally:
            self.kill()
