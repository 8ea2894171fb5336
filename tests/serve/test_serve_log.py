"""The log: after any damage to its files, it returns an exact prefix of what was written, or reports the damage."""

from __future__ import annotations

import errno
import itertools
import os
import random
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import power
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unitless.serve.events import Form, Kind, Record
from unitless.serve.log import Log, LogError, Tail
from unitless.serve.log import log as log_module
from unitless.serve.log import records as record_module
from unitless.serve.log.segments import SEGMENT_HEADER_BYTES, Segment

HEADER = record_module.HEADER_BYTES


def event(number: int, rows: int = 1, size: int = 8) -> record_module.Event:
    return Kind.learn, Form.json if rows == 1 else Form.lines, rows, b"%d:" % number + b"x" * size


def filled(folder: Path, groups: int = 12, segment_bytes: int = 300) -> list[Record]:
    """Records in several files."""
    with Log.open(folder, segment_bytes=segment_bytes) as log:
        return [
            record
            for number in range(groups)
            for record in log.append([event(number, 1 + number % 3), event(-number, size=number)], time=1000 + number)
        ]


def found(folder: Path, **options: Any) -> list[Record]:
    with Log.open(folder, **options) as log:
        return list(log.records(log.first_seq))


def tailed(folder: Path) -> list[Record]:
    """The records as read by other processes, which change nothing."""
    with Tail(folder, 1) as tail:
        return everything(tail)


