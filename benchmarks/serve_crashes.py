"""Crash the server some hundred times under load, and compare the remaining state with one offline pass.

    python benchmarks/serve_crashes.py              200 × kill -9, 100 power cuts, 100,000 rows: about 10 minutes
    python benchmarks/serve_crashes.py --quick      10 and 5: half a minute
    python benchmarks/serve_crashes.py --durability process    kills only

Six clients learn, predict, send labels late and out of order, let a bandit decide, reward its decisions, and send again
what was not answered. Another one makes and deletes models and asks for snapshots of them, four requests at a time. In
the end every acknowledged row must stand in the log, none be learned twice, every answered score be that of the offline
pass, and the bytes of the models and the state of their evaluations equal those of plain calls of the library. The same
is true of the bandit: no decision is forgotten or made anew, and no reward is counted twice. The tests do the same with
fewer crashes (tests/serve/test_serve_crashes.py); the kinds of crashes are described in tests/serve/crashes.py.
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import random
import sys
import tempfile
import time
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "serve"))

import crashes

SETTINGS = {"segment": "4MB", "snapshot_every": "5s", "tick": "2s"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--power", type=int, default=100, help="cuts")
    parser.add_argument("--rows", type=int, default=100_000, help="that must have been acknowledged at least")
    parser.add_argument("--durability", choices=("disk", "process"), default="disk")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=pathlib.Path, default=None, help="a folder for the data")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.kills, options.power, options.rows = 10, 5, 2_000
    if options.durability == "process":  # other kinds of crashes lose data with it
        options.power = 0
    return options


def say(number: int, story: crashes.Story) -> None:
    if number % 10 == 0:
        print(f"{number:5} crashes, {story.ledger.acknowledged:9,} rows acknowledged", flush=True)


def main() -> None:
    options, begun = arguments(), time.monotonic()
    kinds = ["kill"] * options.kills + ["power"] * options.power
    kinds += ["starting"] * (options.kills // 20) + ["snapshots"] * (options.kills // 20)
    random.Random(options.seed).shuffle(kinds)
    with tempfile.TemporaryDirectory(prefix="unitless-crashes-", dir=options.data) as folder:
        server = crashes.Server(pathlib.Path(folder), durability=options.durability, **SETTINGS)
        try:
            running: dict[str, Any] = {"seed": options.seed, "rows": options.rows, "say": say}
            story = asyncio.run(crashes.crash_again_and_again(server, kinds, longest=0.8, **running))
            ledger = story.ledger
            print(f"{dict(story.crashes)}; {story.lost_bytes:,} bytes lost by power cuts, as they may be")
            print(
                f"{ledger.acknowledged:,} rows acknowledged, {ledger.retries:,} requests sent again, "
                f"{ledger.duplicates:,} answers of duplicates, {ledger.lost_predictions:,} predictions lost"
            )
            starts = sorted(story.starts)
            print(f"ready after {starts[len(starts) // 2]:.2f} s in the middle, {starts[-1]:.2f} s at most")
            checked = crashes.check(server, story)
        finally:
            server.abandon()
    print(
        f"none lost, none twice: {checked.learned:,} rows learned, of them {checked.unknown:,} whose answer did not "
        f"come; {checked.waiting:,} predictions wait. Models and evaluations equal the offline pass to the bit. "
        f"So does the bandit: {checked.decided:,} decisions, none forgotten, no reward counted twice."
    )
    print(f"{time.monotonic() - begun:.0f} s in all.")


if __name__ == "__main__":
    main()
