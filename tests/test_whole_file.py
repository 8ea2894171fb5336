"""Files are written completely or not at all, whatever happens to the process that writes them."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

import pytest

from unitless import whole_file

# Begins to write to a file and reports it, then waits to be killed.
WRITER = """
import sys
from unitless import whole_file
with whole_file.opened(sys.argv[1]) as file:
    file.write(b"half of it")
    file.flush()
    print("begun", flush=True)
    sys.stdin.read()
"""


def begun(path: pathlib.Path) -> subprocess.Popen[bytes]:
    """A process that is writing this file."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"begun\n"
    return writer


def temporary(folder: pathlib.Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith(".unitless-"))


@pytest.fixture(autouse=True)
def _every_save_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_file, "_LOOK_AGAIN", 0.0, raising=False)


def test_the_next_save_removes_only_the_leftovers_of_dead_processes(tmp_path: pathlib.Path) -> None:
    killed, living = begun(tmp_path / "a"), begun(tmp_path / "b")
    try:
        assert len(temporary(tmp_path)) == 2
        killed.send_signal(signal.SIGKILL)
        killed.wait(timeout=60)
        whole_file.write(tmp_path / "c", b"whole")
        (left,) = temporary(tmp_path)
        assert left.startswith(f".unitless-{living.pid}-")
        living.communicate(timeout=60)
        assert (tmp_path / "b").read_bytes() == b"half of it"
        assert sorted(os.listdir(tmp_path)) == ["b", "c"]
    finally:
        for writer in (killed, living):
            writer.kill()
            writer.communicate(timeout=60)


def test_a_locked_file_stays_although_its_process_cannot_be_seen_from_here(tmp_path: pathlib.Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait(timeout=60)
    locked, free = (tmp_path / f".unitless-{dead.pid}-{digit * 16}" for digit in "01")
    free.write_bytes(b"")
    with locked.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        whole_file.write(tmp_path / "c", b"whole")
        assert temporary(tmp_path) == [locked.name]
    whole_file.write(tmp_path / "c", b"whole")
    assert temporary(tmp_path) == []


def test_only_files_that_are_ours_are_removed(tmp_path: pathlib.Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait(timeout=60)
    (tmp_path / "precious").write_bytes(b"data")
    (tmp_path / f".unitless-{dead.pid}-{'2' * 16}").symlink_to(tmp_path / "precious")
    (tmp_path / f".unitless-{dead.pid}-{'3' * 16}").mkdir()
    (tmp_path / f".unitless-{dead.pid}-notes").write_bytes(b"")
    (tmp_path / ".unitless-0-4444444444444444").write_bytes(b"")
    (tmp_path / f".unitless-{10**30}-{'5' * 16}").write_bytes(b"")
    before = sorted(os.listdir(tmp_path))
    whole_file.write(tmp_path / "c", b"whole")
    assert sorted([*before, "c"]) == sorted(os.listdir(tmp_path))
    assert (tmp_path / "precious").read_bytes() == b"data"


def test_saving_never_changes_the_process_umask(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(mask: int) -> int:
        raise AssertionError(f"the umask of the whole process was set to {mask:o}")

    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(os, "umask", changed)
            whole_file.write(tmp_path / "new", b"x")
            os.chmod(tmp_path / "new", 0o604)
            whole_file.write(tmp_path / "new", b"y")
            whole_file.write(tmp_path / "other", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o604
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o640


def test_many_threads_write_at_the_same_time(tmp_path: pathlib.Path) -> None:
    problems: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for turn in range(20):
                whole_file.write(tmp_path / name, b"%d" % turn)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not problems
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_the_name_of_a_temporary_file_has_its_process(tmp_path: pathlib.Path) -> None:
    with whole_file.opened(tmp_path / "m"):
        (name,) = temporary(tmp_path)
    assert re.fullmatch(rf"\.unitless-{os.getpid()}-[0-9a-f]{{16}}", name)