def last_file(folder: Path) -> Path:
    return max(folder.glob("*.seg"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip disk syncs, for tests that open many logs and do not test durability."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "log"


# Writing and reading


def test_records_come_back_as_they_were_written(folder: Path) -> None:
    written = filled(folder)
    with Log.open(folder) as log:
        assert len(log.segments) > 3
        assert list(log.records(1)) == written
        assert [log.read(record.position) for record in written] == written
        assert log.next_seq == written[-1].seq + written[-1].rows
        assert log.end == written[-1].end
        assert log.bytes == sum(size for _, _, size in log.segments)
        assert [path.stat().st_size for _, path, _ in log.segments] == [size for _, _, size in log.segments]
        assert log.cut is None


def test_the_bytes_of_a_log_are_those_of_format_1() -> None:
    """Logs outlive versions:

    a change of these bytes needs a new format number, and the old format must stay readable.
    """
    group = [(Kind.learn, Form.lines, 2, b"{}\n{}"), (Kind.tick, Form.json, 1, b"")]
    data, _, _ = record_module.encode(group, 3, 1_700_000_000_000_000, 0)
    records = """
        05000000 02 81 0200 e9536b49 0300000000000000 00401e18240a0600 7b7d0a7b7d
        00000000 04 00 0100 1a9e1dbb 0500000000000000 00401e18240a0600"""
    assert data == bytes.fromhex(records)
    header = f"""
        756e69746c6f670a 01000000 312e322e33 {"00" * 39}
        0300000000000000 4d00000000000000 0500000000000000 cdab0000 6cb8565f"""
    segment = Segment(Path(), library="1.2.3", first_seq=3, base=77, time=5, previous_crc=0xABCD)
    assert segment.header() == bytes.fromhex(header)


def test_numbers_and_positions_have_no_gaps(folder: Path) -> None:
    written = filled(folder)
    assert (written[0].seq, written[0].position) == (1, 0)
    for before, after in itertools.pairwise(written):
        assert after.seq == before.seq + before.rows
        assert after.position == before.end


def test_reading_begins_with_the_record_that_holds_the_number(folder: Path) -> None:
    written = filled(folder)
    with Log.open(folder) as log:
        for first, record in enumerate(written):
            for seq in range(record.seq, record.seq + record.rows):
                assert list(log.records(seq)) == written[first:]
                with Tail(folder, seq) as tail:
                    assert tail.next_seq == seq
                    assert everything(tail) == written[first:]
        assert list(log.records(log.next_seq)) == []
        with pytest.raises(LogError, match="the log ends before record"):
            log.records(log.next_seq + 1)


def test_what_comes_during_reading_is_not_read(folder: Path) -> None:
    written = filled(folder)
    with Log.open(folder) as log:
        records = log.records(1)
        log.append([event(0)], time=0)
        assert list(records) == written


def test_times_never_decrease(folder: Path) -> None:
    with Log.open(folder, segment_bytes=200) as log:
        for time in (5, 3, 9, 1):
            log.append([event(0, size=100)], time)
    with Log.open(folder) as log:
        log.append([event(0)], time=2)
        assert [record.time for record in log.records(1)] == [5, 5, 9, 9, 9]


@pytest.mark.parametrize("size", [0, 1 << 20, (5 << 20) + 3])
def test_records_of_any_size(folder: Path, size: int) -> None:
    with Log.open(folder) as log:
        written = log.append([event(1), event(2, size=size), event(3)], time=1)
        written += log.append([event(4), event(5, size=size)], time=1)
        assert list(log.records(1)) == written
        assert log.read(written[1].position) == written[1]
    assert found(folder) == written
    with Tail(folder, 1) as tail:
        assert everything(tail, most_bytes=1) == written


@pytest.mark.parametrize("rows", [0, -1, 1 << 16])
def test_a_record_that_does_not_fit_changes_nothing(folder: Path, rows: int) -> None:
    with Log.open(folder) as log:
        with pytest.raises(LogError, match="65,535 rows"):
            log.append([event(1), (Kind.learn, Form.lines, rows, b"")], time=1)
        assert (log.next_seq, log.end) == (1, 0)


def test_a_position_without_a_record_is_refused(folder: Path) -> None:
    written = filled(folder)
    with Log.open(folder) as log:
        for position in (-1, 1, written[-1].position + 3, log.end, log.end + 1000):
            with pytest.raises(LogError):
                log.read(position)


# The end of the last file


def ends(folder: Path, written: Sequence[Record]) -> tuple[Path, bytes, list[tuple[int, int]]]:
    """The last file, its bytes, and for each of the last three records its first byte and its index."""
    path = last_file(folder)
    data = path.read_bytes()
    starts = [
        (len(data) - (written[-1].end - record.position), len(written) - 3 + k) for k, record in enumerate(written[-3:])
    ]
    assert starts[0][0] >= SEGMENT_HEADER_BYTES
    return path, data, starts


def put(path: Path, data: bytes) -> None:
    """Replace the last file of its log by these bytes."""
    for later in path.parent.glob("*.seg"):
        if later > path:
            later.unlink()
    path.write_bytes(data)


def valid(starts: Sequence[tuple[int, int]], byte: int) -> int:
    """The number of records before a damaged byte."""
    return max(count for start, count in starts if start <= byte)


@pytest.mark.usefixtures("fast_disk")
def test_every_cut_of_the_last_three_records_leaves_the_exact_prefix(folder: Path) -> None:
    written = filled(folder, segment_bytes=500)
    path, data, starts = ends(folder, written)
    for size in range(starts[0][0], len(data)):
        put(path, data[:size])
        with Log.open(folder) as log:
            left = valid(starts, size)
            assert list(log.records(1)) == written[:left]
            assert (log.cut is None) == (size in dict(starts))
            added = log.append([event(7)], time=0)
        assert found(folder) == written[:left] + added


@pytest.mark.usefixtures("fast_disk")
def test_a_flipped_bit_in_the_last_records_leaves_the_exact_prefix(folder: Path) -> None:
    written = filled(folder, segment_bytes=500)
    path, data, starts = ends(folder, written)
    for byte in range(starts[0][0], len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[byte] ^= 1 << bit
            put(path, damaged)
            with Log.open(folder) as log:
                left = valid(starts, byte)
                assert list(log.records(1)) == written[:left]
                assert log.cut is not None
                assert log.cut.byte == {count: start for start, count in starts}[left]
                assert log.cut.removed == len(data) - log.cut.byte
            assert path.stat().st_size == log.cut.byte


@pytest.mark.usefixtures("fast_disk")
def test_zeros_at_the_end_are_not_records(folder: Path) -> None:
    written = filled(folder, segment_bytes=500)
    path, data, starts = ends(folder, written)
    for zeros in (1, HEADER - 1, HEADER, HEADER + 1, 4096, 3 << 20):
        put(path, data + bytes(zeros))
        assert found(folder) == written
        assert path.read_bytes() == data
    for start, count in starts:
        put(path, data[:start] + bytes(len(data) - start))
        assert found(folder) == written[:count]


def test_zeros_are_not_even_the_record_zero() -> None:
    zeros = bytes(10 * HEADER)
    assert record_module.decode(zeros, 0, 0) == []
    assert record_module.scan(zeros, 0, 0, 1 << 64).used == 0


@pytest.mark.parametrize("step", [-1, 1])
def test_a_record_with_another_number_than_the_next_is_not_taken(folder: Path, step: int) -> None:
    written = filled(folder)
    data, _, _ = record_module.encode([event(1)], written[-1].seq + written[-1].rows + step, 2000, 0)
    with last_file(folder).open("ab") as file:
        file.write(data)
    with Tail(folder, 1) as tail:
        assert everything(tail) == written
    with Log.open(folder) as log:
        assert list(log.records(1)) == written
        assert log.cut is not None
        assert log.cut.removed == len(data)


def test_what_is_cut_and_what_is_kept_is_on_the_disk_when_the_log_is_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(folder)
    path = last_file(folder)
    with path.open("ab") as file:
        file.write(b"half a record")
    size = path.stat().st_size - len(b"half a record")
    synced: list[tuple[int, int]] = []
    fsync = os.fsync

    def watched(handle: int) -> None:
        fsync(handle)
        synced.append((os.fstat(handle).st_ino, os.fstat(handle).st_size))

    monkeypatch.setattr(os, "fsync", watched)
    told: list[tuple[Path, int]] = []
    with Log.open(folder, observer=lambda *what: told.append(what)) as log:
        assert (path.stat().st_ino, size) in synced
        assert folder.stat().st_ino in dict(synced)
        assert told == [(path, size)]
        assert log.synced_end == log.end


def test_a_record_of_a_later_version_is_not_cut_off(folder: Path) -> None:
    written = filled(folder)
    path = last_file(folder)
    later = (99, Form.json, 1, b"what is it?")
    seq = written[-1].seq + written[-1].rows
    with path.open("ab") as file:
        file.write(record_module.encode([later], seq, 2000, 0)[0])  # type: ignore[list-item]
    before = contents(folder)
    for open_it in (lambda: Log.open(folder), lambda: everything(Tail(folder, 1)), lambda: Tail(folder, seq).read()):
        with pytest.raises(LogError, match=f"{path.name}.*the kind of the record at byte .* use the version"):
            open_it()
    assert contents(folder) == before


# Damage elsewhere


def refused(folder: Path) -> LogError:
    before = contents(folder)
    with pytest.raises(LogError) as error:
        Log.open(folder)
    assert contents(folder) == before, "a damaged log must be left as it is"
    return error.value


@pytest.mark.usefixtures("fast_disk")
def test_every_byte_of_an_older_file_flipped_is_refused(folder: Path) -> None:
    written = filled(folder)
    path = sorted(folder.glob("*.seg"))[1]
    data = path.read_bytes()
    first = int(path.stem)
    starts = [0] + [
        record.position - next(r for r in written if r.seq == first).position + SEGMENT_HEADER_BYTES
        for record in written
        if first <= record.seq < int(sorted(folder.glob("*.seg"))[2].stem)
    ]
    for byte in range(len(data)):
        damaged = bytearray(data)
        damaged[byte] ^= 1 << byte % 8
        path.write_bytes(damaged)
        where = max(start for start in starts if start <= byte)
        error = refused(folder)
        assert error.file == str(path)
        assert f" at byte {where:,}" in error.problem
        assert "restore this file from a backup" in error.advice


@pytest.mark.usefixtures("fast_disk")
def test_an_older_file_of_another_size_is_refused(folder: Path) -> None:
    filled(folder)
    path = sorted(folder.glob("*.seg"))[1]
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        assert refused(folder).file == str(path)
    path.write_bytes(data + b"\0")
    assert f"at byte {len(data):,}" in refused(folder).problem


def test_a_missing_file_is_refused_and_named(folder: Path) -> None:
    filled(folder)
    before, gone, after = sorted(folder.glob("*.seg"))[1:4]
    gone.unlink()
    error = refused(folder)
    assert error.file == str(before)
    assert f"the records {int(gone.stem):,} to {int(after.stem) - 1:,} are missing" in error.problem
    assert gone.name in error.advice


def test_a_file_of_another_log_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "a")
    with Log.open(tmp_path / "b", segment_bytes=300) as log:
        for number in range(12):  # of the same sizes
            log.append([event(number, 1 + number % 3), event(-number, size=number)], time=5000 + number)
    name = sorted((tmp_path / "a").glob("*.seg"))[1].name
    shutil.copy(tmp_path / "b" / name, tmp_path / "a" / name)
    assert "is not the file that" in refused(tmp_path / "a").problem


def test_a_file_with_another_name_is_refused(folder: Path) -> None:
    filled(folder)
    path = last_file(folder)
    path.rename(path.with_name(f"{int(path.stem) + 1:020}.seg"))
    assert "another name" in refused(folder).problem


def test_a_file_of_another_format_is_refused(folder: Path) -> None:
    filled(folder)
    path = last_file(folder)
    data = bytearray(path.read_bytes())
    data[8] = 2
    checked = SEGMENT_HEADER_BYTES - 4
    data[checked : checked + 4] = record_module.crc32(data[:checked]).to_bytes(4, "little")
    path.write_bytes(data)
    assert "the format 2 at byte 0 is not known" in refused(folder).problem


@pytest.mark.usefixtures("fast_disk")
def test_the_damaged_header_of_the_last_file_is_refused_if_records_follow(folder: Path) -> None:
    filled(folder)
    path = last_file(folder)
    data = path.read_bytes()
    for byte in range(SEGMENT_HEADER_BYTES):
        path.write_bytes(data[:byte] + bytes([data[byte] ^ 16]) + data[byte + 1 :])
        assert f"{path}: the header of the file is damaged at byte 0" in str(refused(folder))


@pytest.mark.usefixtures("fast_disk")
def test_a_last_file_that_was_never_complete_is_removed(folder: Path) -> None:
    written = filled(folder)
    path = last_file(folder)
    header = path.read_bytes()[:SEGMENT_HEADER_BYTES]
    before = [record for record in written if record.seq < int(path.stem)]
    torn = [header[:size] for size in range(SEGMENT_HEADER_BYTES)] + [bytes(size) for size in (1, len(header))]
    for data in torn:
        path.write_bytes(data)
        assert tailed(folder) == before
        assert path.read_bytes() == data
        with Log.open(folder) as log:
            assert not path.exists()
            assert list(log.records(1)) == before
    path.write_bytes(b"")
    with Log.open(folder, segment_bytes=300) as log:
        added = log.append([event(1, size=300)], time=1)
        assert log.segments[-1][1] == path
    assert found(folder) == before + added


def test_damage_before_a_file_that_was_never_complete_is_refused(folder: Path) -> None:
    """A file is synced before the next one is made, so its end cannot be an unfinished write."""
    filled(folder)
    *_, path, last = sorted(folder.glob("*.seg"))
    last.write_bytes(b"unit")
    path.write_bytes(path.read_bytes()[:-1])
    assert refused(folder).file == str(path)


def test_a_first_file_that_was_never_complete_is_made_again(folder: Path) -> None:
    folder.mkdir()
    (folder / f"{1:020}.seg").write_bytes(b"unit")
    with Log.open(folder) as log:
        assert log.next_seq == 1
        log.append([event(1)], time=1)
    (folder / f"{1:020}.seg").rename(folder / f"{7:020}.seg")
    os.truncate(folder / f"{7:020}.seg", 20)  # the records before 7 are gone: this log must not begin again with 1
    assert "the header of the file is damaged" in refused(folder).problem


# Rotation


def test_a_file_is_synced_before_the_next_one_is_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: dict[Path, int] = {}
    create = log_module.create

    def checked(segment: Any) -> int:
        assert {path: path.stat().st_size for path in folder.glob("*.seg")} == synced
        return create(segment)

    monkeypatch.setattr(log_module, "create", checked)
    with Log.open(folder, segment_bytes=400, observer=synced.__setitem__) as log:
        for number in range(12):
            log.append([event(number, size=100)], time=1)
        assert len(log.segments) == 6
        assert synced[last_file(folder)] == SEGMENT_HEADER_BYTES
        log.sync()
        assert synced == {path: size for _, path, size in log.segments}


def test_files_are_not_larger_than_asked_for(folder: Path) -> None:
    with Log.open(folder, segment_bytes=300) as log:
        for size in (50, 50, 500, 10, 10, 10, 400):
            log.append([event(1, size=size)], time=1)
        sizes = [size for _, _, size in log.segments]
    assert sizes == [SEGMENT_HEADER_BYTES + n for n in (160, 530, 120, 430)]


def test_another_version_begins_a_new_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "_LIBRARY", "1.0")
    with Log.open(folder) as log:
        log.append([event(1), event(2)], time=1)
    monkeypatch.setattr(log_module, "_LIBRARY", "1.1")
    with Log.open(folder) as log:
        assert log.versions_from(1) == {"1.0"}
        assert log.versions_from(3) == set()
        log.append([event(3)], time=2)
        log.append([event(4)], time=3)
        assert len(log.segments) == 2
        assert log.versions_from(2) == {"1.0", "1.1"}
        assert log.versions_from(3) == {"1.1"}
    assert [record.time for record in found(folder)] == [1, 1, 2, 3]


def test_another_version_takes_over_an_empty_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "_LIBRARY", "1.0")
    tail = Tail(folder, 1)
    with Log.open(folder):
        assert tail.read() == []
    monkeypatch.setattr(log_module, "_LIBRARY", "1.1")
    with Log.open(folder) as log:
        written = log.append([event(1)], time=1)
        assert (len(log.segments), log.versions_from(1)) == (1, {"1.1"})
        assert tail.read() == written
    assert found(folder) == written
    tail.close()


