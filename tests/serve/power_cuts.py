"""A simulated power cut: of what a killed server had written, only what was synced is there for sure."""

from __future__ import annotations

import json
import random
from pathlib import Path

from unitless.serve.log import Log


def cut_power(stream: Path, synced: dict[Path, int], chance: random.Random) -> int:
    """Cut the last file of a stream's log behind what is on the disk; gives the bytes that are lost.

    A random part of the rest stays, sometimes with a wrong byte or with zeros at its end, as file systems leave it.

    Args:
        stream: its folder.
        synced: of each file of a log, up to which byte it was synced.
        chance: decides what stays.
    """
    with Log.open(stream / "log", read_only=True) as log:
        path, last = log.segments[-1][1], log._segments[-1]
    sure = synced.get(path, 0)
    for manifest in stream.glob("snapshots/[0-9]*/manifest.json"):  # the log was synced before each of them
        sure = max(sure, last.offset(json.loads(manifest.read_text())["position"]))
    whole = path.read_bytes()
    rest = bytearray(whole[sure : sure + chance.randint(0, len(whole) - sure)])
    if rest and chance.random() < 0.3:
        rest[chance.randrange(len(rest))] ^= 1 << chance.randrange(8)
    if rest and chance.random() < 0.3:
        zeros = chance.randint(1, len(rest))
        rest[-zeros:] = bytes(zeros)
    path.write_bytes(whole[:sure] + rest)
    return len(whole) - sure - len(rest)
