"""Runs a command to its end and writes what it took: seconds, exit code, peak memory in kilobytes.

A program of its own, and a small one, because the peak of a new process counts what its parent held at that moment.

    python -I -S benchmarks/launch.py REPORT COMMAND ...
"""

import os
import sys
import time


def main(report: str, command: list[str]) -> None:
    start = time.perf_counter()
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - start
    with open(report, "w") as file:
        file.write(f"{seconds!r} {os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
