"""A copy of the folder of a running server, made as the documentation says, is a good backup."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from server_process import Server
from waiting import join

from unitless.client import Client

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("tar") is None, reason="needs tar")
def test_the_documented_commands_copy_a_running_server(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "operate-server.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (tar --create .*?)  +#.*$", page, re.MULTILINE)
    restore = re.findall(r"^    (tar --extract .*)$", page, re.MULTILINE)
    assert (len(commands), len(restore)) == (2, 1)
    options = ("--durability", "process", "--snapshot-every", "1s")
    server = Server(tmp_path / "DATA", *options, "--create", 'prices={"model_type": "linear", "ensemble": false}')
    server.start()
    stop = threading.Event()
    acknowledged: list[int | None] = []

    def learn() -> None:
        with Client(server.url) as client:
            while not stop.is_set():
                acknowledged.append(client.learn("prices", {"area": len(acknowledged) % 50}, 2.0).seq)

    learner = threading.Thread(target=learn)
    try:
        with Client(server.url) as client:
            client.wait_ready()
            learner.start()
            client.snapshot("prices")
            before = len(acknowledged)
            for command in commands:
                made = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, text=True, check=False)
                assert made.returncode in (0, 1), made.stderr  # 1: a file grew meanwhile
            stop.set()
            join(learner)
    finally:
        stop.set()
        assert server.stop() == 0
    (tmp_path / "restored").mkdir()
    for command in restore[0].replace("--file ", "--file ../").split(" && "):
        subprocess.run(command.split(), cwd=tmp_path / "restored", check=True)
    copy = Server(tmp_path / "restored" / "DATA", *options)
    copy.start()
    try:
        with Client(copy.url) as client:
            client.wait_ready()
            model = client.model("prices")
            assert before <= model["examples"] <= len(acknowledged)
            assert model["notes"] == [] or "not complete" in model["notes"][0]
            assert client.learn("prices", {"area": 1}, 2.0).status == "learned"
    finally:
        assert copy.stop() == 0