def test_only_whole_files_are_dropped_and_never_the_last(folder: Path) -> None:
    written = filled(folder)
    with Log.open(folder) as log:
        starts = [first for first, _, _ in log.segments]
        for _, path, _ in log.segments:
            log.read(next(record for record in written if record.seq == int(path.stem)).position)
        assert log.drop_before(starts[1] - 1) == []
        assert [path.name for path in log.drop_before(starts[2])] == [f"{first:020}.seg" for first in starts[:2]]
        assert log.first_seq == starts[2]
        left = [record for record in written if record.seq >= starts[2]]
        assert list(log.records(starts[2])) == left
        with pytest.raises(LogError, match="no longer kept"):
            log.records(starts[2] - 1)
        with pytest.raises(LogError, match="no longer kept"):
            log.read(0)
        assert log.read(left[0].position) == left[0]
        with pytest.raises(LogError, match="no longer kept"):
            Tail(folder, 1).read()
        assert log.bytes == sum(path.stat().st_size for path in folder.glob("*.seg"))
    assert found(folder) == left
    with Log.open(folder) as log:
        assert len(log.drop_before(1 << 60)) == len(starts) - 3
        assert log.next_seq == written[-1].seq + written[-1].rows


# Disks that are full or fail


@pytest.fixture
def file_limit() -> Iterator[Callable[[int], None]]:
    """Let no file of this process grow beyond some bytes: a write stops half-way, and the next one fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size if size >= 0 else soft, hard))

    yield limit
    limit(-1)


def test_a_write_that_stops_half_way_is_undone(folder: Path, file_limit: Callable[[int], None]) -> None:
    tail = Tail(folder, 1)
    with Log.open(folder) as log:
        written = log.append([event(1), event(2)], time=1)
        size = log.segments[-1][2]
        group = [event(number) for number in range(10)]
        for room in (0, 1, HEADER, 100, 300):
            file_limit(size + room)
            with pytest.raises(OSError, match="File too large"):
                log.append(group, time=2)
            file_limit(-1)
            assert log.segments[-1][1].stat().st_size == size
            assert list(log.records(1)) == written
        written += log.append(group, time=3)
        assert list(log.records(1)) == written == everything(tail)
    assert found(folder) == written
    tail.close()


def no_room(*_: Any) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_without_room_for_a_new_file_leaves_nothing_of_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = filled(folder)
    with Log.open(folder, segment_bytes=300) as log:
        before = contents(folder)
        for call in ("write", "fsync"):
            failing = iter([no_room])  # calls after the failure of the new file succeed
            with monkeypatch.context() as patched:
                patched.setattr(os, call, lambda *_, failing=failing: next(failing, lambda: None)())
                with pytest.raises(OSError, match="No space left"):
                    log.append([event(1, size=300)], time=1)
            assert contents(folder) == before
        written += log.append([event(2)], time=1)  # the last file has enough space for a small one
        written += log.append([event(1, size=300)], time=1)
    assert found(folder) == written


def test_a_new_file_that_cannot_be_removed_ends_the_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the last file would continue, and both files would have the same sequence numbers."""
    written = filled(folder)
    with Log.open(folder, segment_bytes=300) as log:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", no_room)
            with pytest.raises(OSError, match="No space left"):
                log.append([event(1, size=300)], time=1)
        with pytest.raises(LogError, match=r"stands in the way of a new file.*start the server again"):
            log.append([event(2)], time=1)
    assert found(folder) == written


