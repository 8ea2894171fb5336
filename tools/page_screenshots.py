"""Take the pictures of the live page: a real server, two models that learn the prices of houses, a browser.

    python tools/page_screenshots.py [SECONDS]

Needs Chromium and Playwright (`make test-page` installs the latter). Prices rise in the last third of the time, so that
the charts show a change and the recovery. Some labels arrive seconds after their predictions.
"""

from __future__ import annotations

import http.client
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent.parent / "docs" / "images"
LINES = "application/x-ndjson"
TOWNS = {"Ulm": 0, "Bonn": 900, "Kiel": -500, "Mainz": 300}  # euros per square meter above the mean
SIZE = {"width": 1280, "height": 962}


def house(draw: random.Random, dearer: bool) -> tuple[dict[str, Any], float]:
    """A house and its price in euros."""
    features: dict[str, Any] = {
        "area": round(draw.uniform(30, 250), 1),
        "age": draw.randint(0, 120),
        "rooms": draw.randint(1, 9),
        "to_station": round(draw.expovariate(1 / 3000)),
        "town": draw.choice(list(TOWNS)),
        "garden": draw.random() < 0.4,
    }
    per_meter = 2600 + TOWNS[features["town"]] + (900 if dearer and features["town"] != "Ulm" else 0)
    price = per_meter * features["area"] - 6 * features["to_station"] + 30_000 * features["garden"]
    price += 40_000 * math.cos(features["age"] / 20) + 60_000
    return features, float(max(round(price * math.exp(draw.gauss(0, 0.04)), -3), 10_000.0))


def feed(port: int, seconds: float) -> None:
    """Create two models and send them rows: most with their label, others to be predicted first."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def send(method: str, path: str, body: str, kind: str = "application/json") -> None:
        connection.request(method, f"/v1/models/{path}", body, {"Content-Type": kind})
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise SystemExit(f"{path}: {text}")

    send("PUT", "houses", "{}")
    send("PUT", "houses-linear", json.dumps({"stream": "houses", "model_type": "linear", "ensemble": False}))
    draw, began, number = random.Random(1), time.monotonic(), 0
    late: deque[tuple[float, str]] = deque()
    while (since := time.monotonic() - began) < seconds:
        dearer = since > 2 / 3 * seconds
        wave = 1 + 0.4 * math.sin(since / 9)
        rows = [house(draw, dearer) for _ in range(round(60 * wave))]
        send("POST", "houses/learn", "\n".join(json.dumps({"features": x, "label": y}) for x, y in rows), LINES)
        predicted = []
        for x, y in (house(draw, dearer) for _ in range(round(25 * wave))):
            number += 1
            predicted.append(json.dumps({"features": x, "id": f"h{number}"}))
            late.append((since + draw.lognormvariate(1.0, 0.6), json.dumps({"id": f"h{number}", "label": y})))
        send("POST", "houses/predict", "\n".join(predicted), LINES)
        due = [body for when, body in late if when <= since]
        late = deque(one for one in late if one[0] > since)
        if due:
            send("POST", "houses/label", "\n".join(due), LINES)
        time.sleep(max(0.0, 0.25 - (time.monotonic() - began - since)))


def take(port: int) -> None:
    """Save the top of the page, in light and in dark mode."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        for scheme, name in (("light", "serve.png"), ("dark", "serve-dark.png")):
            page = browser.new_page(viewport=SIZE, color_scheme=scheme)
            page.goto(f"http://127.0.0.1:{port}/#houses")
            page.get_by_role("region", name="Effects of features").wait_for()
            page.wait_for_timeout(3000)
            page.screenshot(path=IMAGES / name)
            page.close()
        browser.close()


def main() -> None:
    """Start a server, send it rows, and take the pictures while it learns."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "unitless", "serve", "--data", folder, "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().rsplit(":", 1)[1].split("/")[0])
            code = "import sys, page_screenshots as p; p.feed(int(sys.argv[1]), float(sys.argv[2]))"
            feeding = subprocess.Popen(
                [sys.executable, "-c", code, str(port), str(seconds + 15)], cwd=Path(__file__).parent
            )
            try:
                time.sleep(seconds)
                take(port)
            finally:
                feeding.terminate()
                feeding.wait()
        finally:
            server.terminate()
            server.wait(20)


if __name__ == "__main__":
    main()
