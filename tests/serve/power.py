"""Simulated power cuts: the possible contents of a log on the disk when the machine stops, given what was synced."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from unitless.serve.log import Log
from unitless.serve.log.segments import SEGMENT_HEADER_BYTES, TornHeaderError, opened, parsed

PAGE = 4096


def observer(synced: Path) -> Callable[[Path, int], None]:
    """Writes down each sync of a log before it is reported to other code.

    Every process that opens the log must be observed.
    """
    handle = os.open(synced, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)

    def observe(path: Path, size: int) -> None:
        os.write(handle, f"{size} {path}\n".encode())

    return observe


def observe_all_logs(synced: Path) -> None:
    """Observe each log that this process opens from now on."""
    open_log, observe = Log.open, observer(synced)

    def open_observed(folder: Path, **options: Any) -> Log:
        return open_log(folder, **{"observer": observe, **options})

    Log.open = open_observed  # type: ignore[method-assign]


def synced_bytes(synced: Path) -> dict[Path, int]:
    """The number of synced bytes of each file, as an observer has written it down."""
    lines = [line.split(" ", 1) for line in synced.read_text("utf-8").splitlines()]
    return {Path(path): int(size) for size, path in lines}


def with_snapshots(stream: Path, synced: Mapping[Path, int]) -> dict[Path, int]:
    """The synced parts of a stream, including those that the process for snapshots has synced:

    the log before each snapshot.
    """
    positions = [json.loads(path.read_text())["position"] for path in stream.glob("snapshots/[0-9]*/manifest.json")]
    found = dict(synced)
    for path in stream.glob("log/*.seg") if positions else ():
        with contextlib.suppress(TornHeaderError), opened(path) as handle:
            upto = parsed(path, handle).offset(max(positions))
            if upto > SEGMENT_HEADER_BYTES:
                found[path] = max(found.get(path, 0), min(upto, path.stat().st_size))
    return found


def cut_power(folder: Path, synced: Mapping[Path, int], chance: random.Random) -> int:
    """Keep the synced part of each file of a log, and of the rest a random part that the system may have written.

    Returns the number of lost bytes: all bytes from the first wrong one on.
    """
    lost = 0
    for path in sorted(folder.glob("*.seg")):
        kept, data = synced.get(path), path.read_bytes()
        if kept is None and chance.random() < 0.5:
            path.unlink()  # its name was not synced either
            lost += len(data)
        elif kept is None or kept < len(data):
            kept = kept or 0
            left = unsynced(data[kept:], kept, chance)
            path.write_bytes(data[:kept] + left)
            same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(data[kept:], left, strict=False))
            lost += len(data) - kept - sum(1 for _ in same)
    return lost


def unsynced(data: bytes, start: int, chance: random.Random) -> bytes:
    """The possible rest of bytes that begin at some place of a file and were never synced."""
    left = bytearray(data[: chance.randint(0, len(data))])
    how = chance.choice(("as it is", "bits", "pages", "zeros", "size"))
    if how == "bits" and left:
        for _ in range(chance.randint(1, 3)):
            left[chance.randrange(len(left))] ^= 1 << chance.randrange(8)
    elif how == "pages":  # some of them were not written, though later ones were
        for page in range(start // PAGE, (start + len(left)) // PAGE + 1):
            if chance.random() < 0.5:
                first, last = max(page * PAGE - start, 0), min((page + 1) * PAGE - start, len(left))
                left[first:last] = bytes(last - first)
    elif how == "zeros":
        left[:] = bytes(len(left))
    elif how == "size":  # the file got its size before its bytes
        left += bytes(len(data) - len(left))
    return bytes(left)