def test_a_failed_write_that_cannot_be_undone_ends_the_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = filled(folder)
    with Log.open(folder) as log:
        with monkeypatch.context() as patched:
            steps = iter([partial(os.write, log._handle, b"half"), no_room])
            patched.setattr(os, "write", lambda *_: next(steps)())
            patched.setattr(os, "ftruncate", no_room)
            with pytest.raises(OSError, match="No space left"):
                log.append([event(1)], time=1)
        with pytest.raises(LogError, match=r"could not be undone.*start the server again"):
            log.append([event(1)], time=1)
        assert list(log.records(1)) == written
    assert found(folder) == written


def test_a_failed_sync_is_final(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Log.open(folder) as log:
        (kept,) = log.append([event(1)], time=1)
        assert log.sync() == kept.end
        log.append([event(2)], time=1)
        with monkeypatch.context() as patched:
            patched.setattr(log_module, "_sync_data", no_room)
            with pytest.raises(OSError, match="No space left"):
                log.sync()
        with pytest.raises(LogError, match="the disk failed: No space left on device; check the disk"):
            log.append([event(3)], time=1)
        with pytest.raises(OSError, match="No space left"):  # the disk would work again, but has lost the record
            log.sync()
        assert log.synced_end == kept.end


def test_a_failed_sync_at_rotation_is_final(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Log.open(folder, segment_bytes=300) as log:
        log.append([event(1)], time=1)
        with monkeypatch.context() as patched:
            patched.setattr(log_module, "_sync_data", no_room)
            with pytest.raises(OSError, match="No space left"):
                log.append([event(2, size=300)], time=1)
        with pytest.raises(LogError, match="takes no more records since the disk failed"):
            log.append([event(3)], time=1)
        assert len(list(folder.glob("*.seg"))) == 1


def test_a_file_is_not_closed_while_it_is_synced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(handle: int) -> None:
        begun.set()
        assert go_on.wait(20)
        os.fstat(handle)  # fails if it is closed

    monkeypatch.setattr(log_module, "_sync_data", slow)
    with Log.open(folder, segment_bytes=300) as log, ThreadPoolExecutor(1) as thread:
        (first,) = log.append([event(1)], time=1)
        synced = thread.submit(log.sync)
        assert begun.wait(20)
        threading.Timer(0.1, go_on.set).start()
        log.append([event(2, size=300)], time=1)
        assert log.synced_end == first.end
        assert synced.result(20) == first.end
        syncs = []
        for number in range(200):
            log.append([event(number, size=100)], time=1)
            syncs.append(thread.submit(log.sync))
        assert syncs[-1].result(20) == log.synced_end == log.end


# Readers and a concurrent writer


def everything(tail: Tail, most_bytes: int = 1 << 20) -> list[Record]:
    records = []
    while some := tail.read(most_bytes):
        records += some
    return records


WRITER = """
import pathlib, random, sys
from unitless.serve.events import Form, Kind
from unitless.serve.log import Log
chance = random.Random(5)
with Log.open(pathlib.Path(sys.argv[1]), segment_bytes=20_000) as log:
    for number in range(1_500):
        size = chance.choice((1, 1, 1, 3, 40))
        log.append([(Kind.learn, Form.json, chance.randint(1, 3), chance.randbytes(chance.randint(0, 300)))
                    for _ in range(size)], number)
        if number % 500 == 499:
            log.append([(Kind.learn, Form.json, 1, bytes(100_000))] * 2, number)
"""


def test_readers_see_exactly_what_another_process_writes(folder: Path) -> None:
    readers: dict[int, tuple[Tail, list[Record]]] = {size: (Tail(folder, 1), []) for size in (1, 5_000, 1 << 20)}
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)])
    early = 0
    try:
        while writer.poll() is None:
            for size, (tail, records) in readers.items():
                records.extend(tail.read(size))
                early = len(records)
    finally:
        writer.kill()
        writer.wait()
    assert writer.returncode == 0
    assert early > 0
    assert len(list(folder.glob("*.seg"))) > 50
    written = found(folder)
    for size, (tail, records) in readers.items():
        assert records + everything(tail, size) == written
        tail.close()


