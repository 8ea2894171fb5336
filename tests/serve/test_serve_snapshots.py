"""Snapshots are complete or do not exist, and the newest complete one is found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from unitless.serve.streams import snapshots
from unitless.serve.streams.retention import first_kept, needed_by_snapshots


class State:
    def __init__(self, **parts: bytes) -> None:
        self._parts = parts

    def parts(self) -> dict[str, bytes]:
        return {"models/../../a": b"model", **self._parts}


def said_by(folder: Path) -> tuple[snapshots.Snapshot | None, list[str]]:
    said: list[str] = []
    return snapshots.read_newest(folder, said.append), said


def test_what_was_written_is_read(tmp_path: Path) -> None:
    large = os.urandom(9 << 20)  # written in several pieces
    path = snapshots.write(tmp_path, State(large=large, empty=b""), seq=17, position=1234)
    assert path == tmp_path / "snapshots" / "00000000000000000017"
    found = snapshots.read_newest(tmp_path)
    assert found is not None
    assert (found.seq, found.position, found.path) == (17, 1234, path)
    assert found.parts == {"models/../../a": b"model", "large": large, "empty": b""}
    assert list(found.parts) == ["models/../../a", "large", "empty"]


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    assert said_by(tmp_path) == (None, [])
    (tmp_path / "snapshots").mkdir()
    assert said_by(tmp_path) == (None, [])


def test_the_newest_two_stay(tmp_path: Path) -> None:
    for seq in (3, 20, 100, 9):
        snapshots.write(tmp_path, State(), seq=seq, position=0)
    assert snapshots.seqs(tmp_path) == [3, 9, 20, 100]
    snapshots.remove_old(tmp_path)
    assert snapshots.seqs(tmp_path) == [20, 100]
    assert sorted(path.name for path in (tmp_path / "snapshots").iterdir()) == [f"{20:020d}", f"{100:020d}"]


@pytest.mark.parametrize("file", ["000.part", "001.part", "manifest.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "gone", "longer", "empty"])
def test_a_damaged_one_falls_back_to_the_one_before_and_says_so(tmp_path: Path, file: str, damage: str) -> None:
    snapshots.write(tmp_path, State(second=b"old"), seq=5, position=50)
    path = snapshots.write(tmp_path, State(second=b"new"), seq=6, position=60) / file
    data = path.read_bytes()
    middle = len(data) // 2
    changed = {
        "flip": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "cut": data[:-1],
        "longer": data + b"0",
        "empty": b"",
    }
    path.unlink() if damage == "gone" else path.write_bytes(changed[damage])
    found, said = said_by(tmp_path)
    assert found is not None
    assert (found.seq, found.parts["second"]) == (5, b"old")
    assert len(said) == 1
    assert f"{6:020d}" in said[0]
    snapshots.write(tmp_path, State(second=b"new"), seq=6, position=60)  # replaces the damaged one
    found, said = said_by(tmp_path)
    assert found is not None
    assert (found.seq, said) == (6, [])


def test_every_byte_of_the_manifest_counts(tmp_path: Path) -> None:
    path = snapshots.write(tmp_path, State(), seq=6, position=60) / "manifest.json"
    data = path.read_bytes()
    fields = json.loads(data)
    for place in range(len(data)):
        for bit in (0, 4):
            path.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
            found, said = said_by(tmp_path)
            if found is None:
                assert len(said) == 1
            else:  # one kind of white space became another
                assert json.loads(path.read_bytes()) == fields


def test_another_format_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "FORMAT", 99)
    snapshots.write(tmp_path, State(), seq=6, position=60)
    monkeypatch.undo()
    found, (said,) = said_by(tmp_path)
    assert found is None
    assert "format 99" in said


def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots.write(tmp_path, State(), seq=1, position=10)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        snapshots.write(tmp_path, State(), seq=2, position=20)
    assert [path.name for path in (tmp_path / "snapshots").iterdir()] == [f"{1:020d}"]


def test_the_abandoned_goes(tmp_path: Path) -> None:
    snapshots.write(tmp_path, State(), seq=1, position=10)
    half = tmp_path / "snapshots" / ".making-00000000000000000002-abcd"
    half.mkdir()
    (half / "000.part").write_bytes(b"half")
    found, said = said_by(tmp_path)
    assert found is not None
    assert (found.seq, said) == (1, [])
    snapshots.remove_abandoned(tmp_path / "snapshots")
    assert [path.name for path in (tmp_path / "snapshots").iterdir()] == [f"{1:020d}"]


SEGMENTS = [(first, Path(f"{first:020d}.seg"), 100) for first in (1, 11, 21, 31)]


@pytest.mark.parametrize(
    ("needed", "retain", "first"),
    [
        ([41], 0, 31),  # the last one stays
        ([41], 200, 21),
        ([41], 400, 1),
        ([21], 0, 21),
        ([20], 0, 11),
        ([35, 11], 0, 11),
        ([1], 0, 1),
        ([0], 0, 1),
    ],
)
def test_segments_go_when_nobody_needs_them(needed: list[int], retain: int, first: int) -> None:
    assert first_kept(SEGMENTS, needed=needed, retain=retain) == first


def test_recovery_may_need_what_the_second_newest_snapshot_needs(tmp_path: Path) -> None:
    assert needed_by_snapshots(tmp_path) == 0
    snapshots.write(tmp_path, State(), seq=10, position=0, needs=3)
    assert needed_by_snapshots(tmp_path) == 0  # it may be damaged; then all files are needed
    snapshots.write(tmp_path, State(), seq=20, position=0)
    assert needed_by_snapshots(tmp_path) == 3
    snapshots.write(tmp_path, State(), seq=30, position=0)
    assert needed_by_snapshots(tmp_path) == 21


def test_older_snapshots_stay_where_a_long_log_can_be_replayed_from(tmp_path: Path) -> None:
    for seq in range(10, 100, 10):
        snapshots.write(tmp_path, State(), seq=seq, position=100 * seq, needs=seq - 5)
        snapshots.remove_old(tmp_path, apart=2500)
    assert snapshots.seqs(tmp_path) == [30, 60, 80, 90]
    snapshots.remove_old(tmp_path, apart=2500, first_seq=26)
    assert snapshots.seqs(tmp_path) == [60, 80, 90]
