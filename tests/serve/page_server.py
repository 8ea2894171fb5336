"""A real server for tests of the page: a process that can be stopped and started again on the same port."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any


class PageServer:
    """`unitless serve` in a folder."""

    def __init__(self, folder: Path, *options: str, token: str | None = None) -> None:
        self.folder, self.options, self.token = folder, options, token
        self.port = 0  # any free port at the first start, afterwards the same
        self.process: subprocess.Popen[str] | None = None
        self._random, self._decided = random.Random(7), 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        command = [sys.executable, "-m", "unitless", "serve", "--data", str(self.folder), "--port", str(self.port)]
        command += ["--durability", "process", *self.options]
        for _ in range(20):  # another program may use the port for a moment
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert self.process.stdout is not None
            printed = re.search(r"page http://127\.0\.0\.1:(\d+)/", self.process.stdout.readline())
            if printed is not None:
                self.port = int(printed[1])
                return
            self.stop()
            time.sleep(0.25)
        raise AssertionError("the server did not start")

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(15)
            finally:
                self.process.kill()
                self.process.communicate()
            self.process = None

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Content-Type": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read() or b"null")

    def create(self, name: str, **options: Any) -> None:
        self.ask("PUT", f"v1/models/{name}", options)

    def learn(self, name: str, rows: int) -> None:
        """Send houses with their labels: whether each is dear."""
        for _ in range(rows):
            features, dear = self.house()
            self.ask("POST", f"v1/models/{name}/learn", {"features": features, "label": dear})

    def label_later(self, name: str, rows: int) -> None:
        """Ask for predictions of houses, then send all labels but the last."""
        known = []
        for k in range(rows):
            features, dear = self.house()
            id = f"{time.monotonic_ns()}-{k}"
            self.ask("POST", f"v1/models/{name}/predict", {"features": features, "id": id})
            known.append((id, dear))
        for id, dear in known[:-1]:
            self.ask("POST", f"v1/models/{name}/label", {"id": id, "label": dear})

    def learn_prices(self, name: str, rows: int) -> None:
        """Send houses with their prices, which are numbers."""
        for _ in range(rows):
            features, _ = self.house()
            price = 3000.0 * features["area"] + self._random.gauss(0, 5000)
            self.ask("POST", f"v1/models/{name}/learn", {"features": features, "label": price})

    def house(self) -> tuple[dict[str, Any], bool]:
        """A house, and whether it is dear for its town and age."""
        draw = self._random
        features = {
            "area": round(draw.uniform(30, 250), 1),
            "age": draw.randint(0, 120),
            "town": draw.choice(["Ulm", "Bonn", "Kiel"]),
        }
        price = features["area"] - 0.5 * features["age"] + {"Ulm": 0, "Bonn": 40, "Kiel": -30}[features["town"]]
        return features, price + draw.gauss(0, 15) > 110

    def decide(self, name: str, events: int) -> None:
        """Let a bandit decide what a house is called, and reward all decisions but the last."""
        for k in range(events):
            context, dear = self.house()
            self._decided += 1  # decisions depend on the ids
            row = {"id": f"event {self._decided}", "context": context, "actions": ["castle", "cottage", "flat"]}
            made = self.ask("POST", f"v1/models/{name}/rank", row)
            value = 10.0 if (made["action"] == "castle") == dear else 4.0
            if k < events - 1:
                self.ask("POST", f"v1/models/{name}/reward", {"id": row["id"], "reward": value})