KILLED = """
import itertools, pathlib, sys
from unitless.serve.events import Form, Kind
from unitless.serve.log import Log
log = Log.open(pathlib.Path(sys.argv[1]), segment_bytes=50_000)
for number in itertools.count(log.next_seq):
    records = log.append([(Kind.learn, Form.json, 1, b"%d" % number * 50)] * 3, number)
    print(records[-1].seq, flush=True)
"""


def test_a_killed_writer_loses_nothing_and_its_readers_go_on(folder: Path) -> None:
    tail, read = Tail(folder, 1), list[Record]()
    for lines in (1, 40, 400):
        writer = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        writer.kill()
        said += writer.stdout.readlines()
        writer.wait()
        writer.stdout.close()
        acknowledged = max(int(line) for line in said if line.endswith("\n"))
        records = found(folder)
        assert records[-1].seq >= acknowledged
        read += everything(tail)
        assert read == records
    tail.close()


SYNCED = """
import pathlib, sys, threading
import power
from unitless.serve.events import Form, Kind
from unitless.serve.log import Log
power.observe_all_logs(pathlib.Path(sys.argv[2]))
log, written = Log.open(pathlib.Path(sys.argv[1]), segment_bytes=3_000), 0
def sync():
    while True:
        seq = written
        log.sync()
        if seq:
            print(seq, flush=True)
threading.Thread(target=sync, daemon=True).start()
while True:
    written = log.append([(Kind.learn, Form.json, 1, b"%d" % log.next_seq * 20)] * 3, 1)[-1].seq
"""


