"""The child processes of this process and the addresses at which it listens, from Linux's /proc."""

from __future__ import annotations

import os
import pathlib
import socket
import time

PROC = pathlib.Path("/proc")
LISTENING = "0A"


def descendants() -> dict[int, str]:
    """The processes that this one has started, and their descendants, with their commands."""
    parents, commands = {}, {}
    for folder in PROC.glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if state != "Z" and "resource_tracker" not in command:  # Python's own, which ends with this process
            parents[int(folder.name)], commands[int(folder.name)] = int(parent), command
    found: dict[int, str] = {}
    layer = {os.getpid()}
    while layer := {process for process, parent in parents.items() if parent in layer}:
        found |= {process: commands[process] for process in layer}
    return found


def left_after(seconds: float, before: set[int]) -> dict[int, str]:
    """The processes that still run, except those that ran before."""
    end = time.monotonic() + seconds
    while True:
        left = {process: command for process, command in descendants().items() if process not in before}
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.1)


def listening() -> set[str]:
    """The addresses at which this process and its descendants listen."""
    sockets = set()
    for process in (os.getpid(), *descendants()):
        for link in (PROC / str(process) / "fd").glob("*"):
            try:
                sockets.add(os.readlink(link))
            except OSError:
                continue
    found = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in (PROC / "net" / table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in sockets:
                words = bytes.fromhex(fields[1].partition(":")[0])
                address = b"".join(words[i : i + 4][::-1] for i in range(0, len(words), 4))
                found.add(socket.inet_ntop(family, address))
    return found


def is_loopback(address: str) -> bool:
    return address.removeprefix("::ffff:").startswith("127.") or address == "::1"
