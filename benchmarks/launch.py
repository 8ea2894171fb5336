"""Run a command to its end and write the time in seconds, the exit code and the peak memory in kilobytes.

This is a small program of its own, because the peak memory of a new process includes the memory of its parent.

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