def test_what_was_said_to_be_on_the_disk_survives_power_cuts(folder: Path, tmp_path: Path) -> None:
    chance, synced = random.Random(3), tmp_path / "synced"
    observer = power.observer(synced)  # recovery syncs too
    path = os.pathsep.join([str(Path(power.__file__).parent), *sys.path])
    for lines in (1, 30, 300):
        writer = subprocess.Popen(
            [sys.executable, "-c", SYNCED, str(folder), str(synced)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        writer.kill()
        said += writer.stdout.readlines()
        writer.wait()
        writer.stdout.close()
        before = tailed(folder)
        power.cut_power(folder, power.synced_bytes(synced), chance)
        left = found(folder, observer=observer)
        assert left == before[: len(left)]
        assert left[-1].seq >= max(int(line) for line in said if line.endswith("\n"))


def test_a_power_cut_takes_only_what_was_not_synced(folder: Path) -> None:
    synced: dict[Path, int] = {}
    with Log.open(folder, observer=synced.__setitem__) as log:
        log.append([event(1)], time=1)
        log.sync()
        for number in range(300):
            log.append([event(number, size=50)], time=1)
    path = last_file(folder)
    data, kept, sizes = path.read_bytes(), synced[path], set()
    for seed in range(50):
        path.write_bytes(data)
        power.cut_power(folder, synced, random.Random(seed))
        left = path.read_bytes()
        assert left[:kept] == data[:kept]
        sizes.add(len(left))
    assert min(sizes) < len(data) // 4
    assert len(sizes) > 25


def test_a_reader_waits_for_a_log_and_for_a_record(folder: Path) -> None:
    tail, later = Tail(folder, 1), Tail(folder, 10)
    assert tail.read() == later.read() == []
    folder.mkdir()
    (folder / f"{1:020}.seg").write_bytes(b"unit")  # its header is being written
    assert tail.read() == later.read() == []
    with Log.open(folder, segment_bytes=300) as log:
        assert tail.read() == []
        written = []
        for number in range(20):
            written += log.append([event(number, size=50)], time=1)
            assert everything(tail) == written[-1:]
            assert later.next_seq == max(10, number + 1)
            assert everything(later) == written[9:][-1:] if number >= 9 else everything(later) == []
    tail.close()
    later.close()


def test_a_reader_is_given_whole_groups_only(folder: Path) -> None:
    with Log.open(folder) as log:
        written = log.append([event(1), event(2)], time=1)
        path, end = last_file(folder), log.segments[-1][2]
        data, group, _ = record_module.encode([event(number) for number in range(5)], 3, 1, log.end)
    tail = Tail(folder, 1)
    assert tail.read() == written
    for size in range(len(data)):
        path.write_bytes(path.read_bytes()[:end] + data[:size])
        assert tail.read() == []
    path.write_bytes(path.read_bytes()[:end] + data)
    assert tail.read() == group
    tail.close()


def test_a_group_that_a_crash_has_cut_is_given_when_the_log_is_open_again(folder: Path) -> None:
    with Log.open(folder) as log:
        written = log.append([event(1), event(2), event(3)], time=1)
    path = last_file(folder)
    os.truncate(path, path.stat().st_size - 1)
    tail = Tail(folder, 1)
    assert tail.read() == []  # the writer may still be about to undo it
    with Log.open(folder) as log:
        assert everything(tail) == written[:2] == list(log.records(1))
        after = log.append([event(4)], time=1)
        assert everything(tail) == after
    tail.close()


def test_a_reader_does_not_mind_a_torn_end(folder: Path) -> None:
    written = filled(folder, segment_bytes=10_000)
    path = last_file(folder)
    data = path.read_bytes()
    for torn in (data[:-1], data[:-30], data + bytes(50), data[:-3] + b"abc"):
        path.write_bytes(torn)
        with Tail(folder, 1) as tail:
            records = everything(tail)
            assert records == written[: len(records)]
            assert len(records) >= len(written) - 2
            assert tail.read() == []


def test_a_reader_refuses_damage_before_the_last_file(folder: Path) -> None:
    filled(folder)
    path = sorted(folder.glob("*.seg"))[2]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with Tail(folder, 1) as tail, pytest.raises(LogError, match=f"{path.name}: the records are damaged at byte"):
        everything(tail)


def test_a_reader_notices_that_what_it_read_was_cut_off(folder: Path) -> None:
    with Log.open(folder) as log:
        for number in range(5):
            log.append([event(number)], time=1)
    path = last_file(folder)
    shorter, same = Tail(folder, 1), Tail(folder, 1)
    everything(shorter)
    everything(same)
    size = path.stat().st_size
    os.truncate(path, size - 1)
    with pytest.raises(LogError, match="have been cut off"):
        shorter.read()
    with Log.open(folder) as log:
        log.append([event(100, size=200)], time=9999)
        assert path.stat().st_size > size
    with pytest.raises(LogError, match="have been cut off"):
        same.read()
    shorter.close()
    same.close()


def test_a_reader_that_is_too_slow_is_told(folder: Path) -> None:
    written = filled(folder)
    tail = Tail(folder, 1)
    first = tail.read()
    with Log.open(folder) as log:
        log.drop_before(log.segments[1][0])
        assert (
            tail.read() == written[len(first) :][: len(tail_file := records_in(written, log.segments[0]))] == tail_file
        )
        log.drop_before(1 << 60)
        with pytest.raises(LogError, match="no longer kept"):
            everything(tail)
    tail.close()


def records_in(written: Sequence[Record], segment: tuple[int, Path, int]) -> list[Record]:
    first, _, size = segment
    start = next(record.position for record in written if record.seq == first)
    return [record for record in written if start <= record.position < start + size - SEGMENT_HEADER_BYTES]


def test_a_reader_brings_what_it_read_to_the_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(folder)
    synced = []
    with Tail(folder, 1) as tail:
        tail.sync()
        everything(tail)
        monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
        tail.sync()
    assert synced == [last_file(folder).stat().st_ino]


# Random histories


ACTIONS = st.one_of(
    st.tuples(st.just("append"), st.lists(st.tuples(st.integers(1, 4), st.integers(0, 200)), max_size=4)),
    st.tuples(st.sampled_from(["sync", "close", "kill", "drop"]), st.none()),
    st.tuples(st.just("power"), st.integers(0, 1 << 30)),
)


@pytest.mark.usefixtures("fast_disk")
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTIONS, max_size=25), segment_bytes=st.sampled_from([150, 400, 1 << 20]))
def test_any_history_leaves_synced_records_and_a_prefix_of_the_rest(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, Any]], segment_bytes: int
) -> None:
    folder = tmp_path_factory.mktemp("any") / "log"
    synced: dict[Path, int] = {}
    log = Log.open(folder, segment_bytes=segment_bytes, observer=synced.__setitem__)
    expected: list[Record] = []
    for number, (action, value) in enumerate(actions):
        sure = log.synced_end
        if action == "append":
            expected += log.append([event(number, rows, size) for rows, size in value], time=number)
        elif action == "sync":
            assert log.sync() == log.end
        elif action == "drop":
            log.drop_before(log.next_seq // 2)
            expected = [record for record in expected if record.seq >= log.first_seq]
        else:
            log.close()
            if action == "power":
                power.cut_power(folder, synced, random.Random(value))
            log = Log.open(folder, segment_bytes=segment_bytes, observer=synced.__setitem__)
            left = list(log.records(log.first_seq))
            assert left == expected[: len(left)]
            assert action == "power" or left == expected
            assert log.synced_end == log.end >= sure
            expected = left
        assert list(log.records(log.first_seq)) == expected
        assert log.next_seq == (expected[-1].seq + expected[-1].rows if expected else log.first_seq)
    log.close()
    with Tail(folder, log.first_seq) as tail:
        assert everything(tail) == expected
