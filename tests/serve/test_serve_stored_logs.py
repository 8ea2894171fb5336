"""Each version reads the data of earlier versions: tests/serve/stored has a data folder of each."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec")
import stored_log

from unitless import version
from unitless.serve import store as store_module
from unitless.serve.events import Form, Kind
from unitless.serve.log import log as log_module
from unitless.serve.settings import Settings
from unitless.serve.store import ModelStore
from unitless.serve.streams import stream as stream_module

VERSIONS = sorted(path.name for path in stored_log.STORED.iterdir())


def opened(folder: Path) -> ModelStore:
    return ModelStore.open(folder, Settings.of(environment={}, data=folder, durability="process", segment="4kB"))


def compare(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Rows, ids, labels and models are equal. Scores are those of the same rows, learned by another version."""
    scores = [
        [model.pop("scores") for stream in one.values() for model in stream["models"].values()]
        for one in (found, expected)
    ]
    assert found == expected
    for ours, theirs in zip(*scores, strict=True):
        assert ours == pytest.approx(theirs, rel=0.01, abs=0.01)


@pytest.fixture(params=VERSIONS)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    folder = stored_log.STORED / request.param
    shutil.copytree(folder / "data", tmp_path / "data")
    return tmp_path / "data", json.loads((folder / "expected.json").read_text())


@pytest.mark.parametrize("snapshots", [True, False])
def test_what_an_older_version_has_written_is_recovered(
    stored: tuple[Path, dict[str, Any]], snapshots: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, expected = stored
    for module, name in ((version, "__version__"), (store_module, "__version__"), (stream_module, "__version__")):
        monkeypatch.setattr(module, name, "99.0.0")
    monkeypatch.setattr(log_module, "_LIBRARY", "99.0.0")
    if not snapshots:
        for path in folder.glob("streams/*/snapshots"):
            shutil.rmtree(path)
    store = opened(folder)
    try:
        assert store.quarantined == []
        for live in store.streams.values():
            (note,) = live.notes
            assert "were replayed by 99.0.0" in note
            assert live.stream.mismatch is None
        compare(stored_log.known(store), expected)
        asyncio.run(asyncio.wait_for(_goes_on(store), 60))
        states = {name: live.stream.fingerprint() for name, live in store.streams.items()}
    finally:
        store.close()
    store = opened(folder)
    try:
        assert {name: live.stream.fingerprint() for name, live in store.streams.items()} == states
    finally:
        store.close()


async def _goes_on(store: ModelStore) -> None:
    live = store.streams["prices"]
    await stored_log.send(live, Kind.label, Form.json, {"id": "asked-3", "label": 1.0})
    (again,) = await live.submitted(
        Kind.learn, Form.json, 1, json.dumps(stored_log.row(0, 0.0) | {"id": "learned-0"}).encode()
    )
    assert again.status == "duplicate"
    await stored_log.send(store.streams["mail"], Kind.learn, Form.json, stored_log.row(1, "new"))
    assert store.streams["mail"].model().classes == ["spam\0", "ham", "", "caf\u00e9", "new"]
    await store.drain()


def test_the_stored_folder_is_what_this_version_writes(tmp_path: Path) -> None:
    """The folder of the next version is then written in the same way."""
    stored_log.write(tmp_path / "now")
    folders = tmp_path / "now", stored_log.STORED / VERSIONS[-1]
    now, stored = (json.loads((folder / "expected.json").read_text()) for folder in folders)
    for stream in (*now.values(), *stored.values()):
        del stream["seq"]  # limits are written from time to time
    compare(now, stored)


def test_this_version_has_a_stored_folder() -> None:
    assert version.__version__ in VERSIONS, "a release is prepared with: python tests/serve/stored_log.py"
