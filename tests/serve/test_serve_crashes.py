"""A server that is killed under load, or whose machine loses power, loses no row that it has acknowledged."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import crashes
import pytest


@pytest.fixture
def server(tmp_path: Path) -> Iterator[crashes.Server]:
    server = crashes.Server(tmp_path, durability="disk", segment="1MB", snapshot_every="1s", tick="0.5s")
    yield server
    server.abandon()


def test_what_was_acknowledged_is_learned_once_whatever_happens(server: crashes.Server) -> None:
    kinds = ["kill"] * 6 + ["power"] * 6 + ["starting", "snapshots"]
    random.Random(7).shuffle(kinds)
    story = asyncio.run(crashes.crash_again_and_again(server, kinds, seed=7, longest=0.3, rows=501))
    checked = crashes.check(server, story)
    assert checked.acknowledged > 500
    assert story.ledger.retries > 0
    assert checked.decided > 50


def test_a_polite_end_answers_all_that_was_accepted(server: crashes.Server) -> None:
    story, _ = asyncio.run(crashes.stop_under_load(server, seconds=0.5))
    assert story.ledger.acknowledged > 50
    assert crashes.unanswered(server, story) == []
